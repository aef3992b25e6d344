//! Errors of the work on a target.

use std::path::PathBuf;

use super::split::TooManyParts;
use crate::git::GitError;
use crate::github::{ApiError, AppError};
use crate::request::InputError;

/// Reason why the work on a target failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Parts(#[from] TooManyParts),
    #[error("could not write {0}: {1}")]
    Write(PathBuf, #[source] std::io::Error),
    #[error("{0}")]
    Run(String),
    #[error("{why}")]
    Held { why: String, limited_until: Option<String> },
    #[error("the campaign no longer has this task")]
    NoTask,
    #[error("the repository has no commit")]
    NoCommit,
    #[error("the plan no longer exists")]
    NoPlan,
}

impl WorkError {
    /// Returns when GitHub's rate limit ends, if that is the reason.
    pub(super) fn limited_until(&self) -> Option<&str> {
        match self {
            Self::Input(InputError::GitHub(error)) | Self::App(AppError::Api(error)) | Self::Api(error) => {
                error.limited_until()
            }
            Self::Held { limited_until, .. } => limited_until.as_deref(),
            _ => None,
        }
    }
}
