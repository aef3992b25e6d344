//! One report of many runs.

mod html;
mod junit;
mod markdown;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeliveryReport, RunReport};
use crate::event::{Exit, Notice, NoticeLevel, RunMode, Status, StopReason, Usage};
use crate::workspace::{LineCounts, Operation, WorkspacePath};

pub use html::batch_html;
pub use junit::batch_junit;
pub use markdown::{batch_comment, batch_headline, batch_markdown, batch_summary, task_line};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// Most files and notices of one task that the sum of all keeps; its own report has them all.
const MAX_KEPT: usize = 50;
/// Most characters of a task's or an agent's words.
const MAX_WORDS: usize = 500;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    /// It failed.
    Failed,
    /// Nobody knows: the shard that had it left no report.
    Lost,
    /// Some of it is done.
    Partial,
    /// It was not begun, or has to begin again.
    NotRun,
    /// All done.
    Success,
}

/// A file that a task changed, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFile {
    /// The file, relative to the repository.
    pub path: WorkspacePath,
    /// What happened to it.
    pub op: Operation,
    /// Lines added and removed.
    pub lines: LineCounts,
}

/// One task of a batch, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// Its id.
    pub id: String,
    /// What was to be done: its first line.
    pub task: String,
    /// How it ended.
    pub end: TaskEnd,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The exit code that it would have had by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// The model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How often it was begun.
    pub attempts: u32,
    /// How long the last attempt took, in milliseconds.
    pub duration_ms: u64,
    /// Model calls of all attempts.
    pub steps: usize,
    /// Tokens of all attempts.
    pub usage: Usage,
    /// What all attempts have cost, in USD; absent where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's last words: the beginning of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Files that changed or would; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TaskFile>,
    /// How many files changed or would.
    pub changed_files: usize,
    /// Lines added and removed in all of them.
    pub lines: LineCounts,
    /// Names of gates that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_gates: Vec<String>,
    /// How many gates passed.
    pub passed_gates: usize,
    /// Calls that guardrails stopped.
    pub blocked: usize,
    /// Warnings and errors; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The digest of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// Where its changes went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// The folder of its files, relative to the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

impl TaskReport {
    /// A task of which there is nothing to tell but why.
    pub fn without_run(id: &str, task: &str, end: TaskEnd, why: &str) -> Self {
        let level = if end == TaskEnd::NotRun { NoticeLevel::Warning } else { NoticeLevel::Error };
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
            passed_gates: 0,
            blocked: 0,
            notices: vec![Notice { level, message: why.to_owned() }],
            plan_digest: None,
            delivery: None,
            folder: String::new(),
        }
    }

    /// What a run's report comes to.
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
                // A red gate leaves a task partial and turns the job red.
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
            failed_gates: failed.map(|gate| gate.name.clone()).collect(),
            passed_gates: report.gates.iter().filter(|gate| gate.passed).count(),
            blocked: report.guardrails.len(),
            notices: report.notices.iter().filter(told).take(MAX_KEPT).map(short).collect(),
            plan_digest: report.plan.as_ref().map(|plan| plan.digest.clone()),
            delivery: report.delivery.clone(),
            folder: folder.to_owned(),
        }
    }

    /// The same with what earlier attempts have taken.
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

/// A sum of what is known.
pub fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
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

/// Which part of a batch a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ShardReport {
    /// The shard, from 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// Everything there is to say about a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchReport {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The batch's name.
    pub batch: String,
    /// The digest of its list of tasks.
    pub manifest: String,
    /// The commit that it is about.
    pub commit: String,
    /// How it ended.
    pub status: Status,
    /// The exit code of the process.
    pub exit_code: u8,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// How long it took, in milliseconds; of shards, the longest.
    pub duration_ms: u64,
    /// Which part this is; absent for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardReport>,
    /// Shards that left no report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_shards: Vec<u32>,
    /// The tasks, in order.
    pub tasks: Vec<TaskReport>,
    /// Tokens used.
    pub usage: Usage,
    /// What the models have cost, in USD, as far as prices are known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// Where the run can be looked at.
    #[serde(default)]
    pub run_url: Option<String>,
}

impl BatchReport {
    /// Adds up what the tasks say. `interrupted` is the exit of a signal, `late` says that the time was up.
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
            None if late && any(&[TaskEnd::NotRun]) => Exit::Timeout,
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

    /// How many tasks ended how.
    pub fn count(&self, end: TaskEnd) -> usize {
        self.tasks.iter().filter(|task| task.end == end).count()
    }

    /// Lines added and removed by all tasks.
    pub fn lines(&self) -> LineCounts {
        let mut lines = LineCounts::default();
        for task in &self.tasks {
            lines += task.lines;
        }
        lines
    }

    /// Files that more than one task changed, each with these tasks: their changes may not go together.
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

    /// The report as JSON.
    pub fn json(&self) -> String {
        // The types hold nothing that JSON cannot.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
