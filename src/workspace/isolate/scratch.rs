//! Scratch folders: they are removed with their owner or, if the owner was killed, by the next run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

const PREFIX: &str = "architect-ci-isolated-";

/// Name of the file that is locked while the owner lives. The kernel releases the lock however the owner
/// ends.
const LOCK: &str = "lock";

/// A scratch folder of one run.
#[derive(Debug)]
pub struct Scratch {
    dir: Option<TempDir>,
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Creates a scratch folder below `temp`, and removes those of dead runs there.
    pub fn new(temp: &Path) -> io::Result<Self> {
        sweep(temp);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(temp)?;
        // A path without links, because others compare paths.
        let path = dir.path().canonicalize()?;
        // Locked before it has the name that others look for: one that is there and not locked belongs to a
        // dead run.
        let being_made = path.join("lock.new");
        let lock = File::create(&being_made)?;
        lock.lock()?;
        fs::rename(being_made, path.join(LOCK))?;
        Ok(Self { dir: Some(dir), path, _lock: lock })
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
        remove(&self.path);
        // Already gone, or left to the next run.
        drop(self.dir.take());
    }
}

/// Removes what killed runs left behind.
pub fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        // A folder without a lock file is still being created.
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&entry.path());
        }
    }
}

/// Removes a folder, even if a command (or the kernel, for its work folder) took the permissions away.
pub(super) fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_ok() {
        return;
    }
    open_up(path);
    let _ = fs::remove_dir_all(path);
}

#[cfg(unix)]
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    // A folder that root created can be removed all the same if it is empty.
    if fs::remove_dir(folder).is_ok() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // The entry's own type; a link is not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn open_up(_: &Path) {}

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
        sweep(temp.path());
        assert!(living.path().exists() && other.exists() && !dead.exists());
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
