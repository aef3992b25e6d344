//! Folders without files that a run makes, removes or leaves behind. As for Git, they are no content of a checkout, and no plan could
//! hold them: at the end of a run they are as they were before it, and a folder whose files the run has removed is gone.

use std::collections::BTreeSet;
use std::iter::successors;
use std::sync::{Mutex, PoisonError};

use super::disk::DiskWorkspace;
use super::path::WorkspacePath;

/// Folders that a run has made, and folders without files that it has removed.
#[derive(Debug, Default)]
pub(crate) struct EmptyFolders(Mutex<Folders>);

#[derive(Debug, Default)]
struct Folders {
    made: BTreeSet<WorkspacePath>,
    removed: BTreeSet<WorkspacePath>,
}

impl EmptyFolders {
    /// Notes folders that the run makes.
    pub(crate) fn made(&self, folders: impl IntoIterator<Item = WorkspacePath>) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in folders {
            // One that was there before is put back, not made.
            if !noted.removed.remove(&folder) {
                noted.made.insert(folder);
            }
        }
    }

    /// Notes folders without files that the run removes.
    pub(crate) fn removed(&self, folders: impl IntoIterator<Item = WorkspacePath>) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in folders {
            if !noted.made.remove(&folder) {
                noted.removed.insert(folder);
            }
        }
    }

    /// Puts back what was removed, and removes what was made and has no files, or has lost them with `gone`, files that were there
    /// before the run.
    pub(crate) fn settle<'p>(&self, disk: &DiskWorkspace, gone: impl Iterator<Item = &'p WorkspacePath>) {
        let Folders { made, removed } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for folder in &removed {
            // Where a file stands now, there is no folder any more.
            let _ = disk.make_folder(folder);
        }
        let left_behind = gone.flat_map(|path| successors(path.parent(), WorkspacePath::parent));
        let folders: BTreeSet<WorkspacePath> =
            made.into_iter().chain(left_behind).filter(|folder| !folder.is_root()).collect();
        disk.remove_empty(&folders.into_iter().collect::<Vec<_>>());
    }
}
