//! The agent's list of its own work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry of the agent's list of its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    /// What is to be done
    pub task: String,
    /// How far it is
    #[serde(default)]
    pub status: TodoStatus,
}

/// How far an entry of the agent's list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TodoStatus {
    /// It is not begun.
    #[default]
    Open,
    /// It is being worked on.
    Doing,
    /// It is done.
    Done,
}

/// The agent's list of its own work, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoList {
    /// The name of the agent.
    pub agent: String,
    /// The entries, in the agent's order.
    pub items: Vec<TodoItem>,
}
