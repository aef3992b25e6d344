//! Caches of build tools on the machine: removes what children left in them, so that whoever comes later
//! finds nothing of theirs.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::{WalkBuilder, WalkState};

/// Resolution by which file times lag behind the clock.
const COARSE: Duration = Duration::from_millis(10);

/// Removes every file that was created or changed since then, by the time that no program can set. Returns
/// the number of files that could not be removed.
pub(super) fn remove_newer(folders: &[PathBuf], since: SystemTime) -> usize {
    let Some((first, others)) = folders.split_first() else { return 0 };
    let since = since - COARSE;
    let mut walk = WalkBuilder::new(first);
    for folder in others {
        walk.add(folder);
    }
    let left = std::sync::atomic::AtomicUsize::new(0);
    walk.standard_filters(false).threads(2).build_parallel().run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            if is_file && is_newer(entry.path(), since) && std::fs::remove_file(entry.path()).is_err() {
                left.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    left.into_inner()
}

#[cfg(unix)]
fn is_newer(path: &Path, since: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds) >= since
}

#[cfg(not(unix))]
fn is_newer(path: &Path, since: SystemTime) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified >= since)
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
        // File times come from a coarse clock, so wait until it has advanced.
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
    }
}
