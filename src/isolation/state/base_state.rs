//! The state below the isolated one: the checkout, or the planned edits above it.

use std::collections::BTreeSet;
use std::sync::Arc;

use workspace::{
    ChangeSet, DiskWorkspace, FileChange, FileError, FileState, OverlayWorkspace, TrackedWorkspace,
    Workspace, WorkspacePath,
};

/// The state that the isolated state is based on, and compared with.
#[derive(Clone)]
pub enum BaseState {
    /// The checkout with the planned edits above it.
    Planned(Arc<OverlayWorkspace>),
    /// The checkout itself.
    Real(Arc<TrackedWorkspace>),
}

impl BaseState {
    pub(in crate::isolation) fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        match self {
            Self::Planned(planned) => planned.state(path),
            Self::Real(tracked) => tracked.disk().state_of(path),
        }
    }

    /// Returns the size of a file in bytes; 0 if there is none.
    pub fn size(&self, path: &WorkspacePath) -> u64 {
        match self {
            Self::Planned(planned) => planned.size(path),
            Self::Real(tracked) => size_on(tracked.disk(), path),
        }
    }

    /// Returns the files that the run has changed, or plans to change.
    pub fn changed(&self) -> Result<BTreeSet<WorkspacePath>, FileError> {
        Ok(match self {
            Self::Planned(planned) => planned.touched()?.into_iter().map(|(path, _)| path).collect(),
            Self::Real(tracked) => tracked.changed().into_iter().collect(),
        })
    }

    /// Returns these changes, on top of the planned ones.
    pub fn with(&self, changes: &[FileChange]) -> Result<ChangeSet, FileError> {
        Ok(match self {
            Self::Planned(planned) => planned.changes()?.and(changes),
            Self::Real(_) => ChangeSet::new(changes.to_vec()),
        })
    }

    /// Returns a file as it was before the run.
    pub(super) fn original(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        match self {
            Self::Planned(planned) => planned.original(path),
            Self::Real(tracked) => tracked.original(path),
        }
    }
}

/// Returns the size of a file on disk in bytes; 0 if there is none.
pub(super) fn size_on(disk: &DiskWorkspace, path: &WorkspacePath) -> u64 {
    let entry = disk.entry(path).ok().flatten().filter(|entry| entry.metadata.is_file());
    entry.map_or(0, |entry| entry.metadata.len())
}
