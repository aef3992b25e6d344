//! Parts of a plan: the calls that would write, and the commit that they are based on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Effects;

/// One call that would write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedAction {
    /// The agent's step.
    pub step: u32,
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool_name: String,
    /// One line for people: `edit_file → src/main.py (+2 −1)`.
    pub description: String,
    /// The arguments.
    pub tool_input: Value,
    /// What it would touch.
    pub effects: Effects,
    /// What it would change, as hunks. Beyond the first 256 KiB of a run, neither these nor what an edit writes is repeated
    /// here: see the files of the plan.
    pub diff: String,
    /// Whether it is a command that ran on the planned state, so that its changes are among those of the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_run: bool,
}

/// The commit that a plan is based on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The full commit id.
    pub commit: String,
    /// The branch, or `None` when `HEAD` is detached.
    pub branch: Option<String>,
    /// Whether tracked files differed from the commit before the run.
    pub dirty: bool,
}
