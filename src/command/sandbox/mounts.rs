//! Mounts of a new root: a file system made for one child. Whatever it needs is bound into an empty root,
//! read-only unless it is discarded afterwards. What is not bound is not there.
//!
//! The file system is made inside the child's own namespaces and ends with them.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use super::assembly::{Assembly, bind_at, furnish, read_only};
use super::opening::{kind, open_place, path_of};
use super::{Mount, NewRoot, Overlay, User, devices};

/// What the kernel creates in the work folder of an overlay, each after the folder that it is in.
const OF_OVERLAYS: [&str; 4] = ["work", NOTE, "work/incompat/volatile", "work/incompat/volatile/dirty"];

/// The kernel's note that an overlay is volatile.
const NOTE: &str = "work/incompat";

/// Begins a file system with these parts, in a mount namespace that is this process's own.
pub(super) fn begin(root: &NewRoot) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let options = CString::new("mode=755,size=16m")?;
    mount("tmpfs", &root.at, "tmpfs", MountFlags::NOSUID, options.as_c_str())?;
    furnish(&root.at)?;
    add(root, root.mounts.iter())
}

/// Adds mounts to a new root.
pub(super) fn add<'a>(root: &'a NewRoot, steps: impl Iterator<Item = &'a Mount>) -> io::Result<()> {
    let mut assembly = Assembly::begin(root)?;
    for step in steps {
        make(&mut assembly, root, step)
            .map_err(|error| named(&error, &format!("{} in a new root", step.at().display())))?;
        if let (Some(user), Mount::Overlay { overlay, .. } | Mount::Cache { overlay, .. }) =
            (&root.user, step)
        {
            hand_over(overlay, user);
        }
    }
    Ok(())
}

/// Says what could not be made.
pub(super) fn named(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn make<'a>(assembly: &mut Assembly<'a>, root: &NewRoot, step: &'a Mount) -> io::Result<()> {
    let NewRoot { at: root, light, .. } = root;
    let light = *light;
    match step {
        Mount::Folder { at } => assembly.folder(at),
        Mount::Link { at, to } => assembly.link(to, at),
        Mount::Bind { from, writable, .. } => assembly.bind(step, from, *writable || light),
        Mount::Overlay { overlay, writable, .. } => {
            let layers = Layers::open(overlay)?;
            assembly.place(step, true, |stage| {
                layers.mount(stage, *writable)?;
                if *writable || light { Ok(()) } else { read_only(stage) }
            })
        }
        Mount::Cache { overlay, .. } => {
            // What does not exist any more is not needed.
            let Ok(layers) = Layers::open(overlay) else { return Ok(()) };
            // A cache that cannot be written to is better than none. The kernel would write a line to its log, and so to
            // the console, about each overlay of a mere file.
            if kind(layers.bottom()?)? != FileType::Directory {
                return assembly.bind(step, overlay.bottom(), false);
            }
            assembly.place(step, true, |stage| {
                layers.mount(stage, true).or_else(|_| bind_at(stage, layers.bottom()?, false, true))
            })
        }
        // A socket may be removed at any time.
        Mount::Hide { at } | Mount::HideSocket { at } => assembly.hide(at),
        Mount::Processes => devices::processes(root, light),
        Mount::Devices => devices::devices(root, light),
        // A child that writes nothing has no use for them.
        Mount::Terminals | Mount::SharedMemory if light => Ok(()),
        Mount::Terminals => devices::terminals(root),
        Mount::SharedMemory => {
            devices::shared_memory(root)?;
            assembly.add_fresh(step.at())
        }
    }
}

/// The folders of an overlay, opened.
struct Layers<'a> {
    overlay: &'a Overlay,
    lowers: Vec<OwnedFd>,
}

impl<'a> Layers<'a> {
    fn open(overlay: &'a Overlay) -> io::Result<Self> {
        let lowers = overlay.lowers.iter().map(|lower| open_place(lower)).collect::<io::Result<_>>()?;
        Ok(Self { overlay, lowers })
    }

    /// Returns the folder at the bottom.
    fn bottom(&self) -> io::Result<&OwnedFd> {
        self.lowers.last().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn mount(&self, at: &Path, writable: bool) -> io::Result<()> {
        let Self { overlay, lowers } = self;
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
