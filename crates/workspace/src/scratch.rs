//! Scratch folders: they are removed with their owner or, if the owner was killed, by the next run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use crate::entry::open_file;
use crate::removal::{remove_in, remove_tree};

const PREFIX: &str = "architect-ci-isolated-";

/// Name of the file that is locked while the owner lives. The kernel releases the lock however the owner
/// ends.
const LOCK: &str = "lock";

/// A scratch folder of one run.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Creates a scratch folder below `temp`, and removes those of dead runs there.
    pub fn new(temp: &Path) -> io::Result<Self> {
        sweep(temp);
        // A path without links, because others compare paths.
        let temp = temp.canonicalize()?;
        // It is removed by its own rules, not by those of the library.
        let path = tempfile::Builder::new().prefix(PREFIX).tempdir_in(temp)?.keep();
        // Locked before it has the name that others look for: one that is there and not locked belongs to a
        // dead run.
        let being_made = path.join("lock.new");
        let lock = File::create(&being_made)?;
        lock.lock()?;
        fs::rename(being_made, path.join(LOCK))?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the files in it, in bytes.
    pub fn bytes(&self) -> u64 {
        let entries = ignore::WalkBuilder::new(&self.path).standard_filters(false).build();
        let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        sizes.sum()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the next run.
        let _ = remove_tree(&self.path);
    }
}

/// Removes what killed runs left behind.
pub fn sweep(temp: &Path) {
    let Ok(folder) = Dir::open_ambient_dir(temp, ambient_authority()) else { return };
    for entry in folder.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        // The entry's own type: what a link leads to is nobody's scratch folder.
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX))
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && is_own(&metadata));
        let Some(scratch) = is_ours.then(|| folder.open_dir_nofollow(&name).ok()).flatten() else { continue };
        // A folder without a lock file is still being created. Whatever else has that name is not waited for.
        if open_file(&scratch, LOCK).is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = remove_in(&folder, &name);
        }
    }
}

/// Returns whether something belongs to this user: others may use the same folder for temporary files.
#[cfg(unix)]
fn is_own(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_run_left_is_swept_and_what_lives_stays() {
        let temp = tempfile::tempdir().expect("a folder");
        let living = Scratch::new(temp.path()).expect("a scratch folder");
        let dead = temp.path().join(format!("{PREFIX}dead"));
        fs::create_dir_all(dead.join("work/work")).expect("a folder");
        File::create(dead.join(LOCK)).expect("a file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(dead.join("work/work"), fs::Permissions::from_mode(0o000))
                .expect("no rights");
        }
        let other = temp.path().join("other");
        fs::create_dir(&other).expect("a folder");
        #[cfg(unix)]
        {
            // Nothing that somebody else may have left keeps it waiting, or leads it elsewhere.
            let planted = temp.path().join(format!("{PREFIX}planted"));
            fs::create_dir(&planted).expect("a folder");
            let pipe = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, planted.join(LOCK), pipe, 0o600.into(), 0).expect("a pipe");
            fs::create_dir(other.join("kept")).expect("a folder");
            File::create(other.join(LOCK)).expect("a file");
            std::os::unix::fs::symlink(&other, temp.path().join(format!("{PREFIX}link"))).expect("a link");
        }
        sweep(temp.path());
        assert!(living.path().exists() && other.exists() && !dead.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
