//! Touches: the files that a workspace has written, in the order of the writes, so that whoever counts changes looks at each once.

use std::sync::{Mutex, PoisonError};

use super::path::WorkspacePath;

/// The files that were written so far.
#[derive(Debug, Default)]
pub(crate) struct Touches(Mutex<Vec<WorkspacePath>>);

impl Touches {
    /// Adds a file that was written, or whose write was tried.
    pub(crate) fn note(&self, path: &WorkspacePath) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    }

    /// Returns the files after the first `count`.
    pub(crate) fn after(&self, count: usize) -> Vec<WorkspacePath> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(count..).unwrap_or_default().to_vec()
    }
}
