//! Result of a command in isolation, and the fate of its changes.

use workspace::{FileChange, WorkspacePath};

use super::LeftBehind;
use crate::command::Finished;

/// A finished command, with what became of its changes.
#[derive(Debug)]
pub struct IsolatedRun {
    /// The exit and output of the command.
    pub finished: Finished,
    /// The changes that were kept.
    pub changes: Vec<FileChange>,
    /// Descriptions of what is never kept: nested repositories, sensitive files, and names that are not
    /// UTF-8.
    pub dropped: Vec<String>,
    /// Files that Git ignores and that were kept, as far as somebody is to know of them.
    pub built: LeftBehind,
    /// Whether files were left in the checkout itself that Git ignores.
    pub has_left_files: bool,
    /// The judge's warnings about what was kept.
    pub warnings: Vec<String>,
    /// The reasons why nothing was allowed to be kept; empty if it was.
    pub refused: Vec<String>,
    /// The changes, if they could not be kept although they were allowed.
    pub lost: Option<LostChanges>,
}

/// Changes that no rule refused, and that could not be kept all the same.
#[derive(Debug)]
pub struct LostChanges {
    /// The reason.
    pub reason: String,
    /// The files that are missing now; `None` if they are not known.
    pub(super) files: Option<Vec<WorkspacePath>>,
}

impl IsolatedRun {
    pub(super) fn unchanged(finished: Finished) -> Self {
        let (changes, dropped) = (Vec::new(), Vec::new());
        let (built, warnings, refused) = (LeftBehind::default(), Vec::new(), Vec::new());
        Self { finished, changes, dropped, built, has_left_files: false, warnings, refused, lost: None }
    }

    /// Returns the files that were kept, that Git ignores, and that programs load by their names.
    pub fn auto_loaded(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.built.auto_loaded.iter()
    }

    pub(super) fn lost(finished: Finished, reason: impl Into<String>, files: Vec<WorkspacePath>) -> Self {
        let files = (!files.is_empty()).then_some(files);
        let lost = LostChanges { reason: reason.into(), files };
        Self { lost: Some(lost), ..Self::unchanged(finished) }
    }

    /// Returns why nothing that the command changed was kept, for whatever reason; empty if it was.
    pub fn reasons(&self) -> Vec<String> {
        self.refused.iter().cloned().chain(self.lost.as_ref().map(|lost| lost.reason.clone())).collect()
    }
}
