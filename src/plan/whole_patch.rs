//! Patch of all changes of a run, which is kept file by file until it is written.

use std::io::{self, Write};

use workspace::{ChangeSet, FileChange, Operation, Spool, Spooled};

/// Patch of all changes in Git's format.
#[derive(Debug, Default)]
pub(crate) struct WholePatch {
    spool: Spool,
    deletions: Vec<Spooled>,
    others: Vec<Spooled>,
}

impl WholePatch {
    /// Creates the patch of these changes. `prefix` is the way from the repository to the workspace.
    pub(crate) fn of(changes: &ChangeSet, prefix: &str) -> Self {
        let mut patch = Self::default();
        for change in changes {
            patch.add(change, &change.git_patch(prefix));
        }
        patch
    }

    /// Adds the patch of a file, and returns where it is.
    pub(crate) fn add(&mut self, change: &FileChange, patch: &[u8]) -> Spooled {
        let spooled = self.spool.put(patch);
        let list = match change.operation() {
            Operation::Delete => &mut self.deletions,
            Operation::Add | Operation::Modify => &mut self.others,
        };
        list.push(spooled.clone());
        spooled
    }

    /// Puts a text where the patches are.
    pub(crate) fn put(&self, text: &[u8]) -> Spooled {
        self.spool.put(text)
    }

    /// Returns whether nothing changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.deletions.is_empty() && self.others.is_empty()
    }

    /// Writes the patch, file by file. Deletions come first, so that a file can make room for a folder.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        self.deletions.iter().chain(&self.others).try_for_each(|file| to.write_all(&file.get()?))
    }
}
