//! Whole states of files and folders that become a part of the plan, such as what a command changed: all files at once, or none.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use super::planned::Planned;
use super::{OverlayWorkspace, PlannedState};
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
    /// Folders above it that are not there.
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

    /// Plans folders: those without files that a command has left, and those that it has removed, with everything in them.
    pub fn plan_folders(&self, left: &[WorkspacePath], gone: &[WorkspacePath]) -> Result<(), FileError> {
        {
            let mut planned = self.planned.write().unwrap_or_else(PoisonError::into_inner);
            for folder in gone {
                planned.folders.remove(folder);
                if self.is_folder_on_disk(folder)? {
                    planned.gone_folders.insert(folder.clone());
                }
            }
        }
        for folder in left {
            let missing = self.missing(folder.clone())?;
            self.planned.write().unwrap_or_else(PoisonError::into_inner).folders.extend(missing);
        }
        Ok(())
    }

    /// Returns the folders that the plan creates, and those of the checkout that it removes; one may be both.
    pub fn planned_folders(&self) -> (BTreeSet<WorkspacePath>, BTreeSet<WorkspacePath>) {
        let planned = self.planned();
        (planned.folders.clone(), planned.gone_folders.clone())
    }

    fn is_folder_on_disk(&self, folder: &WorkspacePath) -> Result<bool, FileError> {
        let stat = self.disk.stat(&ResolvedPath(folder.clone()))?;
        Ok(matches!(stat, Some(Stat { kind: Kind::Directory, .. })))
    }

    /// Returns those of a folder and the folders above it that have to be planned so that it is there. One that can be seen on disk
    /// is none of them: its other files would be hidden.
    fn missing(&self, folder: WorkspacePath) -> Result<Vec<WorkspacePath>, FileError> {
        let mut missing = Vec::new();
        let mut next = Some(folder);
        while let Some(folder) = next.take().filter(|folder| !folder.is_root()) {
            let is_gone = {
                let planned = self.planned();
                planned.gone_folders.contains(&folder) || planned.is_cut_off(&folder)
            };
            if !is_gone && self.is_folder_on_disk(&folder)? {
                break;
            }
            next = folder.parent();
            missing.push(folder);
        }
        Ok(missing)
    }

    /// Keeps a state, and announces it to the log.
    fn prepare(&self, path: &WorkspacePath, state: Option<&FileState>) -> Result<Prepared, FileError> {
        let on_disk = self.disk.state(&ResolvedPath(path.clone()))?;
        let is_seen = state.is_none() || !self.planned().is_cut_off(path);
        let is_on_disk = on_disk.as_ref() == state && is_seen;
        let above = path.parent().filter(|_| state.is_some() && !is_on_disk);
        let folders = above.map_or_else(|| Ok(Vec::new()), |above| self.missing(above))?;
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
