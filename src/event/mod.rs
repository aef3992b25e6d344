//! What happens in a run, as data. Transcript, log and report all render these events, and a replay
//! reads them back.

mod effects;
mod ending;
mod exit;
mod observe;
mod plan_action;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workspace::{LineCounts, WorkspacePath};

pub use effects::{Class, CommandEffect, Effects, Remote};
pub use ending::{RunMode, Status, StopReason};
pub use exit::Exit;
pub use observe::{Events, Observer, millis};
pub use plan_action::{Base, PlannedAction};

/// The version of the transcript format.
pub const SCHEMA_VERSION: u32 = 1;

/// Tokens of one call or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input: u64,
    /// Tokens sent that the provider had cached.
    pub cached: u64,
    /// Tokens sent that the provider has put into its cache, where it charges for that.
    #[serde(skip_serializing_if = "is_zero")]
    pub written: u64,
    /// Tokens received.
    pub output: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.written += other.written;
        self.output += other.output;
    }
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The model's name for this call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object, or text where the model sent broken JSON.
    pub arguments: Value,
}

/// The start of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// A random id.
    pub id: String,
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// `provider::name`.
    pub model: String,
    /// The mode.
    pub mode: RunMode,
}

/// An answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// Which agent asked.
    pub agent: String,
    /// The step of that agent, from 1.
    pub step: u32,
    /// What it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it wants done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Tokens used.
    #[serde(default)]
    pub usage: Usage,
    /// What it has cost, in USD; absent where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long the answer took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// What became of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran.
    Executed,
    /// It would run; a dry run recorded it.
    Planned,
    /// A guardrail, a hook, a person or the arguments themselves stood against it.
    Refused,
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Which agent called.
    pub agent: String,
    /// The step of that agent.
    pub step: u32,
    /// The model's name for this call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// The exit code of the command that it ran, if it ran one to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What the model was told.
    pub result: String,
    /// What it touched.
    #[serde(default)]
    pub effects: Effects,
    /// Lines added and removed.
    #[serde(default)]
    pub lines: LineCounts,
    /// What it changed in files, for people; long ones are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// A guardrail that stopped a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Which agent called.
    pub agent: String,
    /// The step of that agent.
    pub step: u32,
    /// The tool.
    pub tool: String,
    /// The command, where it was about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file, where it was about one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What stood against it.
    pub reason: String,
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// Go on.
    Allow,
    /// Go on with other arguments.
    Modify,
    /// Stop.
    Block,
    /// The hook itself failed; the call went on.
    Failed,
}

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRecord {
    /// The event.
    pub event: String,
    /// The hook's name.
    pub name: String,
    /// The tool it was about.
    pub tool: String,
    /// The step.
    pub step: u32,
    /// What it decided.
    pub decision: HookDecision,
    /// Its exit code; -1 where there is none.
    pub exit_code: i32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What it printed.
    pub output: String,
}

/// One run of a quality gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// The gate's name.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Whether its failure fails the run.
    pub required: bool,
    /// Whether it passed.
    pub passed: bool,
    /// Whether it ran on a copy with the planned edits.
    pub predicted: bool,
    /// Which time the gates ran, from 1.
    #[serde(default = "first_round")]
    pub round: u32,
    /// Its exit code; -1 where there is none.
    pub exit_code: i32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The last lines that it printed.
    pub output: String,
}

fn first_round() -> u32 {
    1
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// How bad it is.
    pub level: NoticeLevel,
    /// What happened, and what to do.
    pub message: String,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
}

/// A sub-agent that has reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentRecord {
    /// Its name: its kind and a number.
    pub name: String,
    /// What it was asked.
    pub task: String,
    /// How far it came.
    pub status: Status,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// All that it said; its caller was told the beginning.
    pub message: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// It may break something.
    #[default]
    Warning,
    /// It breaks something, or is dangerous.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Something that a review found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file; absent where the reviewer named none that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<WorkspacePath>,
    /// The line, from 1.
    pub line: u32,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
}

/// A review of what a run has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRecord {
    /// Which review of the run it is, from 1.
    pub pass: u32,
    /// Who reviewed.
    pub model: String,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// How it ended.
    pub status: Status,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The agent's last words.
    pub message: String,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The start of a run.
    Session(Session),
    /// An answer of the model.
    Reply(Reply),
    /// A tool call and its result.
    Call(Box<CallRecord>),
    /// A guardrail that stopped a call.
    Guardrail(Block),
    /// One run of a hook.
    Hook(HookRecord),
    /// One run of a quality gate.
    Gate(GateRecord),
    /// A sub-agent that has reported.
    Subagent(SubagentRecord),
    /// A review of what the run has changed.
    Review(ReviewRecord),
    /// Something that people should know.
    Notice(Notice),
    /// The end of a run.
    End(End),
}

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Milliseconds since the start of the run.
    #[serde(default)]
    pub at_ms: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}
