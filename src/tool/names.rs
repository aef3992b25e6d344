//! Names of tools that models bring with them from other agents, and what is understood by each. Whatever a call is
//! understood as passes through the pipeline like any other.

use super::foreign_tools::ForeignTool::{self, Changed, Fitted, Tool};
use super::foreign_tools::TOOLS;
use super::namespaces::{Parts, parts, plain};
use crate::base::command_template::Dialect;

/// Returns a name in lower case without separators, and without a namespace of this machine before it.
pub(super) fn normalized_name(name: &str) -> String {
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
    let same = own.iter().find(|own| normalized_name(own) == normalized_name(name)).copied();
    let nearest = same.or_else(|| crate::base::did_you_mean::nearest(name, own.iter().copied()));
    Err(UnknownTool { nearest: nearest.map(str::to_owned) })
}

/// Checks the name of a tool, whichever a run may have: ours, those of other agents, and those of servers.
pub(crate) fn known_in_some_run(name: &str) -> Result<(), UnknownTool> {
    let registry = super::Registry::with_built_in();
    let own: Vec<&str> = registry.all().map(|tool| tool.name()).chain(OF_SOME_RUNS).collect();
    let wanted = normalized_name(name);
    if name.starts_with("mcp_")
        || meaning(name).is_some()
        || own.iter().any(|own| normalized_name(own) == wanted)
    {
        return Ok(());
    }
    let nearest = crate::base::did_you_mean::nearest(name, own).map(str::to_owned);
    Err(UnknownTool { nearest })
}

/// Returns the language of the command lines that a tool runs, by whatever name it is called; `None` if it runs none.
pub(crate) fn command_dialect(name: &str) -> Option<Dialect> {
    let wanted = normalized_name(name);
    let is = |own: &str| {
        wanted == normalized_name(own)
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
pub(super) fn meaning(name: &str) -> Option<ForeignTool> {
    let name = normalized_name(name);
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
            assert_eq!(normalized_name(name), *name);
            assert!(seen.insert(name), "{name}");
        }
        assert_eq!(normalized_name("functions.Read_File"), "readfile");
        assert_eq!(normalized_name("developer__shell"), "shell");
        assert!(meaning("mcp__filesystem__write_file").is_some());
        for name in ["mcp__ssh__exec", "docker.exec", "s3/write"] {
            assert!(meaning(name).is_none() && command_dialect(name).is_none(), "{name}");
        }
    }
}
