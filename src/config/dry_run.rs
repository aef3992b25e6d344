//! Dry runs: what happens in them to commands and gates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a dry run treats what it cannot plan in memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DryRun {
    /// Whether commands run on a throw-away copy of the planned state, or are only recorded. By default they run
    /// where a sandbox keeps them from the checkout itself.
    pub commands: Option<PlannedCommands>,
    /// Whether gates run on a throw-away copy of the planned state.
    pub gates: Isolation,
}

/// What happens to commands in a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlannedCommands {
    /// They are only recorded, except for read-only ones.
    Record,
    /// Safe and dev commands run on a copy, and the files that they change join the plan.
    Isolated,
}

/// What happens to gates in a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// They run on a copy.
    #[default]
    Isolated,
    /// They do not run.
    Skip,
}
