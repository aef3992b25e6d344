//! Snapshots of file metadata: proof that a dry run left the checkout as it was.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descend::{Visitor, WalkedEntry, descend};

/// Where every file of a checkout stood at one moment: tracked, untracked and ignored ones.
///
/// From `.git`, it contains the files that could run or redirect something later: `config`, `HEAD`, and
/// `hooks`.
#[derive(Debug)]
pub struct Snapshot {
    root: PathBuf,
    except: PathBuf,
    files: BTreeMap<PathBuf, FileStamp>,
}

/// Metadata that changes with a file's content, mode, or identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub(super) size: u64,
    pub(super) mode: u32,
    inode: u64,
    /// Times of the last change of content and of the inode, each in seconds and nanoseconds.
    pub(super) times: [i64; 4],
}

/// The bits of a mode that hold the type of a file, and those of a symbolic link.
const TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

impl FileStamp {
    /// Returns whether this is a pipe, socket or device.
    pub(crate) fn is_special(&self) -> bool {
        const FILE: u32 = 0o100_000;
        cfg!(unix) && !matches!(self.mode & TYPE, FILE | LINK)
    }

    /// Returns whether both are of the same type.
    pub(super) fn is_same_type(&self, other: &Self) -> bool {
        self.mode & TYPE == other.mode & TYPE
    }

    /// Returns whether both are of one file or folder, whatever it holds.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode && self.is_same_type(other)
    }

    /// Returns whether this is a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        cfg!(unix) && self.mode & TYPE == LINK
    }
}

/// A file that differs from the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "path")]
pub enum Difference {
    /// A file that did not exist.
    Added(String),
    /// A file whose content, mode, or identity changed.
    Changed(String),
    /// A file that no longer exists.
    Removed(String),
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // What stands for a folder that could be read before.
            Self::Added(path) if path.is_empty() => f.write_str("the folder itself cannot be read any more"),
            Self::Added(path) => write!(f, "added {path}"),
            Self::Changed(path) => write!(f, "changed {path}"),
            Self::Removed(path) => write!(f, "removed {path}"),
        }
    }
}

impl Snapshot {
    /// Records every file below `root`, except those below `except` (where reports go), without reading any.
    pub fn take(root: &Path, except: &Path) -> Self {
        let recorder =
            Recorder { except: except.strip_prefix(root).ok().map(Path::to_owned), files: Mutex::default() };
        if let Err((path, _)) = descend(root, (), &recorder) {
            // What cannot be looked at counts as a file of its own, so that it shows if that is new.
            recorder.add(path.strip_prefix(root).unwrap_or(&path).to_owned(), UNREADABLE);
        }
        let _ = recorder.add_git(root);
        let files = recorder.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        Self { root: root.to_owned(), except: except.to_owned(), files }
    }

    /// Returns the number of files in the snapshot.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether the snapshot has no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns what differs now. `unchanged` says which of the files that were touched still hold what they held:
    /// Git's index knows that of tracked ones.
    pub fn differences(&self, unchanged: impl FnOnce(&[String]) -> Vec<String>) -> Vec<Difference> {
        let now = Self::take(&self.root, &self.except);
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let mut differences = Vec::new();
        let mut touched = Vec::new();
        for (path, before) in &self.files {
            match now.files.get(path) {
                None => differences.push(Difference::Removed(name(path))),
                Some(after) if after == before => {}
                Some(after) if after.size == before.size && after.mode == before.mode => {
                    touched.push(name(path));
                }
                Some(_) => differences.push(Difference::Changed(name(path))),
            }
        }
        let added = now.files.keys().filter(|path| !self.files.contains_key(*path));
        differences.extend(added.map(|path| Difference::Added(name(path))));
        if !touched.is_empty() {
            let same = unchanged(&touched);
            differences
                .extend(touched.into_iter().filter(|path| !same.contains(path)).map(Difference::Changed));
        }
        differences.sort();
        differences
    }
}

/// Records files as a walk finds them, through no link.
struct Recorder {
    /// The folder that is left out, relative to the root.
    except: Option<PathBuf>,
    files: Mutex<BTreeMap<PathBuf, FileStamp>>,
}

impl Recorder {
    fn add(&self, path: PathBuf, stamp: FileStamp) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(path, stamp);
    }

    /// Records the files of the Git folder that could run or redirect something later.
    fn add_git(&self, root: &Path) -> io::Result<()> {
        let git = Dir::open_ambient_dir(root, ambient_authority())?.open_dir_nofollow(".git")?;
        for name in ["config", "HEAD"] {
            if let Ok(metadata) = git.symlink_metadata(name) {
                self.add(Path::new(".git").join(name), stamp_of(&metadata));
            }
        }
        for hook in git.open_dir_nofollow("hooks")?.entries()?.flatten() {
            if let Ok(metadata) = hook.metadata() {
                self.add(Path::new(".git/hooks").join(hook.file_name()), stamp_of(&metadata));
            }
        }
        Ok(())
    }
}

impl Visitor for Recorder {
    type Folder = ();

    fn enter(&self, (): &(), name: &OsStr, path: &Path, _: &cap_std::fs::Metadata) -> io::Result<Option<()>> {
        Ok((name != ".git" && self.except.as_deref() != Some(path)).then_some(()))
    }

    fn meet(&self, (): &(), met: &WalkedEntry<'_>) -> io::Result<()> {
        if met.name != ".git" {
            self.add(met.path.to_owned(), stamp_of(met.metadata));
        }
        Ok(())
    }

    fn closed(&self, path: &Path) {
        self.add(path.to_owned(), UNREADABLE);
    }

    fn too_deep(&self, path: &Path) -> io::Result<()> {
        self.closed(path);
        Ok(())
    }
}

/// The stamp of what could not be looked at.
const UNREADABLE: FileStamp = FileStamp { size: 0, mode: 0, inode: 0, times: [0; 4] };

#[cfg(unix)]
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;
    FileStamp {
        size: metadata.size(),
        mode: metadata.mode(),
        inode: metadata.ino(),
        times: [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()],
    }
}

#[cfg(not(unix))]
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default();
    let seconds = i64::try_from(modified.as_secs()).unwrap_or(i64::MAX);
    let times = [seconds, i64::from(modified.subsec_nanos()), 0, 0];
    FileStamp { size: metadata.len(), mode: u32::from(metadata.permissions().readonly()), inode: 0, times }
}

/// Reads the same from metadata that was read through an open folder.
#[cfg(unix)]
pub(crate) fn stamp_of(metadata: &cap_std::fs::Metadata) -> FileStamp {
    use cap_std::fs::MetadataExt;
    FileStamp {
        size: metadata.size(),
        mode: metadata.mode(),
        inode: metadata.ino(),
        times: [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()],
    }
}

/// Reads the same from metadata that was read through an open folder.
#[cfg(not(unix))]
pub(crate) fn stamp_of(metadata: &cap_std::fs::Metadata) -> FileStamp {
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    let modified =
        modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    let seconds = i64::try_from(modified.as_secs()).unwrap_or(i64::MAX);
    let times = [seconds, i64::from(modified.subsec_nanos()), 0, 0];
    FileStamp { size: metadata.len(), mode: u32::from(metadata.permissions().readonly()), inode: 0, times }
}
