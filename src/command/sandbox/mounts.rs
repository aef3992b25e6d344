//! Mounts of a new root: a file system made for one child. Whatever it needs is bound into an empty root,
//! read-only unless it is discarded afterwards. What is not bound is not there.
//!
//! The file system is made inside the child's own namespaces and ends with them.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{getegid, geteuid, pivot_root};
use rustix::thread::UnshareFlags;

use super::opening::{open_place, path_of};
use super::{Mount, Namespaces, NewRoot, Overlay, OwnNetwork, User, devices, held_root, own_network};

/// What the kernel creates in the work folder of an overlay, each after the folder that it is in.
const OF_OVERLAYS: [&str; 4] = ["work", NOTE, "work/incompat/volatile", "work/incompat/volatile/dirty"];

/// The kernel's note that an overlay is volatile.
const NOTE: &str = "work/incompat";

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

/// Begins a file system with these parts, in a mount namespace that is this process's own.
pub(super) fn begin(root: &NewRoot) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let options = CString::new("mode=755,size=16m")?;
    mount("tmpfs", &root.at, "tmpfs", MountFlags::NOSUID, options.as_c_str())?;
    add(root, root.mounts.iter())
}

fn add<'a>(root: &NewRoot, steps: impl Iterator<Item = &'a Mount>) -> io::Result<()> {
    let mut has_read_only = false;
    for step in steps {
        make(root, step).map_err(|error| named(&error, &format!("{} in a new root", step.at().display())))?;
        if let (Some(user), Mount::Overlay { overlay, .. } | Mount::Cache { overlay, .. }) =
            (&root.user, step)
        {
            hand_over(overlay, user);
        }
        has_read_only |= matches!(step, Mount::Bind { writable: false, .. });
    }
    if has_read_only && !root.light { read_only_below(root) } else { Ok(()) }
}

#[expect(
    deprecated,
    reason = "unsound for processes that share their descriptors with another, which this is not"
)]
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

fn named(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Returns where a path of the child is while its root is being made.
fn below(root: &Path, at: &Path) -> PathBuf {
    root.join(at.strip_prefix("/").unwrap_or(at))
}

fn make(NewRoot { at: root, light, .. }: &NewRoot, step: &Mount) -> io::Result<()> {
    let light = *light;
    match step {
        Mount::Folder { at } => fs::create_dir_all(below(root, at)),
        Mount::Link { at, to } => link(to, &below(root, at)),
        Mount::Bind { from, at, writable } => bind(root, from, &below(root, at), *writable || light),
        Mount::Overlay { overlay, at, writable } => {
            overlay_at(root, overlay, &below(root, at), *writable)?;
            if *writable || light { Ok(()) } else { read_only(&below(root, at)) }
        }
        Mount::Cache { overlay, at } => {
            let target = below(root, at);
            // A cache that cannot be written to is better than none. The kernel would write a line to its log, and so to
            // the console, about each overlay of a mere file.
            let overlaid = if overlay.bottom().is_dir() {
                overlay_at(root, overlay, &target, true)
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            };
            overlaid.or_else(|_| bind(root, overlay.bottom(), &target, false))
        }
        Mount::Hide { at } => hide(root, &below(root, at)),
        // It may be removed at any time.
        Mount::HideSocket { at } => hide(root, &below(root, at)).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }),
        Mount::Processes => devices::processes(root, light),
        Mount::Devices => devices::devices(root, light),
        // A child that writes nothing has no use for them.
        Mount::Terminals | Mount::SharedMemory if light => Ok(()),
        Mount::Terminals => devices::terminals(root),
        Mount::SharedMemory => devices::shared_memory(root),
    }
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    match symlink(to, at) {
        // It came along with a folder that was bound in.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Creates a mount point of the same kind (file or folder) as `like`. No link on the way may lead elsewhere,
/// because parts of it are in folders that commands write to.
fn mount_point(root: &Path, at: &Path, like: &Path) -> io::Result<()> {
    let mut way = root.to_owned();
    for name in at.strip_prefix(root).unwrap_or(at).components() {
        way.push(name);
        if fs::symlink_metadata(&way).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(io::Error::other(format!("{} is a link", way.display())));
        }
    }
    if fs::metadata(like)?.is_dir() {
        return fs::create_dir_all(at);
    }
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::symlink_metadata(at).is_err() {
        File::create(at)?;
    }
    Ok(())
}

fn bind(root: &Path, from: &Path, at: &Path, writable: bool) -> io::Result<()> {
    // What does not exist (any more) is not needed; what a link leads to by now is not what was meant.
    let Ok(place) = open_place(from) else { return Ok(()) };
    let from = path_of(&place);
    mount_point(root, at, &from)?;
    mount_bind_recursive(&from, at)?;
    if writable { Ok(()) } else { read_only(at) }
}

/// Makes mounts below read-only folders read-only as well.
fn read_only_below(root: &NewRoot) -> io::Result<()> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    // "<id> <parent> <device> <root> <mount point> …", with whitespace and the like as `\\040`
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    for point in points {
        let Some(seen) = point.strip_prefix(&root.at).ok().map(|below| Path::new("/").join(below)) else {
            continue;
        };
        let governs = |step: &&Mount| seen.starts_with(step.at());
        let step = root.mounts.iter().filter(governs).max_by_key(|step| step.at().components().count());
        if let Some(Mount::Bind { at, writable: false, .. }) = step
            && *at != seen
        {
            read_only(&point)?;
        }
    }
    Ok(())
}

/// Decodes a path in the table of mounts, where some characters are three octal digits after a backslash.
pub(super) fn unescaped(text: &str) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 8).ok());
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(plain))
}

/// Makes a mount read-only for everybody, including modes, owners, and times.
pub(super) fn read_only(at: &Path) -> io::Result<()> {
    // In a user namespace, the restrictions of the mount below must be repeated.
    let has = statvfs(at)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    for (is, flag) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(is) {
            flags |= flag;
        }
    }
    Ok(mount_remount(at, flags, "")?)
}

fn overlay_at(root: &Path, overlay: &Overlay, at: &Path, writable: bool) -> io::Result<()> {
    let lowers: Vec<_> = overlay.lowers.iter().map(|lower| open_place(lower)).collect::<io::Result<_>>()?;
    mount_point(root, at, &lowers.last().map_or(overlay.upper.clone(), path_of))?;
    let lower: Vec<String> = lowers.iter().map(|lower| path_of(lower).display().to_string()).collect();
    let (lower, upper, work) = (lower.join(":"), overlay.upper.display(), overlay.work.display());
    let mount_with = |options: String| -> io::Result<()> {
        let options = CString::new(options)?;
        Ok(mount("overlay", at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?)
    };
    if !writable {
        // The upper folder becomes one more lower one, because it must not be in two mounts at a time.
        return mount_with(format!("lowerdir={upper}:{lower},userxattr"));
    }
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    // What is thrown away need not reach the disk: at its end, an overlay writes out everything that waits to be written
    // to the file system of its upper folder, whoever wrote it.
    let volatile = || {
        forget_volatile(overlay);
        mount_with(format!("{options},volatile"))
    };
    // Once more, because somebody else may have mounted it meanwhile. Kernels before 5.10 do not know the option.
    volatile().or_else(|_| volatile()).or_else(|_| {
        forget_volatile(overlay);
        mount_with(options.clone())
    })
}

/// Removes the kernel's note that an overlay's upper folder may not have reached the disk, because of which it would not be
/// mounted again. Nobody reads it after a crash of the machine.
fn forget_volatile(overlay: &Overlay) {
    // It is there only if the overlay was mounted before.
    let _ = fs::remove_dir_all(overlay.work.join(NOTE));
}

/// Gives what the kernel created to the user who has to remove it later.
fn hand_over(overlay: &Overlay, user: &User) {
    let owner = rustix::fs::Uid::from_raw(user.id);
    let group = rustix::fs::Gid::from_raw(user.group);
    for entry in OF_OVERLAYS {
        // What cannot be given away is left behind in the folder for temporary files.
        let _ = rustix::fs::chownat(
            rustix::fs::CWD,
            overlay.work.join(entry),
            Some(owner),
            Some(group),
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        );
    }
}

/// Covers a file or folder with something empty, if it exists.
fn hide(root: &Path, at: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(at) else { return Ok(()) };
    if metadata.is_dir() {
        mount("tmpfs", at, "tmpfs", MountFlags::NOSUID, c"mode=000,size=4k")?;
        return Ok(());
    }
    if metadata.is_symlink() {
        return Ok(());
    }
    let nothing = root.join(".nothing");
    if fs::symlink_metadata(&nothing).is_err() {
        File::create(&nothing)?;
        fs::set_permissions(&nothing, std::os::unix::fs::PermissionsExt::from_mode(0o444))?;
    }
    mount_bind_recursive(&nothing, at)?;
    read_only(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        for (text, path) in [
            ("/plain", "/plain"),
            (r"/with\040blank\134and\011tab", "/with blank\\and\ttab"),
            (r"/end\04", r"/end\04"),
            ("", ""),
        ] {
            assert_eq!(unescaped(text), Path::new(path), "{text}");
        }
    }

    #[test]
    fn nothing_is_mounted_where_a_link_leads() {
        let dir = tempfile::tempdir().expect("a folder");
        let (root, elsewhere) = (dir.path().join("root"), dir.path().join("elsewhere"));
        fs::create_dir_all(root.join("home")).expect("a folder");
        fs::create_dir(&elsewhere).expect("a folder");
        symlink(&elsewhere, root.join("home/link")).expect("a link");
        assert!(mount_point(&root, &root.join("home/link/below"), &elsewhere).is_err());
        assert!(mount_point(&root, &root.join("home/folder/below"), &elsewhere).is_ok());
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    }
}
