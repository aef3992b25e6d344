//! Modes of a checkout: a command that sees the machine's own file system can change the mode of a file of its user by
//! the file's own path, whatever else it may not do. Commands work elsewhere, so nobody who may has done that.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use super::descend::{Visitor, WalkedEntry, descend};
use super::git_folder_guard::Restored;
use super::mirror::find_entry;
use super::path::WorkspacePath;
use super::snapshot::{FileStamp, stamp_of};

/// The bits of a mode that can be set.
const MODE: u32 = 0o7777;
/// Those of them that decide who may execute a file.
const EXECUTE: u32 = 0o111;

/// The modes of all files and folders of a checkout except those in Git's own folders.
pub struct CheckoutModes {
    root: PathBuf,
    /// By path, so that a folder comes before what is in it.
    stamps: BTreeMap<PathBuf, FileStamp>,
}

impl CheckoutModes {
    /// Records the modes below `root`, without reading any file. What cannot be looked at is left out.
    pub fn remember(root: &Path) -> Self {
        let recorder = Recorder::default();
        // As far as the walk got: a file that is missing here cannot be put back.
        let _ = descend(root, (), &recorder);
        let stamps = recorder.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Self { root: root.to_owned(), stamps }
    }

    /// Restores modes, and returns the files and folders that had another. In files that the run has `changed`, who may
    /// execute them is part of the change.
    pub fn restore(&self, changed: &[WorkspacePath], after: &str) -> Vec<Restored> {
        let restored =
            |path: &Path, back| Restored { path: self.root.join(path), after: after.to_owned(), back };
        let Ok(root) = Dir::open_ambient_dir(&self.root, ambient_authority()) else {
            return vec![restored(Path::new(""), false)];
        };
        let changed: BTreeSet<&str> = changed.iter().map(WorkspacePath::as_str).collect();
        let mut all = Vec::new();
        for (path, before) in &self.stamps {
            let (folder, name, now) = match find_entry(&root, path) {
                Ok(Some((folder, name, now))) => (folder, name, stamp_of(&now)),
                Ok(None) => continue,
                Err(_) => {
                    all.push(restored(path, false));
                    continue;
                }
            };
            if !now.is_same_type(before) {
                continue;
            }
            let is_changed = path.to_str().is_some_and(|path| changed.contains(path));
            let wanted = match (now.is_same_file(before), is_changed) {
                (true, false) => before.mode & MODE,
                (true, true) => before.mode & MODE & !EXECUTE | now.mode & EXECUTE,
                // Written anew with the mode that the file had by then, which may not have been its own any more.
                (false, true) => now.mode & MODE & (before.mode | EXECUTE),
                // Somebody else's build output.
                (false, false) => continue,
            };
            if now.mode & MODE != wanted {
                all.push(restored(path, set_mode(&folder, name, wanted).is_ok()));
            }
        }
        all
    }
}

#[cfg(unix)]
fn set_mode(folder: &Dir, name: &Path, mode: u32) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    folder.set_permissions(name, Permissions::from_mode(mode))
}

/// Does nothing: other systems have no modes.
#[cfg(not(unix))]
fn set_mode(_: &Dir, _: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[derive(Default)]
struct Recorder(Mutex<BTreeMap<PathBuf, FileStamp>>);

impl Recorder {
    fn add(&self, path: &Path, metadata: &Metadata) {
        let stamp = stamp_of(metadata);
        if !stamp.is_link() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), stamp);
        }
    }
}

impl Visitor for Recorder {
    type Folder = ();

    fn enter(&self, (): &(), name: &OsStr, path: &Path, metadata: &Metadata) -> io::Result<Option<()>> {
        self.add(path, metadata);
        Ok((name != ".git").then_some(()))
    }

    fn meet(&self, (): &(), met: &WalkedEntry<'_>) -> io::Result<()> {
        self.add(met.path, met.metadata);
        Ok(())
    }

    fn closed(&self, _: &Path) {}

    fn too_deep(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn modes_of_the_same_files_are_put_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        let at = |path: &str| root.join(path);
        let set = |path: &str, mode| {
            fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).expect("a mode");
        };
        let mode = |path: &str| fs::metadata(at(path)).expect("it is there").permissions().mode() & MODE;
        fs::create_dir_all(at("src/deep")).expect("a folder");
        for path in ["src/a", "src/deep/b", "changed", "written", "replaced", "moved"] {
            fs::write(at(path), "x").expect("a file");
            set(path, 0o640);
        }
        let modes = CheckoutModes::remember(&root);
        assert_eq!(modes.restore(&[], "the run"), []);
        // What a build replaces has whatever mode the build gives it.
        for path in ["replaced", "written"] {
            fs::write(at("new"), "x").expect("a file");
            set("new", 0o757);
            fs::rename(at("new"), at(path)).expect("moved");
        }
        set("src/a", 0o4777);
        set("changed", 0o777);
        set("src/deep/b", 0o600);
        set("src/deep", 0o000);
        let target = dir.path().join("elsewhere");
        fs::rename(at("moved"), &target).expect("moved");
        set("elsewhere", 0o600);
        symlink(&target, at("moved")).expect("a link");
        let path = |path: &str| WorkspacePath::parse(path).expect("a plain path");
        let changed = [path("changed"), path("written")];
        let restored = modes.restore(&changed, "the run");
        assert!(restored.iter().all(|restored| restored.back), "{restored:?}");
        let names: Vec<&Path> = restored.iter().filter_map(|it| it.path.strip_prefix(&root).ok()).collect();
        assert_eq!(names, ["changed", "src/a", "src/deep", "src/deep/b", "written"].map(Path::new));
        assert_eq!((mode("src/a"), mode("src/deep/b"), mode("changed")), (0o640, 0o640, 0o751));
        assert_eq!((mode("written"), mode("replaced"), mode("elsewhere")), (0o751, 0o757, 0o600));
        assert_eq!(modes.restore(&changed, "the run"), []);
    }
}
