//! Targets and results of deliveries.

use super::error::{ApiError, way_out};

/// The destination of a delivery: an existing branch, or one of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The branch of a pull request, which gets a commit on top.
    Existing {
        /// The name of the pull request's head branch.
        branch: String,
        /// The commit that the branch must still be at; `None` if it may have moved.
        at: Option<String>,
    },
    /// A branch of our own, rebuilt from another branch by each run.
    Own {
        /// The name of our branch.
        branch: String,
        /// The branch that ours starts from, and that its pull request targets.
        onto: String,
        /// The pull request to open or update, if one is wanted.
        pull: Option<PullText>,
    },
}

impl Target {
    /// Returns the name of the branch that the commit goes to.
    pub(super) fn branch(&self) -> &str {
        match self {
            Self::Existing { branch, .. } | Self::Own { branch, .. } => branch,
        }
    }

    /// Returns the error for a branch to build on that does not exist.
    pub(super) fn missing(&self) -> DeliverError {
        match self {
            Self::Existing { branch, .. } => DeliverError::BranchDeleted(branch.clone()),
            Self::Own { onto, .. } => DeliverError::NoBranch(onto.clone()),
        }
    }

    /// Returns the error for a rule of the repository that forbids the commit.
    pub(super) fn forbidden(&self, message: &str) -> DeliverError {
        DeliverError::Rule { branch: self.branch().to_owned(), message: message.to_owned() }
    }
}

/// Begins the description of a pull request that has only a part of what was requested.
pub const PART: &str = "> [!WARNING]\n> This is only part of what was requested";

/// Texts and settings of a pull request; the texts are already neutralized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullText {
    /// The title, one line.
    pub title: String,
    /// The description, as Markdown.
    pub body: String,
    /// Whether the pull request is opened as a draft. An open one keeps its state, unless it had only a part, and this is the rest.
    pub draft: bool,
    /// Labels to add.
    pub labels: Vec<String>,
}

/// The result of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The branch that holds the changes.
    pub branch: String,
    /// The id of the new commit; `None` if the branch already had it.
    pub commit: Option<String>,
    /// The commit that had all changes already.
    pub existing: Option<String>,
    /// The pull request, if there is one.
    pub pull: Option<DeliveredPull>,
    /// Paths of files that others have changed as well, and that were merged.
    pub merged: Vec<String>,
    /// Whether the commit was made by Git and pushed, so that GitHub has not signed it.
    pub is_pushed: bool,
}

/// The pull request that shows what was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredPull {
    /// Its number.
    pub number: u64,
    /// Its URL.
    pub url: String,
    /// GitHub's reason for leaving it a draft although it has everything now.
    pub not_ready: Option<String>,
}

/// Errors that can occur when delivering changes.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// A request to GitHub failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The branch has moved on, and files cannot be merged with what changed there.
    #[error("{branch} has moved since the checkout, and changes there conflict with {}; run again on its \
             latest commit", .files.join(", "))]
    Conflict {
        /// The branch that the commit is based on.
        branch: String,
        /// Paths of the files that cannot be merged.
        files: Vec<String>,
    },
    /// The branch holds commits of somebody else.
    #[error(
        "the branch {branch} contains commits that this job did not make ({first:?}); merge or delete it, or \
         set `deliver.branch`"
    )]
    Foreign {
        /// The name of the branch.
        branch: String,
        /// The first line of such a commit's message.
        first: String,
    },
    /// The branch is no longer at the commit for which the plan was made.
    #[error("{0} has moved since the plan was made; make a new plan")]
    Moved(String),
    /// The commit was made, but its pull request could not be opened or updated.
    #[error(
        "the branch {branch} is pushed, but its pull request could not be opened: {error}{}",
        if error.to_string().contains("not permitted to create") {
            "; allow it in Settings, Actions, General"
        } else {
            ""
        }
    )]
    NoPull {
        /// The branch that holds the commit.
        branch: String,
        /// The failure of the request for the pull request.
        error: ApiError,
    },
    /// What is only a part would replace a whole result.
    #[error(
        "{url} has everything that was requested, and this run only a part; close it if the part is wanted instead"
    )]
    Whole {
        /// The URL of the pull request.
        url: String,
    },
    /// The branch to build on does not exist.
    #[error("the branch {0} does not exist; check `deliver.base`")]
    NoBranch(String),
    /// The branch of the pull request does not exist any more.
    #[error("the pull request's branch {0} was deleted; restore it, or make a new plan on another branch")]
    BranchDeleted(String),
    /// A rule of the repository forbids the commit.
    #[error("a rule of the repository does not allow this commit on {branch}: {message}{}", way_out(.message))]
    Rule {
        /// The branch that the commit was for.
        branch: String,
        /// GitHub's message.
        message: String,
    },
}

impl DeliverError {
    /// Returns what GitHub answered, if a request failed.
    pub fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) | Self::NoPull { error, .. } => Some(error),
            _ => None,
        }
    }
}
