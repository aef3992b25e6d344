//! Tools: what the model can do, with arguments, effects and results.
//!
//! A tool is one file: an argument type, its effects, and the work. Everything around a call (guardrails,
//! hooks, confirmation, dry run, reports) reads [`Effects`], never a tool's name.

mod abilities;
mod apply_patch;
mod argument_names;
mod argument_values;
pub(crate) mod arguments;
mod async_tool;
mod background;
mod block_by_lines;
mod call_resolution;
mod coercion;
mod command_effects;
mod command_output;
mod cut_off;
mod delete_file;
mod diff_as_text;
mod edit_file;
mod file_kind;
mod find_files;
mod fitting;
mod foreign_tools;
mod get_file_summary;
mod git_records;
mod grep;
mod group_references;
mod invisible_codes;
mod lenient_json;
mod line_breaks;
mod line_edges;
mod line_edit;
mod line_ends;
mod line_moves;
mod line_ranges;
mod line_view;
mod list_directory;
mod list_files;
mod listing;
mod match_line;
mod matcher;
mod misquoted;
mod misquoted_file;
mod missing;
mod move_file;
mod multiline;
mod names;
mod namespaces;
mod numbered_block;
mod numbered_text;
mod outcome;
mod patch_steps;
mod path_forms;
mod placeholder;
mod programs;
mod read_file;
mod registry;
mod repeated_name;
mod replace_block;
mod replace_text;
mod replacement;
mod resolved_call;
mod restraint;
mod result;
mod run_command;
mod run_powershell;
pub(crate) mod schema;
mod scope;
mod search;
mod search_code;
mod search_files;
mod shell_patch;
mod stray_lines;
mod text_file;
mod todo_list;
mod translate;
mod translate_blocks;
mod translate_command;
mod translate_edit;
mod translate_replace;
mod translate_search;
mod typography;
mod unsearched;
mod wrapped;
mod write_file;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use workspace::{FileError, FileState, ResolvedPath, SensitiveFiles, Workspace};

use crate::base::time_limit::Grace;
use crate::event::Effects;
pub use arguments::ArgumentsError;
pub use async_tool::AsyncTool;
pub use background::{BackgroundCommand, BackgroundCommands};
pub use command_effects::command_effects;
pub use command_output::OutputLimits;
pub(crate) use names::{command_dialect, known_by_name, known_in_some_run};
pub use registry::{DuplicateTool, Registry};
pub(crate) use resolved_call::invalid_arguments;
pub use resolved_call::{ResolvedCall, UnresolvedCall};
pub use result::{Progress, ToolResult};
pub use run_command::{CommandTarget, RunCommand};
pub use run_powershell::{RunPowershell, pwsh};

/// Reason why a tool could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Anything else, in words for the model.
    #[error("{0}")]
    Refused(String),
}

impl From<workspace::PathError> for ToolError {
    fn from(error: workspace::PathError) -> Self {
        Self::File(error.into())
    }
}

/// What a caller is allowed to do to the checkout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Anything that guardrails allow.
    #[default]
    Full,
    /// Reading files and running commands, whose changes to files are thrown away.
    Trial,
    /// Reading files and running commands that only look.
    Look,
}

/// Context in which tools work.
#[derive(Clone)]
pub struct Context {
    /// The checkout, or the overlay workspace above it.
    pub workspace: Arc<dyn Workspace>,
    /// Whether `delete_file` is allowed to delete.
    pub allow_delete: bool,
    /// Files that searches skip.
    pub sensitive: Arc<SensitiveFiles>,
    /// Content of each file as the model last read it.
    pub seen: Arc<SeenContents>,
    /// What the caller is allowed to do.
    pub access: Access,
    /// Whether somebody reads what an edit looks like now: a recipe does not.
    pub explains_edits: bool,
    /// Maximum size of a result, in tokens; a file that is read may take twice as much.
    pub max_result_tokens: usize,
    /// Cancelled when the run has to end: a tool that works on many files asks between them.
    pub cancel: CancellationToken,
}

/// Average number of bytes of a token, in code and English.
const BYTES_PER_TOKEN: usize = 4;

impl Context {
    /// Returns the context for a caller with this access level.
    #[must_use]
    pub fn by(&self, access: Access) -> Self {
        Self { access, ..self.clone() }
    }

    /// Fails if the run has to end.
    pub(crate) fn check_end(&self) -> Result<(), ToolError> {
        let ended = || ToolError::Refused("the run ended before this call did".to_owned());
        if self.cancel.is_cancelled() { Err(ended()) } else { Ok(()) }
    }

    /// Returns the maximum size of a result, in bytes, with room for what is added to it.
    pub(crate) fn result_limit(&self) -> usize {
        self.max_result_tokens.saturating_mul(BYTES_PER_TOKEN).saturating_mul(9) / 10
    }

    /// Returns the maximum size of what is shown of a file, in bytes.
    pub(crate) fn read_limit(&self) -> usize {
        self.max_result_tokens.saturating_mul(2 * BYTES_PER_TOKEN)
    }

    /// Returns a context for trying a call: it starts with the same state, and what happens in it is
    /// discarded.
    #[must_use]
    pub fn preview(&self) -> Self {
        let seen = self.seen.0.lock().clone();
        Self {
            workspace: self.workspace.preview(),
            seen: Arc::new(SeenContents(Mutex::new(seen))),
            ..self.clone()
        }
    }
}

/// Files as the model last read or wrote them.
#[derive(Default)]
pub struct SeenContents(Mutex<HashMap<ResolvedPath, SeenContent>>);

/// Content of a file that the model knows.
#[derive(Clone)]
struct SeenContent {
    hash: String,
    /// Whether it was read: only then are the numbers of its lines known.
    is_read: bool,
}

impl SeenContents {
    /// Records the content that was read.
    pub fn note(&self, path: &ResolvedPath, state: &FileState) {
        self.0.lock().insert(path.clone(), SeenContent { hash: state.sha256(), is_read: true });
    }

    /// Records the content that was written.
    fn note_written(&self, path: &ResolvedPath, state: &FileState) {
        let hash = state.sha256();
        let mut seen = self.0.lock();
        let is_read = seen.get(path).is_some_and(|known| known.is_read && known.hash == hash);
        seen.insert(path.clone(), SeenContent { hash, is_read });
    }

    /// Fails unless the file was read as it is now: numbers of lines alone say nothing about what is there, and any edit may have
    /// moved it.
    fn check_lines(&self, path: &ResolvedPath, state: &FileState) -> Result<(), ToolError> {
        let hash = state.sha256();
        if self.0.lock().get(path).is_some_and(|known| known.is_read && known.hash == hash) {
            return Ok(());
        }
        Err(ToolError::Refused(format!(
            "lines are known by their numbers only in a file that was read as it is now: read_file(path=\"{path}\"); or give the text \
             that is there: edit_file(path=\"{path}\", old_str=…, new_str=…)"
        )))
    }

    /// Returns `true` if the file was read or written before.
    fn contains(&self, path: &ResolvedPath) -> bool {
        self.0.lock().contains_key(path)
    }

    /// Returns `true` if the file was read before and has changed since.
    fn is_stale(&self, path: &ResolvedPath, state: &FileState) -> bool {
        let seen = self.0.lock();
        seen.get(path).is_some_and(|known| known.hash != state.sha256())
    }
}

/// Static description of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolInfo {
    /// Unique name.
    pub name: &'static str,
    /// Purpose, for the model.
    pub description: &'static str,
    /// Whether `confirm-sensitive` asks before it runs.
    pub sensitive: bool,
    /// Tool that does the same and more. A model is offered that one alone, but can call both.
    pub successor: Option<&'static str>,
}

/// Tool that works on files: plain synchronous code, run on a blocking thread.
pub trait FileTool: Send + Sync + 'static {
    /// Arguments; the model gets their JSON Schema.
    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Returns name, description and sensitivity.
    fn info(&self) -> ToolInfo;

    /// Returns what a call would touch. Fails if the arguments name no path inside the workspace.
    fn effects(&self, args: &Self::Args, cx: &Context) -> Result<Effects, ToolError>;

    /// Executes the call.
    fn run(&self, args: &Self::Args, cx: &Context) -> Result<ToolResult, ToolError>;
}

/// Tool as the registry holds it. Those that are neither a [`FileTool`] nor an
/// [`AsyncTool`] implement it themselves.
pub trait Tool: Send + Sync {
    /// Returns the unique name.
    fn name(&self) -> &str;
    /// Returns the purpose, for the model.
    fn description(&self) -> &str;
    /// Returns `true` if `confirm-sensitive` asks before the tool runs.
    fn sensitive(&self) -> bool;
    /// Returns the name of the tool that is offered in place of this one.
    fn successor(&self) -> Option<&str> {
        None
    }
    /// Returns the JSON Schema of the arguments.
    fn parameters(&self) -> Value;
    /// Returns the JSON Schema of the arguments as a model is offered it.
    fn offered_parameters(&self) -> Value {
        let parameters = self.parameters();
        if self.takes_arguments_as_given() { parameters } else { schema::offered(parameters) }
    }
    /// Returns `true` if the arguments are for somebody else to read, so that nothing about them is assumed.
    fn takes_arguments_as_given(&self) -> bool {
        false
    }
    /// Parses the arguments into a call that is ready to run. The error, for the model, names the field and
    /// what was expected.
    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError>;
}

/// Call with valid arguments.
pub trait Call: Send + Sync {
    /// Returns what the call would touch.
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError>;
    /// Returns whether the call has to wait for those before it in its turn although it changes no file.
    fn keeps_order(&self) -> bool {
        false
    }
    /// Executes the call.
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

    fn successor(&self) -> Option<&str> {
        self.info().successor
    }

    fn parameters(&self) -> Value {
        schema::of::<T::Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let args = arguments::parse::<T::Args>(arguments)?;
        Ok(Box::new(FileCall { tool: self, args }))
    }
}

/// Time that a tool has to end by itself once the run has to end. Nothing waits for it longer.
const GRACE: Duration = Grace::Calls.duration();

struct FileCall<T: FileTool> {
    tool: Arc<T>,
    args: T::Args,
}

impl<T: FileTool> Call for FileCall<T> {
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError> {
        self.tool.effects(&self.args, cx).map_err(|error| explained(error, cx))
    }

    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let cancel = cx.cancel.clone();
            let work = tokio::task::spawn_blocking(move || {
                self.tool.run(&self.args, &cx).map_err(|error| explained(error, &cx))
            });
            let overdue = async {
                cancel.cancelled().await;
                tokio::time::sleep(GRACE).await;
            };
            let done = tokio::select! {
                done = work => done,
                () = overdue => return ToolResult::failed("the run ended before this call did"),
            };
            match done {
                Ok(Ok(result)) => ToolResult { bounded: true, ..result },
                Ok(Err(error)) => ToolResult::failed(error.to_string()),
                // A bug in a tool; the panic's message has gone to the log.
                Err(_) => ToolResult::failed("internal error: the tool stopped unexpectedly"),
            }
        }
        .boxed()
    }
}

/// Adds to an error what the call could be instead.
fn explained(error: ToolError, cx: &Context) -> ToolError {
    match &error {
        ToolError::File(FileError::Missing(path)) => {
            ToolError::Refused(format!("{error}{}", missing::suggestion(path, cx)))
        }
        ToolError::File(FileError::IsDirectory(path)) => {
            ToolError::Refused(format!("{error}; to list it: list_files(path=\"{path}\")"))
        }
        _ => error,
    }
}
