//! Hosts that child processes asked for, as the proxy of the run saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host that a child process asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkRecord {
    /// The command line that asked, or the name of the hook, the gate, the MCP server or the model.
    pub by: String,
    /// The key of the configuration that holds its list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The host as it was asked for: a name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What became of it.
    pub decision: NetworkDecision,
    /// Why it was refused, or could not be reached; which key to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How often it was asked for.
    pub times: u32,
    /// Bytes sent to it.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
}

/// What became of a request for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkDecision {
    /// It was let through, because a list names it.
    Allowed,
    /// It was let through and written down: `network: learn`.
    Learned,
    /// It was refused.
    Refused,
    /// It was let through, but could not be reached.
    Unreachable,
}
