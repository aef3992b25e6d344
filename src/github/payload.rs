//! The parts of event payloads that matter here, as GitHub documents them for webhooks.

use serde::Deserialize;

/// The payload of an event. Each field is present for some kinds of events only.
#[derive(Default, Deserialize)]
pub(super) struct Payload {
    pub(super) action: Option<String>,
    pub(super) pull_request: Option<PullRequest>,
    pub(super) issue: Option<Issue>,
    pub(super) comment: Option<Comment>,
    pub(super) label: Option<Label>,
    pub(super) sender: Option<User>,
    pub(super) repository: Option<Repository>,
    pub(super) workflow_run: Option<WorkflowRun>,
}

#[derive(Deserialize)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    /// `open` or `closed`.
    #[serde(default)]
    pub(super) state: Option<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) additions: Option<u64>,
    #[serde(default)]
    pub(super) deletions: Option<u64>,
    #[serde(default)]
    pub(super) changed_files: Option<u64>,
    pub(super) base: Side,
    pub(super) head: Side,
}

/// The head or base of a pull request.
#[derive(Deserialize)]
pub(super) struct Side {
    pub(super) sha: String,
    #[serde(default, rename = "ref")]
    pub(super) branch: String,
    /// `None` if the repository was deleted.
    pub(super) repo: Option<Repository>,
}

#[derive(Deserialize)]
pub(super) struct Repository {
    pub(super) full_name: String,
    /// A text, or in payloads of pushes a number.
    #[serde(default)]
    pub(super) pushed_at: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) default_branch: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) body: Option<String>,
    pub(super) pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: Option<String>,
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) login: String,
    #[serde(default)]
    pub(super) id: Option<u64>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WorkflowRun {
    pub(super) id: u64,
    pub(super) head_sha: String,
    pub(super) head_branch: Option<String>,
    pub(super) head_repository: Option<Repository>,
    #[serde(default)]
    pub(super) event: String,
}
