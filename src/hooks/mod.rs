//! Hooks: commands of the user at certain points of the run.
//!
//! A hook is trusted configuration, but what it receives (arguments, paths, results) is not: all of that is
//! passed in environment variables and on standard input, and `{file}` is quoted for the shell (and refused where quotes
//! would not help).

mod event;
mod protocol;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use workspace::{Glob, InvalidGlob, WorkspacePath};

use crate::base::command_template::{CommandTemplate, Dialect, MisplacedPlaceholder, operand};
use crate::base::pattern::{InvalidPattern, Pattern};
use crate::base::pattern_options::PatternOptions;
use crate::base::time_limit::Grace;
use crate::command::sandbox::Rights;
use crate::command::{Finished, LiveOutput};
use crate::config::{self, HookConfig};
use crate::event::{Event, Events, HookDecision, HookRecord, millis};
use crate::isolation::{IsolatedCommand, Isolation, Keep};

pub(crate) use event::{HookEvent, Subject, ToolSubject};
use protocol::{HookResponse, interpret};

/// Placeholder for the first file of a call.
const FILE: &str = "file";
/// Placeholder for all files of a call.
const FILES: &str = "files";

/// Configured hook, with its patterns compiled.
#[derive(Clone)]
struct Hook {
    event: HookEvent,
    name: String,
    command: CommandTemplate,
    matcher: Pattern,
    globs: Vec<Glob>,
    timeout: Duration,
    waits: bool,
    edits_only: bool,
}

/// Error for a hook that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidHook {
    /// The matcher is not a regular expression.
    #[error("invalid regular expression in `matcher` of the hook {hook:?}")]
    Matcher {
        /// Name of the hook.
        hook: String,
        /// The reason.
        source: InvalidPattern,
    },
    /// A pattern of files cannot be parsed.
    #[error(transparent)]
    Files(#[from] InvalidGlob),
    /// A placeholder stands where the name of a file would be more than that.
    #[error("invalid `command` of the hook {hook:?}")]
    Command {
        /// Name of the hook.
        hook: String,
        /// The reason.
        source: MisplacedPlaceholder,
    },
}

impl Hook {
    fn new(event: HookEvent, edits_only: bool, config: &HookConfig) -> Result<Self, InvalidHook> {
        let pattern = if matches!(config.matcher.as_str(), "*" | "") { ".*" } else { &config.matcher };
        let matcher = Pattern::new(&format!("^(?:{pattern})$"), PatternOptions::default())
            .map_err(|source| InvalidHook::Matcher { hook: config.name.clone(), source })?;
        let globs =
            config.file_patterns.iter().map(|pattern| Glob::parse(pattern)).collect::<Result<_, _>>()?;
        let is_placeholder = |name: &str| matches!(name, FILE | FILES);
        let command = CommandTemplate::parse(&config.command, Dialect::Shell, is_placeholder)
            .map_err(|source| InvalidHook::Command { hook: config.name.clone(), source })?;
        Ok(Self {
            event,
            name: config.name.clone(),
            command,
            matcher,
            globs,
            timeout: config.timeout.seconds(),
            waits: !config.r#async,
            edits_only,
        })
    }

    fn is_for(&self, event: HookEvent, subject: &Subject<'_>) -> bool {
        if self.event != event {
            return false;
        }
        // Matcher and globs are about tools; without a tool, every hook of the event runs.
        let Some(tool) = &subject.tool else { return true };
        let file_fits = |glob: &Glob| {
            let paths = tool.effects.writes.iter().chain(&tool.effects.reads);
            paths.into_iter().any(|path| glob.matches(path.as_str()))
        };
        self.names(tool)
            && (self.globs.is_empty() || self.globs.iter().any(file_fits))
            && (!self.edits_only || tool.is_edit())
    }

    /// Returns `true` if the matcher matches the tool's name. To name `edit`, or both `edit_file` and `write_file`, is to
    /// name every tool that changes files: which one is called is the model's choice, and a rule must not depend on it.
    fn names(&self, tool: &ToolSubject<'_>) -> bool {
        // A pattern that is given up on might have matched.
        let is_match = |name: &str| self.matcher.is_match(name).unwrap_or(true);
        // What matches other tools as well, such as `(?!replace_text).*`, means each name for itself.
        let names_edits = || {
            (is_match("edit") || (is_match("edit_file") && is_match("write_file"))) && !is_match("read_file")
        };
        is_match(tool.name) || (tool.changes_files() && names_edits())
    }

    /// Returns the files for each of its runs: one run for each file if the command names a file, or else one.
    fn runs<'a>(&self, subject: &Subject<'a>) -> Vec<Vec<&'a str>> {
        const VARIABLES: [&str; 2] = ["ARCHITECT_FILE_PATH", "ARCHITECT_EDITED_FILE"];
        let fits = |path: &str| self.globs.is_empty() || self.globs.iter().any(|glob| glob.matches(path));
        let files = subject.tool.as_ref().map_or_else(Vec::new, |tool| tool.files(fits));
        let names_one =
            self.command.has(FILE) || VARIABLES.iter().any(|name| self.command.as_str().contains(name));
        if files.len() > 1 && names_one {
            files.into_iter().map(|file| vec![file]).collect()
        } else {
            vec![files]
        }
    }
}

/// Combined result of the hooks of an event.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    /// Reason why what comes next is blocked.
    pub blocked: Option<String>,
    /// New arguments for the call.
    pub updated_input: Option<Value>,
    /// Texts for the model.
    pub context: Vec<String>,
}

/// Most time for a hook at the end of a run whose own time is up.
const LATE: Duration = Duration::from_secs(1);

/// Hooks of a run.
pub struct Hooks {
    list: Vec<Hook>,
    context: Arc<HookContext>,
    /// Asynchronous hooks that have been started.
    started: Mutex<Vec<JoinHandle<HookRecord>>>,
}

/// What hooks have to know about the run.
pub struct HookContext {
    /// Isolated state on which hooks run.
    pub isolation: Arc<Isolation>,
    /// Path of the checkout.
    pub workspace: PathBuf,
    /// ID of the run.
    pub session: String,
    /// Whether the run is a dry run.
    pub dry_run: bool,
    /// Token that ends hooks early: the run was interrupted, or its time is up.
    pub cancel: CancellationToken,
    /// Token that is cancelled only when the run is interrupted. Hooks at the end of a run whose time is up still run.
    pub interrupt: CancellationToken,
    /// Event bus that receives the records.
    pub events: Events,
}

impl Hooks {
    /// Compiles the configured hooks. The error names the one that is invalid.
    pub fn new(config: &config::Hooks, context: HookContext) -> Result<Self, InvalidHook> {
        let lists = HookEvent::lists(config);
        let list = lists.into_iter().flat_map(|(event, edits_only, list)| {
            let enabled = list.iter().filter(|hook| hook.enabled);
            enabled.map(move |hook| Hook::new(event, edits_only, hook))
        });
        let list = list.collect::<Result<_, _>>()?;
        Ok(Self { list, context: Arc::new(context), started: Mutex::default() })
    }

    /// Returns the error of each enabled hook that is invalid.
    pub fn faults(config: &config::Hooks) -> Vec<InvalidHook> {
        let mut faults = Vec::new();
        for (event, edits_only, list) in HookEvent::lists(config) {
            let enabled = list.iter().filter(|hook| hook.enabled);
            faults.extend(enabled.filter_map(|hook| Hook::new(event, edits_only, hook).err()));
        }
        faults
    }

    /// Returns `true` if there is a hook for `event`.
    pub fn has(&self, event: HookEvent) -> bool {
        self.list.iter().any(|hook| hook.event == event)
    }

    /// Runs the hooks of an event in order; the first that blocks ends the sequence.
    pub async fn run(&self, event: HookEvent, subject: Subject<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let mut runs = Vec::new();
        for hook in self.list.iter().filter(|hook| hook.is_for(event, &subject)) {
            runs.extend(hook.runs(&subject).into_iter().map(|files| (hook, files)));
        }
        for (hook, files) in runs {
            let input = verdict.updated_input.as_ref();
            let invocation = Invocation::new(hook, &subject, &files, input, &self.context);
            if !hook.waits {
                let (hook, context) = (hook.clone(), Arc::clone(&self.context));
                let task = tokio::spawn(async move { invocation.run(&hook, &context).await.1 });
                self.started.lock().push(task);
                continue;
            }
            let (response, record) = invocation.run(hook, &self.context).await;
            self.context.events.emit(Event::Hook(record));
            match response {
                HookResponse::Allow { context, updated_input } => {
                    verdict.context.extend(context);
                    if updated_input.is_some() && event.takes_input() {
                        verdict.updated_input = updated_input;
                    }
                }
                HookResponse::Block(reason) => {
                    verdict.blocked = Some(reason);
                    break;
                }
                HookResponse::Failed(report) => {
                    if event.reports_failures() {
                        verdict.context.push(report);
                    }
                }
            }
        }
        verdict
    }

    /// Waits for the asynchronous hooks, each of which has its own time limit.
    pub async fn collect(&self) {
        let started = std::mem::take(&mut *self.started.lock());
        for task in started {
            if let Ok(record) = task.await {
                self.context.events.emit(Event::Hook(record));
            }
        }
    }
}

/// One run of a hook, with everything it receives.
struct Invocation {
    command: String,
    variables: Vec<(Cow<'static, str>, String)>,
    message: String,
    tool: String,
    step: u32,
}

impl Invocation {
    fn new(
        hook: &Hook,
        subject: &Subject<'_>,
        files: &[&str],
        input: Option<&Value>,
        context: &HookContext,
    ) -> Self {
        Self {
            command: with_files(&hook.command, files),
            variables: subject.variables(hook.event, files.first().copied(), context),
            message: subject.message(hook.event, input, context),
            tool: subject.tool.as_ref().map_or(String::new(), |tool| tool.name.to_owned()),
            step: subject.step,
        }
    }

    async fn run(self, hook: &Hook, context: &HookContext) -> (HookResponse, HookRecord) {
        let (cancel, timeout) = if hook.event == HookEvent::SessionEnd && context.cancel.is_cancelled() {
            (
                context.interrupt.clone(),
                context.isolation.shell().time_limit.left(Grace::Calls, hook.timeout.min(LATE)),
            )
        } else {
            (context.cancel.clone(), hook.timeout)
        };
        let work = IsolatedCommand {
            command: &self.command,
            pipe: None,
            cwd: &WorkspacePath::root(),
            variables: self.variables,
            stdin: Some(self.message.into_bytes()),
            merge: false,
            output: LiveOutput::default(),
            timeout,
            cancel,
            rights: Rights::Work,
            moves: Vec::new(),
            owner: Some(format!("hook {}", hook.name)),
            keep: if hook.waits { Keep::Changes } else { Keep::Nothing },
        };
        context.isolation.report_doubts(&format!("hook {}", hook.name), &self.command);
        let mut changed: Vec<String> = Vec::new();
        let (finished, refused) = match context.isolation.run(work).await {
            Ok(ran) => {
                changed = ran.changes.iter().map(|change| change.path.to_string()).collect();
                let reasons = ran.reasons();
                (ran.finished, reasons)
            }
            Err(error) => (Finished::not_started(error.to_string(), Duration::ZERO), Vec::new()),
        };
        let can_block = hook.event.can_block() && hook.waits;
        let mut response = interpret(&hook.name, &finished, hook.timeout, can_block);
        // What blocks continues blocking, whatever became of files that the hook left behind.
        if !refused.is_empty() && !matches!(response, HookResponse::Block(_)) {
            let reasons = refused.join("; ");
            response = HookResponse::Failed(format!(
                "[Hook {}: none of its changes were kept: {reasons}]",
                hook.name
            ));
        } else if let (HookResponse::Allow { context, .. }, false) = (&mut response, changed.is_empty()) {
            // The model has to know, because an edit that expects the file's old content would fail.
            let note = format!("[Hook {} changed: {}]", hook.name, changed.join(", "));
            *context = Some(context.take().map_or(note.clone(), |context| format!("{context}\n{note}")));
        }
        let decision = match &response {
            HookResponse::Allow { updated_input: Some(_), .. } if hook.event.takes_input() && hook.waits => {
                HookDecision::Modify
            }
            HookResponse::Allow { .. } => HookDecision::Allow,
            HookResponse::Block(_) => HookDecision::Block,
            HookResponse::Failed(_) => HookDecision::Failed,
        };
        let record = HookRecord {
            event: hook.event.name().to_owned(),
            name: hook.name.clone(),
            tool: self.tool,
            step: self.step,
            decision,
            exit_code: finished.ended.code(),
            duration_ms: millis(finished.duration),
            output: crate::command::last_lines(&finished.output(), 20),
        };
        (response, record)
    }
}

/// Returns the command line with `{file}` replaced by the first path, and `{files}` by all of them, quoted; by nothing if
/// there is none.
fn with_files(command: &CommandTemplate, files: &[&str]) -> String {
    let operands = files.iter().map(|file| operand(file).into_owned());
    command.fill(|name| match name {
        FILE => Some(operands.clone().take(1).collect()),
        FILES => Some(operands.clone().collect()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_quoted_for_the_shell() {
        for (command, files, expected) in [
            ("lint {file}", &["src/a b;rm -rf $HOME.py"][..], "lint 'src/a b;rm -rf $HOME.py'"),
            ("lint {file}", &["src/main.py"], "lint src/main.py"),
            ("lint {file}", &["-rf"], "lint ./-rf"),
            ("lint {file}", &["--config=x y"], "lint './--config=x y'"),
            ("lint {file}", &[], "lint "),
            ("lint {files} --fix", &["a.py", "b c.py", "{file}"], "lint a.py 'b c.py' '{file}' --fix"),
            ("lint {file} {file} {filed}", &["{files}", "x"], "lint '{files}' '{files}' {filed}"),
            ("lint {files}", &[], "lint "),
        ] {
            let template = CommandTemplate::parse(command, Dialect::Shell, |_| true).expect("a template");
            assert_eq!(with_files(&template, files), expected);
        }
    }

    #[test]
    fn a_broken_matcher_names_its_hook() {
        let hook: HookConfig =
            serde_json::from_value(serde_json::json!({"name": "lint", "command": "x", "matcher": "("}))
                .expect("a hook");
        let hook = Hook::new(HookEvent::PreToolUse, false, &hook);
        assert!(hook.is_err_and(|error| error.to_string().contains("\"lint\"")));
    }
}
