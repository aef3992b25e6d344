//! Planned states of the files and folders that differ from those of the checkout.

use std::collections::{BTreeMap, BTreeSet};

use super::PlannedState;
use crate::changes::Mode;
use crate::path::WorkspacePath;
use crate::{Kind, Stat};

/// Number of planned paths below which scanning all of them is cheaper than looking up each folder above a
/// deep path.
const FEW: usize = 64;

#[derive(Clone, Default)]
pub(super) struct Planned {
    /// Planned states by path; `None` for files that are removed.
    pub(super) files: BTreeMap<WorkspacePath, Option<PlannedState>>,
    /// Folders that the plan creates; they stay when their files are removed, as on disk.
    pub(super) folders: BTreeSet<WorkspacePath>,
    /// Folders of the checkout that the plan removes, with everything in them. One that is created again is among `folders` as well.
    pub(super) gone_folders: BTreeSet<WorkspacePath>,
}

/// What is planned for a path.
pub(super) enum PlannedEntry {
    /// There will be nothing.
    Removed,
    Present(Stat),
}

impl Planned {
    /// Returns what is planned for a path, if anything is.
    pub(super) fn entry(&self, path: &WorkspacePath) -> Option<PlannedEntry> {
        match self.files.get(path) {
            Some(Some(state)) => {
                let kind = if state.mode == Mode::Link { Kind::Link } else { Kind::File };
                let size = state.content.length() as u64;
                Some(PlannedEntry::Present(Stat { kind, size, mode: state.mode }))
            }
            _ if self.folders.contains(path) => {
                Some(PlannedEntry::Present(Stat { kind: Kind::Directory, size: 0, mode: Mode::Regular }))
            }
            Some(None) => Some(PlannedEntry::Removed),
            None => self.gone_folders.contains(path).then_some(PlannedEntry::Removed),
        }
    }

    fn names(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.folders.contains(path) || self.gone_folders.contains(path)
    }

    /// Returns whether something is planned for a path, or for a folder above it.
    pub(super) fn touches(&self, path: &WorkspacePath) -> bool {
        self.names(path.as_str()) || path.above().any(|above| self.names(above))
    }

    /// Returns whether what the disk has at a path is not to be seen.
    pub(super) fn hides(&self, path: &WorkspacePath) -> bool {
        self.names(path.as_str()) || self.is_cut_off(path)
    }

    /// Returns the target of a planned link.
    pub(super) fn target(&self, path: &WorkspacePath) -> String {
        let state = self.files.get(path).and_then(Option::as_ref);
        let content = state.and_then(|state| state.content.get().ok());
        content.map_or(String::new(), |content| String::from_utf8_lossy(&content).into_owned())
    }

    /// Returns whether a planned file, removal, or new folder above `path` hides what the disk has there.
    pub(super) fn is_cut_off(&self, path: &WorkspacePath) -> bool {
        // A few planned paths are scanned; if there are many, the folders above this path are looked up
        // instead.
        if self.files.len() + self.folders.len() + self.gone_folders.len() < FEW {
            let mut planned = self.files.keys().chain(&self.folders).chain(&self.gone_folders);
            return planned.any(|above| above != path && path.is_within(above));
        }
        path.above().any(|above| self.names(above))
    }
}
