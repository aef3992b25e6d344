//! What the model can do: tools, their arguments, effects and results.
//!
//! A tool is one file: an argument type, its effects, and the work. Everything around the call
//! (guardrails, hooks, confirmation, dry run, reports) reads [`Effects`] and never a tool's name.

mod apply_patch;
mod command_effects;
mod delete_file;
mod edit_file;
mod find_files;
mod get_file_summary;
mod grep;
mod list_directory;
mod list_files;
mod read_file;
mod registry;
mod run_command;
mod run_powershell;
pub(crate) mod schema;
mod search;
mod search_code;
mod search_files;
mod write_file;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::Class;
use crate::workspace::{FileChange, FileError, FileState, PathGlobs, ResolvedPath, Workspace, WorkspacePath};

pub use command_effects::command_effects;
pub use registry::{DuplicateTool, Registry};
pub use run_command::{CommandTarget, RunCommand};
pub use run_powershell::{RunPowershell, pwsh};

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
    /// Whether it only looks, as far as is known.
    pub read_only: bool,
    /// Files of the workspace that the arguments name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WorkspacePath>,
}

/// A command that a call would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEffect {
    /// The line, as the model wrote it.
    pub line: String,
    /// The folder where it runs.
    pub cwd: WorkspacePath,
    /// How dangerous it is.
    pub class: Class,
    /// What decided that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it is never run, in any mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Every simple command in it, however it is wrapped, without its quotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simple: Vec<String>,
    /// Globs among its words, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
    /// Folders that it reads with all that lies in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<WorkspacePath>,
}

impl Effects {
    /// A call that reads one path.
    pub fn read(path: &ResolvedPath) -> Self {
        Self { reads: vec![WorkspacePath::clone(path)], ..Self::default() }
    }

    /// A call that writes one path.
    pub fn write(path: &ResolvedPath) -> Self {
        Self { writes: vec![WorkspacePath::clone(path)], ..Self::default() }
    }

    /// A call that looks at something outside of the checkout.
    pub fn look_at(target: &str) -> Self {
        let remote = Remote { target: target.to_owned(), read_only: true, paths: Vec::new() };
        Self { remote: Some(remote), ..Self::default() }
    }

    /// What a call is about, for people: its command, else the first file that it writes or reads.
    pub fn target(&self) -> Option<&str> {
        let command = self.command.as_ref().map(|command| command.line.as_str());
        let path = || self.writes.first().or(self.reads.first()).map(WorkspacePath::as_str);
        let remote = || self.remote.as_ref().map(|remote| remote.target.as_str());
        command.or_else(path).or_else(remote)
    }

    /// Whether the call changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty()
            && self.command.as_ref().is_none_or(|command| command.class == Class::Safe)
            && self.remote.as_ref().is_none_or(|remote| remote.read_only)
    }

    /// Whether what the call changes is known only afterwards.
    pub fn effects_unknown(&self) -> bool {
        self.command.is_some() || self.remote.as_ref().is_some_and(|remote| !remote.read_only)
    }

    /// Whether a dry run has to plan the call: it writes, or what it shows is not the planned state.
    pub fn is_planned(&self) -> bool {
        self.command.is_some() || !self.is_read_only()
    }
}

/// What a call came to; a failure is data for the model, never an abort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether the tool did what was asked.
    pub success: bool,
    /// What the model reads on success.
    pub output: String,
    /// What the model reads on failure.
    pub error: Option<String>,
    /// The files that the call changed.
    pub changes: Vec<FileChange>,
    /// The exit code of the command that it ran to its end.
    pub exit_code: Option<i32>,
    /// Why nothing of what it changed was kept.
    pub refused: Vec<String>,
}

impl ToolResult {
    /// A success with its text.
    pub fn done(output: impl Into<String>) -> Self {
        let (error, changes, exit_code, refused) = (None, Vec::new(), None, Vec::new());
        Self { success: true, output: output.into(), error, changes, exit_code, refused }
    }

    /// A failure with its reason.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, error: Some(error.into()), ..Self::done("") }
    }

    /// What the model reads.
    pub fn text(&self) -> String {
        match &self.error {
            Some(error) if self.output.is_empty() => format!("Error: {error}"),
            Some(error) => format!("Error: {error}\n{}", self.output),
            None => self.output.clone(),
        }
    }
}

/// Why a tool could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Anything else, in words for the model.
    #[error("{0}")]
    Refused(String),
}

impl From<crate::workspace::PathError> for ToolError {
    fn from(error: crate::workspace::PathError) -> Self {
        Self::File(error.into())
    }
}

/// What a tool works with.
#[derive(Clone)]
pub struct Context {
    /// The checkout, or the overlay above it.
    pub workspace: Arc<dyn Workspace>,
    /// Whether `delete_file` may delete.
    pub allow_delete: bool,
    /// Files that searches pass over.
    pub sensitive: Arc<PathGlobs>,
    /// What the model has read last of each file.
    pub seen: Arc<Seen>,
}

impl Context {
    /// A context for trying a call: it holds the same, and what happens in it is forgotten.
    #[must_use]
    pub fn preview(&self) -> Self {
        let seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { workspace: self.workspace.preview(), seen: Arc::new(Seen(Mutex::new(seen))), ..self.clone() }
    }
}

/// The content of each file as the model last read or wrote it.
#[derive(Default)]
pub struct Seen(Mutex<HashMap<ResolvedPath, String>>);

impl Seen {
    /// Takes note of what was read or written.
    pub fn note(&self, path: &ResolvedPath, state: &FileState) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(path.clone(), state.sha256());
    }

    /// Whether the file was read and is another one now.
    fn is_stale(&self, path: &ResolvedPath, state: &FileState) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(path).is_some_and(|hash| *hash != state.sha256())
    }
}

/// Name, purpose and sensitivity of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolInfo {
    /// The unique name.
    pub name: &'static str,
    /// What the model is told.
    pub description: &'static str,
    /// Whether `confirm-sensitive` asks before it runs.
    pub sensitive: bool,
}

/// A tool that works on files: plain synchronous code, run off the async threads.
pub trait FileTool: Send + Sync + 'static {
    /// The arguments; their JSON Schema is what the model gets.
    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Name, purpose and sensitivity.
    fn info(&self) -> ToolInfo;

    /// What a call would touch; fails where the arguments name no path inside the workspace.
    fn effects(&self, args: &Self::Args, cx: &Context) -> Result<Effects, ToolError>;

    /// Does the work.
    fn run(&self, args: &Self::Args, cx: &Context) -> Result<ToolResult, ToolError>;
}

/// A tool as the registry holds it. Tools that are no [`FileTool`] implement it themselves.
pub trait Tool: Send + Sync {
    /// The unique name.
    fn name(&self) -> &str;
    /// What the model is told.
    fn description(&self) -> &str;
    /// Whether `confirm-sensitive` asks before it runs.
    fn sensitive(&self) -> bool;
    /// The JSON Schema of the arguments.
    fn parameters(&self) -> Value;
    /// Checks the arguments and makes the call ready; the error names field and expected type.
    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, String>;
}

/// A call with checked arguments.
pub trait Call: Send + Sync {
    /// What it would touch.
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError>;
    /// Runs it.
    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult>;
}

impl<T: FileTool> Tool for T {
    fn name(&self) -> &str {
        self.info().name
    }

    fn description(&self) -> &str {
        self.info().description
    }

    fn sensitive(&self) -> bool {
        self.info().sensitive
    }

    fn parameters(&self) -> Value {
        schema::of::<T::Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, String> {
        let args = schema::parse::<T::Args>(arguments)?;
        Ok(Box::new(FileCall { tool: self, args }))
    }
}

struct FileCall<T: FileTool> {
    tool: Arc<T>,
    args: T::Args,
}

impl<T: FileTool> Call for FileCall<T> {
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError> {
        self.tool.effects(&self.args, cx)
    }

    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let work = tokio::task::spawn_blocking(move || self.tool.run(&self.args, &cx));
            match work.await {
                Ok(Ok(result)) => result,
                Ok(Err(error)) => ToolResult::failed(error.to_string()),
                // A bug in a tool; the message of the panic has gone to the log.
                Err(_) => ToolResult::failed("internal error: the tool stopped unexpectedly"),
            }
        }
        .boxed()
    }
}
