//! Mounts `/proc` and `/dev` in a new root, with little more than what a child has itself.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind_recursive};

use super::assembly::read_only;

/// Parts of `/proc` through which root could change the machine, even without capabilities.
const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Devices that programs commonly use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Symbolic links in `/dev`, with their targets.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Mounts `/proc` with the child's own processes only.
pub(super) fn processes(root: &Path, light: bool) -> io::Result<()> {
    let at = root.join("proc");
    fs::create_dir_all(&at)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if mount("proc", &at, "proc", flags, None).is_err() {
        // A container that covers parts of its own `/proc` does not allow a new one. The kernel protects what
        // the old one shows of other processes.
        mount_bind_recursive("/proc", &at)?;
    }
    for name in PROC_READ_ONLY.iter().filter(|_| !light) {
        let part = at.join(name);
        if fs::symlink_metadata(&part).is_ok() {
            mount_bind_recursive(&part, &part)?;
            read_only(&part)?;
        }
    }
    Ok(())
}

/// Makes a `/dev` with the few devices that programs use.
pub(super) fn devices(root: &Path, light: bool) -> io::Result<()> {
    let dev = root.join("dev");
    fs::create_dir_all(dev.join("pts"))?;
    fs::create_dir_all(dev.join("shm"))?;
    for name in DEVICES {
        let from = Path::new("/dev").join(name);
        if fs::symlink_metadata(&from).is_ok() {
            File::create(dev.join(name))?;
            mount_bind_recursive(&from, dev.join(name))?;
            if !light {
                // It can still be written to, but not be changed in mode or owner.
                read_only(&dev.join(name))?;
            }
        }
    }
    for (name, to) in DEVICE_LINKS {
        symlink(to, dev.join(name))?;
    }
    Ok(())
}

/// Mounts `/dev/pts` with terminals of the child's own.
#[expect(clippy::unnecessary_wraps, reason = "like every other part of a root")]
pub(super) fn terminals(root: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Programs that want a terminal do without one if there is none.
    let _ = mount("devpts", root.join("dev/pts"), "devpts", flags, c"newinstance,ptmxmode=0666,mode=620");
    Ok(())
}

/// Mounts `/dev/shm` with shared memory of the child's own.
pub(super) fn shared_memory(root: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", root.join("dev/shm"), "tmpfs", flags, c"mode=1777")?)
}
