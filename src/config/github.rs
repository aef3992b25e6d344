//! What GitHub is told, what it may ask for, and where changes go.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::github::Verb;

/// What GitHub is told, and what it may ask for.
#[expect(clippy::struct_excessive_bools, reason = "each one is a configuration key of its own")]
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitHub {
    /// When the comment is posted.
    pub comment: Comment,
    /// Tells the comments of several jobs on one pull request apart.
    pub comment_key: String,
    /// Whether the comment shows what a long run is doing; only where it is posted always.
    pub progress: bool,
    /// Whether planned hunks on lines of the pull request's diff become suggestions there.
    pub inline_suggestions: bool,
    /// Whether the commit gets a check run.
    pub check_run: bool,
    /// Whether the run fails when GitHub does not take the comment, the check or the suggestions; else that
    /// is a warning.
    pub required: bool,
    /// The label that starts a run on an issue.
    pub label: String,
    /// What comments that begin with `/architect` may ask for.
    pub commands: Vec<Verb>,
    /// People who may start runs without write permission.
    pub allow_users: Vec<String>,
    /// Bots that may start runs; `*` is all of them.
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

/// The key of jobs that name none.
pub const DEFAULT_KEY: &str = "architect-ci";

/// When the comment is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comment {
    /// After every run.
    #[default]
    Always,
    /// When files changed or were planned to, or the run did not succeed.
    OnChange,
    /// Never.
    Never,
}

/// Where changes go, once the run has succeeded; a dry run delivers nothing but its patch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deliver {
    /// Where to.
    pub to: DeliverTo,
    /// Name of the branch, with `{key}`, `{number}`, `{agent}`, `{task}` and `{run_id}` in it. On pull requests
    /// `branch` goes to theirs unless this is set.
    pub branch: Option<String>,
    /// The branch that it is made from, and goes to; else that of the event.
    pub base: Option<String>,
    /// Title of commit and pull request; else the first line of the task.
    pub title: Option<String>,
    /// Whether the pull request is opened as a draft.
    pub draft: bool,
    /// Labels that the pull request gets.
    pub labels: Vec<String>,
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
