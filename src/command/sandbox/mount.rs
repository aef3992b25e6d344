//! Parts of the file system that a child sees.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Overlay;
use super::plan::SHARED_MEMORY;

/// One part of a new root; `at` is its path as the child sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// An empty folder.
    Folder {
        /// The path of the folder.
        at: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// The path of the link.
        at: PathBuf,
        /// The target of the link.
        to: PathBuf,
    },
    /// A file or folder of the machine.
    Bind {
        /// Its path on the machine.
        from: PathBuf,
        /// Its path in the new root.
        at: PathBuf,
        /// Whether the child can change it.
        writable: bool,
    },
    /// A folder whose changes go to an overlay's upper folder.
    Overlay {
        /// The folders of the overlay.
        overlay: Overlay,
        /// The path of the mount.
        at: PathBuf,
        /// Whether the child can write to it at all.
        writable: bool,
    },
    /// A writable overlay, or its lower folder read-only where no overlay can be mounted.
    Cache {
        /// The folders of the overlay.
        overlay: Overlay,
        /// The path of the mount.
        at: PathBuf,
    },
    /// Something empty that covers what is there.
    Hide {
        /// The path that is covered.
        at: PathBuf,
    },
    /// Something empty that covers the socket of a daemon, if it is there. Daemons come and go.
    HideSocket {
        /// The path that is covered.
        at: PathBuf,
    },
    /// `/proc`, with the child's own processes.
    Processes,
    /// `/dev`, with a few devices.
    Devices,
    /// `/dev/pts`, with the child's own terminals.
    Terminals,
    /// `/dev/shm`, with the child's own shared memory.
    SharedMemory,
}

impl Mount {
    /// Returns whether what is bound in, or covered, exists on the machine.
    pub fn is_there(&self) -> bool {
        match self {
            Self::Bind { from: path, .. } | Self::Hide { at: path } => path.symlink_metadata().is_ok(),
            _ => true,
        }
    }

    /// Returns whether this is something that is seen inside of a folder.
    pub(super) fn is_seen_in(&self, folder: &Path) -> bool {
        let is_seen = !matches!(self, Self::Hide { .. } | Self::HideSocket { .. });
        is_seen && self.at() != folder && self.at().starts_with(folder)
    }

    pub(super) fn at(&self) -> &Path {
        match self {
            Self::Folder { at }
            | Self::Link { at, .. }
            | Self::Bind { at, .. }
            | Self::Overlay { at, .. }
            | Self::Cache { at, .. }
            | Self::Hide { at }
            | Self::HideSocket { at } => at,
            Self::Processes => Path::new("/proc"),
            Self::Devices => Path::new("/dev"),
            Self::Terminals => Path::new("/dev/pts"),
            Self::SharedMemory => Path::new(SHARED_MEMORY),
        }
    }
}
