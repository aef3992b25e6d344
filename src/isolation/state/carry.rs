//! Transfer of changes: carries what a command changed from the isolated state into the checkout, or reverts
//! it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::fs::Metadata;
use workspace::entry::Entry;
use workspace::{DiskWorkspace, FileError, FileState, TrackedWorkspace, WorkspacePath};

use super::{BaseState, FoundChanges, Isolated, Kind, masks};
use crate::base::time_limit::{Grace, TimeLimit};
use crate::plan::{Journal, JournalError};

/// Reasons why a command's changes are not in the checkout or the plan.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// A failure to write the files of the project; the error says whether they were put back.
    #[error(transparent)]
    Changes(#[from] JournalError),
    /// A failure to make room for the project's files among build outputs.
    #[error("could not move what the command built into the checkout: {0}")]
    Outputs(FileError),
    /// A failure to add the changes to the plan.
    #[error("could not plan what the command changed: {0}")]
    Plan(FileError),
}

impl Isolated {
    /// Keeps what a command changed, in the checkout or in the plan. Returns descriptions of build outputs
    /// that could not be moved.
    pub fn carry(
        &mut self,
        found: &FoundChanges,
        below: &BaseState,
        time_limit: &TimeLimit,
    ) -> Result<Vec<String>, CarryError> {
        let is_over = || time_limit.is_over(Grace::Changes);
        if is_over() {
            return Err(JournalError::TimeUp.into());
        }
        match below {
            BaseState::Planned(planned) => {
                if !planned.absorb_until(&found.changes, &is_over).map_err(CarryError::Plan)? {
                    return Err(JournalError::TimeUp.into());
                }
                let (left, gone) = self.folders(found);
                planned.plan_folders(&left, &gone).map_err(CarryError::Plan)?;
                Ok(Vec::new())
            }
            BaseState::Real(tracked) => {
                let (disk, changes) = (tracked.disk(), &found.changes);
                let write = || Journal::write(disk, &self.journal, changes, &|_| {}, &is_over);
                let journal = (!changes.is_empty()).then(write).transpose()?;
                // First, so that a run that is killed meanwhile is known to have begun with it.
                if !tracked.absorb_until(changes, &is_over) {
                    journal.into_iter().for_each(Journal::withdraw);
                    return Err(JournalError::TimeUp.into());
                }
                if let Err(error) = self.make_way(found, disk) {
                    tracked.take_back(changes);
                    journal.into_iter().for_each(Journal::withdraw);
                    return Err(CarryError::Outputs(error));
                }
                if let Some(journal) = journal {
                    journal.perform(&|_| {}).inspect_err(|_| tracked.take_back(changes))?;
                }
                tracked.made(changes);
                self.keep_times(tracked.disk(), found);
                Ok(self.carry_outputs(found, tracked, time_limit))
            }
        }
    }

    /// Removes the build outputs that the command removed, if a file takes the place of their folder.
    fn make_way(&self, found: &FoundChanges, disk: &DiskWorkspace) -> Result<(), FileError> {
        let files = || found.changes.iter().filter(|change| change.after.is_some());
        for path in found.outputs.iter().filter(|path| files().any(|file| path.is_within(&file.path))) {
            self.carry_output(path, disk)?;
        }
        Ok(())
    }

    /// Keeps build outputs, as long as there is time for them, and, until the run ends, new folders without files. Returns
    /// descriptions of those that could not be moved.
    pub fn carry_outputs(
        &mut self,
        found: &FoundChanges,
        tracked: &TrackedWorkspace,
        time_limit: &TimeLimit,
    ) -> Vec<String> {
        let disk = tracked.disk();
        let mut left = Vec::new();
        for path in &found.outputs {
            if time_limit.is_over(Grace::Changes) {
                left.push("the rest of what Git ignores: the time of the run was up".to_owned());
                break;
            }
            left.extend(self.carry_output(path, disk).err().map(|error| error.to_string()));
        }
        for folder in &found.folders {
            left.extend(tracked.make_folder(folder).err().map(|error| format!("{folder}: {error}")));
        }
        let (_, gone) = self.folders(found);
        tracked.remove_folders(&gone, found.hollow_folders());
        left
    }

    /// Returns the folders that a command has left without files or in place of others, and those that are gone. One that contains
    /// what no command sees is not gone.
    fn folders(&self, found: &FoundChanges) -> (Vec<WorkspacePath>, Vec<WorkspacePath>) {
        let (left, gone): (Vec<_>, Vec<_>) =
            found.gone_folders.iter().cloned().partition(|folder| self.disk.has_folder(folder));
        let holds_unseen = |folder: &WorkspacePath| {
            self.masks.sensitive.iter().any(|hidden| hidden.is_within(folder))
                || self.masks.nested.iter().any(|entry| entry.starts_with(folder.as_str()))
        };
        let left = left.into_iter().chain(found.folders.iter().cloned()).collect();
        (left, gone.into_iter().filter(|folder| !holds_unseen(folder)).collect())
    }

    fn carry_output(&self, path: &WorkspacePath, disk: &DiskWorkspace) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        let entry = self.disk.entry(path).map_err(io)?;
        let is_kept = |entry: &Entry| entry.metadata.is_file() || entry.metadata.is_symlink();
        let Some(entry) = entry.filter(is_kept) else { return disk.put(path, None) };
        match &self.kind {
            Kind::Mounted(_) => {
                #[cfg(unix)]
                super::upper::unmark(&entry);
                // Another name of the same file could be used to change it later.
                if links(&entry.metadata) > 1 {
                    return disk.copy_in_as_is(&entry, path);
                }
                disk.move_in_as_is(&entry, path)
            }
            Kind::Copied => disk.copy_in_as_is(&entry, path),
        }
    }

    /// Copies modification times to the checkout. Build tools compare them: what was built from a file must
    /// not look older than the file.
    fn keep_times(&self, disk: &DiskWorkspace, found: &FoundChanges) {
        for change in found.changes.iter().filter(|change| change.after.is_some()) {
            let entry = self.disk.entry(&change.path).ok().flatten();
            let entry = entry.filter(|entry| entry.metadata.is_file());
            if let Some(modified) = entry.and_then(|entry| entry.metadata.modified().ok()) {
                // The only consequence is a build that looks at the file again.
                let _ = disk.set_modified(&change.path, modified.into_std());
            }
        }
    }

    /// Restores the state to what is below, after a command whose changes were kept or discarded. What was
    /// `carried` is already the same on both sides. Fails if that cannot be done; the state must not be used any more then.
    pub fn settle(
        &mut self,
        found: &FoundChanges,
        below: &BaseState,
        carried: bool,
    ) -> Result<(), FileError> {
        // A process that opens a pipe would wait for a process that is gone.
        for path in &found.special {
            self.disk.remove_all(path).map_err(|error| FileError::Io { path: path.clone(), error })?;
        }
        match (&self.kind, below) {
            #[cfg(unix)]
            (Kind::Mounted(_), BaseState::Real(_)) => {
                let path = WorkspacePath::root();
                workspace::removal::empty(self.disk.dir()).map_err(|error| FileError::Io { path, error })
            }
            // Nothing here can name them, and a gate must not pass because of files that nobody is shown.
            _ if found.unnamed > 0 => {
                let error = io::Error::other("a command left names that are not UTF-8");
                Err(FileError::Io { path: WorkspacePath::root(), error })
            }
            // The next update reverts what is not planned.
            (Kind::Mounted(_), _) => self.settle_repositories(found),
            (Kind::Copied, _) if carried => self.withhold_again(found),
            (Kind::Copied, _) => self.restore_copy(found, below),
        }
    }

    /// Makes files that are not kept again what is below.
    pub fn revert(&self, paths: &[WorkspacePath], below: &BaseState) -> Result<(), FileError> {
        paths.iter().try_for_each(|path| match &self.kind {
            // Without it, what is below can be seen again.
            Kind::Mounted(_) => {
                self.disk.remove_all(path).map_err(|error| FileError::Io { path: path.clone(), error })
            }
            Kind::Copied => self.disk.put(path, below.state(path)?.as_ref()),
        })
    }

    /// Makes those files of the copy again what is below that a command touched.
    fn restore_copy(&self, found: &FoundChanges, below: &BaseState) -> Result<(), FileError> {
        let mut states: BTreeMap<&WorkspacePath, Option<FileState>> = BTreeMap::new();
        for path in found.changes.iter().map(|change| &change.path).chain(&found.large) {
            states.insert(path, below.state(path)?);
        }
        if let BaseState::Real(tracked) = below {
            for path in found.outputs.iter().filter(|path| !self.hides(path)) {
                states.insert(path, tracked.disk().state_of(path)?);
            }
        }
        for (path, state) in states {
            if self.disk.state_of(path).ok().flatten() != state {
                self.disk.put(path, state.as_ref())?;
            }
        }
        self.withhold_again(found)
    }

    /// Removes from the copy what no command is to see: hidden files and nested repositories.
    fn withhold_again(&self, found: &FoundChanges) -> Result<(), FileError> {
        for hidden in &self.masks.sensitive {
            self.disk.put(hidden, None)?;
        }
        self.settle_repositories(found)
    }

    /// Makes Git's own folders below the checkout's again what they are there: what a command made of them is not met
    /// by the next.
    fn settle_repositories(&self, found: &FoundChanges) -> Result<(), FileError> {
        let is_gone =
            |folder: &WorkspacePath| self.masks.nested.iter().any(|entry| entry.starts_with(folder.as_str()));
        if let Some(folder) = found.gone_folders.iter().find(|folder| is_gone(folder)) {
            let error = io::Error::other("it contained a repository, which is now gone");
            return Err(FileError::Io { path: folder.clone(), error });
        }
        for repository in &found.repositories {
            let place = self.disk.path().join(repository.as_str());
            if !masks::is_plain_way(self.disk.path(), Path::new(repository.as_str())) {
                continue;
            }
            let mut settled = self.disk.remove_all(repository);
            if matches!(self.kind, Kind::Copied) && self.masks.nested.contains(Path::new(repository.as_str()))
            {
                let copied = || self.masks.copy(&self.root, Path::new(repository.as_str()), &place);
                settled = settled.and_then(|()| copied().map_err(|(_, error)| error));
            }
            settled.map_err(|error| FileError::Io { path: repository.clone(), error })?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    cap_std::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}
