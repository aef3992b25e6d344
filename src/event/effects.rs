//! Effects of a tool call: everything that it would touch, known before it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::Class;
use workspace::{ResolvedPath, WorkspacePath};

/// What a call would touch, known before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effects {
    /// Files and folders that it would read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<WorkspacePath>,
    /// Files that it would create, change or remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<WorkspacePath>,
    /// The command that it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandEffect>,
    /// What it would reach outside of the checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<Remote>,
}

/// Something outside of the checkout that a call would reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remote {
    /// An address, or `SERVER/TOOL`.
    pub target: String,
    /// Whether it only reads, as far as is known.
    pub read_only: bool,
    /// Files of the workspace that the arguments name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WorkspacePath>,
}

/// A command that a call would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEffect {
    /// The line, as the model wrote it, with the variables that are set for it.
    pub line: String,
    /// The folder where it runs.
    pub cwd: WorkspacePath,
    /// How dangerous it is.
    pub class: Class,
    /// What decided that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The reason why the line is never run, in any mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Every simple command in it, however it is wrapped, without its quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simple: Vec<String>,
    /// Globs among its words, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
    /// Folders that it reads with all that is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<WorkspacePath>,
}

impl Effects {
    /// Describes a call that reads one path.
    pub fn read(path: &ResolvedPath) -> Self {
        Self { reads: vec![WorkspacePath::clone(path)], ..Self::default() }
    }

    /// Describes a call that writes one path.
    pub fn write(path: &ResolvedPath) -> Self {
        Self { writes: vec![WorkspacePath::clone(path)], ..Self::default() }
    }

    /// Describes a call that looks at something outside of the checkout.
    pub fn look_at(target: &str) -> Self {
        let remote = Remote { target: target.to_owned(), read_only: true, paths: Vec::new() };
        Self { remote: Some(remote), ..Self::default() }
    }

    /// Returns whether a call edits files by itself, and not by a command, whose failure may have nothing to do with them.
    pub fn is_edit(&self) -> bool {
        self.command.is_none() && !self.writes.is_empty()
    }

    /// Returns what a call is about, for people: its command, else the first file that it writes or reads.
    pub fn target(&self) -> Option<&str> {
        let command = self.command.as_ref().map(|command| command.line.as_str());
        let path = || self.writes.first().or(self.reads.first()).map(WorkspacePath::as_str);
        let remote = || self.remote.as_ref().map(|remote| remote.target.as_str());
        command.or_else(path).or_else(remote)
    }

    /// Returns whether the call changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty()
            && self.command.as_ref().is_none_or(|command| command.class == Class::Safe)
            && self.remote.as_ref().is_none_or(|remote| remote.read_only)
    }

    /// Returns `true` if what the call changes is only known afterwards.
    pub fn effects_unknown(&self) -> bool {
        self.command.is_some() || self.remote.as_ref().is_some_and(|remote| !remote.read_only)
    }

    /// Returns whether a dry run has to plan the call: what only looks is simply done.
    pub fn is_planned(&self) -> bool {
        !self.is_read_only()
    }
}
