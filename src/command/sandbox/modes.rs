//! Modes of folders that children see as they are: Landlock has no rule for `chmod`, so a child can change the mode of
//! whatever belongs to its user, and with it who may enter later.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The modes that folders had.
#[derive(Debug, Default)]
pub(super) struct Modes(BTreeMap<PathBuf, RecordedMode>);

#[derive(Debug)]
struct RecordedMode {
    /// Device and inode: another folder of that name is left alone.
    file: (u64, u64),
    mode: u32,
}

impl Modes {
    /// Records the modes of places, and of all folders that contain them.
    pub(super) fn remember<'a>(places: impl Iterator<Item = &'a Path>) -> Self {
        let mut modes = BTreeMap::new();
        for path in places.flat_map(Path::ancestors) {
            if let Some(known) = fs::symlink_metadata(path).ok().and_then(|metadata| known(&metadata)) {
                modes.entry(path.to_owned()).or_insert(known);
            }
        }
        Self(modes)
    }

    /// Restores them, those of outer folders first. Returns the places where that failed.
    pub(super) fn restore(&self) -> Vec<PathBuf> {
        let failed = |path: &Path, before: &RecordedMode| match fs::symlink_metadata(path) {
            Ok(now) => known(&now).is_some_and(|now| {
                now.file == before.file && now.mode != before.mode && give(path, before.mode).is_err()
            }),
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        self.0.iter().filter(|(path, before)| failed(path, before)).map(|(path, _)| path.clone()).collect()
    }
}

/// Returns the mode of anything except a link.
#[cfg(unix)]
fn known(metadata: &fs::Metadata) -> Option<RecordedMode> {
    use std::os::unix::fs::MetadataExt;
    let file = (metadata.dev(), metadata.ino());
    (!metadata.is_symlink()).then(|| RecordedMode { file, mode: metadata.mode() })
}

#[cfg(unix)]
fn give(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
}

/// Returns `None`: other systems have no modes.
#[cfg(not(unix))]
fn known(_: &fs::Metadata) -> Option<RecordedMode> {
    None
}

#[cfg(not(unix))]
fn give(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn modes_of_places_and_of_what_is_above_them_are_restored() {
        let dir = tempfile::tempdir().expect("a folder");
        let above = dir.path().join("above");
        let place = above.join("place");
        fs::create_dir_all(&place).expect("a folder");
        let modes = Modes::remember([place.as_path()].into_iter());
        let mode = |path: &Path| fs::metadata(path).expect("a folder").mode() & 0o777;
        let before = (mode(&above), mode(&place));
        for path in [&place, &above] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("no rights");
        }
        assert_eq!(modes.restore(), Vec::<PathBuf>::new());
        assert_eq!((mode(&above), mode(&place)), before);
        // Another folder of this name is left as it is.
        fs::rename(&place, above.join("away")).expect("moved");
        fs::create_dir(&place).expect("a folder");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o711)).expect("rights");
        modes.restore();
        assert_eq!(mode(&place), 0o711);
    }
}
