//! Opening files below one folder without ever following a link.
//!
//! Linux does it in one call (`openat2` with `BENEATH` and `NO_SYMLINKS`). Elsewhere, and where a
//! sandbox forbids that call or the path is longer than the kernel takes at once, cap-std opens it
//! folder by folder, each step refusing links.

use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};

use super::path::{ResolvedPath, WorkspacePath};

/// Opens the folder at `path`, refusing links.
pub(super) fn open_dir(root: &Dir, path: &WorkspacePath) -> io::Result<Dir> {
    #[cfg(target_os = "linux")]
    match linux::open(root, path, rustix::fs::OFlags::DIRECTORY) {
        Err(error) if linux::needs_walk(error) => {}
        opened => return Ok(Dir::from_std_file(opened?.into())),
    }
    let mut dir = root.try_clone()?;
    for name in path.names() {
        dir = dir.open_dir_nofollow(name)?;
    }
    Ok(dir)
}

/// Opens the folder at `path`, creating what is missing, refusing links.
pub(super) fn create_dir(root: &Dir, path: &WorkspacePath) -> io::Result<Dir> {
    match open_dir(root, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let mut dir = root.try_clone()?;
    for name in path.names() {
        dir = match dir.open_dir_nofollow(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                dir.create_dir(name)?;
                dir.open_dir_nofollow(name)?
            }
            opened => opened?,
        };
    }
    Ok(dir)
}

/// Opens the file at `path` for reading, refusing links. Never blocks on a pipe.
pub(super) fn open_file(root: &Dir, path: &ResolvedPath) -> io::Result<std::fs::File> {
    #[cfg(target_os = "linux")]
    match linux::open(root, path, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY) {
        Err(error) if linux::needs_walk(error) => {}
        opened => return Ok(opened?.into()),
    }
    let (parent, name) = split(path)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    // A pipe would block an open without O_NONBLOCK, so look before: what is opened is looked at
    // again by the caller through the handle.
    if !open_dir(root, &parent)?.symlink_metadata(name)?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    open_dir(root, &parent)?.open_with(name, &options).map(File::into_std)
}

/// The folder of `path` and its last name.
pub(super) fn split(path: &ResolvedPath) -> io::Result<(WorkspacePath, &str)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(io::Error::from(io::ErrorKind::IsADirectory)),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;

    use cap_std::fs::Dir;
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::WorkspacePath;

    pub(super) fn open(root: &Dir, path: &WorkspacePath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(root, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty(), resolve)
    }

    /// No such call (old kernel, seccomp), or a path longer than the kernel takes at once.
    pub(super) fn needs_walk(error: Errno) -> bool {
        matches!(error, Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG)
    }
}
