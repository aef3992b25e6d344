//! Folders that go away: with their owner, or, where that was killed, with the next run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

const PREFIX: &str = "architect-ci-isolated-";

/// Held while the owner lives; the kernel lets go of it whatever happens to the owner.
const LOCK: &str = "lock";

/// A folder of one run's.
#[derive(Debug)]
pub struct Scratch {
    dir: Option<TempDir>,
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one below `temp`.
    pub fn new(temp: &Path) -> io::Result<Self> {
        sweep(temp);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(temp)?;
        // Links in the way to it must not matter to whoever compares paths.
        let path = dir.path().canonicalize()?;
        // Locked before it has the name that others look for: one that is there and free is of a dead run.
        let being_made = path.join("lock.new");
        let lock = File::create(&being_made)?;
        lock.lock()?;
        fs::rename(being_made, path.join(LOCK))?;
        Ok(Self { dir: Some(dir), path, _lock: lock })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it takes on disk.
    pub fn bytes(&self) -> u64 {
        let entries = ignore::WalkBuilder::new(&self.path).standard_filters(false).build();
        let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        sizes.sum()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
        // Gone already, or left to the next run.
        drop(self.dir.take());
    }
}

/// Removes what runs left behind that were killed.
pub fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        // One that has no lock yet is being made.
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&entry.path());
        }
    }
}

/// Removes a folder, also where a command (or the kernel's own work folder) took the rights away.
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
    // One that root has made can be removed all the same, if it is empty.
    if fs::remove_dir(folder).is_ok() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Not the kind of what a link leads to.
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
