//! Mounts an overlay for the eyes of one command: in a namespace of its own, which ends with it.

use std::io;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::workspace::Mount;

/// Moves this process, which must have one thread only, to where the overlay is mounted.
pub(super) fn enter(overlay: &Mount) -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    // With root's rights the files of every user stay what they are; without, one's own do.
    let privileged = user.is_root() && unshare(UnshareFlags::NEWNS).is_ok() && private().is_ok();
    if privileged && mount_overlay(overlay).is_ok() {
        return Ok(());
    }
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    private()?;
    mount_overlay(overlay)
}

#[expect(
    deprecated,
    reason = "unsound for processes that share their descriptors with another, which this is not"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Nothing that is mounted from now on is seen outside.
fn private() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

fn mount_overlay(overlay: &Mount) -> io::Result<()> {
    let (lower, upper, work) = (overlay.lower.display(), overlay.upper.display(), overlay.work.display());
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    let options = std::ffi::CString::new(options)?;
    Ok(mount("overlay", &overlay.lower, "overlay", MountFlags::empty(), options.as_c_str())?)
}
