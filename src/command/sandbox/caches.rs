//! Caches of build tools on the machine: removes what children left in them, so that whoever comes later
//! finds nothing of theirs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, Metadata};
use workspace::descend::{Visitor, WalkedEntry, descend};

/// Resolution by which file times lag behind the clock.
const COARSE: Duration = Duration::from_millis(10);

/// Removes every file that was created or changed since then, by the time that no program can set. Returns the number of
/// files that could not be removed, and of folders that could not be searched.
pub(super) fn remove_newer(folders: &[PathBuf], since: SystemTime) -> usize {
    let remover = Remover { since: since - COARSE, left: AtomicUsize::new(0), closed: Mutex::default() };
    let mut waiting: Vec<PathBuf> = folders.to_vec();
    while let Some(folder) = waiting.pop() {
        match descend(&folder, (), &remover) {
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => remover.failed(),
            Ok(()) => {}
        }
        let closed = std::mem::take(&mut *remover.closed.lock().unwrap_or_else(PoisonError::into_inner));
        for path in closed.into_iter().map(|path| folder.join(path)) {
            // A folder that nobody has changed since contains nothing new.
            if !std::fs::symlink_metadata(&path).is_ok_and(|metadata| remover.is_new(changed(&metadata))) {
                continue;
            }
            if open_up(&path).is_ok() {
                waiting.push(path);
            } else {
                remover.failed();
            }
        }
    }
    remover.left.into_inner()
}

struct Remover {
    since: SystemTime,
    left: AtomicUsize,
    closed: Mutex<BTreeSet<PathBuf>>,
}

impl Remover {
    fn is_new(&self, changed: Option<SystemTime>) -> bool {
        changed.is_some_and(|changed| changed >= self.since)
    }

    fn failed(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }
}

impl Visitor for Remover {
    type Folder = ();

    fn enter(&self, (): &(), _: &OsStr, _: &Path, _: &Metadata) -> io::Result<Option<()>> {
        Ok(Some(()))
    }

    fn meet(&self, (): &(), met: &WalkedEntry<'_>) -> io::Result<()> {
        if self.is_new(changed_within(met.metadata)) && remove(met.folder, met.name).is_err() {
            self.failed();
        }
        Ok(())
    }

    fn too_deep(&self, _: &Path) -> io::Result<()> {
        // It must not keep the rest from being removed.
        self.failed();
        Ok(())
    }

    fn closed(&self, path: &Path) {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }
}

/// Removes a file, even from a read-only folder, as some caches have them.
fn remove(folder: &Dir, name: &OsStr) -> io::Result<()> {
    match folder.remove_file(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        #[cfg(unix)]
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            use cap_std::fs::{Permissions, PermissionsExt};
            let before = folder.dir_metadata()?.permissions();
            folder.set_permissions(".", Permissions::from_mode(before.mode() | 0o700))?;
            let removed = folder.remove_file(name);
            folder.set_permissions(".", before).and(removed)
        }
        removed => removed,
    }
}

#[cfg(unix)]
fn open_up(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::symlink_metadata(folder)?.permissions().mode();
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode | 0o700))
}

#[cfg(not(unix))]
fn open_up(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::PermissionDenied.into())
}

#[cfg(unix)]
fn time(seconds: i64, nanoseconds: i64) -> Option<SystemTime> {
    let seconds = u64::try_from(seconds).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, u32::try_from(nanoseconds).ok()?))
}

/// Returns when a file was changed last, by the time that no program can set.
#[cfg(unix)]
fn changed(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    time(metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(unix)]
fn changed_within(metadata: &Metadata) -> Option<SystemTime> {
    use cap_std::fs::MetadataExt;
    time(metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}

#[cfg(not(unix))]
fn changed_within(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok().map(cap_std::time::SystemTime::into_std)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_goes_whatever_time_it_claims() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = dir.path().join("cache");
        std::fs::create_dir_all(cache.join("deep")).expect("a folder");
        std::fs::write(cache.join("old"), "").expect("a file");
        // Times are of a coarse clock: a moment later by it, too.
        let before =
            std::fs::metadata(cache.join("old")).and_then(|metadata| metadata.modified()).expect("a time");
        let probe = dir.path().join("probe");
        while SystemTime::now() < before + 4 * COARSE {
            std::fs::write(&probe, "").expect("a file");
        }
        let since = SystemTime::now();
        let new = std::fs::File::create(cache.join("deep/new")).expect("a file");
        new.set_modified(SystemTime::UNIX_EPOCH).expect("an old time");
        assert_eq!(remove_newer(&[cache.clone(), dir.path().join("missing")], since), 0);
        assert!(cache.join("old").exists() && !cache.join("deep/new").exists());
        assert_eq!(remove_newer(&[], since), 0);
        let rights = |folder: &Path, mode| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).expect("rights");
        };
        for (folder, mode) in [("closed", 0o000), ("read-only", 0o555)] {
            std::fs::create_dir(cache.join(folder)).expect("a folder");
            std::fs::write(cache.join(folder).join("new"), "").expect("a file");
            rights(&cache.join(folder), mode);
        }
        assert_eq!(remove_newer(std::slice::from_ref(&cache), since), 0);
        rights(&cache.join("closed"), 0o700);
        assert!(!cache.join("closed/new").exists() && !cache.join("read-only/new").exists());
    }
}
