//! Opening of the places that a child may use. Which ones these are is known before anything of the checkout runs; each
//! child opens them anew. A command that ran in between may have put a link in the place of one of them, which would open
//! whatever it leads to, so none is followed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

/// File systems of the kernel, in which names such as `/proc/self` are links, and no command can make any.
const OF_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Shared memory, the one folder among them to which commands write.
const SHARED_MEMORY: &str = "/dev/shm";

/// Opens a file or folder as a mere place: it can be named, but neither read nor written.
pub(super) fn open_place(path: &Path) -> io::Result<OwnedFd> {
    let of_kernel = OF_KERNEL.iter().any(|folder| path.starts_with(folder));
    if of_kernel && (path == Path::new(SHARED_MEMORY) || !path.starts_with(SHARED_MEMORY)) {
        return Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    }
    match openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => Ok(walk(path)?),
        opened => Ok(opened?),
    }
}

/// The same name by name, for kernels that cannot do it at once.
fn walk(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut place = openat(CWD, "/", flags, Mode::empty())?;
    for name in path.components().filter(|name| !matches!(name, Component::RootDir)) {
        let Component::Normal(name) = name else { return Err(Errno::INVAL) };
        place = openat(&place, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(place)
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
        let opened = |path: &Path| [open_place(path).is_ok(), walk(path).is_ok()];
        for path in ["a", "a/b", "a/file"] {
            assert_eq!(opened(&root.join(path)), [true, true], "{path}");
        }
        for path in ["link", "link/etc", "short/b", "none"] {
            assert_eq!(opened(&root.join(path)), [false, false], "{path}");
        }
        assert!(open_place(Path::new("/proc/self")).is_ok() && open_place(Path::new("/")).is_ok());
        let place = open_place(&root.join("a")).expect("a folder");
        fs::rename(root.join("a"), root.join("moved")).expect("moved");
        assert!(path_of(&place).join("file").exists());
    }
}
