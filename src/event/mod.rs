//! Events of a run, as data. Transcript, log and report all render these events, and a replay reads them
//! back.

mod activity;
mod bus;
mod change_size_limit;
mod contract;
mod effects;
mod exit;
mod gate;
mod mutation;
mod network;
mod notice;
mod plan_action;
mod proof;
mod recipe_match;
mod review;
mod status;
mod test_finding;
mod todo;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::LineCounts;

pub use activity::{Activities, Activity, ActivityChanges, ActivityGuard, Ongoing, OngoingActivity};
pub use bus::{Events, Observer, millis};
pub use change_size_limit::ChangeSizeLimit;
pub use contract::{Clause, Conclusion, Expectation, JunitResult, Work, answered};
pub use effects::{CommandEffect, Effects, Remote};
pub use exit::Exit;
pub use gate::{GateRecord, GateVerdict, NamedTests, TestChanges};
pub use mutation::{MutationRecord, MutationResult, MutationVerdict};
pub use network::{NetworkDecision, NetworkRecord};
pub use notice::{Notice, NoticeLevel};
pub use plan_action::{Base, PlannedAction};
pub use proof::{CaseProof, ProofRecord, ProofVerdict, TestProof};
pub use recipe_match::{RecipeMatch, RecipeMatches};
pub use review::{Finding, ReviewRecord, Severity};
pub use shell::Class;
pub use status::{RunMode, Status, StopReason};
pub use test_finding::TestFinding;
pub use todo::{TodoItem, TodoList, TodoStatus};

/// The version of the transcript format.
pub const SCHEMA_VERSION: u32 = 1;

/// Tokens of one model call, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input: u64,
    /// Tokens sent that the provider had cached.
    pub cached: u64,
    /// Tokens sent that the provider wrote to its cache, if it charges for that.
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
        // A transcript that is replayed may say anything.
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.written = self.written.saturating_add(other.written);
        self.output = self.output.saturating_add(other.output);
    }
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The model's id for this call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object, or text if the model sent invalid JSON.
    pub arguments: Value,
}

/// The start of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The version of the transcript format, 1.
    pub schema_version: u32,
    /// The random id of the run.
    pub id: String,
    /// The task as the agent was given it.
    pub task: String,
    /// The name of the agent.
    pub agent: String,
    /// The model, as `provider::name`.
    pub model: String,
    /// The mode, which says how writes are treated.
    pub mode: RunMode,
}

/// An answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The name of the agent that asked.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// The text of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tool calls that the answer asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Tokens used.
    #[serde(default)]
    pub usage: Usage,
    /// What it cost, in USD; absent if the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long the answer took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Whether the turn goes on with the next answer, as that of a recipe over many files does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// An answer of the model that was lost half-way. It costs all the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostReply {
    /// The name of the agent that asked.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// Tokens that it is counted as.
    pub usage: Usage,
    /// What it is counted as, in USD; absent if the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran.
    Executed,
    /// It would run; a dry run recorded it.
    Planned,
    /// It was refused by a guardrail, a hook or a person, or its arguments were invalid.
    Refused,
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// The name of the agent that called.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// The model's id for this call.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// Whether it was executed, planned or refused.
    pub outcome: Outcome,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// Whether the end of the run cut it off; a resumed session treats it as never made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// The exit code of the command, if it ran one to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the output of the command says that it ran no test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_no_test: bool,
    /// The result that the model was given.
    pub result: String,
    /// What it read, wrote and ran.
    #[serde(default)]
    pub effects: Effects,
    /// Lines added and removed.
    #[serde(default)]
    pub lines: LineCounts,
    /// What it changed in files, for people; long diffs are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// How long the run took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// A call that a guardrail stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The name of the agent that called.
    pub agent: String,
    /// The turn of that agent, from 1.
    pub step: u32,
    /// The name of the tool.
    pub tool: String,
    /// The command, if it was about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file, if it was about a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why the guardrail stopped it.
    pub reason: String,
}

/// The decision of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// The call continues.
    Allow,
    /// The call continues with other arguments.
    Modify,
    /// The call is stopped.
    Block,
    /// The hook itself failed; the call continued.
    Failed,
}

/// A run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRecord {
    /// The name of the hook event.
    pub event: String,
    /// The name of the hook.
    pub name: String,
    /// The name of the tool that it was about.
    pub tool: String,
    /// The turn of the agent, from 1.
    pub step: u32,
    /// The decision of the hook.
    pub decision: HookDecision,
    /// Its exit code; -1 if there is none.
    pub exit_code: i32,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// What it printed.
    pub output: String,
}

/// A sub-agent that has reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentRecord {
    /// Its name: its kind and a number.
    pub name: String,
    /// The task that it was given.
    pub task: String,
    /// How it ended.
    pub status: Status,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// Its whole final message; its caller was given the beginning.
    pub message: String,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// How the run ended.
    pub status: Status,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The agent's final message.
    pub message: String,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The start of a run.
    Session(Session),
    /// An answer of the model.
    Reply(Reply),
    /// An answer of the model that was lost half-way.
    LostReply(LostReply),
    /// A tool call and its result.
    Call(Box<CallRecord>),
    /// A call that a guardrail stopped.
    Guardrail(Block),
    /// A run of a hook.
    Hook(HookRecord),
    /// A run of a quality gate.
    Gate(GateRecord),
    /// The agent's list of its own work.
    Todo(TodoList),
    /// A sub-agent that has reported.
    Subagent(SubagentRecord),
    /// A code review of what the run has changed.
    Review(ReviewRecord),
    /// A host that a child process requested.
    Network(NetworkRecord),
    /// Tests of the change, run on the old code and on the new.
    Proof(ProofRecord),
    /// Faults in the changed code, and what its tests noticed.
    Mutation(MutationRecord),
    /// A message that people should see.
    Notice(Notice),
    /// The end of a run.
    End(End),
}

/// A line of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// When the event happened, in milliseconds since the start of the run.
    #[serde(default)]
    pub at_ms: u64,
    /// The event itself.
    #[serde(flatten)]
    pub event: Event,
}
