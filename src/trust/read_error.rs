//! Reasons why a file that steers a run could not be read.

use std::error::Error;
use std::io;

use workspace::{FileError, PathError, WorkspacePath};

use super::MAX_FILE;
use crate::git::GitError;

/// What is wrong with the file, or with the place that it is read from.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// A path of the machine that leads into the repository.
    #[error("it leads into the repository through a link; use its path in the repository")]
    ThroughLink,
    /// A link to what a run could have put there.
    #[error("it is a link to {0}, which is not in the commit that is checked out")]
    UncommittedTarget(WorkspacePath),
    /// There is no repository to read the commit from.
    #[error("the repository is not cloned here")]
    NotCloned,
    /// More than any file that steers a run has.
    #[error("it is larger than {} MB", MAX_FILE / 1_000_000)]
    TooLarge,
    /// No text.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The path of no file in the checkout.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The checkout's file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The machine's file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Git cannot read, or fetch, the commit.
    #[error(transparent)]
    Git(#[from] GitError),
    /// GitHub does not have it either.
    #[error(transparent)]
    Remote(Box<dyn Error + Send + Sync>),
}
