//! Opening of the places that a child may use. Which ones these are is known before anything of the checkout runs; each
//! child opens them again. A command that ran in between may have put a link in the place of one of them, which would open
//! whatever it leads to, so none is followed. A command in the background may do so at any moment, so what was opened is
//! used from then on, and not its name.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// File systems of the kernel, in which names such as `/proc/self` are links, and no command can make any.
const OF_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Shared memory, the one folder among them to which commands write.
const SHARED_MEMORY: &str = "/dev/shm";

/// How a mere place is opened.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens a file or folder as a mere place: it can be named, but neither read nor written.
pub(super) fn open_place(path: &Path) -> io::Result<OwnedFd> {
    let of_kernel = OF_KERNEL.iter().any(|folder| path.starts_with(folder));
    if of_kernel && (path == Path::new(SHARED_MEMORY) || !path.starts_with(SHARED_MEMORY)) {
        return Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    }
    match openat2(CWD, path, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => {
            let root = openat(CWD, "/", PLACE, Mode::empty())?;
            Ok(walk(root, path.strip_prefix("/").unwrap_or(path))?)
        }
        opened => Ok(opened?),
    }
}

/// Opens a place below a folder that is open.
pub(super) fn open_below(folder: impl AsFd, below: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match openat2(&folder, below, PLACE, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => {
            walk(openat(&folder, ".", PLACE, Mode::empty())?, below)
        }
        opened => opened,
    }
}

/// The same name by name, for kernels that cannot do it at once.
fn walk(mut place: OwnedFd, below: &Path) -> Result<OwnedFd, Errno> {
    for name in below.components() {
        let Component::Normal(name) = name else { return Err(Errno::INVAL) };
        place = open_name(&place, name)?;
        if kind(&place)? == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(place)
}

/// Opens an entry of a folder, a link as the link that it is.
pub(super) fn open_name(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, PLACE | OFlags::NOFOLLOW, Mode::empty())
}

/// Creates an entry of a folder: an empty folder, or an empty file. Fails if there is anything of that name.
pub(super) fn create_name(folder: &OwnedFd, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
    if is_folder {
        return mkdirat(folder, name, Mode::from_raw_mode(0o777));
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::from_raw_mode(0o666)).map(drop)
}

/// Returns what kind of file is open.
pub(super) fn kind(place: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(place)?.st_mode))
}

/// Returns a path that leads to what is open, whatever its name leads to.
pub(super) fn path_of(place: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", place.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_nowhere_except_those_of_the_kernel() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        fs::create_dir_all(root.join("a/b")).expect("a folder");
        fs::write(root.join("a/file"), "").expect("a file");
        symlink("/", root.join("link")).expect("a link");
        symlink("a", root.join("short")).expect("a link");
        let folder = || open_place(&root).expect("a folder");
        let opened = |path: &str| {
            let below = Path::new(path);
            let at_once = open_place(&root.join(below)).is_ok();
            [at_once, open_below(folder(), below).is_ok(), walk(folder(), below).is_ok()]
        };
        for path in ["a", "a/b", "a/file"] {
            assert_eq!(opened(path), [true; 3], "{path}");
        }
        for path in ["link", "link/etc", "short/b", "none"] {
            assert_eq!(opened(path), [false; 3], "{path}");
        }
        assert!(
            open_below(folder(), Path::new("../..")).is_err() && walk(folder(), Path::new("../..")).is_err()
        );
        assert!(open_place(Path::new("/proc/self")).is_ok() && open_place(Path::new("/")).is_ok());
        let place = open_place(&root.join("a")).expect("a folder");
        fs::rename(root.join("a"), root.join("moved")).expect("moved");
        assert!(path_of(&place).join("file").exists());
    }
}
