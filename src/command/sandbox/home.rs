//! Private home folder for children that see the machine's own file system: programs write settings and locks to it as a
//! matter of course. What children may see of the real one is linked into it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Entries of Cargo's own folder that children see, wherever it is.
const CARGO: [&str; 6] = ["bin", "env", "registry", "git", "config.toml", "config"];

/// Variables that name folders for settings and data, in which programs create files.
const FOLDERS: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CARGO_HOME"];

/// A private home folder.
#[derive(Clone, Debug)]
pub(super) struct Home {
    real: PathBuf,
    private: PathBuf,
    cargo: Option<PathBuf>,
}

impl Home {
    /// Fills an empty folder with links to those `places` that are below the real home folder. `cargo` is Cargo's own
    /// folder, if a variable names it.
    pub(super) fn make<'a>(
        private: &Path,
        real: &Path,
        places: impl Iterator<Item = &'a PathBuf>,
        cargo: Option<&Path>,
    ) -> io::Result<Self> {
        let mut places: Vec<&PathBuf> = places.filter(|place| place.exists()).collect();
        // A folder that contains others comes before them.
        places.sort_by_key(|place| place.components().count());
        for place in places {
            if let Some(below) = place.strip_prefix(real).ok().filter(|below| !below.as_os_str().is_empty()) {
                show(place, &private.join(below))?;
            }
        }
        let cargo = match cargo.filter(|cargo| !cargo.starts_with(real)) {
            Some(cargo) => {
                let folder = private.join(".cargo-home");
                fs::create_dir_all(&folder)?;
                for entry in CARGO.iter().filter(|entry| cargo.join(entry).exists()) {
                    show(&cargo.join(entry), &folder.join(entry))?;
                }
                Some(folder)
            }
            None => None,
        };
        Ok(Self { real: real.to_owned(), private: private.to_owned(), cargo })
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.private
    }

    /// Makes a child's variables name this home folder instead of the real one.
    pub(super) fn adapt(&self, environment: &mut BTreeMap<String, String>) {
        environment.insert("HOME".to_owned(), self.private.display().to_string());
        for name in FOLDERS {
            let Some(value) = environment.get_mut(name) else { continue };
            if let Ok(below) = Path::new(value.as_str()).strip_prefix(&self.real) {
                *value = self.private.join(below).display().to_string();
            }
        }
        if let Some(cargo) = &self.cargo {
            environment.insert("CARGO_HOME".to_owned(), cargo.display().to_string());
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

#[cfg(unix)]
fn link(place: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(place, at)
}

/// Does nothing: other systems have no sandbox.
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}
