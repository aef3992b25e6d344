//! Errors about where changes go.

use crate::github::BranchNameError;

/// Reason why changes cannot go where they should.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// A branch without a repository on GitHub.
    #[error("a branch can be delivered only to GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`")]
    NoGitHub,
    /// A branch of our own that is for no other.
    #[error("the event does not name a target branch; set `deliver.base`")]
    NoBase,
    /// A branch that would go to itself.
    #[error("`deliver.branch` and the target branch are both {0}; change one of them")]
    SameBranch(String),
    /// A name that no branch can have.
    #[error(transparent)]
    Branch(#[from] BranchNameError),
}
