//! Reasons why a campaign cannot continue.

use std::path::PathBuf;

use super::check::InvalidCampaign;
use super::plans::UnverifiedPlans;
use super::state::InvalidState;
use crate::batch::StartError;
use crate::github::{ApiError, AppError, BranchFilesError, InvalidName};
use crate::recipe::RecipeError;
use crate::request::InputError;

/// Reason why a campaign cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// There is no file.
    #[error("no campaign is set; specify its file, as in `architect-ci campaign run campaign.yml`")]
    NoFile,
    /// The campaign file is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidCampaign),
    /// It does not run on GitHub.
    #[error(
        "a campaign keeps its state in a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`"
    )]
    NoGitHub,
    /// The file may have been written by a stranger.
    #[error("a campaign can be started by hand, on a schedule or by a push, but not by {0}")]
    Event(String),
    /// The checkout is not at a trusted commit.
    #[error(
        "the checkout is not at the event's commit, so its campaign file is not trusted; check out that commit"
    )]
    Untrusted,
    /// A file that the campaign names cannot be read.
    #[error("could not read {path}, which the campaign names: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A line in a file of repositories is invalid.
    #[error("{file}, line {line}: {error}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        #[source]
        error: InvalidName,
    },
    /// The variable with the app's key is not set.
    #[error("`{0}` is not set; it must contain the private key of the app that the campaign names")]
    NoKey(String),
    /// The app.
    #[error(transparent)]
    App(#[from] AppError),
    /// GitHub.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The branch with the state.
    #[error(transparent)]
    Branch(#[from] BranchFilesError),
    /// The state there cannot be read.
    #[error(
        "could not read the state on {branch}: {error}; reset the branch to an earlier commit, or delete it"
    )]
    State {
        /// The branch.
        branch: String,
        /// Why; a part of the message.
        error: InvalidState,
    },
    /// No targets were found.
    #[error(
        "the campaign has no targets: `repositories` matches none, or `exclude` removes all of them; check \
         the names, and whether the token can access the repositories"
    )]
    NoTargets,
    /// A recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A recipe that fails its tests.
    #[error(transparent)]
    Tests(#[from] StartError),
    /// A name that is not a target.
    #[error("{0} is not a target of this campaign")]
    NoTarget(String),
    /// The campaign has ended for good.
    #[error(
        "the campaign {0} was abandoned, for good; to make its change after all, start one of another name"
    )]
    Abandoned(String),
    /// The campaign takes back what it has done.
    #[error("the campaign {0} is rolled back; to make its change after all, start one of another name")]
    RolledBack(String),
    /// Plans of another job.
    #[error(transparent)]
    Plans(#[from] UnverifiedPlans),
    /// A file of ours.
    #[error("could not write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
}

impl CampaignError {
    /// Returns whether GitHub's rate limit is the reason.
    pub(super) fn is_about_limit(&self) -> bool {
        match self {
            Self::Api(error)
            | Self::App(AppError::Api(error))
            | Self::Branch(BranchFilesError::Api(error)) => error.limited_until().is_some(),
            _ => false,
        }
    }
}

impl From<CampaignError> for InputError {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::Api(error) => Self::GitHub(error),
            error @ CampaignError::Branch(BranchFilesError::Moved(_)) => Self::Overtaken(Box::new(error)),
            error => Self::Batch(Box::new(error)),
        }
    }
}
