//! Brings an isolated state up to date with what is below it.

use std::collections::BTreeSet;
use std::io;

use workspace::{FileError, FileState, OverlayWorkspace, TrackedWorkspace, Workspace, WorkspacePath};

#[cfg(unix)]
use super::upper;
use super::{BaseState, Isolated, IsolationError, Kind};

impl Isolated {
    /// Brings the state up to date with what is below.
    pub fn update(&mut self, below: &BaseState) -> Result<(), IsolationError> {
        match below {
            BaseState::Planned(planned) => self.update_planned(planned),
            BaseState::Real(tracked) => self.update_real(tracked),
        }
    }

    /// Writes the planned edits that are missing, and reverts what is not planned.
    fn update_planned(&mut self, planned: &OverlayWorkspace) -> Result<(), IsolationError> {
        let (made, gone) = planned.planned_folders();
        let changes = planned.changes()?;
        let wanted: BTreeSet<WorkspacePath> = changes.iter().map(|change| change.path.clone()).collect();
        for path in self.applied.difference(&wanted) {
            let state = planned.state(path)?;
            self.put(path, state.as_ref(), state.as_ref())?;
        }
        for folder in &gone {
            self.hide_folder(folder, made.contains(folder)).map_err(|error| failed(folder, error))?;
        }
        // Removed files make room for new ones.
        let (gone, there): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.after.is_none());
        for change in gone.into_iter().chain(there) {
            self.put(&change.path, change.after.as_ref(), change.before.as_ref())?;
        }
        for folder in &made {
            self.make_folder(folder).map_err(|error| failed(folder, error))?;
        }
        self.applied.extend(wanted);
        Ok(())
    }

    /// Removes a folder that is planned to be gone. If it `is_made` again, what is in it depends on its files.
    fn hide_folder(&self, folder: &WorkspacePath, is_made: bool) -> io::Result<()> {
        match &self.kind {
            Kind::Copied if is_made || !self.disk.has_folder(folder) => Ok(()),
            Kind::Copied => self.disk.remove_all(folder),
            #[cfg(unix)]
            Kind::Mounted(_) => upper::hide_folder(&self.disk, folder),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }

    fn make_folder(&self, folder: &WorkspacePath) -> io::Result<()> {
        match &self.kind {
            Kind::Copied => self.disk.make_folder(folder),
            #[cfg(unix)]
            Kind::Mounted(_) => upper::make_folder(&self.disk, folder),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }

    /// Writes what the run has changed since to a copy. An overlay shows the checkout as it is.
    fn update_real(&self, tracked: &TrackedWorkspace) -> Result<(), IsolationError> {
        if matches!(self.kind, Kind::Mounted(_)) {
            return Ok(());
        }
        let (gone, there): (Vec<_>, Vec<_>) = tracked
            .changed()
            .into_iter()
            .filter(|path| !self.masks.sensitive.contains(path))
            .map(|path| Ok((path.clone(), tracked.disk().state_of(&path)?)))
            .collect::<Result<Vec<_>, FileError>>()?
            .into_iter()
            .partition(|(_, state)| state.is_none());
        for (path, state) in gone.into_iter().chain(there) {
            self.put(&path, state.as_ref(), None)?;
        }
        Ok(())
    }

    /// Restores one file to `state`; `below` is its state in the checkout.
    fn put(
        &self,
        path: &WorkspacePath,
        state: Option<&FileState>,
        below: Option<&FileState>,
    ) -> Result<(), FileError> {
        match &self.kind {
            Kind::Copied => {
                // A file that is too large to be compared counts as different.
                if self.disk.state_of(path).is_ok_and(|now| now.as_ref() == state) {
                    Ok(())
                } else {
                    self.disk.put(path, state)
                }
            }
            #[cfg(unix)]
            Kind::Mounted(_) => upper::put(&self.disk, path, state, below),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }
}

fn failed(folder: &WorkspacePath, error: io::Error) -> FileError {
    FileError::Io { path: folder.clone(), error }
}
