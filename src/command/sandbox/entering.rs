//! The way of a process into its own file system and network.

use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount_remount, unmount};
use rustix::process::pivot_root;
use rustix::thread::UnshareFlags;

use super::mounts::{add, begin, named};
use super::namespaces::unshare;
use super::{NewRoot, OwnNetwork, held_root, own_network};

/// Makes the file system and moves this process, which must have one thread only, into it; before that, into a network of
/// its own if it gets one.
pub fn enter(root: &NewRoot, network: Option<&OwnNetwork>) -> io::Result<()> {
    if let Some(network) = network {
        own_network::enter(network).map_err(|error| named(&error, "a network of its own"))?;
    }
    let is_held = root.held.as_ref().is_some_and(|held| held_root::join(held, &root.at));
    unshare(UnshareFlags::NEWNS)?;
    if !is_held {
        begin(&root.common())?;
    }
    add(root, root.own())?;
    std::env::set_current_dir(&root.at)?;
    // The old root is then mounted above the new one, and is detached.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    // Unless the machine's own root is mounted there now.
    if root.mounts.iter().all(|step| step.at() != Path::new("/")) {
        mount_remount("/", MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID, "")?;
    }
    Ok(())
}
