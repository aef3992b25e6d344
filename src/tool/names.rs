//! Names of tools that models bring with them from other agents, and what is understood by each. Whatever a call is
//! understood as passes through the pipeline like any other.

use super::door::NotUnderstood;
use super::foreign_tools::TOOLS;
use super::namespaces::{Parts, parts, plain};
use crate::base::command_template::Dialect;
use serde_json::{Map, Value};

/// Arguments of a call.
pub(super) type Arguments = Map<String, Value>;

/// What another agent's tool is here.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// A tool of ours, whose arguments have other names at most.
    Tool(&'static str),
    /// A tool of ours, after a change of the arguments.
    Fitted(&'static str, fn(&mut Arguments)),
    /// A tool of ours, after a change of the arguments that may fail; the function may name another one. The error is a sentence that
    /// contains the right call.
    Changed(&'static str, fn(&mut Arguments) -> Result<Option<&'static str>, NotUnderstood>),
    /// Nothing of ours; a sentence says what to do instead.
    Advice(&'static str),
}

use Meaning::{Changed, Fitted, Tool};

impl Meaning {
    /// Returns the name of our tool.
    pub(super) fn tool(self) -> Option<&'static str> {
        match self {
            Tool(name) | Fitted(name, _) | Changed(name, _) => Some(name),
            Meaning::Advice(_) => None,
        }
    }
}

/// Returns a name in lower case without separators, and without a namespace of this machine before it.
pub(super) fn folded(name: &str) -> String {
    let Parts { tool, elsewhere } = parts(name);
    plain(if elsewhere.is_some() { name } else { tool })
}

/// Tools that only some runs have, besides those of [`Registry::with_built_in`](super::Registry::with_built_in).
pub(super) const OF_SOME_RUNS: [&str; 7] = [
    "run_command",
    "background_command",
    "run_powershell",
    "fetch_url",
    "web_search",
    "dispatch_subagent",
    "todo",
];

/// Name that is none of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownTool {
    /// The tool whose name is most similar.
    pub(crate) nearest: Option<String>,
}

/// Checks the name of a tool in a list of tools that an agent has: ours as it is, or one of a server.
pub(crate) fn known_by_name(name: &str) -> Result<(), UnknownTool> {
    let registry = super::Registry::with_built_in();
    let own: Vec<&str> = registry.all().map(|tool| tool.name()).chain(OF_SOME_RUNS).collect();
    if name.starts_with("mcp_") || own.contains(&name) {
        return Ok(());
    }
    let same = own.iter().find(|own| folded(own) == folded(name)).copied();
    let nearest = same.or_else(|| crate::base::did_you_mean::nearest(name, own.iter().copied()));
    Err(UnknownTool { nearest: nearest.map(str::to_owned) })
}

/// Checks the name of a tool, whichever a run may have: ours, those of other agents, and those of servers.
pub(crate) fn known_in_some_run(name: &str) -> Result<(), UnknownTool> {
    let registry = super::Registry::with_built_in();
    let own: Vec<&str> = registry.all().map(|tool| tool.name()).chain(OF_SOME_RUNS).collect();
    let wanted = folded(name);
    if name.starts_with("mcp_") || meaning(name).is_some() || own.iter().any(|own| folded(own) == wanted) {
        return Ok(());
    }
    let nearest = crate::base::did_you_mean::nearest(name, own).map(str::to_owned);
    Err(UnknownTool { nearest })
}

/// Returns the language of the command lines that a tool runs, by whatever name it is called; `None` if it runs none.
pub(crate) fn command_dialect(name: &str) -> Option<Dialect> {
    let wanted = folded(name);
    let is = |own: &str| {
        wanted == folded(own)
            || matches!(meaning(name), Some(Tool(meant) | Fitted(meant, _) | Changed(meant, _)) if meant == own)
    };
    if is("run_powershell") {
        Some(Dialect::PowerShell)
    } else if is("run_command") {
        Some(Dialect::Shell)
    } else {
        None
    }
}

/// Returns what another agent's tool is here.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let name = folded(name);
    TOOLS.iter().find(|(foreign, _)| *foreign == name).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_stands_once_and_as_it_is_looked_up() {
        let mut seen = BTreeSet::new();
        for (name, _) in TOOLS {
            assert_eq!(folded(name), *name);
            assert!(seen.insert(name), "{name}");
        }
        assert_eq!(folded("functions.Read_File"), "readfile");
        assert_eq!(folded("developer__shell"), "shell");
        assert!(meaning("mcp__filesystem__write_file").is_some());
        for name in ["mcp__ssh__exec", "docker.exec", "s3/write"] {
            assert!(meaning(name).is_none() && command_dialect(name).is_none(), "{name}");
        }
    }
}
