//! Places of a machine that children see: the system, toolchains, and caches. Nothing else in a home folder
//! is visible.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::hidden;
use super::known_places::{
    CACHE_VARIABLES, CACHES, OWNED, RESULT_VARIABLES, SETTINGS, SYSTEM, TOOLCHAIN_VARIABLES, TOOLCHAINS,
};
use super::settings_file::holds_credential;

/// The places of one machine, all absolute. In each list of folders, none is below another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The system, and what the configuration names; always visible.
    pub(super) readable: Vec<PathBuf>,
    /// Toolchains; always visible, and what builds add to them is discarded.
    pub(super) toolchains: Vec<PathBuf>,
    /// Configuration files without credentials.
    pub(super) settings: Vec<PathBuf>,
    /// Configuration files with a credential, which are not visible.
    pub(super) withheld: Vec<PathBuf>,
    /// Folders that builds write to.
    pub(super) caches: Vec<PathBuf>,
    /// Those among them that variables name for results of builds.
    pub(super) results: Vec<PathBuf>,
    /// Paths in visible places that are hidden.
    pub(super) hidden: Vec<PathBuf>,
    /// The home folder.
    pub(super) home: Option<PathBuf>,
    /// Where places are whose paths lead through links.
    real: BTreeMap<PathBuf, PathBuf>,
}

impl Places {
    /// Finds the places by the variables of children, and adds what the configuration names. Places in `workspace` are
    /// taken by their names alone: whoever wrote its files decides where links lead.
    pub(super) fn find(variables: &BTreeMap<String, String>, more: &[PathBuf], workspace: &Path) -> Self {
        let folder = |name: &str| variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME").filter(|home| home.parent().is_some());
        let below = |names: &[&str]| -> Vec<PathBuf> {
            home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect()
        };
        let cargo = folder("CARGO_HOME");
        let temp = folder("RUNNER_TEMP");
        let is_open = |path: &PathBuf| {
            // A variable that names a folder around the home folder or the runner's files opens nothing.
            let holds = |other: &Option<PathBuf>| other.as_ref().is_some_and(|other| other.starts_with(path));
            path.parent().is_some() && !holds(&home) && !holds(&temp)
        };
        let programs = variables.get("PATH").into_iter().flat_map(|path| std::env::split_paths(path));
        let programs =
            programs.filter(|path| path.is_absolute()).map(|path| toolchain_of(path, home.as_deref()));
        let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| folder(name));
        let java =
            variables.iter().filter(|(name, _)| name.starts_with("JAVA_HOME") || name.starts_with("GOROOT_"));
        let java = java.map(|(_, path)| PathBuf::from(path)).filter(|path| path.is_absolute());
        let cargo_places = |names: &[&str]| {
            cargo.iter().flat_map(|cargo| names.iter().map(|name| cargo.join(name))).collect()
        };
        let cargo_tools: Vec<PathBuf> = cargo_places(&["bin", "env"]);
        let cargo_caches: Vec<PathBuf> = cargo_places(&["registry", "git"]);
        let opened = programs.chain(named).chain(java).filter(is_open);
        let toolchains = below(&TOOLCHAINS).into_iter().chain(cargo_tools).chain(opened);
        let readable = SYSTEM.iter().map(PathBuf::from).chain(more.iter().cloned());
        let of_system = |path: &PathBuf| OWNED.iter().any(|folder| path.starts_with(folder));
        let downloads = folder("GOPATH").map(|path| path.join("pkg"));
        let caches = CACHE_VARIABLES.iter().filter_map(|name| folder(name)).chain(downloads).filter(is_open);
        let caches = below(&CACHES).into_iter().chain(cargo_caches).chain(caches);
        let settings = below(&SETTINGS).into_iter().chain(cargo_places(&["config.toml", "config"]) as Vec<_>);
        let (settings, withheld) =
            settings.filter(|path| path.is_file()).partition(|path| !holds_credential(path));
        let mut places = Self {
            readable: outermost(readable.filter(|path| path.exists())),
            toolchains: outermost(toolchains.filter(|path| path.exists() && !of_system(path))),
            settings,
            withheld,
            caches: outermost(caches.filter(|path| path.is_dir())),
            results: RESULT_VARIABLES.iter().filter_map(|name| folder(name)).collect(),
            hidden: hidden::of_system().chain(hidden::of_runners(temp.as_deref())).collect(),
            home,
            real: BTreeMap::new(),
        };
        let lists = [&places.toolchains, &places.caches, &more.to_vec()];
        let programs = lists.into_iter().flatten().filter(|place| !place.starts_with(workspace));
        let credentials: Vec<PathBuf> =
            programs.flat_map(|place| hidden::credentials(place, holds_credential)).collect();
        places.hidden.extend(credentials);
        // What this user cannot read need not be hidden.
        places.hidden.retain(|path| is_readable(path));
        let lists = [&places.readable, &places.toolchains, &places.settings, &places.caches, &places.hidden];
        let outside = lists.into_iter().flatten().filter(|place| !place.starts_with(workspace));
        let real = outside.filter_map(|place| Some((place.clone(), place.canonicalize().ok()?)));
        places.real = real.filter(|(place, real)| place != real).collect();
        places
    }

    /// Returns where a place is, as a path that led through no link when the run began.
    pub(super) fn real(&self, place: &Path) -> PathBuf {
        self.real.get(place).map_or_else(|| place.to_owned(), Clone::clone)
    }
}

#[cfg(unix)]
fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn is_readable(path: &Path) -> bool {
    path.exists()
}

/// Returns the paths without those that are below another.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let sorted: BTreeSet<PathBuf> = paths.filter(|path| is_plain(path)).collect();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.last().is_some_and(|above| path.starts_with(above)) {
            kept.push(path);
        }
    }
    kept
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// Returns the folder of a whole toolchain by a folder of its programs: those in `…/node/bin` have their
/// libraries in `…/node/lib`.
fn toolchain_of(programs: PathBuf, home: Option<&Path>) -> PathBuf {
    let is_programs = programs.file_name().is_some_and(|name| {
        ["bin", "sbin", "shims", "Scripts", "condabin"].iter().any(|known| name == *known)
    });
    let shared = |folder: &Path| {
        // Folders that contain many unrelated things.
        folder.parent().is_none()
            || home.is_some_and(|home| home.starts_with(folder))
            || folder
                .file_name()
                .is_some_and(|name| [".local", ".cargo", ".config"].iter().any(|known| name == *known))
    };
    match programs.parent() {
        Some(folder) if is_programs && !shared(folder) => folder.to_owned(),
        _ => programs,
    }
}

/// Returns the folders that words name by absolute paths, and the folders of files that they name.
pub(super) fn named_by(words: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let holds_more = |folder: &Path| {
        folder.parent().is_none()
            || home.is_some_and(|home| home.starts_with(folder))
            || folder == Path::new("/tmp")
    };
    let named = words.iter().flat_map(|word| word.split(['=', ':', ' '])).map(Path::new);
    let named = named.filter(|path| path.is_absolute() && is_plain(path)).filter_map(|path| {
        // What a program loads is next to it, in `../lib`, or among the packages to which it belongs.
        let packages = path.ancestors().filter(|above| above.ends_with("node_modules")).last();
        let folder = match packages {
            Some(packages) => packages.to_owned(),
            None if path.is_file() => toolchain_of(path.parent()?.to_owned(), home),
            None => path.to_owned(),
        };
        let folder = folder.as_path();
        let place = if holds_more(folder) { path } else { folder };
        (place.exists() && !holds_more(place)).then(|| place.to_owned())
    });
    outermost(named)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn variables(of: &[(&str, &Path)]) -> BTreeMap<String, String> {
        of.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect()
    }

    #[test]
    fn toolchains_and_caches_of_a_home_folder_are_seen_and_nothing_else_of_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("me");
        for folder in
            [".ssh", ".cargo/bin", ".cargo/registry", ".rustup", "tools/node/bin", ".local/bin", "_temp"]
        {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        fs::write(home.join(".npmrc"), "//registry/:_authToken=abc\n").expect("a file");
        fs::write(home.join(".gitconfig"), "[user]\nname = me\n").expect("a file");
        let path = format!("{0}/tools/node/bin:{0}/.local/bin:.:relative", home.display());
        let mut variables =
            variables(&[("HOME", &home), ("RUNNER_TEMP", &home.join("_temp")), ("GOPATH", &home)]);
        variables.insert("PATH".to_owned(), path);
        let places = Places::find(&variables, &[], &home.join("work"));
        let below: Vec<&Path> =
            places.toolchains.iter().filter_map(|path| path.strip_prefix(&home).ok()).collect();
        assert_eq!(below, [".cargo/bin", ".local/bin", ".rustup", "tools/node"].map(Path::new));
        assert_eq!(
            places.caches,
            [home.join(".cargo/registry")],
            "GOPATH names everything, so it opens nothing"
        );
        assert_eq!(places.settings, [home.join(".gitconfig")]);
        assert_eq!(places.withheld, [home.join(".npmrc")]);
        assert!(places.hidden.contains(&home.join("_temp")));
    }

    #[test]
    fn programs_bring_along_what_they_load() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        for file in
            ["node_modules/a/dist/index.js", "node_modules/b/index.js", "venv/bin/serve", "tools/one.py"]
        {
            fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(root.join(file), "").expect("a file");
        }
        let named = |word: &str| named_by(&[word.to_owned()], Some(&root.join("home")));
        let at = |path: &str| root.join(path).display().to_string();
        assert_eq!(named(&at("node_modules/a/dist/index.js")), [root.join("node_modules")]);
        assert_eq!(named(&at("venv/bin/serve")), [root.join("venv")]);
        assert_eq!(named(&format!("--config={}", at("tools/one.py"))), [root.join("tools")]);
        for nothing in ["/", "relative/path", "/no/such/file", &root.display().to_string()] {
            assert!(named(nothing).is_empty(), "{nothing}");
        }
    }
}
