//! Log of writes: receives every change to a file before it is made, so that what a run did outlives the run.

use std::sync::{Arc, OnceLock};

use super::changes::FileState;
use super::path::WorkspacePath;

/// A receiver of writes. What it cannot keep must not end the run.
pub trait WriteLog: Send + Sync {
    /// Receives the state that a file is about to have; `None` if it is about to be removed.
    fn writing(&self, path: &WorkspacePath, before: StateBefore<'_>, after: Option<&FileState>);

    /// Receives files whose last announced writes are not made after all.
    fn withdrawn(&self, paths: &[&WorkspacePath]);

    /// Receives a file that is too large to be held in memory, and whether it was there before.
    fn large(&self, path: &WorkspacePath, was_there: bool);
}

/// State that a file had before the run changed or planned it. It comes with the first change of a file, and with one after a
/// change that was taken back.
#[derive(Clone, Copy, Debug)]
pub enum StateBefore<'a> {
    /// It came with an earlier change, or could not be read.
    NotGiven,
    /// There was no file.
    Absent,
    /// There was this file.
    File(&'a FileState),
}

impl<'a> From<Option<&'a FileState>> for StateBefore<'a> {
    fn from(state: Option<&'a FileState>) -> Self {
        state.map_or(Self::Absent, Self::File)
    }
}

/// Place for a log, which is set once at most.
#[derive(Default)]
pub(crate) struct LogSlot(OnceLock<Arc<dyn WriteLog>>);

impl LogSlot {
    pub(crate) fn set(&self, log: Arc<dyn WriteLog>) {
        // Two logs would be a mistake of ours; the first continues.
        let _ = self.0.set(log);
    }

    pub(crate) fn get(&self) -> Option<&dyn WriteLog> {
        self.0.get().map(AsRef::as_ref)
    }

    /// Tells the log, if there is one, that the last announced writes of these files are not made after all.
    pub(crate) fn withdraw(&self, paths: &[&WorkspacePath]) {
        if let Some(log) = self.get().filter(|_| !paths.is_empty()) {
            log.withdrawn(paths);
        }
    }
}
