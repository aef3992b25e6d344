//! Whole states of files that become a part of the plan, such as what a command changed: all of them at once, or none.

use std::sync::PoisonError;

use super::{OverlayWorkspace, Planned, PlannedState};
use crate::changes::{FileChange, FileState};
use crate::path::{ResolvedPath, WorkspacePath};
use crate::{FileError, Kind, Stat};

/// A state that can be planned without any further look at the disk.
struct Prepared {
    path: WorkspacePath,
    /// The state; `None` if the file is removed.
    planned: Option<PlannedState>,
    /// Whether that is the state on disk, which is nothing to plan.
    is_on_disk: bool,
    /// Folders above it that are not on disk.
    folders: Vec<WorkspacePath>,
}

impl OverlayWorkspace {
    /// Adds to the plan what a command changed in the isolated state.
    pub fn absorb(&self, changes: &[FileChange]) -> Result<(), FileError> {
        self.absorb_until(changes, &|| false).map(|_| ())
    }

    /// Adds changes to the plan, unless `is_over` says meanwhile that the time for it is up. Returns whether they are planned.
    pub fn absorb_until(
        &self,
        changes: &[FileChange],
        is_over: &dyn Fn() -> bool,
    ) -> Result<bool, FileError> {
        let mut prepared = Vec::with_capacity(changes.len());
        let all = changes.iter().try_for_each(|change| -> Result<(), Option<FileError>> {
            if is_over() {
                return Err(None);
            }
            prepared.push(self.prepare(&change.path, change.after.as_ref())?);
            Ok(())
        });
        if let Err(failed) = all {
            self.log.withdraw(&prepared.iter().map(|state| &state.path).collect::<Vec<_>>());
            return failed.map_or(Ok(false), Err);
        }
        let mut planned = self.planned.write().unwrap_or_else(PoisonError::into_inner);
        for state in prepared {
            self.touches.note(&state.path);
            planned.add(state);
        }
        Ok(true)
    }

    /// Plans the whole state of a file, including its mode; `None` removes it.
    pub(super) fn put(&self, path: &WorkspacePath, state: Option<&FileState>) -> Result<(), FileError> {
        let prepared = self.prepare(path, state)?;
        let mut planned = self.planned.write().unwrap_or_else(PoisonError::into_inner);
        self.touches.note(path);
        planned.add(prepared);
        Ok(())
    }

    /// Keeps a state, and announces it to the log.
    fn prepare(&self, path: &WorkspacePath, state: Option<&FileState>) -> Result<Prepared, FileError> {
        let on_disk = self.disk.state(&ResolvedPath(path.clone()))?;
        let is_on_disk = on_disk.as_ref() == state;
        let mut folders = Vec::new();
        let mut above = path.parent().filter(|_| state.is_some() && !is_on_disk);
        while let Some(folder) = above.take().filter(|folder| !folder.is_root()) {
            // A folder on disk is not planned: its other files would be hidden.
            let on_disk = self.disk.stat(&ResolvedPath(folder.clone()))?;
            if matches!(on_disk, Some(Stat { kind: Kind::Directory, .. })) {
                break;
            }
            above = folder.parent();
            folders.push(folder);
        }
        self.log_write(path, state);
        let planned = state.filter(|_| !is_on_disk).map(|state| self.spooled(state));
        Ok(Prepared { path: path.clone(), planned, is_on_disk, folders })
    }
}

impl Planned {
    fn add(&mut self, Prepared { path, planned, is_on_disk, folders }: Prepared) {
        self.folders.extend(folders);
        if is_on_disk {
            self.files.remove(&path);
        } else {
            self.files.insert(path, planned);
        }
    }
}
