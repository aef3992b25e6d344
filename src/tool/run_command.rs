//! Tool `run_command`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use shell::{analyse, with_variables};
use test_results::has_run_tests;
use tokio_util::sync::CancellationToken;
use workspace::{FileChange, FileError, Kind, LastLink, WorkspacePath};

use super::background::BackgroundCommands;
use super::command_effects::command_effects;
use super::command_output::OutputLimits;
use super::git_records;
use super::path_forms::parsed;
use super::{
    Access, ArgumentsError, Call, Context, Progress, Tool, ToolError, ToolResult, arguments, schema,
};
use crate::base::bounded::Bounded;
use crate::command::sandbox::Rights;
use crate::command::{
    Ended, Finished, LiveOutput, PipeStatus, Policy, Retention, Shell, plain, shows_whole_output,
};
use crate::event::{Class, Effects};
use crate::isolation::{IsolatedCommand, IsolatedRun, Isolation, Keep};

/// Time limit of commands in the background: none, for they end with the run.
const BACKGROUND_TIMEOUT: Duration = Duration::from_hours(24);

/// Maximum number of files, or refused hosts, listed by name for the model.
const MAX_NAMED: usize = 20;

/// Tool that runs a shell command.
pub struct RunCommand {
    /// Classification of commands.
    pub policy: Policy,
    /// How commands are started.
    pub shell: Shell,
    /// Time limit in seconds of commands that do not give their own.
    pub default_timeout: Bounded<1, 600>,
    /// How much of their output is shown.
    pub limits: OutputLimits,
    /// Commands that run in the background.
    pub background: Arc<BackgroundCommands>,
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
    /// Isolated state above the planned one for commands that only look; others are recorded.
    Recorded(Arc<Isolation>),
    /// None, for listings of all tools.
    Nowhere,
}

impl RunCommand {
    /// Creates a tool that runs nothing, for listings of all tools.
    pub fn for_listing() -> Self {
        Self {
            policy: Policy::default(),
            shell: Shell::default(),
            default_timeout: Bounded::fixed::<120>(),
            limits: OutputLimits { lines: 0, tokens: 0, kept: None },
            background: Arc::default(),
            target: CommandTarget::Nowhere,
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
    /// Seconds (120)
    #[serde(default, deserialize_with = "seconds")]
    pub(super) timeout: Option<Bounded<1, 600>>,
    /// Variables to set
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Start a server and continue; see `background_command`
    #[serde(default)]
    pub(super) background: bool,
}

/// Reads a time limit; the error for milliseconds says so.
pub(super) fn seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Bounded<1, 600>>, D::Error> {
    let Some(given) = Option::<u64>::deserialize(deserializer)? else { return Ok(None) };
    Bounded::new(given).map(Some).map_err(|error| {
        let meant = if given >= 1_000 { given / 1_000 } else { 0 };
        let hint = match meant {
            1..=600 => format!("; it is in seconds, so give {meant} for {given} ms"),
            _ => String::new(),
        };
        D::Error::custom(format!("{error}{hint}"))
    })
}

pub(super) fn root() -> String {
    ".".to_owned()
}

impl Tool for RunCommand {
    fn name(&self) -> &'static str {
        "run_command"
    }

    fn description(&self) -> &'static str {
        "Run a shell command: tests, linters, builds, git, scripts. No input, network tools or sudo. Long output is cut; the \
         result names a file with all of it."
    }

    fn sensitive(&self) -> bool {
        true
    }

    fn parameters(&self) -> Value {
        schema::of::<Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let mut args: Args = arguments::parse(arguments)?;
        if args.command.trim().is_empty() {
            return Err(ArgumentsError::Empty("command"));
        }
        args.command = with_variables(&args.command, &args.env)?;
        Ok(Box::new(CommandCall { tool: self, args }))
    }
}

pub(super) struct CommandCall {
    pub(super) tool: Arc<RunCommand>,
    /// The arguments, whose command line sets the variables.
    pub(super) args: Args,
}

impl CommandCall {
    fn cwd(&self, cx: &Context) -> Result<WorkspacePath, ToolError> {
        let path = cx.workspace.resolve(&parsed(&self.args.cwd, &*cx.workspace)?, LastLink::Follow)?;
        let path_of = || WorkspacePath::clone(&path);
        match cx.workspace.stat(&path)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => Ok(path_of()),
            Some(_) => Err(FileError::NotDirectory(path_of()).into()),
            None => Err(FileError::Missing(path_of()).into()),
        }
    }

    /// Runs the command on the isolated state, and reports what happened to its changes.
    async fn run_on(&self, isolation: &Isolation, cwd: &WorkspacePath, access: Access) -> ToolResult {
        let Self { tool, args } = self;
        let pipe = PipeStatus::of(&args.command, &tool.shell.program);
        let timeout = args.timeout.unwrap_or(tool.default_timeout);
        let work = IsolatedCommand {
            pipe: pipe.as_ref(),
            timeout: timeout.seconds(),
            rights: if self.class(cwd) == Class::Safe { Rights::Look } else { Rights::Work },
            keep: if access == Access::Full { Keep::Changes } else { Keep::Outputs },
            ..self.work(cwd)
        };
        match isolation.run_by(&tool.shell, work).await {
            Ok(ran) => {
                let simple = tool.policy.judge(&args.command, cwd.as_str()).simple();
                self.result(ran, pipe.as_ref(), timeout.get(), &simple)
            }
            Err(error) => ToolResult::failed(error.to_string()),
        }
    }

    /// Returns what is to be run, as far as it is the same wherever it runs.
    fn work<'a>(&'a self, cwd: &'a WorkspacePath) -> IsolatedCommand<'a> {
        let Self { tool, args } = self;
        IsolatedCommand {
            command: &args.command,
            pipe: None,
            cwd,
            variables: Vec::new(),
            stdin: None,
            merge: true,
            output: LiveOutput::new(Retention::Kept),
            timeout: tool.default_timeout.seconds(),
            cancel: tool.cancel.clone(),
            rights: Rights::Work,
            keep: Keep::Nothing,
            moves: self.moves(cwd),
            owner: None,
        }
    }

    /// Starts the command in the background, on a state of its own that is thrown away.
    async fn start_on(self, isolation: &Arc<Isolation>, cwd: WorkspacePath) -> ToolResult {
        let (background, limits) = (Arc::clone(&self.tool.background), self.tool.limits.clone());
        let (output, cancel) = (LiveOutput::new(Retention::Whole), self.tool.cancel.child_token());
        let task = tokio::spawn({
            let (isolation, output, cancel) = (Arc::clone(isolation), output.clone(), cancel.clone());
            async move {
                let work = IsolatedCommand { output, cancel, timeout: BACKGROUND_TIMEOUT, ..self.work(&cwd) };
                let shell = Shell { serves: true, ..self.tool.shell.clone() };
                isolation.run_beside(&shell, work).await
            }
        });
        background.add(task, output, cancel, &limits).await
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

    /// Returns what a command came to; `simple` are the commands of its line, without their quotes.
    fn result(
        &self,
        ran: IsolatedRun,
        pipe: Option<&PipeStatus>,
        timeout: u64,
        simple: &[String],
    ) -> ToolResult {
        let auto_loaded: Vec<String> = ran.auto_loaded().map(ToString::to_string).collect();
        let IsolatedRun { finished, changes, dropped, warnings, refused, lost, built: _, has_left_files: _ } =
            ran;
        let is_done = finished.ended == Ended::Exited(0);
        let pipe = pipe.map(|pipe| (pipe, self.args.command.as_str()));
        let lost = lost.map(|lost| lost.reason);
        let ran_no_test = says_no_test_ran(&finished, &self.args.command);
        let result = self.tool.limits.result(&finished, pipe, timeout);
        let mut result = ToolResult { ran_no_test, refused, lost, ..result };
        for host in finished.refused.iter().take(MAX_NAMED) {
            result.add(&format!("[no network: {} was refused: {}]", host.target(), host.reason));
        }
        let more = finished.refused.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            result.add(&format!("[no network: {more} more refused]"));
        }
        if analyse(&self.args.command).leaves_processes() {
            result.add(
                "[what was started with `&` has ended with the command; `background: true` keeps a server running]",
            );
        }
        result.note_changes(changes, &[], dropped, &warnings);
        if let Some(remark) = git_records::remark(simple).filter(|_| is_done) {
            result.add(remark);
        }
        if !auto_loaded.is_empty() {
            result.add(&format!(
                "[left where Git ignores it, but programs read files of this name, so the report mentions it: {}]",
                shown(auto_loaded.into_iter())
            ));
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
    /// Creates the result of a command that a dry run only records, because such `commands` do not run in it, for a
    /// `reason` that the sentence continues with.
    fn recorded(commands: &str, reason: &str) -> Self {
        let message = format!(
            "This dry run records {commands} without running them{reason}, so there is no output; continue."
        );
        Self { progress: Progress::Recorded, ..Self::done(message) }
    }

    fn add(&mut self, line: &str) {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
    }

    /// Adopts the changes that were kept, and lists for the model what was kept and what was not.
    pub(crate) fn note_changes(
        &mut self,
        changes: Vec<FileChange>,
        large: &[WorkspacePath],
        dropped: impl IntoIterator<Item = String>,
        warnings: &[String],
    ) {
        if !changes.is_empty() {
            let paths = shown(changes.iter().map(|change| change.path.to_string()));
            self.add(&format!("[changed: {paths}]"));
        }
        if !large.is_empty() {
            let paths = shown(large.iter().map(ToString::to_string));
            self.add(&format!("[changed, but too large to be shown: {paths}]"));
        }
        let mut dropped = dropped.into_iter().peekable();
        if dropped.peek().is_some() {
            self.add(&format!("[not kept: {}]", shown(dropped)));
        }
        for warning in warnings {
            self.add(warning);
        }
        self.changes = changes;
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

    fn keeps_order(&self) -> bool {
        self.args.background
    }

    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let cwd = match self.cwd(&cx) {
                Ok(cwd) => cwd,
                Err(error) => return ToolResult::failed(error.to_string()),
            };
            let class = self.class(&cwd);
            let isolation = match &self.tool.target {
                CommandTarget::Checkout(isolation) => isolation,
                CommandTarget::Planned(isolation) if class != Class::Dangerous => isolation,
                CommandTarget::Recorded(isolation) if class == Class::Safe => isolation,
                CommandTarget::Planned(_) => return ToolResult::recorded("dangerous commands", ""),
                CommandTarget::Recorded(_) | CommandTarget::Nowhere => {
                    // Without a sandbox, nothing would keep a command from the checkout itself.
                    let reason =
                        if self.tool.shell.is_sandboxed() { "" } else { ", as this machine has no sandbox" };
                    return ToolResult::recorded("commands that may change something", reason);
                }
            };
            let isolation = Arc::clone(isolation);
            if self.args.background {
                self.start_on(&isolation, cwd).await
            } else {
                self.run_on(&isolation, &cwd, cx.access).await
            }
        }
        .boxed()
    }
}

/// Returns whether the output of a command says that it ran no test. What is missing of it may be about tests that ran.
fn says_no_test_ran(finished: &Finished, line: &str) -> bool {
    let output = &finished.stdout;
    !output.is_cut() && has_run_tests(&plain(&output.text()), shows_whole_output(line)) == Some(false)
}
