//! Change detection: finds what changed in a folder by comparing every file before and after, whatever ignore
//! files and Git say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{WalkBuilder, WalkState};

use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::ignored::IgnoreRules;
use super::isolate::{Scratch, Touched, copy};
use super::path::WorkspacePath;
use super::snapshot::{Stamp, stamp};
use super::tracked::TrackedWorkspace;
use super::{FileError, MAX_FILE};

/// A checkout with a copy of it, which shows what was changed by tools that do not report their changes.
pub struct Mirror {
    checkout: Arc<TrackedWorkspace>,
    copy: DiskWorkspace,
    /// The metadata of all files at the start.
    start: BTreeMap<PathBuf, Stamp>,
    _scratch: Scratch,
}

/// Changes that were found.
#[derive(Debug, Default)]
pub struct Observed {
    /// The changed files.
    pub changes: Vec<FileChange>,
    /// Changed files that are too large to be compared.
    pub large: Vec<WorkspacePath>,
    /// The number of changed files whose names are not UTF-8.
    pub unnamed: usize,
}

impl Mirror {
    /// Copies the checkout to a folder in `temp`.
    pub fn new(checkout: Arc<TrackedWorkspace>, temp: &Path) -> io::Result<Self> {
        let scratch = Scratch::new(temp)?;
        let to = scratch.path().join("mirror");
        copy(checkout.path(), &to, &|_| false).map_err(|(_, error)| error)?;
        let start = stamps(checkout.path()).map_err(io::Error::other)?;
        Ok(Self { checkout, copy: DiskWorkspace::open(&to)?, start, _scratch: scratch })
    }

    /// Brings the copy up to date with the run's own changes, and returns the metadata of all files before a
    /// call.
    pub fn before(&self) -> Result<BTreeMap<PathBuf, Stamp>, FileError> {
        for path in self.checkout.changed() {
            self.follow(&path)?;
        }
        stamps(self.checkout.path())
    }

    fn follow(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        let (before, now) = (self.copy.state_of(path)?, self.checkout.disk().state_of(path)?);
        if before != now {
            self.copy.put(path, now.as_ref())?;
        }
        Ok(before)
    }

    /// Returns what changed during a call. Git folders that it created are removed.
    pub fn after(&self, before: &BTreeMap<PathBuf, Stamp>) -> Result<Observed, FileError> {
        let touched = touched(self.checkout.path(), before)?;
        let mut observed = Observed { unnamed: touched.unnamed, ..Observed::default() };
        for repository in &touched.repositories {
            // One that existed before the call is not the call's.
            if fs::symlink_metadata(self.copy.path().join(repository.as_str())).is_err() {
                let _ = fs::remove_dir_all(self.checkout.path().join(repository.as_str()));
            }
        }
        for path in touched.files {
            let size = |disk: &DiskWorkspace| {
                fs::symlink_metadata(disk.path().join(path.as_str())).map_or(0, |metadata| metadata.len())
            };
            if size(&self.copy).max(size(self.checkout.disk())) > MAX_FILE {
                observed.large.push(path);
                continue;
            }
            let before = self.follow(&path)?;
            let after = self.checkout.disk().state_of(&path)?;
            observed.changes.extend(FileChange::new(path, before, after));
        }
        Ok(observed)
    }
}

impl Mirror {
    /// Returns what was changed outside of all calls, since the start. Files that ignore files exclude are
    /// left out: they are what builds leave behind.
    pub fn late(&self) -> Result<Observed, FileError> {
        for path in self.checkout.changed() {
            self.follow(&path)?;
        }
        let mut observed = Observed::default();
        for path in touched(self.checkout.path(), &self.start)?.files {
            let folder = path.parent().unwrap_or_else(WorkspacePath::root);
            let text = |path: &WorkspacePath| {
                let state = self.copy.state_of(path).ok()??;
                String::from_utf8(state.content.to_vec()).ok()
            };
            if IgnoreRules::collect(&folder, text).excludes(&path, false) {
                continue;
            }
            let (before, after) = (self.copy.state_of(&path)?, self.checkout.disk().state_of(&path)?);
            observed.changes.extend(FileChange::new(path, before, after));
        }
        Ok(observed)
    }
}

/// Returns the files that differ from `before`.
pub(super) fn touched(root: &Path, before: &BTreeMap<PathBuf, Stamp>) -> Result<Touched, FileError> {
    let now = stamps(root)?;
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let other = now.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp)).map(|(path, _)| path);
    let mut touched = Touched::default();
    for path in gone.chain(other).collect::<BTreeSet<_>>() {
        match path.to_str().map(WorkspacePath::parse) {
            Some(Ok(path)) => match repository_above(&path) {
                Some(repository) => drop(touched.repositories.insert(repository)),
                None => drop(touched.files.insert(path)),
            },
            _ => touched.unnamed += 1,
        }
    }
    Ok(touched)
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

/// Returns the metadata of every file except those in the root's `.git`.
pub(super) fn stamps(root: &Path) -> Result<BTreeMap<PathBuf, Stamp>, FileError> {
    let found = Mutex::new(BTreeMap::new());
    let failure: Mutex<Option<ignore::Error>> = Mutex::new(None);
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .threads(2)
        .filter_entry(|entry| entry.depth() != 1 || entry.file_name() != ".git");
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return WalkState::Quit;
                }
            };
            let metadata = entry.metadata().ok().filter(|metadata| !metadata.is_dir());
            if let (Some(metadata), Ok(relative)) = (metadata, entry.path().strip_prefix(root)) {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.insert(relative.to_owned(), stamp(&metadata));
            }
            WalkState::Continue
        })
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // What cannot be examined is neither there nor gone.
        Some(error) => Err(FileError::Io { path: WorkspacePath::root(), error: io::Error::other(error) }),
        None => Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}
