//! Arrival: files from elsewhere on the same machine get their place in the checkout as they are.

use std::io;

use super::FileError;
use super::copy::plain_permissions;
use super::disk::DiskWorkspace;
use super::entry::{Entry, copy_content};
use super::path::WorkspacePath;

impl DiskWorkspace {
    /// Moves a file or link from elsewhere to its path, with its modification time and permissions but
    /// without set-user-ID and set-group-ID bits.
    pub fn move_in_as_is(&self, entry: &Entry, path: &WorkspacePath) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        plain_rights(entry).map_err(io)?;
        let folder = self.folder_for(path).map_err(io)?;
        match entry.folder.rename(&entry.name, &folder, path.file_name().unwrap_or_default()) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied
                ) =>
            {
                self.copy_in_as_is(entry, path)
            }
            moved => moved.map_err(io),
        }
    }

    /// Copies a file or link from elsewhere to its path, like [`Self::move_in_as_is`].
    pub fn copy_in_as_is(&self, entry: &Entry, path: &WorkspacePath) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        let folder = self.folder_for(path).map_err(io)?;
        let name = path.file_name().unwrap_or_default();
        if entry.metadata.is_symlink() {
            let target = entry.folder.read_link_contents(&entry.name).map_err(io)?;
            let _ = folder.remove_file(name);
            return folder.symlink_contents(target, name).map_err(io);
        }
        let temporary = format!(".architect-ci-{}.tmp", uuid::Uuid::new_v4().simple());
        let options = cap_std::fs::OpenOptions::new().write(true).create_new(true).to_owned();
        let mut to = folder.open_with(&temporary, &options).map_err(io)?.into_std();
        let copied = entry.open().and_then(|mut from| {
            copy_content(&mut from, &mut to)?;
            let metadata = from.metadata()?;
            to.set_permissions(plain_permissions(&metadata))?;
            to.set_modified(metadata.modified()?)
        });
        let moved = copied.and_then(|()| folder.rename(&temporary, &folder, name));
        if moved.is_err() {
            // The first error is the one to report.
            let _ = folder.remove_file(&temporary);
        }
        moved.map_err(io)
    }
}

/// Removes the special permission bits, such as set-user-ID, from a regular file.
#[cfg(unix)]
fn plain_rights(entry: &Entry) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    let mode = entry.metadata.permissions().mode();
    if entry.metadata.is_file() && mode & 0o7000 != 0 {
        entry.folder.set_permissions(&entry.name, Permissions::from_mode(mode & 0o777))
    } else {
        Ok(())
    }
}

#[cfg(not(unix))]
fn plain_rights(_: &Entry) -> io::Result<()> {
    Ok(())
}
