//! Table of the files that say what package managers fetch: lock files, manifests, and settings that say where packages come
//! from.

use super::ecosystem::Ecosystem;
use super::ecosystems::ECOSYSTEMS;

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
