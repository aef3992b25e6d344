//! Staging: writes files next to the checkout and moves them into it, which is what applying a plan asks of
//! the disk.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::changes::{ChangeSet, FileState, Mode};
use super::disk::DiskWorkspace;
use super::file_system::is_executable;
use super::path::{ResolvedPath, WorkspacePath};
use super::{FileError, Kind, confined};

impl DiskWorkspace {
    /// Returns the content and mode of the file or link at a path that leads through no link, or `None` if
    /// there is neither.
    pub fn state_of(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        self.state(&ResolvedPath(path.clone()))
    }

    /// Returns the outermost symbolic link among the folders above a path, if there is one.
    pub fn link_above(&self, path: &WorkspacePath) -> Result<Option<WorkspacePath>, FileError> {
        let mut folders = Vec::new();
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| !folder.is_root()) {
            above = folder.parent();
            folders.push(folder);
        }
        for folder in folders.into_iter().rev() {
            let stat = self.stat(&ResolvedPath(folder.clone()))?;
            if stat.is_some_and(|stat| stat.kind == Kind::Link) {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// Restores a path to a state: a file with its mode, a link, or nothing.
    pub fn put(&self, path: &WorkspacePath, state: Option<&FileState>) -> Result<(), FileError> {
        self.restore(&ResolvedPath(path.clone()), state)
    }

    /// Writes a state to `place`, outside of what the workspace shows, with the permissions of the file at
    /// `path`.
    pub fn stage(&self, place: &Path, state: &FileState, path: &WorkspacePath) -> io::Result<()> {
        match fs::remove_file(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if state.mode == Mode::Link {
            return crate::copy::link(Path::new(&*String::from_utf8_lossy(&state.content)), place);
        }
        let mut file = fs::File::create_new(place)?;
        file.write_all(&state.content)?;
        rights(&file, &self.path().join(path.as_str()), state.mode)?;
        file.sync_all()
    }

    /// Moves a staged file to its path, in one step if both are on the same file system.
    pub fn move_in(&self, staged: &Path, path: &WorkspacePath) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.clone(), error };
        let resolved = ResolvedPath(path.clone());
        let (parent, name) = confined::split(&resolved).map_err(io)?;
        let folder = confined::create_dir(self.dir(), &parent).map_err(io)?;
        if folder.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir()) {
            remove_empty_tree(&folder, name).map_err(io)?;
        }
        let (place, file) = (staged.parent().unwrap_or(staged), staged.file_name().unwrap_or_default());
        let place = cap_std::fs::Dir::open_ambient_dir(place, cap_std::ambient_authority()).map_err(io)?;
        match place.rename(file, &folder, name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.copy_in(staged, &resolved),
            moved => moved.map_err(io),
        }
    }

    fn copy_in(&self, staged: &Path, path: &ResolvedPath) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.0.clone(), error };
        let metadata = fs::symlink_metadata(staged).map_err(io)?;
        let state = if metadata.is_symlink() {
            let target = fs::read_link(staged).map_err(io)?;
            FileState { content: target.to_string_lossy().as_bytes().into(), mode: Mode::Link }
        } else {
            let mode = if is_executable(&metadata) { Mode::Executable } else { Mode::Regular };
            FileState { content: fs::read(staged).map_err(io)?.into(), mode }
        };
        self.restore(path, Some(&state))
    }

    /// Opens the folder for a file, creates it if necessary, and removes a folder that is in the file's
    /// own place.
    pub(crate) fn folder_for(&self, path: &WorkspacePath) -> io::Result<cap_std::fs::Dir> {
        let resolved = ResolvedPath(path.clone());
        let (parent, name) = confined::split(&resolved)?;
        let folder = match confined::create_dir(self.dir(), &parent) {
            // A link or a file stands where a folder has to be now.
            Err(_) => {
                self.clear_way(&parent)?;
                confined::create_dir(self.dir(), &parent)?
            }
            Ok(folder) => folder,
        };
        if folder.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir()) {
            super::removal::remove_in(&folder, name)?;
        }
        Ok(folder)
    }

    /// Removes the outermost entry on the way to a folder that is not a folder.
    fn clear_way(&self, folder: &WorkspacePath) -> io::Result<()> {
        let mut way = WorkspacePath::root();
        for name in folder.names() {
            let parent = confined::open_dir(self.dir(), &way)?;
            way = way.child(name);
            match parent.symlink_metadata(name) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return parent.remove_file(name),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Creates a folder and those above it.
    pub fn make_folder(&self, path: &WorkspacePath) -> io::Result<()> {
        confined::create_dir(self.dir(), path).map(drop)
    }

    /// Sets the mode of a file or folder, without set-user-ID and set-group-ID bits.
    #[cfg(unix)]
    pub(crate) fn set_mode(&self, path: &WorkspacePath, mode: u32) -> io::Result<()> {
        use cap_std::fs::{Permissions, PermissionsExt};
        let resolved = ResolvedPath(path.clone());
        let (parent, name) = confined::split(&resolved)?;
        confined::open_dir(self.dir(), &parent)?.set_permissions(name, Permissions::from_mode(mode & 0o1777))
    }

    /// Does nothing: other systems have no modes.
    #[cfg(not(unix))]
    pub(crate) fn set_mode(&self, _: &WorkspacePath, _: u32) -> io::Result<()> {
        Ok(())
    }

    /// Sets the modification time of a file.
    pub fn set_modified(&self, path: &WorkspacePath, modified: std::time::SystemTime) -> io::Result<()> {
        confined::open_file(self.dir(), &ResolvedPath(path.clone()))?.set_modified(modified)
    }

    /// Lists the folders above `path` that do not exist, the outermost first.
    pub fn missing_folders(&self, path: &WorkspacePath) -> Vec<WorkspacePath> {
        let mut missing = Vec::new();
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| !folder.is_root()) {
            if matches!(self.stat(&ResolvedPath(folder.clone())), Ok(Some(stat)) if stat.kind == Kind::Directory)
            {
                break;
            }
            above = folder.parent();
            missing.push(folder);
        }
        missing.reverse();
        missing
    }

    /// Removes those of the folders that are empty, the last one first.
    pub fn remove_empty(&self, folders: &[WorkspacePath]) {
        for folder in folders.iter().rev() {
            let resolved = ResolvedPath(folder.clone());
            let removed = confined::split(&resolved)
                .and_then(|(parent, name)| confined::open_dir(self.dir(), &parent)?.remove_dir(name));
            // A folder that is not empty stays.
            let _ = removed;
        }
    }

    /// Lists the files in folders that have to make room for a file, except those that `changes` removes.
    pub fn occupied(&self, changes: &ChangeSet) -> Result<Vec<WorkspacePath>, FileError> {
        let goes: BTreeSet<&WorkspacePath> =
            changes.iter().filter(|change| change.after.is_none()).map(|change| &change.path).collect();
        let mut occupied = Vec::new();
        for change in changes.iter().filter(|change| change.before.is_none()) {
            let full = self.path().join(change.path.as_str());
            if !fs::symlink_metadata(&full).is_ok_and(|metadata| metadata.is_dir()) {
                continue;
            }
            for entry in ignore::WalkBuilder::new(&full).standard_filters(false).build().flatten() {
                let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
                let path = entry.path().strip_prefix(self.path()).ok().and_then(Path::to_str);
                let path = path.and_then(|path| WorkspacePath::parse(path).ok());
                occupied.extend(path.filter(|path| !is_dir && !goes.contains(path)));
            }
        }
        Ok(occupied)
    }
}

/// Removes a folder and those in it; fails if there is a file anywhere in them.
fn remove_empty_tree(parent: &cap_std::fs::Dir, name: &str) -> io::Result<()> {
    use cap_fs_ext::DirExt;
    let folder = parent.open_dir_nofollow(name)?;
    for entry in folder.entries()? {
        if let Ok(name) = entry?.file_name().into_string() {
            remove_empty_tree(&folder, &name)?;
        }
    }
    parent.remove_dir(name)
}

#[cfg(unix)]
fn rights(file: &fs::File, like: &Path, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let known = fs::symlink_metadata(like).ok().filter(fs::Metadata::is_file);
    let bits = known.map_or(file.metadata()?, |metadata| metadata).permissions().mode();
    // Everybody who may read the file may execute it, or nobody may.
    let bits = if mode == Mode::Executable { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
    file.set_permissions(fs::Permissions::from_mode(bits))
}

#[cfg(not(unix))]
fn rights(_: &fs::File, _: &Path, _: Mode) -> io::Result<()> {
    Ok(())
}
