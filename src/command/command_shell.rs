//! The shell that runs command lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::sandbox::Sandbox;
use super::standby_supervisor::StandbySupervisor;
use crate::base::time_limit::TimeLimit;
use crate::egress::Reach;

/// The shell that runs command lines, and what its children get.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    /// The path of this program, which starts children.
    pub launcher: PathBuf,
    /// The program of the shell.
    pub program: String,
    /// The arguments before the command line, such as `-c`.
    pub flags: Vec<String>,
    /// All environment variables of a child.
    pub environment: BTreeMap<String, String>,
    /// The names of variables that are withheld from children.
    pub withheld: BTreeSet<String>,
    /// The sandbox of the children; `None` if there is none.
    pub sandbox: Option<Sandbox>,
    /// A supervisor that is waiting for an order.
    pub standby: StandbySupervisor,
    /// What the children can reach.
    pub reach: Reach,
    /// What the children of single hooks, gates, servers and models can reach, by their owner.
    pub networks: Arc<BTreeMap<String, Reach>>,
    /// The hook, gate, server or model whose children these are; `None` for those of the agent.
    pub owner: Option<String>,
    /// Whether other commands of the agent can reach the servers that the children start.
    pub serves: bool,
    /// The time of the run, after which children that do not end by themselves have little time.
    pub time_limit: TimeLimit,
}
