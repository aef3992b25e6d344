//! One [`RunReport`], many renderings. Every sink masks secrets and neutralises what others wrote.

mod annotations;
mod batch;
mod closing;
mod collect;
mod comment;
mod diagnostics;
mod doing;
mod fit;
mod html;
mod junit;
mod log;
mod markdown;
pub mod masked;
mod sections;
mod summary;
mod terminal;
mod transcript;
mod usage;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{
    Base, Block, Class, GateRecord, HookRecord, Notice, Outcome, PlannedAction, ReviewRecord, RunMode,
    Status, StopReason, SubagentRecord, Usage,
};
use crate::workspace::{ChangeSet, Difference, FileChange, LineCounts, Operation, WorkspacePath};

pub use annotations::{annotations, batch_annotations};
pub use batch::{
    BatchReport, SCHEMA_VERSION as BATCH_SCHEMA_VERSION, ShardReport, TaskEnd, TaskReport, batch_comment,
    batch_headline, batch_html, batch_junit, batch_markdown, batch_summary, sum, task_line,
};
pub use collect::Collector;
pub use comment::{COMMENT_LIMIT, check_summary, comment, description};
pub use diagnostics::{Diagnostic, diagnostics};
pub use doing::Doing;
pub use html::html;
pub use junit::junit;
pub use log::{LogFormat, LogObserver, Loudness, file_log, init_log};
pub use markdown::markdown;
pub use sections::{duration, headline};
pub use summary::summary;
pub use terminal::terminal;
pub use transcript::TranscriptWriter;

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// A file that changed, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSummary {
    /// The file, relative to the workspace.
    pub path: WorkspacePath,
    /// What happened to it.
    pub op: Operation,
    /// Lines added and removed.
    pub lines: LineCounts,
    /// The hunks.
    pub diff: String,
}

impl FileSummary {
    fn new(change: &FileChange) -> Self {
        Self {
            path: change.path.clone(),
            op: change.operation(),
            lines: change.line_counts(),
            diff: change.diff(),
        }
    }

    /// A file that is too large to be compared.
    pub fn of_large(path: WorkspacePath, op: Operation) -> Self {
        Self { path, op, lines: LineCounts::default(), diff: "(too large to be shown)\n".to_owned() }
    }

    /// All files of a change set.
    pub fn of(changes: &ChangeSet) -> Vec<Self> {
        changes.iter().map(Self::new).collect()
    }
}

/// One tool call, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    /// When it began, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The agent.
    pub agent: String,
    /// Its step.
    pub step: u32,
    /// The tool.
    pub tool: String,
    /// The command that it runs, or the first path that it touches.
    pub target: Option<String>,
    /// How dangerous the command is, where it runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// The exit code of the command that it ran, if it ran one to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// What it changed in files; long ones are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// One model call, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// When it began, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The agent.
    pub agent: String,
    /// Its step.
    pub step: u32,
    /// How long the answer took, in milliseconds.
    pub duration_ms: u64,
    /// Tokens used.
    pub usage: Usage,
    /// What it has cost, in USD; absent where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What a dry run plans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReport {
    /// The plan's digest.
    pub digest: String,
    /// The actions, in order.
    pub actions: Vec<PlannedAction>,
    /// Files that were looked at to see whether the checkout changed.
    pub verified_files: usize,
    /// Those that did change.
    pub differences: Vec<Difference>,
}

/// Where the changes of a run went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryReport {
    /// The branch.
    pub branch: String,
    /// The commit; `null` where the branch had it all already.
    pub commit: Option<String>,
    /// The pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullReport>,
    /// Files that others had changed as well, and that were merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
}

/// A pull request that a run opened or brought up to date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullReport {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub url: String,
}

/// Everything there is to say about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// A random id.
    pub id: String,
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// The mode.
    pub mode: RunMode,
    /// How it ended.
    pub status: Status,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The exit code of the process.
    pub exit_code: u8,
    /// The agent's last words.
    pub message: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Model calls.
    pub steps: Vec<StepSummary>,
    /// Tokens used.
    pub usage: Usage,
    /// What the model has cost, in USD; `null` where its price is not known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Sub-agents that reported, in order.
    #[serde(default)]
    pub subagents: Vec<SubagentRecord>,
    /// The commit that the run stands on.
    pub base: Option<Base>,
    /// Files that changed, or in a dry run would.
    pub files: Vec<FileSummary>,
    /// Tool calls.
    pub calls: Vec<CallSummary>,
    /// What a dry run plans.
    pub plan: Option<PlanReport>,
    /// Where the changes went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// Quality gates.
    pub gates: Vec<GateRecord>,
    /// Hooks.
    pub hooks: Vec<HookRecord>,
    /// Calls that guardrails stopped.
    pub guardrails: Vec<Block>,
    /// The last review of the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// The final message as data, where a schema was given.
    pub structured_output: Option<Value>,
    /// Where the run can be looked at.
    pub run_url: Option<String>,
}

impl RunReport {
    /// Lines added and removed in all files.
    pub fn lines(&self) -> LineCounts {
        let mut lines = LineCounts::default();
        for file in &self.files {
            lines += file.lines;
        }
        lines
    }

    /// Whether files changed or would.
    pub fn has_changes(&self) -> bool {
        !self.files.is_empty()
    }

    /// The report as JSON.
    pub fn json(&self) -> String {
        // The types hold nothing that JSON cannot.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
