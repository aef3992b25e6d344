//! Carries what a command changed from the throw-away state into the checkout, or takes it back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::super::FileError;
use super::super::changes::FileState;
use super::super::disk::DiskWorkspace;
use super::super::path::{ResolvedPath, WorkspacePath};
use super::{Below, Isolated, Kind, Outcome, masks};
use crate::plan::{JournalError, write_all};

/// Why nothing of what a command changed is in the checkout.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The files of the project could not be written.
    #[error(transparent)]
    Changes(#[from] JournalError),
    /// What a build left behind could not be moved.
    #[error("what the command built could not be moved into the checkout: {0}")]
    Outputs(FileError),
    /// The plan could not take it.
    #[error("what the command changed could not be planned: {0}")]
    Plan(FileError),
}

impl Isolated {
    /// Keeps what a command changed: in the checkout, or in the plan.
    /// Gives words for what a build left behind and could not be moved.
    pub fn carry(&mut self, found: &Outcome, below: &Below) -> Result<Vec<String>, CarryError> {
        match below {
            Below::Planned(planned) => {
                planned.absorb(&found.changes).map(|()| Vec::new()).map_err(CarryError::Plan)
            }
            Below::Real(tracked) => {
                found.large.iter().for_each(|path| tracked.note_large(path));
                self.make_way(found, tracked.disk()).map_err(CarryError::Outputs)?;
                write_all(tracked.disk(), &found.changes)?;
                tracked.absorb(&found.changes);
                self.keep_times(tracked.disk(), found);
                Ok(self.carry_outputs(found, tracked.disk()))
            }
        }
    }

    /// Removes what a build left behind and a command removed, where a file takes the place of its folder.
    fn make_way(&self, found: &Outcome, disk: &DiskWorkspace) -> Result<(), FileError> {
        let files = || found.changes.iter().filter(|change| change.after.is_some());
        for path in found.outputs.iter().filter(|path| files().any(|file| path.is_within(&file.path))) {
            self.carry_output(path, disk)?;
        }
        Ok(())
    }

    /// Keeps what builds left behind, and nothing else.
    pub fn carry_outputs(&mut self, found: &Outcome, disk: &DiskWorkspace) -> Vec<String> {
        let mut left = Vec::new();
        for path in found.outputs.iter().chain(&found.large) {
            left.extend(self.carry_output(path, disk).err().map(|error| error.to_string()));
        }
        for folder in &found.folders {
            left.extend(disk.make_folder(folder).err().map(|error| format!("{folder}: {error}")));
        }
        let gone: Vec<WorkspacePath> = found.gone_folders.iter().cloned().collect();
        disk.remove_empty(&gone);
        left
    }

    fn carry_output(&self, path: &WorkspacePath, disk: &DiskWorkspace) -> Result<(), FileError> {
        let from = self.disk.path().join(path.as_str());
        let metadata = match fs::symlink_metadata(&from) {
            Ok(metadata) => Some(metadata),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                None
            }
            // What cannot be seen is not gone.
            Err(error) => return Err(FileError::Io { path: path.clone(), error }),
        };
        let Some(metadata) = metadata.filter(|metadata| metadata.is_file() || metadata.is_symlink()) else {
            return disk.put(path, None);
        };
        match &self.kind {
            Kind::Mounted(_) => {
                #[cfg(unix)]
                super::upper::unmark(&from);
                // Another name of the same file would go on to change it.
                if links(&metadata) > 1 {
                    return disk.copy_in_as_is(&from, path, &metadata);
                }
                disk.move_in_as_is(&from, path, &metadata)
            }
            Kind::Copied => disk.copy_in_as_is(&from, path, &metadata),
        }
    }

    /// Build tools compare times: what was built from a file must not look older than the file.
    fn keep_times(&self, disk: &DiskWorkspace, found: &Outcome) {
        for change in found.changes.iter().filter(|change| change.after.is_some()) {
            let from = self.disk.path().join(change.path.as_str());
            let metadata = fs::symlink_metadata(from).ok().filter(fs::Metadata::is_file);
            if let Some(modified) = metadata.and_then(|metadata| metadata.modified().ok()) {
                // A build that looks again is all that comes of it.
                let _ = disk.set_modified(&change.path, modified);
            }
        }
    }

    /// Makes the state again what is below, after a command whose changes were kept or are not wanted. What was
    /// `carried` is the same on both sides already.
    pub fn settle(&mut self, found: &Outcome, below: &Below, carried: bool) -> Result<(), FileError> {
        match (&self.kind, below) {
            #[cfg(unix)]
            (Kind::Mounted(overlay), Below::Real(_)) => {
                let path = WorkspacePath::root();
                super::upper::clear(&overlay.upper).map_err(|error| FileError::Io { path, error })
            }
            // The next update takes back what is not planned.
            (Kind::Mounted(_), _) => self.settle_repositories(found),
            (Kind::Copied, _) if carried => self.withhold_again(found),
            (Kind::Copied, _) => self.restore_copy(found, below),
        }
    }

    /// Makes those files of the copy again what is below that a command touched.
    fn restore_copy(&self, found: &Outcome, below: &Below) -> Result<(), FileError> {
        let mut states: BTreeMap<&WorkspacePath, Option<FileState>> = BTreeMap::new();
        for path in found.changes.iter().map(|change| &change.path).chain(&found.large) {
            states.insert(path, below.state(path)?);
        }
        if let Below::Real(tracked) = below {
            for path in found.outputs.iter().filter(|path| !self.hides(path)) {
                states.insert(path, tracked.disk().state_of(path)?);
            }
        }
        for (path, state) in states {
            let resolved = ResolvedPath(path.clone());
            if self.disk.state_of(path).ok().flatten() != state {
                self.disk.restore(&resolved, state.as_ref())?;
            }
        }
        self.withhold_again(found)
    }

    /// Takes out of the copy what nobody is to meet there.
    fn withhold_again(&self, found: &Outcome) -> Result<(), FileError> {
        for hidden in &self.masks.sensitive {
            self.disk.put(hidden, None)?;
        }
        self.settle_repositories(found)
    }

    /// Makes Git's own folders below the checkout's again what they are there: what a command made of them is not met
    /// by the next.
    fn settle_repositories(&self, found: &Outcome) -> Result<(), FileError> {
        let is_gone =
            |folder: &WorkspacePath| self.masks.nested.iter().any(|entry| entry.starts_with(folder.as_str()));
        if let Some(folder) = found.gone_folders.iter().find(|folder| is_gone(folder)) {
            let error = io::Error::other("a repository is gone with it");
            return Err(FileError::Io { path: folder.clone(), error });
        }
        for repository in &found.repositories {
            let place = self.disk.path().join(repository.as_str());
            if !masks::is_plain_way(self.disk.path(), Path::new(repository.as_str())) {
                continue;
            }
            let mut settled = masks::remove(&place);
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

impl DiskWorkspace {
    /// Moves a file or link from elsewhere to its path, with its times and rights but none to be somebody else.
    fn move_in_as_is(
        &self,
        from: &Path,
        path: &WorkspacePath,
        metadata: &fs::Metadata,
    ) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        plain_rights(from, metadata).map_err(io)?;
        let folder = self.folder_for(path).map_err(io)?;
        let (place, name) = (from.parent().unwrap_or(from), from.file_name().unwrap_or_default());
        let place = cap_std::fs::Dir::open_ambient_dir(place, cap_std::ambient_authority()).map_err(io)?;
        match place.rename(name, &folder, path.file_name().unwrap_or_default()) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied
                ) =>
            {
                self.copy_in_as_is(from, path, metadata)
            }
            moved => moved.map_err(io),
        }
    }

    /// The same by copying.
    fn copy_in_as_is(
        &self,
        from: &Path,
        path: &WorkspacePath,
        metadata: &fs::Metadata,
    ) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        let folder = self.folder_for(path).map_err(io)?;
        let name = path.file_name().unwrap_or_default();
        if metadata.is_symlink() {
            let target = fs::read_link(from).map_err(io)?;
            let _ = folder.remove_file(name);
            return folder.symlink_contents(target, name).map_err(io);
        }
        let temporary = format!(".architect-ci-{}.tmp", uuid::Uuid::new_v4().simple());
        let options = cap_std::fs::OpenOptions::new().write(true).create_new(true).to_owned();
        let mut to = folder.open_with(&temporary, &options).map_err(io)?.into_std();
        let copied = fs::File::open(from).and_then(|mut from| {
            io::copy(&mut from, &mut to)?;
            to.set_permissions(plain_permissions(metadata))?;
            to.set_modified(metadata.modified()?)
        });
        let moved = copied.and_then(|()| folder.rename(&temporary, &folder, name));
        if moved.is_err() {
            // The first error is the one to tell.
            let _ = folder.remove_file(&temporary);
        }
        moved.map_err(io)
    }
}

#[cfg(unix)]
fn links(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn plain_permissions(metadata: &fs::Metadata) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn plain_permissions(metadata: &fs::Metadata) -> fs::Permissions {
    metadata.permissions()
}

/// Takes away a file's right to run as its owner.
fn plain_rights(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    let plain = plain_permissions(metadata);
    if metadata.is_file() && plain != metadata.permissions() {
        fs::set_permissions(path, plain)
    } else {
        Ok(())
    }
}
