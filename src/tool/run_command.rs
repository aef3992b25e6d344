//! `run_command`

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::touched::touched;
use super::{Call, Context, Effects, Tool, ToolError, ToolResult, schema};
use crate::command::{Class, Ended, Finished, Job, Policy, Shell};
use crate::config::Bounded;
use crate::isolation::Isolation;
use crate::workspace::{
    FileError, Kind, LastLink, Mount, Observed, OverlayWorkspace, Restored, TrackedWorkspace, WorkspacePath,
};

/// Most files that the model is told of by name.
const MAX_NAMED: usize = 20;

/// Runs a shell command.
pub struct RunCommand {
    /// What commands are taken for.
    pub policy: Policy,
    /// How they are started.
    pub shell: Shell,
    /// Seconds that a command may take which does not say so itself.
    pub default_timeout: Bounded<1, 600>,
    /// Lines of output that are kept.
    pub max_output_lines: usize,
    /// Where commands run.
    pub ground: Ground,
    /// Ends them early.
    pub cancel: CancellationToken,
    /// Held by the one that is watched: what two change at once could not be told apart.
    pub watching: Arc<tokio::sync::Mutex<()>>,
}

/// Where commands run.
#[derive(Clone)]
pub enum Ground {
    /// In the checkout.
    Checkout(Arc<TrackedWorkspace>),
    /// In a throw-away copy of the planned state; what they change joins the plan.
    Isolated(Arc<Isolation>, Arc<OverlayWorkspace>),
    /// Nowhere: they are recorded alone.
    Nowhere,
}

impl RunCommand {
    /// A tool that runs nothing: for listing it.
    pub fn nowhere() -> Self {
        Self {
            policy: Policy::default(),
            shell: Shell::default(),
            default_timeout: Bounded::fixed::<30>(),
            max_output_lines: 0,
            ground: Ground::Nowhere,
            cancel: CancellationToken::new(),
            watching: Arc::default(),
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
            return Err("command: it is empty".to_owned());
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

    async fn execute(&self, root: &Path, mount: Option<&Mount>, cwd: &WorkspacePath) -> Finished {
        let Self { tool, args } = self;
        tool.shell
            .run(Job {
                command: &args.command,
                cwd: &root.join(cwd.as_str()),
                root,
                mount,
                variables: args.env.iter().map(|(name, value)| (Cow::from(name), value.clone())).collect(),
                stdin: None,
                merge: true,
                timeout: args.timeout.unwrap_or(tool.default_timeout).seconds(),
                cancel: tool.cancel.clone(),
            })
            .await
    }

    /// Runs in the checkout and finds what the command changes there.
    async fn in_checkout(&self, checkout: &Arc<TrackedWorkspace>, cwd: &WorkspacePath) -> ToolResult {
        if self.class(cwd) == Class::Safe {
            return self.tell(&self.execute(checkout.path(), None, cwd).await);
        }
        let _alone = self.tool.watching.lock().await;
        let watched = Arc::clone(checkout);
        let watch = tokio::task::spawn_blocking(move || watched.watch()).await;
        let finished = self.execute(checkout.path(), None, cwd).await;
        let mut result = self.tell(&finished);
        let observed = match watch {
            Ok(watch) => tokio::task::spawn_blocking(|| watch.finish()).await.unwrap_or_default(),
            Err(_) => Observed::default(),
        };
        checkout.absorb(&observed.changes);
        result.note(&observed);
        result
    }

    /// Runs on the planned state and adds to the plan what the command changes there.
    async fn in_isolation(
        &self,
        isolation: &Isolation,
        planned: &OverlayWorkspace,
        cwd: &WorkspacePath,
    ) -> ToolResult {
        let mut entered = match isolation.enter().await {
            Ok(entered) => entered,
            Err(error) => return ToolResult::failed(error.to_string()),
        };
        let (path, mount) = (entered.path(), entered.mount());
        let (finished, changes) = entered.watch(self.execute(&path, mount.as_ref(), cwd)).await;
        let mut result = self.tell(&finished);
        let absorbed = changes.and_then(|changes| {
            planned.absorb(&changes)?;
            Ok(changes)
        });
        match absorbed {
            Ok(changes) => result.note(&Observed { changes, ..Observed::default() }),
            Err(error) => {
                // Not planned, so not done.
                (result.success, result.exit_code) = (false, None);
                result.error = Some(format!("what the command changed could not be planned: {error}"));
            }
        }
        result
    }

    fn class(&self, cwd: &WorkspacePath) -> Class {
        self.tool.policy.judge(&self.args.command, cwd).verdict.class
    }

    fn tell(&self, finished: &Finished) -> ToolResult {
        let text = finished.stdout.lines(self.tool.max_output_lines);
        let took = format!("{:.1} s", finished.duration.as_secs_f64());
        let timeout = self.args.timeout.unwrap_or(self.tool.default_timeout).get();
        let error = match &finished.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("exit code {code} after {took}")),
            Ended::Signaled(signal) => Some(format!("ended by signal {signal} after {took}")),
            Ended::TimedOut => Some(format!("timed out: stopped after {timeout} s, with all it had started")),
            Ended::Cancelled => Some("stopped, because the run was interrupted".to_owned()),
            Ended::NotStarted(error) => Some(format!("could not be started: {error}")),
        };
        let output = match (&error, text.is_empty()) {
            (None, true) => format!("exit code 0 after {took}, no output"),
            (None, false) => format!("exit code 0 after {took}\n{text}"),
            // What a child says that cannot be shut in.
            (Some(_), true) => finished.stderr.text(),
            (Some(_), false) => text,
        };
        let exit_code = match &finished.ended {
            Ended::Exited(code) => Some(*code),
            _ => None,
        };
        let mut result =
            ToolResult { success: error.is_none(), output, error, changes: Vec::new(), exit_code };
        result.note_restored(&finished.restored);
        result
    }
}

impl ToolResult {
    fn add(&mut self, line: &str) {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
    }

    /// Tells the model what of Git's own folder was put back.
    pub(crate) fn note_restored(&mut self, restored: &[Restored]) {
        for restored in restored {
            let done = if restored.back { "was put back" } else { "could not be put back" };
            self.add(&format!("[{} must not change; it {done}]", restored.path.display()));
        }
    }

    /// Takes over what a command has changed, and tells the model.
    pub(crate) fn note(&mut self, observed: &Observed) {
        let shown = |paths: &mut dyn Iterator<Item = String>| {
            let mut all: Vec<String> = paths.collect();
            let more = all.len().saturating_sub(MAX_NAMED);
            all.truncate(MAX_NAMED);
            if more > 0 {
                all.push(format!("{more} more"));
            }
            all.join(", ")
        };
        if !observed.changes.is_empty() {
            let paths = shown(&mut observed.changes.iter().map(|change| change.path.to_string()));
            self.add(&format!("[changed: {paths}]"));
        }
        if !observed.unknown.is_empty() {
            let paths = shown(&mut observed.unknown.iter().map(ToString::to_string));
            self.add(&format!("[changed, but too large, or unknown before, to be reported: {paths}]"));
        }
        if observed.unnamed > 0 {
            self.add(&format!("[changed, with names that are no text: {} files]", observed.unnamed));
        }
        self.changes.clone_from(&observed.changes);
    }
}

impl Call for CommandCall {
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError> {
        let cwd = self.cwd(cx)?;
        let judgement = self.tool.policy.judge(&self.args.command, &cwd);
        Ok(touched(&self.args.command, &cwd, self.tool.policy.root(), &judgement, cx.workspace.as_ref()))
    }

    fn run(self: Box<Self>, cx: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let cwd = match self.cwd(&cx) {
                Ok(cwd) => cwd,
                Err(error) => return ToolResult::failed(error.to_string()),
            };
            match &self.tool.ground {
                Ground::Checkout(checkout) => self.in_checkout(checkout, &cwd).await,
                Ground::Isolated(isolation, planned) if self.class(&cwd) != Class::Dangerous => {
                    self.in_isolation(isolation, planned, &cwd).await
                }
                Ground::Isolated(..) => ToolResult::done(
                    "A dry run records dangerous commands and does not run them, so there is no output; plan on.",
                ),
                Ground::Nowhere => ToolResult::done(
                    "A dry run records commands and does not run them, so there is no output; plan on.",
                ),
            }
        }
        .boxed()
    }
}
