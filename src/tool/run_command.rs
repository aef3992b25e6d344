//! Tool `run_command`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::command_effects::command_effects;
use super::{Call, Context, Effects, Tool, ToolError, ToolResult, schema};
use crate::command::sandbox::Rights;
use crate::command::{Ended, Policy, Shell};
use crate::config::Bounded;
use crate::event::Class;
use crate::isolation::{Isolation, Keep, Ran, Work};
use crate::workspace::{FileError, Kind, LastLink, Observed, WorkspacePath};

/// Maximum number of files listed by name for the model.
const MAX_NAMED: usize = 20;

/// Tool that runs a shell command.
pub struct RunCommand {
    /// Classification of commands.
    pub policy: Policy,
    /// How commands are started.
    pub shell: Shell,
    /// Time limit in seconds of commands that do not give their own.
    pub default_timeout: Bounded<1, 600>,
    /// Number of lines of output that are kept.
    pub max_output_lines: usize,
    /// State on which commands run.
    pub target: CommandTarget,
    /// Token that ends commands early.
    pub cancel: CancellationToken,
}

/// State on which commands run.
#[derive(Clone)]
pub enum CommandTarget {
    /// Isolated state; changes are then carried into the checkout.
    Checkout(Arc<Isolation>),
    /// Isolated state above the planned one; changes join the plan.
    Planned(Arc<Isolation>),
    /// None: commands are only recorded.
    RecordOnly,
}

impl RunCommand {
    /// Creates a tool that runs nothing, for listings of all tools.
    pub fn for_listing() -> Self {
        Self {
            policy: Policy::default(),
            shell: Shell::default(),
            default_timeout: Bounded::fixed::<30>(),
            max_output_lines: 0,
            target: CommandTarget::RecordOnly,
            cancel: CancellationToken::new(),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Command line for bash; pipes, && and redirects work
    pub(super) command: String,
    /// Folder, relative to the workspace
    #[serde(default = "root")]
    pub(super) cwd: String,
    /// Seconds
    pub(super) timeout: Option<Bounded<1, 600>>,
    /// Variables to set
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

pub(super) fn root() -> String {
    ".".to_owned()
}

impl Tool for RunCommand {
    fn name(&self) -> &'static str {
        "run_command"
    }

    fn description(&self) -> &'static str {
        "Run a shell command (tests, linters, builds, git status/diff/log). No input, no network tools, no sudo."
    }

    fn sensitive(&self) -> bool {
        true
    }

    fn parameters(&self) -> Value {
        schema::of::<Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, String> {
        let args: Args = schema::parse(arguments)?;
        if args.command.trim().is_empty() {
            return Err("command: must not be empty".to_owned());
        }
        let refused = args.env.iter().find_map(|(name, value)| Policy::variable_refusal(name, value));
        match refused {
            Some(reason) => Err(reason),
            None => Ok(Box::new(CommandCall { tool: self, args })),
        }
    }
}

pub(super) struct CommandCall {
    pub(super) tool: Arc<RunCommand>,
    pub(super) args: Args,
}

impl CommandCall {
    fn cwd(&self, cx: &Context) -> Result<WorkspacePath, ToolError> {
        let path = cx.workspace.resolve(&WorkspacePath::parse(&self.args.cwd)?, LastLink::Follow)?;
        let path_of = || WorkspacePath::clone(&path);
        match cx.workspace.stat(&path)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => Ok(path_of()),
            Some(_) => Err(FileError::NotDirectory(path_of()).into()),
            None => Err(FileError::Missing(path_of()).into()),
        }
    }

    /// Runs the command on the isolated state, and reports what happened to its changes.
    async fn run_on(&self, isolation: &Isolation, cwd: &WorkspacePath) -> ToolResult {
        let Self { tool, args } = self;
        let work = Work {
            command: &args.command,
            cwd,
            variables: args.env.iter().map(|(name, value)| (Cow::from(name), value.clone())).collect(),
            stdin: None,
            merge: true,
            timeout: args.timeout.unwrap_or(tool.default_timeout).seconds(),
            cancel: tool.cancel.clone(),
            rights: if self.class(cwd) == Class::Safe { Rights::Look } else { Rights::Work },
            keep: Keep::Changes,
            moves: self.moves(cwd),
            owner: None,
        };
        match isolation.run_by(&tool.shell, work).await {
            Ok(ran) => self.result(ran),
            Err(error) => ToolResult::failed(error.to_string()),
        }
    }

    /// Returns the operands of `git mv`, which renames folders in one step.
    fn moves(&self, cwd: &WorkspacePath) -> Vec<WorkspacePath> {
        let simple = self.tool.policy.judge(&self.args.command, cwd.as_str()).simple();
        let operands =
            simple.iter().filter_map(|line| line.strip_prefix("git mv ")).flat_map(str::split_whitespace);
        let paths = operands.filter_map(|operand| WorkspacePath::parse(&format!("{cwd}/{operand}")).ok());
        paths.filter(|path| !path.is_root()).collect()
    }

    fn class(&self, cwd: &WorkspacePath) -> Class {
        self.tool.policy.judge(&self.args.command, cwd.as_str()).verdict.class
    }

    fn result(&self, ran: Ran) -> ToolResult {
        let Ran { finished, changes, large, dropped, warnings, refused, built: _ } = ran;
        let text = finished.stdout.lines(self.tool.max_output_lines);
        let took = format!("{:.1} s", finished.duration.as_secs_f64());
        let timeout = self.args.timeout.unwrap_or(self.tool.default_timeout).get();
        let error = match &finished.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("exit code {code} after {took}")),
            Ended::Signaled(signal) => Some(format!("ended by signal {signal} after {took}")),
            Ended::TimedOut => Some(format!(
                "timed out: stopped after {timeout} s, with everything that it \
                                             had started"
            )),
            Ended::Cancelled => Some("stopped, because the run was interrupted".to_owned()),
            Ended::NotStarted(error) => Some(format!("could not start: {error}")),
        };
        let output = match (&error, text.is_empty()) {
            (None, true) => format!("exit code 0 after {took}, no output"),
            (None, false) => format!("exit code 0 after {took}\n{text}"),
            // The command's output is merged, so standard error only has a failure to set up the sandbox.
            (Some(_), true) => finished.stderr.text(),
            (Some(_), false) => text,
        };
        let exit_code = match &finished.ended {
            Ended::Exited(code) => Some(*code),
            _ => None,
        };
        let mut result =
            ToolResult { success: error.is_none(), error, exit_code, refused, ..ToolResult::done(output) };
        result.note_changes(&Observed { changes, large, ..Observed::default() });
        if !dropped.is_empty() {
            result.add(&format!("[not kept: {}]", shown(dropped.into_iter())));
        }
        for warning in &warnings {
            result.add(warning);
        }
        result
    }
}

/// Joins names with commas; beyond [`MAX_NAMED`], only the number of the others is given.
fn shown(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = names.collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    all.truncate(MAX_NAMED);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

impl ToolResult {
    fn add(&mut self, line: &str) {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
    }

    /// Adopts the observed changes, and lists them for the model.
    pub(crate) fn note_changes(&mut self, observed: &Observed) {
        if !observed.changes.is_empty() {
            let paths = shown(observed.changes.iter().map(|change| change.path.to_string()));
            self.add(&format!("[changed: {paths}]"));
        }
        if !observed.large.is_empty() {
            let paths = shown(observed.large.iter().map(ToString::to_string));
            self.add(&format!("[changed, but too large to be shown: {paths}]"));
        }
        if observed.unnamed > 0 {
            self.add(&format!("[changed, with names that are not text: {}]", observed.unnamed));
        }
        self.changes.clone_from(&observed.changes);
    }
}

impl Call for CommandCall {
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError> {
        let cwd = self.cwd(cx)?;
        let judgement = self.tool.policy.judge(&self.args.command, cwd.as_str());
        Ok(command_effects(
            &self.args.command,
            &cwd,
            self.tool.policy.root(),
            &judgement,
            cx.workspace.as_ref(),
        ))
    }

    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let cwd = match self.cwd(&cx) {
                Ok(cwd) => cwd,
                Err(error) => return ToolResult::failed(error.to_string()),
            };
            match &self.tool.target {
                CommandTarget::Checkout(isolation) => self.run_on(isolation, &cwd).await,
                CommandTarget::Planned(isolation) if self.class(&cwd) != Class::Dangerous => {
                    self.run_on(isolation, &cwd).await
                }
                CommandTarget::Planned(_) => ToolResult::done(
                    "A dry run records dangerous commands without running them, so there is no output; \
                     continue planning.",
                ),
                CommandTarget::RecordOnly => ToolResult::done(
                    "A dry run records commands without running them, so there is no output; continue \
                     planning.",
                ),
            }
        }
        .boxed()
    }
}
