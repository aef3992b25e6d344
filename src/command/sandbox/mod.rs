//! Sandbox of a child: what the kernel lets it see and do.
//!
//! Where namespaces are available, a child gets a file system of its own ([`NewRoot`]): the checkout as it is
//! to be seen, the system and toolchains read-only, a private `/tmp`, a home folder that is discarded, and
//! nothing else. Landlock, a filter of system calls, and dropped capabilities do the rest, and everything
//! where there are no namespaces.
//!
//! A child is started through this very program (`architect-ci __sandbox`), which restricts itself and then
//! becomes the command, or its parent; between `fork` and `exec`, nothing could be done without `unsafe`. Its
//! supervisor stays outside, where the child can neither signal nor trace it.

mod caches;
mod environment;
mod folders;
#[cfg(target_os = "linux")]
mod held_root;
mod hidden;
mod home;
mod known_places;
mod modes;
mod mount;
mod mount_points;
mod places;
mod plan;
mod repository;
mod restriction_error;
mod restrictions;
mod settings_file;
mod shared_folders;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems have no such folder"))]
mod shared_memory;
mod stores;
mod terminals;

#[cfg(target_os = "linux")]
mod assembly;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod entering;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod opening;
#[cfg(target_os = "linux")]
mod other_processes;
#[cfg(target_os = "linux")]
mod own_network;
#[cfg(target_os = "linux")]
mod socket_calls;
#[cfg(target_os = "linux")]
mod syscall_rules;
#[cfg(target_os = "linux")]
mod syscalls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub use entering::enter;
#[cfg(target_os = "linux")]
pub use held_root::hold;
#[cfg(target_os = "linux")]
pub(super) use held_root::join_users;
#[cfg(target_os = "linux")]
pub use kernel::{become_user, kernel_support, restrict};
pub use mount::Mount;
pub use namespaces::leave_network;
#[cfg(target_os = "linux")]
pub(super) use namespaces::{leave_processes, leave_users};
#[cfg(target_os = "linux")]
pub(super) use plan::SHARED_MEMORY;
pub use plan::{Leftovers, Sandbox, Settings, View};
pub use repository::GitMasking;
pub use restriction_error::RestrictionError;
pub use shared_folders::SharedFolder;
#[cfg(target_os = "linux")]
pub(super) use shared_memory::SharedMemoryUse;

/// The name of the hidden sub-command with which a child restricts itself.
pub const SANDBOX: &str = "__sandbox";

/// The name of the hidden sub-command that holds a root.
pub const HOLD: &str = "__hold";

/// What a child is allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Read only: it writes only to a private temporary folder, and opens no sockets.
    Look,
    /// Read and write: what it writes goes to the isolated state, which is judged before any of it is kept.
    Work,
}

/// Which sockets a child may open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sockets {
    /// None at all.
    None,
    /// Sockets to its own processes and to the kernel.
    Local,
    /// TCP sockets as well, which can be connected to these ports only.
    Ports(Vec<u16>),
    /// TCP and UDP sockets as well.
    Internet,
}

/// How a child can get a file system of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Namespaces {
    /// With the privileges of root.
    Root,
    /// In a user namespace.
    User,
    /// With `sudo`, whose privileges are dropped again before anything else runs.
    Sudo,
}

impl Namespaces {
    /// Returns what is worth trying for this user, the best first.
    #[cfg(target_os = "linux")]
    pub(super) fn candidates() -> &'static [Self] {
        if rustix::process::geteuid().is_root() {
            &[Self::Root, Self::User]
        } else {
            &[Self::User, Self::Sudo]
        }
    }

    /// Returns nothing: other systems have no namespaces.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn candidates() -> &'static [Self] {
        &[]
    }
}

/// The user that a child becomes once its file system is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user id.
    pub id: u32,
    /// The group id.
    pub group: u32,
    /// The ids of supplementary groups.
    pub groups: Vec<u32>,
}

/// An overlay mount: what is written goes to `upper`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The folders below, from top to bottom.
    pub lowers: Vec<PathBuf>,
    /// Takes what is written.
    pub upper: PathBuf,
    /// The kernel's work folder.
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

/// A process that holds the common parts of a root, so that they need not be mounted for each child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRoot {
    /// The process id of the holder.
    pub holder: u32,
    /// The digest of what is mounted in it.
    pub table: String,
}

/// What a holder is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRequest {
    /// The root whose common parts it holds.
    pub root: NewRoot,
    /// Another holder, whose user namespace it joins: children can share a network only if they have that in common.
    pub beside: Option<u32>,
}

/// A file system made for one child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRoot {
    /// The empty folder in which it is made.
    pub at: PathBuf,
    /// How the privileges for it are obtained.
    pub namespaces: Namespaces,
    /// Its parts, in the order in which they are mounted.
    pub mounts: Vec<Mount>,
    /// The user that the child becomes afterwards, unless it stays the same.
    pub user: Option<User>,
    /// Whether other restrictions keep the child from every write, so that no part has to be read-only by
    /// itself.
    pub light: bool,
    /// Where its common parts are mounted already; whoever finds them changed mounts them again.
    pub held: Option<HeldRoot>,
}

impl NewRoot {
    /// Returns the same root with nothing but its common parts: those that do not differ from child to child.
    #[must_use]
    pub fn common(&self) -> Self {
        let mounts = self.mounts.iter().filter(|step| !self.is_own(step)).cloned().collect();
        Self { at: self.at.clone(), mounts, user: self.user.clone(), held: None, ..*self }
    }

    /// Returns the parts that each child gets for itself: what ends with it, what others change between two children,
    /// and what is mounted below that.
    pub fn own(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().filter(|step| self.is_own(step))
    }

    fn is_own(&self, step: &Mount) -> bool {
        // Shared memory that is mounted later than what lies below it would cover that. A light root has none.
        let is_late = |above: &Mount| match above {
            Mount::Overlay { .. } => true,
            Mount::SharedMemory => !self.light,
            _ => false,
        };
        let is_below = |above: &Mount| is_late(above) && step.at().starts_with(above.at());
        let is_for_each = matches!(
            step,
            Mount::Processes | Mount::Terminals | Mount::SharedMemory | Mount::HideSocket { .. }
        );
        // A folder is where something is mounted.
        is_for_each || !matches!(step, Mount::Folder { .. }) && self.mounts.iter().any(is_below)
    }
}

/// A network of a child's own, out of which nothing leads but what the runner serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnNetwork {
    /// The path at which the runner takes the sockets.
    pub handover: PathBuf,
    /// The loopback addresses of the sockets: the proxy's, and those that lead to servers of the machine.
    pub addresses: Vec<SocketAddr>,
    /// Whether the runner may say which network to join, and is given this one if it does not.
    pub is_shared: bool,
}

/// What one child may see and do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a right of its own")]
pub struct Restrictions {
    /// The file system that it sees; `None` for the machine's.
    pub root: Option<NewRoot>,
    /// Whether Landlock, the filter, and the rest apply; without them there is only the file system.
    pub restricted: bool,
    /// Where it may read; `None` for everything that it sees.
    pub readable: Option<Vec<PathBuf>>,
    /// Folders in which it may only list names.
    pub listable: Vec<PathBuf>,
    /// Where it may write.
    pub writable: Vec<PathBuf>,
    /// Which sockets it may open.
    pub sockets: Sockets,
    /// The network that it sees; `None` for the machine's.
    pub network: Option<OwnNetwork>,
    /// Whether it may open sockets that have a path, if any.
    pub named_sockets: bool,
    /// Whether it may use the machine's System V shared memory and semaphores, if it sees those.
    pub system_v: bool,
    /// Whether it may change modes, owners, times, and attributes of files.
    pub metadata: bool,
}

impl Restrictions {
    /// Returns rules that allow nothing.
    pub fn nothing() -> Self {
        Self {
            root: None,
            restricted: true,
            readable: Some(Vec::new()),
            listable: Vec::new(),
            writable: Vec::new(),
            sockets: Sockets::None,
            network: None,
            named_sockets: false,
            system_v: false,
            metadata: false,
        }
    }
}

/// What this kernel offers for restricting processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is offered by itself")]
pub struct KernelSupport {
    /// Rules for files.
    pub files: bool,
    /// Rules for emptying files, which can be done without writing to them. Where there are none, system calls are refused.
    pub truncation: bool,
    /// Rules for TCP.
    pub network: bool,
    /// Rules for signals and for sockets without a path.
    pub signals: bool,
}

/// Hides this process's memory and environment from others of the same user, and from core dumps.
#[cfg(target_os = "linux")]
pub fn hide_process() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Does not fail for a process that asks for this value.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Does nothing: other systems have no such switch.
#[cfg(not(target_os = "linux"))]
pub fn hide_process() {}

/// Returns that nothing is offered: other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn kernel_support() -> KernelSupport {
    KernelSupport { files: false, truncation: false, network: false, signals: false }
}

/// Fails: other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn restrict(_: &Restrictions) -> Result<(), RestrictionError> {
    Err(RestrictionError::NoLandlock)
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
