//! Table of the files that say what package managers fetch: lock files, manifests, and settings that say where packages come
//! from.

use super::ecosystems::ECOSYSTEMS;
use super::languages::Language;

/// Files of one kind of package manager.
#[derive(Debug)]
pub(super) struct Ecosystem {
    /// Lock files. A name may have one `*`, and folders in front of it; all are in lower case.
    pub(super) locks: &'static [&'static str],
    /// Files that list dependencies, with the keys that do so.
    pub(super) manifests: &'static [Manifest],
    /// Files that say where packages come from.
    pub(super) settings: &'static [&'static str],
    /// Files that name such places beside much else, and that are not in `manifests`, as no lock file belongs to them.
    pub(super) builds: &'static [&'static str],
    /// Places that packages come from where nothing says otherwise.
    pub(super) public: &'static [&'static str],
    /// Whose manifests a lock file serves.
    pub(super) reach: Reach,
    /// Whether packages come from accounts of all kinds of people on code hosts, so that only the host tells anything.
    pub(super) any_account: bool,
    /// Whether a manifest names packages by their addresses, so that each new one has a new address.
    pub(super) is_by_address: bool,
}

/// What most have in common.
pub(super) const DEFAULT: Ecosystem = Ecosystem {
    locks: &[],
    manifests: &[],
    settings: &[],
    public: &[],
    builds: &[],
    reach: Reach::Own,
    any_account: false,
    is_by_address: false,
};

/// File that lists dependencies.
#[derive(Debug)]
pub(super) struct Manifest {
    /// Its name.
    pub(super) name: &'static str,
    /// What of it does so.
    pub(super) how: How,
}

/// What of a manifest lists dependencies.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// The values of some keys, with dots between them: `*` is any key, and `**` any number of them.
    Keys(&'static [&'static str]),
    /// A catalog of versions of Gradle.
    Catalog,
    /// Elements of a project of .NET.
    Xml,
    /// Parts of a program.
    Code(Language, &'static [Part]),
    /// Fields with a colon.
    Fields(&'static [&'static str]),
    /// Sections of `setup.cfg`.
    Setup,
    /// All lines.
    Lines(Language),
    /// Directives of Go.
    Modules,
    /// A comment at the start of a script.
    Script,
}

/// Part of a program that is about dependencies, by a pattern of how it begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A line, with those that belong to it.
    Line(&'static str),
    /// Everything up to the end of the brackets.
    Block(&'static str),
    /// Lines of that, by a pattern of their own.
    Within(&'static str, &'static str),
    /// Blocks of a function that a pattern finds, by a pattern of their own.
    Function(&'static str, &'static str),
    /// What the pattern's group finds.
    Name(&'static str),
    /// A line that gives a name to a value, by a pattern whose group is the name, if the parts before it use the name.
    Used(&'static str),
}

/// Whose manifests a lock file serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of its own folder.
    Own,
    /// Those of its folder and of the packages of a workspace below.
    Members,
    /// Those of its folder and of all folders below that have no lock file of their own.
    Below,
    /// Those of its folder, and what all projects below a folder share.
    Shared,
}

/// What a file is to a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It says which packages are fetched, and by which checksums.
    Lock,
    /// It says where packages are fetched from.
    Settings,
    /// It lists packages, and may hold their checksums and where they are from.
    Requirements,
    /// It lists packages, and may say where they are from, beside much else.
    Manifest,
}

/// Lists of Python's packages, which hold checksums where `pip-compile` or `uv` has made them.
const REQUIREMENTS: [&str; 3] = ["*requirements*.txt", "requirements/*.txt", "*constraints*.txt"];

/// Returns the kind of package manager that a file belongs to, and what it is to it.
pub(super) fn role_of(path: &str) -> Option<(&'static Ecosystem, Role)> {
    let path = path.to_lowercase();
    let is_any = |names: &[&str]| names.iter().any(|name| fits(name, &path));
    let python = ECOSYSTEMS.iter().find(|ecosystem| ecosystem.locks.contains(&"uv.lock"));
    if is_any(&REQUIREMENTS) {
        return Some((python?, Role::Requirements));
    }
    let role = ECOSYSTEMS.iter().find_map(|ecosystem| {
        if is_any(ecosystem.locks) {
            return Some((ecosystem, Role::Lock));
        }
        is_any(ecosystem.settings).then_some((ecosystem, Role::Settings))
    });
    let is_manifest = |ecosystem: &&Ecosystem| {
        is_any(ecosystem.builds) || ecosystem.manifests.iter().any(|manifest| fits(manifest.name, &path))
    };
    role.or_else(|| Some((ECOSYSTEMS.iter().find(is_manifest)?, Role::Manifest)))
}

/// Returns whether a path, in lower case, ends in what a pattern says: names with one `*` each at most.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let mut names = path.rsplit('/');
    pattern.rsplit('/').all(|pattern| {
        names.next().is_some_and(|name| match pattern.split_once('*') {
            Some((start, rest)) => match rest.split_once('*') {
                Some((middle, end)) => fits_twice(name, start, middle, end),
                None => {
                    name.len() >= start.len() + rest.len() && name.starts_with(start) && name.ends_with(rest)
                }
            },
            None => name == pattern,
        })
    })
}

fn fits_twice(name: &str, start: &str, middle: &str, end: &str) -> bool {
    let inner = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    inner.is_some_and(|inner| inner.contains(middle))
}

/// Returns the folder that a lock file is for: its own, or the one above where the pattern names a folder as well.
pub(super) fn folder_of<'p>(ecosystem: &Ecosystem, path: &'p str) -> &'p str {
    let lower = path.to_lowercase();
    let pattern = ecosystem.locks.iter().chain(ecosystem.settings).find(|pattern| fits(pattern, &lower));
    let levels = pattern.map_or(0, |pattern| pattern.matches('/').count());
    (0..=levels).fold(path, |path, _| path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_compared_from_the_end_of_a_path() {
        for (pattern, path, is_fit) in [
            ("yarn.lock", "web/yarn.lock", true),
            ("yarn.lock", "web/xyarn.lock", false),
            ("*.lockfile", "gradle/dependency-locks/a.lockfile", true),
            ("*requirements*.in", "dev-requirements-2.in", true),
            ("*requirements*.in", "requirements.ini", false),
            (".cargo/config.toml", "a/.cargo/config.toml", true),
            (".cargo/config.toml", "a/config.toml", false),
            ("requirements/*.txt", "requirements/a.txt", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, path), is_fit, "{pattern} {path}");
        }
    }

    #[test]
    fn roles_are_known_of_all_kinds_of_names() {
        use Role::{Lock, Manifest, Requirements, Settings};
        for (path, role) in [
            ("a/Package-Lock.JSON", Some(Lock)),
            ("bun.lockb", Some(Lock)),
            ("gradle/verification-metadata.xml", Some(Lock)),
            (".terraform.lock.hcl", Some(Lock)),
            ("Chart.lock", Some(Lock)),
            ("conda-lock.yml", Some(Lock)),
            ("Manifest.toml", Some(Lock)),
            ("go.work.sum", Some(Lock)),
            ("packages.lock.json", Some(Lock)),
            ("renv.lock", Some(Lock)),
            ("cabal.project.freeze", Some(Lock)),
            ("some-new-lock.json", Some(Lock)),
            ("script.py.lock", Some(Lock)),
            ("requirements-dev.txt", Some(Requirements)),
            ("requirements/prod.txt", Some(Requirements)),
            (".npmrc", Some(Settings)),
            ("a/.cargo/config.toml", Some(Settings)),
            (".gitmodules", Some(Settings)),
            ("package.json", Some(Manifest)),
            ("pom.xml", Some(Manifest)),
            ("src/lock.rs", None),
        ] {
            assert_eq!(role_of(path).map(|(_, role)| role), role, "{path}");
        }
    }
}
