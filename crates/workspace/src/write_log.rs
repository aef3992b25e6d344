//! Log of writes: is told of every change to a file before it is made, so that what a run did outlives the run.

use std::sync::{Arc, OnceLock};

use super::changes::FileState;
use super::path::WorkspacePath;

/// A receiver of writes. What it cannot keep must not end the run.
pub trait WriteLog: Send + Sync {
    /// Receives the state that a file is about to have; `None` if it is about to be removed. `before` is what was there before
    /// the run changed or planned it, and is given with its first change, and with one behind a change that was taken back.
    fn writing(&self, path: &WorkspacePath, before: Option<Option<&FileState>>, after: Option<&FileState>);

    /// Receives a file that is too large to be held in memory, and whether it was there before.
    fn large(&self, path: &WorkspacePath, was_there: bool);
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
}
