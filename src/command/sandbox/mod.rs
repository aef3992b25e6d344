//! What the kernel lets a child do.
//!
//! Where namespaces can be had, a child gets a file system of its own ([`NewRoot`]): the checkout as it is to be
//! seen, the system and toolchains read-only, a private `/tmp` and a home folder that goes away, and nothing else.
//! Landlock, a filter of system calls and lost capabilities do the rest, and all of it where there are none.
//!
//! A child is started by way of this very program (`architect-ci __sandbox`), which shuts itself in and
//! then becomes the command, or its parent: between `fork` and `exec` nothing could be done without `unsafe`. Its
//! supervisor stays outside, where the child can neither signal nor trace it.

mod caches;
mod mount_points;
mod places;
mod plan;
mod repository;

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod syscalls;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub use kernel::{become_user, offered, restrict};
#[cfg(target_os = "linux")]
pub use mounts::enter;
#[cfg(target_os = "linux")]
pub(super) use mounts::{leave_processes, leave_users};
pub use plan::{Sandbox, Settings, View};

/// The sub-command by which a child shuts itself in.
pub const SANDBOX: &str = "__sandbox";

/// What a child is let do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// It looks: nothing is written but to a private temporary folder, and nobody is talked to.
    Look,
    /// It works: what it writes lands on a state that is looked at before anything of it is kept.
    Work,
}

/// Which sockets a child may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sockets {
    /// None at all.
    None,
    /// To its own processes and the kernel.
    Local,
    /// TCP and UDP as well.
    Internet,
}

/// How a file system of its own can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Namespaces {
    /// By root's own rights.
    Root,
    /// As a user of its own.
    User,
    /// By `sudo`, whose rights are given up again before anything else runs.
    Sudo,
}

impl Namespaces {
    /// What is worth trying for this user, the best first.
    #[cfg(target_os = "linux")]
    pub(super) fn candidates() -> &'static [Self] {
        if rustix::process::geteuid().is_root() {
            &[Self::Root, Self::User]
        } else {
            &[Self::User, Self::Sudo]
        }
    }

    /// Other systems have none.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn candidates() -> &'static [Self] {
        &[]
    }
}

/// The user that a child becomes after its file system was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user's id.
    pub id: u32,
    /// The group's id.
    pub group: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

/// An overlay: what is written lands in `upper`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The folders below, from top to bottom.
    pub lowers: Vec<PathBuf>,
    /// Takes what is written.
    pub upper: PathBuf,
    /// The kernel's own.
    pub work: PathBuf,
}

/// What somebody sees who changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The workspace.
    pub tree: Overlay,
    /// What lies above single folders in it, and where they are.
    pub repositories: Vec<(PathBuf, Overlay)>,
}

impl Overlay {
    /// Returns the folder at the bottom: what is seen where nothing lies above it.
    pub fn bottom(&self) -> &Path {
        self.lowers.last().unwrap_or(&self.upper)
    }
}

/// One part of a new root, `at` a path as the child sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// An empty folder.
    Folder {
        /// Where.
        at: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// Where.
        at: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// A file or folder of the machine's.
    Bind {
        /// Which.
        from: PathBuf,
        /// Where.
        at: PathBuf,
        /// Whether it is written to for real.
        writable: bool,
    },
    /// A folder to which nothing is written for real.
    Overlay {
        /// What it is made of.
        overlay: Overlay,
        /// Where.
        at: PathBuf,
        /// Whether it can be written to at all.
        writable: bool,
    },
    /// The same, read-only where no overlay can be had.
    Cache {
        /// What it is made of.
        overlay: Overlay,
        /// Where.
        at: PathBuf,
    },
    /// Something empty, in front of what is there.
    Hide {
        /// Where.
        at: PathBuf,
    },
    /// `/proc`
    Processes,
    /// `/dev`
    Devices,
}

impl Mount {
    fn at(&self) -> &Path {
        match self {
            Self::Folder { at }
            | Self::Link { at, .. }
            | Self::Bind { at, .. }
            | Self::Overlay { at, .. }
            | Self::Cache { at, .. }
            | Self::Hide { at } => at,
            Self::Processes => Path::new("/proc"),
            Self::Devices => Path::new("/dev"),
        }
    }
}

/// A file system made for one child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRoot {
    /// An empty folder, where it is made.
    pub at: PathBuf,
    /// How it can be had.
    pub namespaces: Namespaces,
    /// Its parts, in order.
    pub mounts: Vec<Mount>,
    /// Who the child is afterwards, if somebody else.
    pub user: Option<User>,
    /// Whether other walls keep the child from every write: then none of this has to be read-only by itself.
    pub light: bool,
}

/// What one child may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// The file system that it sees; `None` for the machine's.
    pub root: Option<NewRoot>,
    /// Whether Landlock, the filter and the rest stand; without them there is the file system alone.
    pub restricted: bool,
    /// Where it may read; `None` for all that it sees.
    pub readable: Option<Vec<PathBuf>>,
    /// Folders of which it may read names alone.
    pub listable: Vec<PathBuf>,
    /// Where it may write.
    pub writable: Vec<PathBuf>,
    /// Which sockets it may open.
    pub sockets: Sockets,
    /// Whether it may change modes, owners, times and attributes of files.
    pub metadata: bool,
}

impl Walls {
    /// Walls that let nothing through.
    pub fn nothing() -> Self {
        Self {
            root: None,
            restricted: true,
            readable: Some(Vec::new()),
            listable: Vec::new(),
            writable: Vec::new(),
            sockets: Sockets::None,
            metadata: false,
        }
    }
}

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Walls around files.
    pub files: bool,
    /// Walls around TCP.
    pub network: bool,
    /// Walls around signals.
    pub signals: bool,
}

/// Keeps this process's memory and environment from others of the same user, and from core dumps.
#[cfg(target_os = "linux")]
pub fn hide_process() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Fails for no process that asks for this much.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Other systems have no such switch.
#[cfg(not(target_os = "linux"))]
pub fn hide_process() {}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn offered() -> Offered {
    Offered { files: false, network: false, signals: false }
}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn restrict(_: &Walls) -> Result<(), String> {
    Err("this system has no Landlock".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_runner_is_hidden() {
        use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
        hide_process();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        set_dumpable_behavior(DumpableBehavior::Dumpable).expect("and back, for the other tests");
    }
}
