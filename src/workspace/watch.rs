//! Change detection: finds what others change who work on the checkout itself, with a copy of it and by comparing
//! every file before and after.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::ignored::{Exclusion, IgnoreRules};
use super::inventory::Inventory;
use super::isolate::{Scratch, copy_all};
use super::path::WorkspacePath;
use super::tracked::TrackedWorkspace;
use super::{FileError, MAX_FILE};

/// A checkout with a copy of it, which shows what was changed by tools that do not report their changes.
pub struct Mirror {
    checkout: Arc<TrackedWorkspace>,
    copy: DiskWorkspace,
    /// The metadata of all files at the start.
    start: Inventory,
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
    /// Changed files that could not be read, so that what was changed is not known.
    pub unchecked: Vec<WorkspacePath>,
}

impl Mirror {
    /// Copies the checkout to a folder in `temp`.
    pub fn new(checkout: Arc<TrackedWorkspace>, temp: &Path) -> io::Result<Self> {
        let scratch = Scratch::new(temp)?;
        let to = scratch.path().join("mirror");
        copy_all(checkout.path(), &to, &|_| false).map_err(|(_, error)| error)?;
        let start = Inventory::take(checkout.path()).map_err(io::Error::other)?;
        Ok(Self { checkout, copy: DiskWorkspace::open(&to)?, start, _scratch: scratch })
    }

    /// Brings the copy up to date with the run's own changes, and returns the metadata of all files before a
    /// call.
    pub fn before(&self) -> Result<Inventory, FileError> {
        for path in self.checkout.changed() {
            self.follow(&path)?;
        }
        Inventory::take(self.checkout.path())
    }

    fn follow(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        let (before, now) = (self.copy.state_of(path)?, self.checkout.disk().state_of(path)?);
        if before != now {
            self.copy.put(path, now.as_ref())?;
        }
        Ok(before)
    }

    /// Returns whether a file is too large to be compared, in the checkout or in the copy.
    fn is_large(&self, path: &WorkspacePath) -> bool {
        let is_large = |disk: &DiskWorkspace| {
            fs::symlink_metadata(disk.path().join(path.as_str()))
                .is_ok_and(|metadata| metadata.is_file() && metadata.len() > MAX_FILE)
        };
        is_large(&self.copy) || is_large(self.checkout.disk())
    }

    /// Returns what changed during a call. Git folders that it created are removed.
    pub fn after(&self, before: &Inventory) -> Result<Observed, FileError> {
        let touched = before.touched(self.checkout.path())?;
        let mut observed = Observed { unnamed: touched.unnamed, ..Observed::default() };
        for repository in &touched.repositories {
            // One that existed before the call is not the call's.
            if fs::symlink_metadata(self.copy.path().join(repository.as_str())).is_err() {
                let _ = self.checkout.disk().remove_all(repository);
            }
        }
        for path in touched.files {
            if self.is_large(&path) {
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
    ///
    /// A file that cannot be compared does not keep others from it. Large ones that the run is known to have
    /// changed are left out.
    pub fn late(&self) -> Result<Observed, FileError> {
        let known: BTreeSet<WorkspacePath> =
            self.checkout.large().into_iter().map(|(path, _)| path).collect();
        for path in self.checkout.changed() {
            // One that cannot be followed is found below, where it is told.
            let _ = self.follow(&path);
        }
        let touched = self.start.touched(self.checkout.path())?;
        let mut observed = Observed { unnamed: touched.unnamed, ..Observed::default() };
        for path in touched.files {
            let folder = path.parent().unwrap_or_else(WorkspacePath::root);
            let text = |state: Option<FileState>| String::from_utf8(state?.content.to_vec()).ok();
            let original = |path: &WorkspacePath| text(self.checkout.original(path).ok()?);
            let now = |path: &WorkspacePath| text(self.copy.state_of(path).ok()?);
            let (original, now) =
                (IgnoreRules::collect(&folder, original), IgnoreRules::collect(&folder, now));
            if (Exclusion { original, now }).is_output(&path) || known.contains(&path) {
                continue;
            }
            if self.is_large(&path) {
                observed.large.push(path);
                continue;
            }
            match (self.copy.state_of(&path), self.checkout.disk().state_of(&path)) {
                (Ok(before), Ok(after)) => observed.changes.extend(FileChange::new(path, before, after)),
                _ => observed.unchecked.push(path),
            }
        }
        Ok(observed)
    }
}
