//! Hosts that child processes requested, as seen by the proxy of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host that a child process requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkRecord {
    /// Who requested it: `command` and the command line, or the hook, gate, MCP server or model.
    pub by: String,
    /// The key of the configuration that holds its list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The host as it was requested: a name or an address.
    pub host: String,
    /// The port; 0 for further hosts that are told together.
    pub port: u16,
    /// What became of it.
    pub decision: NetworkDecision,
    /// Why it was refused, or could not be reached; which key to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How often it was requested.
    pub times: u32,
    /// Bytes sent to it.
    pub sent: u64,
    /// Bytes received from it.
    pub received: u64,
}

impl NetworkRecord {
    /// Returns the host and the port; no port for hosts that are told together.
    pub fn target(&self) -> String {
        if self.port == 0 { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// The outcome of a request for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkDecision {
    /// It was allowed, because a list names it.
    Allowed,
    /// It was allowed and recorded: `network: learn`.
    Learned,
    /// It was refused.
    Refused,
    /// It was allowed, but could not be reached.
    Unreachable,
}
