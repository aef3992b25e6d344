//! Namespaces that a process leaves.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::Namespaces;

/// Unshares the user namespace, if that is what gives the privileges for the others. This process must have
/// one thread only.
pub(in crate::command) fn leave_users(namespaces: Namespaces) -> io::Result<()> {
    if namespaces != Namespaces::User {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Unshares the PID and IPC namespaces: the next child of this thread is the first process in the new PID
/// namespace. The thread cannot start others after that.
pub(in crate::command) fn leave_processes() -> io::Result<()> {
    unshare(UnshareFlags::NEWPID | UnshareFlags::NEWIPC)
}

/// Leaves the machine's network for an empty one, with the sockets there that have no path. This process must have one thread only.
pub fn leave_network() -> io::Result<()> {
    unshare(UnshareFlags::NEWNET)
}

#[expect(
    deprecated,
    reason = "unsound for processes that share their descriptors with another, which this is not"
)]
/// Unshares namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}
