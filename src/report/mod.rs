//! Reports of runs and batches: one [`RunReport`], many renderings. Every sink masks secrets and
//! neutralizes what others wrote.

mod annotations;
mod batch;
mod claims;
mod collect;
mod command_claims;
mod comment;
mod diagnostics;
mod evidence;
mod exit_code;
mod figures;
mod file_list;
mod footer;
mod gates;
mod html;
mod junit;
mod junit_xml;
mod listed;
mod live;
mod log;
mod markdown;
pub mod masked;
mod masked_lists;
mod mutation;
mod network;
mod paint;
mod plan;
mod progress;
mod proof;
mod prose;
mod sarif;
mod sections;
mod size_budget;
mod summary;
mod terminal;
mod test_findings;
mod transcript;
mod usage;

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::{FileDiff, LineCounts, Operation, WorkspacePath};

use crate::base::text::pretty_json;
use crate::config::DeliverTo;
use crate::event::{
    Base, Block, Class, Expectation, GateRecord, HookRecord, MutationRecord, NetworkRecord, Notice,
    NoticeLevel, Outcome, ProofRecord, RecipeMatches, ReviewRecord, RunMode, Status, StopReason,
    SubagentRecord, TestFinding, Usage,
};
use crate::plan::{CarriedOver, Plan};

pub use annotations::{annotations, batch_annotations};
pub use batch::{
    BatchReport, LastWork, SCHEMA_VERSION as BATCH_SCHEMA_VERSION, SettledBecause, ShardReport, TaskEnd,
    TaskKey, TaskReport, batch_comment, batch_headline, batch_html, batch_junit, batch_markdown,
    batch_summary, sum, task_line,
};
pub use collect::{Collected, Collector};
pub use comment::{COMMENT_LIMIT, CommentFrame, check_summary, comment, description, reason_not_to_apply};
pub use diagnostics::{Diagnostic, diagnostics, of_gates};
pub use evidence::{Claim, ClaimSubject, Deeds, evidence};
pub use exit_code::ShownTests;
pub use figures::duration;
pub use html::html;
pub use junit::junit;
pub use junit_xml::JunitError;
pub use live::LiveStatus;
pub use log::{LogFormat, LogObserver, Verbosity, file_log, init_log};
pub use markdown::markdown;
pub use masked_lists::{Lists, plan_holds_secret};
pub use mutation::mutation_text;
pub use paint::painted;
pub use plan::PlanReport;
pub use progress::Progress;
pub use proof::{proof_junit, proof_text};
pub use sarif::{drift_sarif, sarif};
pub use sections::headline;
pub use summary::summary;
pub use terminal::{TerminalFrame, terminal};
pub use transcript::TranscriptWriter;

/// The version of the report format.
pub const SCHEMA_VERSION: u32 = 1;

/// A file that changed, or would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSummary {
    /// The path of the file, relative to the root of the repository.
    pub path: WorkspacePath,
    /// What happened to the file.
    pub op: Operation,
    /// Lines added and removed.
    pub lines: LineCounts,
    /// The change as unified hunks, after the mode where that changes.
    pub diff: String,
}

impl FileSummary {
    /// Summarizes the change of a file.
    pub fn new(found: &FileDiff<'_>) -> Self {
        let change = found.change();
        Self {
            path: change.path.clone(),
            op: change.operation(),
            lines: found.line_counts(),
            diff: change.mode_lines() + &found.text(),
        }
    }

    /// Returns what there is to say of the file's mode, for a list without diffs: empty, or in parentheses behind a space.
    fn mode_note(&self) -> String {
        let told = |line: &str| {
            let mode = line.strip_prefix("new mode ").or_else(|| line.strip_prefix("new file mode "))?;
            Some(match mode {
                "100755" => " (executable)".to_owned(),
                "120000" => " (link)".to_owned(),
                mode => format!(" (mode {mode})"),
            })
        };
        self.diff.lines().take(2).find_map(told).unwrap_or_default()
    }

    /// Creates a summary without a diff, for a file that is too large to be compared.
    pub fn of_large(path: WorkspacePath, op: Operation) -> Self {
        Self::without_diff(path, op, "too large to be shown")
    }

    /// Creates a summary without a diff, for a file that there was no time to compare.
    pub fn not_compared(path: WorkspacePath, op: Operation) -> Self {
        Self::without_diff(path, op, "not compared: the time of the run was up")
    }

    fn without_diff(path: WorkspacePath, op: Operation, reason: &str) -> Self {
        Self { path, op, lines: LineCounts::default(), diff: format!("({reason})\n") }
    }
}

/// A tool call in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    /// When it began, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The name of the agent that called.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// The name of the tool.
    pub tool: String,
    /// The command that it ran, or the first path that it touched.
    pub target: Option<String>,
    /// What it searched for, if it was a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The class of the command, if it ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Whether it was executed, planned or refused.
    pub outcome: Outcome,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// The exit code of the command, if it ran one to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the output of the command says that it ran no test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_no_test: bool,
    /// What its output says of tests.
    #[serde(skip)]
    pub shown_tests: ShownTests,
    /// What went wrong, if it was not successful.
    pub error: Option<String>,
    /// What it changed in files; long diffs are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
}

/// A model call in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// When it began, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The name of the agent that asked.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// How long the answer took, in milliseconds.
    pub duration_ms: u64,
    /// Tokens used.
    pub usage: Usage,
    /// What it cost, in USD; absent if the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The branch and the commit that hold the changes of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryReport {
    /// The name of the branch.
    pub branch: String,
    /// The id of the commit; `null` if the branch had all changes already.
    pub commit: Option<String>,
    /// The id of the commit that had all changes already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<String>,
    /// The pull request, if the run opened or updated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullReport>,
    /// Files that others had changed as well, and that were merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
}

/// A delivery that failed, and can be made later from the plan that lies beside the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldDelivery {
    /// The digest of the plan, which has all changes.
    pub digest: String,
    /// Where the changes were to go.
    pub to: DeliverTo,
    /// When GitHub's rate limit ends, if that is the reason: RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_until: Option<String>,
}

/// The plan that was applied in place of another one, because the branch had moved since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedPlan {
    /// The digest of the plan that was applied.
    pub digest: String,
    /// The requested plan, and what others had changed since.
    pub from: CarriedOver,
}

impl CarriedPlan {
    /// Returns the two plans, if this one was carried over.
    pub fn of(plan: &Plan) -> Option<Self> {
        Some(Self { digest: plan.digest.clone(), from: plan.carried_over.clone()? })
    }
}

/// A pull request that a run opened or updated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullReport {
    /// The number of the pull request.
    pub number: u64,
    /// The URL of its page.
    pub url: String,
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The random id of the run, a UUID.
    pub id: String,
    /// The task as the agent was given it.
    pub task: String,
    /// The name of the agent.
    pub agent: String,
    /// The model, as `provider::name`.
    pub model: String,
    /// The mode, which says how writes are treated.
    pub mode: RunMode,
    /// How the run ended.
    pub status: Status,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The exit code of the process.
    pub exit_code: u8,
    /// What the run was expected to leave behind.
    #[serde(default)]
    pub expected: Expectation,
    /// What to do next; empty if the run did what was requested and verified it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next_step: String,
    /// The agent's final message.
    pub message: String,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// All model calls, in order.
    pub steps: Vec<StepSummary>,
    /// Tokens used by all model calls.
    pub usage: Usage,
    /// What the model calls cost, in USD; `null` if the model's price is not known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Sub-agents that have reported, in order.
    #[serde(default)]
    pub subagents: Vec<SubagentRecord>,
    /// The commit that was checked out.
    pub base: Option<Base>,
    /// Files that changed, or in a dry run would change.
    pub files: Vec<FileSummary>,
    /// Places that a recipe changed, or in a dry run would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<RecipeMatches>,
    /// All tool calls, in order.
    pub calls: Vec<CallSummary>,
    /// The plan of a dry run.
    pub plan: Option<PlanReport>,
    /// Where the changes went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// The delivery that failed and can be made later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldDelivery>,
    /// The commit up to which the pull request was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed: Option<String>,
    /// The commit at which the reviewed change left its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_base: Option<String>,
    /// The plan that was applied in place of the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_over: Option<CarriedPlan>,
    /// The last run of the quality gates.
    pub gates: Vec<GateRecord>,
    /// Runs of hooks, in order.
    pub hooks: Vec<HookRecord>,
    /// Calls that guardrails stopped.
    pub guardrails: Vec<Block>,
    /// The last code review of the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRecord>,
    /// Hosts that child processes requested, in the order in which those ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkRecord>,
    /// Places where the change weakens tests or checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_findings: Vec<TestFinding>,
    /// Tests of the change, run on the old code and on the new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofRecord>,
    /// Faults in the changed code, and what its tests noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutations: Option<MutationRecord>,
    /// Claims of the final message that can be checked, and whether they are true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Claim>,
    /// Messages that people should see.
    pub notices: Vec<Notice>,
    /// The final message as data, if an output schema was given.
    pub structured_output: Option<Value>,
    /// The URL of the run's page.
    pub run_url: Option<String>,
}

impl RunReport {
    /// Ends the run for another reason than it had.
    pub fn end(&mut self, reason: StopReason) {
        let clause = reason.clause();
        self.stop_reason = reason;
        self.status = clause.status;
        self.exit_code = clause.exit.code();
        clause.next_step.clone_into(&mut self.next_step);
    }

    /// Tells of something that did not work, in the log and in the report.
    pub fn warn(&mut self, message: String) {
        tracing::warn!("warning: {message}");
        self.notices.push(Notice { level: NoticeLevel::Warning, message });
    }

    /// Returns the lines added and removed in all files.
    pub fn lines(&self) -> LineCounts {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Returns whether files changed, or would change.
    pub fn has_changes(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the plan if it may be applied: it is whole, nothing in it would be refused, it fits a known state, and the run that made it succeeded.
    pub fn applicable_plan(&self) -> Option<&PlanReport> {
        self.plan.as_ref().filter(|plan| plan.is_whole()).filter(|_| self.status == Status::Success)
    }

    /// Serializes the report as JSON, as it is written to a file.
    pub fn json(&self) -> io::Result<String> {
        pretty_json(self)
    }

    /// Writes the report as JSON, indented, with a newline at the end.
    pub fn write_json(&self, mut to: impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut to, self)?;
        to.write_all(b"\n")
    }
}
