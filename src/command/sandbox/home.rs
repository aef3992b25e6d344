//! Private home folder for children that see the machine's own file system: programs write settings, locks and caches to it as
//! a matter of course. What children may see of the real one is linked into it; caches are their own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::caches::{link, seed};
use super::known_places::CACHE_VARIABLES;

/// Entries of Cargo's own folder that children see, wherever it is.
const CARGO: [&str; 4] = ["bin", "env", "config.toml", "config"];

/// Caches in Cargo's own folder.
const CARGO_CACHES: [&str; 2] = ["registry", "git"];

/// Variables that name folders for settings and data, in which programs create files.
const FOLDERS: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CARGO_HOME"];

/// Where caches are that are not below the real home folder.
const CACHES: &str = ".caches";

/// Variables with options for Java, which takes the home folder from the list of users.
const JAVA_OPTIONS: [&str; 3] = ["MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"];

/// What children see of the machine's home folder.
pub(super) struct Shown<'a> {
    /// The home folder.
    pub(super) real: &'a Path,
    /// Cargo's own folder, if a variable names it.
    pub(super) cargo: Option<&'a Path>,
    /// What is linked: nobody writes to it.
    pub(super) linked: Vec<&'a Path>,
    /// Caches, each by its name and where that leads; `None` for one that begins empty.
    pub(super) caches: Vec<(&'a Path, Option<PathBuf>)>,
    /// What is left out of them.
    pub(super) hidden: Vec<PathBuf>,
}

/// A private home folder.
#[derive(Clone, Debug)]
pub(super) struct Home {
    real: PathBuf,
    private: PathBuf,
    /// Cargo's own folder, if a variable names one that is not below the home folder, and the private one.
    cargo: Option<(PathBuf, PathBuf)>,
    linked: Vec<PathBuf>,
}

impl Home {
    /// Fills an empty folder: with caches of its own, and with links to the rest of what is shown.
    pub(super) fn make(private: &Path, shown: Shown<'_>) -> io::Result<Self> {
        let Shown { real, cargo, mut linked, caches, hidden } = shown;
        linked.retain(|place| place.exists());
        // A folder that contains others comes before them.
        linked.sort_by_key(|place| place.components().count());
        let cargo = cargo.filter(|cargo| !cargo.starts_with(real));
        let home = Self {
            real: real.to_owned(),
            private: private.to_owned(),
            cargo: cargo.map(|cargo| (cargo.to_owned(), private.join(".cargo-home"))),
            linked: linked.iter().map(|place| (*place).to_owned()).collect(),
        };
        // These come first, so that no link leads out of the private folder meanwhile.
        for (cache, leads_to) in &caches {
            let own = home.own(cache);
            match leads_to {
                Some(real) => seed(&own, real, &hidden)?,
                None => fs::create_dir_all(&own)?,
            }
        }
        for place in linked {
            if let Some(below) = place.strip_prefix(real).ok().filter(|below| below.file_name().is_some()) {
                show(place, &private.join(below))?;
            }
        }
        if let Some((cargo, folder)) = &home.cargo {
            fs::create_dir_all(folder)?;
            for entry in CARGO.iter().filter(|entry| cargo.join(entry).exists()) {
                show(&cargo.join(entry), &folder.join(entry))?;
            }
        }
        Ok(home)
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.private
    }

    /// Makes a child's variables name this home folder instead of the real one, and caches of its own. Those in the folders
    /// `kept` remain what they are.
    pub(super) fn adapt(&self, environment: &mut BTreeMap<String, String>, kept: &[&Path]) {
        environment.insert("HOME".to_owned(), self.private.display().to_string());
        for name in FOLDERS {
            let Some(value) = environment.get_mut(name) else { continue };
            if let Ok(below) = Path::new(value.as_str()).strip_prefix(&self.real) {
                *value = self.private.join(below).display().to_string();
            }
        }
        if let Some((_, cargo)) = &self.cargo {
            environment.insert("CARGO_HOME".to_owned(), cargo.display().to_string());
        }
        if let Some(go) = environment.get("GOPATH").map(|path| Path::new(path).join("pkg/mod")) {
            environment.entry("GOMODCACHE".to_owned()).or_insert_with(|| go.display().to_string());
        }
        for name in CACHE_VARIABLES {
            let Some(value) = environment.get_mut(name) else { continue };
            let path = Path::new(value.as_str());
            if path.is_absolute() && !kept.iter().any(|folder| path.starts_with(folder)) {
                *value = self.own(path).display().to_string();
            }
        }
        for name in JAVA_OPTIONS {
            let options = environment.entry(name.to_owned()).or_default();
            options.insert_str(0, &format!("-Duser.home={} ", self.private.display()));
            options.truncate(options.trim_end().len());
        }
        // Files of the private cache may be links, which must not be linked into an environment.
        environment.entry("UV_LINK_MODE".to_owned()).or_insert_with(|| "copy".to_owned());
    }

    /// Returns where a cache is in the private home folder.
    fn own(&self, cache: &Path) -> PathBuf {
        if let Some((cargo, folder)) = &self.cargo
            && let Some(name) = CARGO_CACHES.iter().find(|name| cache.starts_with(cargo.join(name)))
        {
            return folder.join(name);
        }
        let is_linked = self.linked.iter().any(|place| cache.starts_with(place));
        match cache.strip_prefix(&self.real) {
            Ok(below) if !is_linked => self.private.join(below),
            _ => {
                let names = cache.components().filter(|name| matches!(name, Component::Normal(_)));
                self.private.join(CACHES).join(names.collect::<PathBuf>())
            }
        }
    }
}

fn show(place: &Path, at: &Path) -> io::Result<()> {
    fs::create_dir_all(at.parent().unwrap_or(at))?;
    match link(place, at) {
        // Something that contains it is linked already.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}
