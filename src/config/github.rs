//! Sections `github` and `deliver`: what is published on GitHub, which commands are accepted there, and where changes
//! go.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb::Verb;

/// What is published on GitHub, and which commands are accepted there.
#[expect(clippy::struct_excessive_bools, reason = "each one is a configuration key of its own")]
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitHub {
    /// When the comment is posted.
    pub comment: Comment,
    /// Distinguishes the comments of several jobs on one pull request.
    pub comment_key: String,
    /// Whether the comment shows the progress of a long run; only if it is always posted.
    pub progress: bool,
    /// Whether planned hunks on lines of the pull request's diff become suggestions there.
    pub inline_suggestions: bool,
    /// Whether the commit gets a check run.
    pub check_run: bool,
    /// Whether the run fails if the comment, the check or the suggestions cannot be published; otherwise that
    /// is a warning.
    pub required: bool,
    /// The label that starts a run on an issue.
    pub label: String,
    /// Commands that are accepted in comments that begin with `/architect`.
    pub commands: Vec<Verb>,
    /// Users who may start runs without write permission.
    pub allow_users: Vec<String>,
    /// Bots that may start runs; `*` means all of them.
    pub allow_bots: Vec<String>,
}

impl Default for GitHub {
    fn default() -> Self {
        Self {
            comment: Comment::default(),
            comment_key: DEFAULT_KEY.to_owned(),
            progress: true,
            inline_suggestions: false,
            check_run: false,
            required: false,
            label: "architect".to_owned(),
            commands: Verb::ALL.to_vec(),
            allow_users: Vec::new(),
            allow_bots: Vec::new(),
        }
    }
}

/// Key of jobs that set none.
pub const DEFAULT_KEY: &str = "architect-ci";

/// When the comment is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comment {
    /// After every run.
    #[default]
    Always,
    /// When files were changed or planned to change, or the run did not succeed.
    OnChange,
    /// Never.
    Never,
}

/// Where changes go once the run has succeeded; a dry run delivers nothing but its patch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deliver {
    /// Where changes go.
    pub to: DeliverTo,
    /// Name of the branch, which may contain `{key}`, `{number}`, `{agent}`, `{task}` and `{run_id}`. On pull
    /// requests, `branch` delivers to theirs unless this is set.
    pub branch: Option<String>,
    /// The branch to start from and to merge into; otherwise that of the event.
    pub base: Option<String>,
    /// Title of the commit and the pull request; otherwise the first line of the task.
    pub title: Option<String>,
    /// Whether the pull request is opened as a draft.
    pub draft: bool,
    /// Labels of the pull request.
    pub labels: Vec<String>,
    /// What happens to changes that are only part of what was requested.
    pub partial: PartialDelivery,
}

/// What happens to the changes of a run that ended as partial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartialDelivery {
    /// They are not delivered.
    #[default]
    Keep,
    /// They become a draft of a pull request that says what is missing.
    Draft,
}

/// Where changes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliverTo {
    /// They stay in the checkout.
    #[default]
    None,
    /// A patch file in the output folder.
    Patch,
    /// A commit on a branch.
    Branch,
    /// A pull request.
    PullRequest,
}

impl fmt::Display for DeliverTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Branch => "branch",
            Self::PullRequest => "pull-request",
        })
    }
}
