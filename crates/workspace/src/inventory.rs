//! Inventory of a folder: the metadata of everything in it at one moment, whatever ignore files and Git say. Changes
//! are found by taking another one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Metadata;

use super::FileError;
use super::descend::{Visitor, WalkedEntry, descend};
use super::disk::DiskWorkspace;
use super::path::WorkspacePath;
use super::snapshot::{FileStamp, stamp_of};

/// The paths that a command touched.
#[derive(Debug, Default)]
pub struct Touched {
    /// Files, links and special files.
    pub files: BTreeSet<WorkspacePath>,
    /// New folders without files.
    pub folders: BTreeSet<WorkspacePath>,
    /// Folders that are gone, or were replaced.
    pub gone_folders: BTreeSet<WorkspacePath>,
    /// Git folders other than the checkout's own.
    pub repositories: BTreeSet<WorkspacePath>,
    /// Pipes, sockets and devices; each is among the files as well, because it may stand where one was.
    pub special: BTreeSet<WorkspacePath>,
    /// The number of entries whose names are not UTF-8.
    pub unnamed: usize,
}

/// The metadata of every file and folder except those in the root's `.git`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    pub(super) files: BTreeMap<PathBuf, FileStamp>,
    /// Folders and their modes.
    folders: BTreeMap<PathBuf, u32>,
    /// Folders that this user cannot list or search.
    pub(super) closed: BTreeSet<PathBuf>,
}

impl Inventory {
    /// Returns the files, or `None` if this user could not look into every folder.
    pub fn into_stamps(self) -> Option<BTreeMap<PathBuf, FileStamp>> {
        self.closed.is_empty().then_some(self.files)
    }

    /// Records everything below a folder.
    pub fn take(root: &Path) -> Result<Self, FileError> {
        Self::take_below(root).map_err(|(path, error)| FileError::Io {
            path: parse(&path).unwrap_or_else(WorkspacePath::root),
            error,
        })
    }

    /// The same; the error has the path below `root` at which it occurred.
    pub(crate) fn take_below(root: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let recorder = Recorder(Mutex::default());
        descend(root, (), &recorder).map_err(|(path, error)| {
            (path.strip_prefix(root).map_or_else(|_| path.clone(), Path::to_owned), error)
        })?;
        Ok(recorder.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the files that differ in another inventory, and those that only one of the two has.
    pub(crate) fn differing<'a>(&'a self, now: &'a Self) -> BTreeSet<&'a Path> {
        let gone = self.files.keys().filter(|path| !now.files.contains_key(*path));
        let other = now.files.iter().filter(|(path, stamp)| self.files.get(*path) != Some(*stamp));
        gone.chain(other.map(|(path, _)| path)).map(PathBuf::as_path).collect()
    }

    /// Returns the outermost entry on the way to a path that this inventory does not have.
    pub(crate) fn first_new(&self, path: &Path) -> Option<PathBuf> {
        let is_known = |path: &Path| self.files.contains_key(path) || self.folders.contains_key(path);
        let new = path.ancestors().filter(|path| !path.as_os_str().is_empty() && !is_known(path)).last();
        new.map(Path::to_owned)
    }

    /// Returns the folders that another inventory does not have.
    pub(crate) fn folders_besides<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Path> {
        self.folders.keys().filter(|path| !other.folders.contains_key(*path)).map(PathBuf::as_path)
    }

    /// Returns the mode of a folder.
    pub(crate) fn folder_mode(&self, path: &Path) -> Option<u32> {
        self.folders.get(path).copied()
    }

    /// Returns the files that differ now. A folder that could be searched before and cannot be searched now is an
    /// error: its files are neither there nor gone.
    pub fn touched(&self, root: &Path) -> Result<Touched, FileError> {
        let now = Self::take(root)?;
        if let Some(closed) = now.closed.difference(&self.closed).next() {
            let path = parse(closed).unwrap_or_else(WorkspacePath::root);
            return Err(FileError::Io { path, error: io::ErrorKind::PermissionDenied.into() });
        }
        let mut touched = Touched::default();
        for path in self.differing(&now) {
            match parse(path) {
                Some(named) => {
                    if let Some(repository) = repository_above(&named) {
                        touched.repositories.insert(repository);
                        continue;
                    }
                    if now.files.get(path).is_some_and(FileStamp::is_special) {
                        touched.special.insert(named.clone());
                    }
                    touched.files.insert(named);
                }
                None => touched.unnamed += 1,
            }
        }
        touched.folders = named(now.folders_besides(self).filter(|folder| now.is_empty(folder)));
        touched.gone_folders = named(self.folders_besides(&now));
        Ok(touched)
    }

    /// Returns whether a folder has nothing in it.
    fn is_empty(&self, folder: &Path) -> bool {
        fn first_below<'a, T>(entries: &'a BTreeMap<PathBuf, T>, folder: &Path) -> Option<&'a PathBuf> {
            let behind = (std::ops::Bound::Excluded(folder), std::ops::Bound::Unbounded);
            entries.range::<Path, _>(behind).next().map(|(path, _)| path)
        }
        // What a folder contains follows it directly: paths are ordered name by name.
        let is_in = |path: &PathBuf| path.starts_with(folder);
        !first_below(&self.files, folder).is_some_and(is_in)
            && !first_below(&self.folders, folder).is_some_and(is_in)
    }
}

/// Returns folders by their paths, without those of Git.
fn named<'a>(folders: impl Iterator<Item = &'a Path>) -> BTreeSet<WorkspacePath> {
    folders.filter_map(parse).filter(|folder| repository_above(folder).is_none()).collect()
}

impl Inventory {
    /// Returns whether a folder was there.
    pub fn has_folder(&self, path: &WorkspacePath) -> bool {
        self.folders.contains_key(Path::new(path.as_str()))
    }

    /// Removes what is new or other than it was, except for the files that `is_kept` names. Fails if something cannot be
    /// named or looked into.
    pub fn remove_later(
        &self,
        disk: &DiskWorkspace,
        is_kept: &dyn Fn(&WorkspacePath) -> bool,
    ) -> Result<(), FileError> {
        let failed = |path: WorkspacePath| move |error| FileError::Io { path, error };
        let now = Self::take(disk.path())?;
        if let Some(closed) = now.closed.difference(&self.closed).next() {
            let path = parse(closed).unwrap_or_else(WorkspacePath::root);
            return Err(failed(path)(io::ErrorKind::PermissionDenied.into()));
        }
        for path in self.differing(&now).into_iter().filter(|path| now.files.contains_key(*path)) {
            let named = parse(path)
                .ok_or_else(|| failed(WorkspacePath::root())(io::ErrorKind::InvalidData.into()))?;
            if !is_kept(&named) {
                disk.remove_all(&named).map_err(failed(named))?;
            }
        }
        let new = now.folders.keys().filter(|path| !self.folders.contains_key(*path));
        disk.remove_empty(&new.filter_map(|path| parse(path)).collect::<Vec<_>>());
        Ok(())
    }

    /// Restores what is not in the content of files: modes, and empty folders. Returns the paths where that failed.
    pub(crate) fn restore(&self, disk: &DiskWorkspace) -> Vec<PathBuf> {
        let Ok(now) = Self::take(disk.path()) else { return vec![disk.path().to_owned()] };
        let mut failed = Vec::new();
        for path in self.folders.keys().filter(|path| !now.folders.contains_key(*path)) {
            let is_made = parse(path).is_some_and(|path| disk.make_folder(&path).is_ok());
            failed.extend((!is_made).then(|| path.clone()));
        }
        let new = now.folders.keys().filter(|path| !self.folders.contains_key(*path));
        disk.remove_empty(&new.filter_map(|path| parse(path)).collect::<Vec<_>>());
        for (path, mode, before) in self.other_modes(&now) {
            let Some(named) = parse(path) else { continue };
            // Of another type than before is what has other content, too.
            let is_same = mode & TYPE == before & TYPE;
            if is_same && disk.set_mode(&named, before).is_err() {
                failed.push(path.clone());
            }
        }
        failed
    }

    /// Returns paths with other modes than these: the mode now, and that before.
    pub(crate) fn other_modes<'a>(&'a self, now: &'a Self) -> Vec<(&'a PathBuf, u32, u32)> {
        let files =
            now.files.iter().filter_map(|(path, stamp)| Some((path, stamp.mode, self.files.get(path)?.mode)));
        let folders =
            now.folders.iter().filter_map(|(path, mode)| Some((path, *mode, *self.folders.get(path)?)));
        files.chain(folders).filter(|(_, mode, before)| mode != before).collect()
    }
}

/// The bits of a mode that hold the type of a file.
const TYPE: u32 = 0o170_000;

fn parse(path: &Path) -> Option<WorkspacePath> {
    WorkspacePath::parse(path.to_str()?).ok()
}

/// Returns the `.git` entry that a path is in or names, if there is one.
fn repository_above(path: &WorkspacePath) -> Option<WorkspacePath> {
    let mut folder = WorkspacePath::root();
    for name in path.names() {
        folder = folder.child(name);
        if name.eq_ignore_ascii_case(".git") {
            return Some(folder);
        }
    }
    None
}

struct Recorder(Mutex<Inventory>);

impl Recorder {
    fn record(&self, record: impl FnOnce(&mut Inventory)) {
        record(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns whether a path names the root's own `.git`.
fn is_own_git(path: &Path) -> bool {
    path == Path::new(".git")
}

impl Visitor for Recorder {
    type Folder = ();

    fn enter(&self, (): &(), _: &OsStr, path: &Path, metadata: &Metadata) -> io::Result<Option<()>> {
        if is_own_git(path) {
            return Ok(None);
        }
        self.record(|inventory| {
            inventory.folders.insert(path.to_owned(), stamp_of(metadata).mode);
        });
        Ok(Some(()))
    }

    fn meet(&self, (): &(), met: &WalkedEntry<'_>) -> io::Result<()> {
        if !is_own_git(met.path) {
            self.record(|inventory| {
                inventory.files.insert(met.path.to_owned(), stamp_of(met.metadata));
            });
        }
        Ok(())
    }

    fn closed(&self, path: &Path) {
        self.record(|inventory| {
            inventory.closed.insert(path.to_owned());
        });
    }
}
