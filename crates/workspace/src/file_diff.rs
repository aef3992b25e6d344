//! Difference of one file, which is found once for all that is told of it.

use std::cell::OnceCell;

use super::changes::{FileChange, FileState, LineCounts};
use super::git_patch;
use super::hunks::hunks;

/// The difference that a change makes to a file.
pub struct FileDiff<'c> {
    change: &'c FileChange,
    is_binary: bool,
    hunks: OnceCell<Vec<u8>>,
}

impl<'c> FileDiff<'c> {
    /// Takes up a change. The difference is found when it is first asked for.
    pub fn of(change: &'c FileChange) -> Self {
        Self { change, is_binary: change.is_binary(), hunks: OnceCell::new() }
    }

    fn hunks(&self) -> &[u8] {
        let FileChange { before, after, .. } = self.change;
        self.hunks.get_or_init(|| hunks(content(before.as_ref()), content(after.as_ref())))
    }

    /// Returns the change.
    pub fn change(&self) -> &'c FileChange {
        self.change
    }

    /// Returns whether the file is binary, as [`FileChange::is_binary`] does.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// Counts the lines added and removed; zero for an opaque file.
    pub fn line_counts(&self) -> LineCounts {
        if self.is_binary && self.change.is_opaque() {
            return LineCounts::default();
        }
        LineCounts::of_bytes(self.hunks())
    }

    /// Returns the difference for people: hunks without file headers, or for a binary file its sizes.
    pub fn text(&self) -> String {
        if self.is_binary {
            let size = |state: &Option<FileState>| content(state.as_ref()).len();
            let (before, after) = (size(&self.change.before), size(&self.change.after));
            return format!("binary file, {before} → {after} bytes\n");
        }
        String::from_utf8_lossy(self.hunks()).into_owned()
    }

    /// Returns the change in Git's extended diff format, as [`FileChange::git_patch`] does.
    pub fn git_patch(&self, prefix: &str) -> Vec<u8> {
        git_patch::file_patch(self.change, prefix, || self.hunks().to_owned())
    }
}

fn content(state: Option<&FileState>) -> &[u8] {
    state.map_or(&[], |state| &state.content)
}
