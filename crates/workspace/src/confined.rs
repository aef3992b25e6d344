//! Confined opening: opens files below one folder without ever following a link.
//!
//! Linux does it in one call (`openat2` with `BENEATH` and `NO_SYMLINKS`). On other systems, and where a
//! sandbox forbids that call or the path is longer than the kernel accepts at once, cap-std opens it folder
//! by folder, refusing links at each step.

use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};

use super::path::{ResolvedPath, WorkspacePath};

/// Opens the folder at `path`, refusing links.
pub fn open_dir(root: &Dir, path: &WorkspacePath) -> io::Result<Dir> {
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

/// Opens the folder at `path`, refusing links, and creates what is missing.
pub fn create_dir(root: &Dir, path: &WorkspacePath) -> io::Result<Dir> {
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
pub fn open_file(root: &Dir, path: &ResolvedPath) -> io::Result<std::fs::File> {
    #[cfg(target_os = "linux")]
    match linux::open(root, path, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY) {
        Err(error) if linux::needs_walk(error) => {}
        opened => return Ok(opened?.into()),
    }
    let (parent, name) = split(path)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    // Without `O_NONBLOCK`, opening a pipe would block, so the kind is checked first; the caller checks what
    // was opened once more, through the handle.
    if !open_dir(root, &parent)?.symlink_metadata(name)?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    open_dir(root, &parent)?.open_with(name, &options).map(File::into_std)
}

/// Returns `true` if there is something at `path` and no name in it is a link, where one call can tell. It is not opened for reading.
pub(crate) fn is_plain(root: &Dir, path: &WorkspacePath) -> bool {
    #[cfg(target_os = "linux")]
    return linux::open(root, path, rustix::fs::OFlags::PATH).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Splits `path` into its folder and its last name. The root is an error.
pub fn split(path: &ResolvedPath) -> io::Result<(WorkspacePath, &str)> {
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

    /// Returns whether to walk instead: there is no such call (old kernel, seccomp), or the path is longer
    /// than the kernel accepts at once.
    pub(super) fn needs_walk(error: Errno) -> bool {
        matches!(error, Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG)
    }
}
