//! Errors about a sealed journal.

use std::path::PathBuf;

use super::journal::JournalError;
use crate::base::sealed_box::SealError;
use crate::github::RecordError;
use crate::request::InputError;

/// Reasons why a sealed journal cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum SealedJournalError {
    /// The key, or a box.
    #[error("the sealed journal {0}: {1}")]
    Box(String, SealError),
    /// A branch, and nothing to seal with.
    #[error("`journal` keeps a sealed record of finished tasks on a branch; set `ARCHITECT_CI_SEAL_KEY`")]
    NoKey,
    /// A branch without a repository on GitHub.
    #[error("`journal` requires a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`")]
    NoGitHub,
    /// The disk.
    #[error("could not read or write {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A segment of another start with the same number.
    #[error("{0} was written by another start at the same time; let only one work on a shard")]
    Taken(String),
    /// The journal itself.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// GitHub.
    #[error(transparent)]
    Records(#[from] RecordError),
}

impl From<SealedJournalError> for InputError {
    fn from(error: SealedJournalError) -> Self {
        Self::Batch(Box::new(error))
    }
}
