//! Mount points in folders that commands write to. The runner creates them as its own user, before a child
//! mounts anything there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Mount;

/// Creates mount points in the private folders: if root created them, other users could not remove them.
pub(super) fn prepare(
    private: &Path,
    home: Option<&Path>,
    temporary: &[&str],
    mounts: &[Mount],
) -> io::Result<()> {
    let home = home.map(|home| (home.to_owned(), private.join("home")));
    let temporary = temporary.iter().map(|folder| (PathBuf::from(folder), private.join("tmp")));
    for (seen, folder) in home.into_iter().chain(temporary) {
        for mount in mounts {
            let (from, at) = match mount {
                Mount::Bind { from, at, .. } => (from.as_path(), at),
                Mount::Overlay { overlay, at, .. } | Mount::Cache { overlay, at } => (overlay.bottom(), at),
                _ => continue,
            };
            let Some(below) = at.strip_prefix(&seen).ok().filter(|below| below.file_name().is_some()) else {
                continue;
            };
            let place = folder.join(below);
            clear_links(&folder, below)?;
            if fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            if from.is_dir() {
                fs::create_dir_all(&place)?;
            } else {
                fs::create_dir_all(place.parent().unwrap_or(&folder))?;
                fs::File::create(&place)?;
            }
        }
    }
    Ok(())
}

/// Removes links (and files) that a command left where a folder is needed, because they would lead elsewhere
/// when one is created below them.
fn clear_links(folder: &Path, below: &Path) -> io::Result<()> {
    let mut way = folder.to_owned();
    let last = below.components().count().saturating_sub(1);
    for (index, name) in below.components().enumerate() {
        way.push(name);
        match fs::symlink_metadata(&way) {
            Ok(metadata) if metadata.is_symlink() || !metadata.is_dir() && index < last => {
                fs::remove_file(&way)?;
            }
            Ok(_) => {}
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}
