//! The report of a batch: the results of many runs in one [`BatchReport`], and its renderings.

mod html;
mod junit;
mod key;
mod markdown;

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::{LineCounts, Operation, WorkspacePath};

use super::{DeliveryReport, HeldDelivery, RunReport};
use crate::base::text::pretty_json;
use crate::command::last_lines;
use crate::event::{Exit, GateRecord, Notice, NoticeLevel, RunMode, Status, StopReason, Usage};

pub use html::batch_html;
pub use junit::batch_junit;
pub use key::{LastWork, SettledBecause, TaskKey};
pub use markdown::{batch_comment, batch_headline, batch_markdown, batch_summary, task_line};

/// The version of the report format.
pub const SCHEMA_VERSION: u32 = 1;

/// Maximum number of files, and of notices, that are kept for each task; the task's own report has all of
/// them.
const MAX_KEPT: usize = 50;
/// Maximum number of failed gates of a task whose output is kept, and of its lines.
const MAX_EXCERPTS: usize = 3;
const MAX_LINES: usize = 20;
/// Maximum length of a line of such output, of a task's text, or of an agent's message, in characters.
const MAX_WORDS: usize = 500;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    /// It failed.
    Failed,
    /// Unknown: the shard that was to run it left no report.
    Lost,
    /// Part of it is done.
    Partial,
    /// It was not begun, or has to begin again.
    NotRun,
    /// It is done.
    Success,
    /// It was done before, with a result that still holds.
    Settled,
}

/// A file that a task changed, or would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFile {
    /// The path of the file, relative to the root of the repository.
    pub path: WorkspacePath,
    /// What happened to the file.
    pub op: Operation,
    /// Lines added and removed.
    pub lines: LineCounts,
}

/// The end of what a failed gate printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateExcerpt {
    /// The name of the gate.
    pub gate: String,
    /// The last lines of its output.
    pub output: String,
}

/// A task of a batch in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// The id of the task, unique in the batch.
    pub id: String,
    /// The first line of the task's text.
    pub task: String,
    /// How the task ended.
    pub end: TaskEnd,
    /// Why it ended, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The exit code that the task would have had as a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The mode, if the task ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// The model, as `provider::name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The number of attempts.
    pub attempts: u32,
    /// How long the last attempt took, in milliseconds.
    pub duration_ms: u64,
    /// The number of model calls in all attempts.
    pub steps: usize,
    /// Tokens used in all attempts.
    pub usage: Usage,
    /// What all attempts cost, in USD; absent if the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The beginning of the agent's final message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The first of the files that changed, or would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TaskFile>,
    /// The number of files that changed, or would change.
    pub changed_files: usize,
    /// Lines added and removed in all of them.
    pub lines: LineCounts,
    /// Names of the gates that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_gates: Vec<String>,
    /// What the first of them printed last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpts: Vec<GateExcerpt>,
    /// The number of gates that passed.
    pub passed_gates: usize,
    /// The number of calls that guardrails stopped.
    pub blocked: usize,
    /// The first of the warnings and errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The digest of the task's plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// Where the task's changes went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// The delivery that failed and can be made later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldDelivery>,
    /// Why it is settled, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_because: Option<SettledBecause>,
    /// What its result depends on, if it succeeded or changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<TaskKey>,
    /// Why no later night can settle it, if it has no such key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<String>,
    /// What the task took in an earlier batch, if this one did not work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_work: Option<LastWork>,
    /// The folder of the task's files, relative to the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

impl TaskReport {
    /// Creates the report of a task that did not run, with `why` as its notice.
    pub fn without_run(id: &str, task: &str, end: TaskEnd, why: &str) -> Self {
        let level = match end {
            TaskEnd::Settled => NoticeLevel::Info,
            TaskEnd::NotRun => NoticeLevel::Warning,
            _ => NoticeLevel::Error,
        };
        Self {
            id: id.to_owned(),
            task: first_words(task),
            end,
            stop_reason: None,
            exit_code: None,
            mode: None,
            model: String::new(),
            attempts: 0,
            duration_ms: 0,
            steps: 0,
            usage: Usage::default(),
            cost_usd: None,
            message: String::new(),
            files: Vec::new(),
            changed_files: 0,
            lines: LineCounts::default(),
            failed_gates: Vec::new(),
            excerpts: Vec::new(),
            passed_gates: 0,
            blocked: 0,
            notices: vec![Notice { level, message: why.to_owned() }],
            plan_digest: None,
            delivery: None,
            held: None,
            settled_because: None,
            key: None,
            unsettled: None,
            last_work: None,
            folder: String::new(),
        }
    }

    /// Summarizes the report of a task's run.
    pub fn of_run(id: &str, report: &RunReport, folder: &str) -> Self {
        let files = report.files.iter().take(MAX_KEPT).map(|file| TaskFile {
            path: file.path.clone(),
            op: file.op,
            lines: file.lines,
        });
        let told = |notice: &&Notice| notice.level != NoticeLevel::Info;
        let short = |notice: &Notice| Notice { level: notice.level, message: words(&notice.message) };
        let failed = report.gates.iter().filter(|gate| !gate.passed);
        Self {
            id: id.to_owned(),
            task: first_words(&report.task),
            end: match report.status {
                Status::Success => TaskEnd::Success,
                // A failed required gate leaves the task partial, and fails the job.
                Status::Partial if report.exit_code == Exit::Failed.code() => TaskEnd::Failed,
                Status::Partial => TaskEnd::Partial,
                Status::Failed => TaskEnd::Failed,
            },
            stop_reason: Some(report.stop_reason),
            exit_code: Some(report.exit_code),
            mode: Some(report.mode),
            model: report.model.clone(),
            attempts: 1,
            duration_ms: report.duration_ms,
            steps: report.steps.len(),
            usage: report.usage,
            cost_usd: report.cost_usd,
            message: words(&report.message),
            files: files.collect(),
            changed_files: report.files.len(),
            lines: report.lines(),
            failed_gates: failed.clone().map(|gate| gate.name.clone()).collect(),
            excerpts: failed.filter_map(excerpt).take(MAX_EXCERPTS).collect(),
            passed_gates: report.gates.iter().filter(|gate| gate.passed).count(),
            blocked: report.guardrails.len(),
            notices: report.notices.iter().filter(told).take(MAX_KEPT).map(short).collect(),
            plan_digest: report.plan.as_ref().map(|plan| plan.digest.clone()),
            delivery: report.delivery.clone(),
            held: report.held.clone(),
            settled_because: None,
            key: None,
            unsettled: None,
            last_work: None,
            folder: folder.to_owned(),
        }
    }

    /// Adds what earlier attempts at the same task have used.
    #[must_use]
    pub fn after(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier {
            self.attempts += earlier.attempts;
            self.steps += earlier.steps;
            self.usage += earlier.usage;
            self.cost_usd = sum(self.cost_usd, earlier.cost_usd);
        }
        self
    }
}

/// Adds two costs, of which either may be unknown; the sum is unknown only if both are.
pub fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// Returns the end of what a gate printed; `None` if it printed nothing.
fn excerpt(gate: &GateRecord) -> Option<GateExcerpt> {
    let last = last_lines(&gate.output, MAX_LINES);
    let output: Vec<String> = last.lines().map(words).collect();
    (!output.is_empty()).then(|| GateExcerpt { gate: gate.name.clone(), output: output.join("\n") })
}

fn words(text: &str) -> String {
    match text.char_indices().nth(MAX_WORDS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

fn first_words(text: &str) -> String {
    words(text.trim().lines().next().unwrap_or_default())
}

/// The part of a batch that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ShardReport {
    /// The number of the shard, from 1.
    pub index: u32,
    /// The number of shards.
    pub of: u32,
}

/// The report of a batch, or of one of its shards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchReport {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The name of the batch.
    pub batch: String,
    /// The digest of its list of tasks.
    pub manifest: String,
    /// The commit that its tasks start from.
    pub commit: String,
    /// How the batch ended.
    pub status: Status,
    /// The exit code of the process.
    pub exit_code: u8,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// How long it took, in milliseconds; for merged shards, the longest.
    pub duration_ms: u64,
    /// The shard that this report is about; absent for the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardReport>,
    /// Numbers of the shards that left no report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_shards: Vec<u32>,
    /// All tasks, in order.
    pub tasks: Vec<TaskReport>,
    /// Tokens used by all tasks.
    pub usage: Usage,
    /// What the tasks cost, in USD, as far as prices are known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Messages that people should see.
    pub notices: Vec<Notice>,
    /// The URL of the run's page.
    #[serde(default)]
    pub run_url: Option<String>,
}

impl BatchReport {
    /// Computes usage, cost, status and exit code from the tasks. `interrupted` is the exit code of a
    /// signal, if one arrived; `late` says that the time limit was reached.
    pub fn add_up(&mut self, interrupted: Option<Exit>, late: bool) {
        self.usage = Usage::default();
        self.cost_usd = None;
        for task in &self.tasks {
            self.usage += task.usage;
            self.cost_usd = sum(self.cost_usd, task.cost_usd);
        }
        let any = |ends: &[TaskEnd]| self.tasks.iter().any(|task| ends.contains(&task.end));
        let exit = match interrupted {
            Some(exit) => exit,
            None if any(&[TaskEnd::Failed, TaskEnd::Lost]) || !self.lost_shards.is_empty() => Exit::Failed,
            None if late && any(&[TaskEnd::Partial, TaskEnd::NotRun]) => Exit::Timeout,
            None if any(&[TaskEnd::Partial, TaskEnd::NotRun]) => Exit::Partial,
            None => Exit::Success,
        };
        self.status = match exit {
            Exit::Success => Status::Success,
            Exit::Failed => Status::Failed,
            _ => Status::Partial,
        };
        self.exit_code = exit.code();
    }

    /// Adds an error of the batch as a whole. A success becomes a failure; what the tasks came to stays.
    pub fn fail(&mut self, message: String) {
        self.notices.push(Notice { level: NoticeLevel::Error, message });
        if self.exit_code == Exit::Success.code() {
            (self.status, self.exit_code) = (Status::Failed, Exit::Failed.code());
        }
    }

    /// Returns the number of tasks with the given end.
    pub fn count(&self, end: TaskEnd) -> usize {
        self.tasks.iter().filter(|task| task.end == end).count()
    }

    /// Returns the lines added and removed by all tasks.
    pub fn lines(&self) -> LineCounts {
        let mut lines = LineCounts::default();
        for task in &self.tasks {
            lines += task.lines;
        }
        lines
    }

    /// Returns the files that more than one task changed, each with the ids of these tasks: their changes
    /// may conflict.
    pub fn shared_files(&self) -> BTreeMap<&WorkspacePath, Vec<&str>> {
        let mut by_file: BTreeMap<&WorkspacePath, Vec<&str>> = BTreeMap::new();
        for task in &self.tasks {
            for file in &task.files {
                by_file.entry(&file.path).or_default().push(&task.id);
            }
        }
        by_file.retain(|_, tasks| tasks.len() > 1);
        by_file
    }

    /// Serializes the report as JSON, indented, with a newline at the end.
    pub fn json(&self) -> io::Result<String> {
        pretty_json(self)
    }
}
