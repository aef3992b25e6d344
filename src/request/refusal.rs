//! Reasons why programs of the configuration are not run, and why an event starts no batch.

use std::io;

use crate::git::GitError;
use crate::trust::BaseFilesError;

/// Reason why a program that the configuration names is not run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramRefusal {
    /// Only a shell could tell what would run.
    #[error(
        "only its shell could tell what it runs ({0}), so it cannot be compared with the base commit; name \
         programs and files by their paths"
    )]
    Unclear(String),
    /// There is nothing to compare it with.
    #[error(
        "{0}: the base commit is not in this clone, so it cannot be compared; set `fetch-depth: 0` for \
         `actions/checkout`"
    )]
    NoBase(String),
    /// It is not as the base commit has it.
    #[error(
        "{path} differs from the base commit {commit}; merge it first, or set `trust-head-config: true` if everybody \
         who can open a pull request may change what the agent does"
    )]
    Differs {
        /// The path from the root of the repository.
        path: String,
        /// The short hash of the commit.
        commit: String,
    },
    /// A module next to it that Python would import is not as it should be.
    #[error("{0}; or keep it from being imported with `python -I`")]
    Imported(Box<ProgramRefusal>),
    /// Git could not compare it.
    #[error("could not compare {path} with the base commit: {error}")]
    Git {
        /// The path from the root of the repository.
        path: String,
        /// Git's error.
        #[source]
        error: GitError,
    },
    /// It gets a secret, and there are no files that it could start among.
    #[error("it gets a secret, so it starts among the files of the base commit, which are not there: {0}")]
    NoFiles(#[source] BaseFilesError),
    /// It is not known where the file is.
    #[error("could not locate it: {0}")]
    Place(#[source] io::Error),
}

impl ProgramRefusal {
    /// Returns the path of what is not as the base commit has it, if that is the reason.
    pub(super) fn differing(&self) -> Option<&str> {
        match self {
            Self::Differs { path, .. } => Some(path),
            Self::Imported(refusal) => refusal.differing(),
            Self::Unclear(_) | Self::NoBase(_) | Self::Git { .. } | Self::NoFiles(_) | Self::Place(_) => None,
        }
    }
}

/// Reason why an event starts no batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchRefusal {
    /// The person who caused the event may not start a batch.
    #[error("{0} has no write permission; add the name to `allow-users` to let this person start runs")]
    NoPermission(String),
    /// The event starts nothing at all; with the reason.
    #[error("{0}")]
    Ignored(String),
    /// The event is a comment.
    #[error("comments can start runs, but not batches")]
    Comment,
}
