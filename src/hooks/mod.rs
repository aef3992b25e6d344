//! Commands of the user's at points of the run.
//!
//! A hook is trusted configuration, but what it is told (arguments, paths, results) is not: all of it
//! travels in environment variables and on standard input, and `{file}` is quoted for the shell.

mod event;
mod protocol;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::command::Finished;
use crate::command::sandbox::Rights;
use crate::config::{self, HookConfig};
use crate::event::{Event, Events, HookDecision, HookRecord, millis};
use crate::isolation::{Isolation, Keep, Work};
use crate::workspace::Glob;
use crate::workspace::WorkspacePath;

pub use event::{HookEvent, Subject, ToolSubject};
use protocol::{Answer, interpret};

/// A hook that is ready to run.
#[derive(Clone)]
struct Hook {
    event: HookEvent,
    name: String,
    command: String,
    matcher: Regex,
    globs: Vec<Glob>,
    timeout: Duration,
    waits: bool,
    edits_only: bool,
}

impl Hook {
    fn new(event: HookEvent, edits_only: bool, config: &HookConfig) -> Result<Self, String> {
        let pattern = if config.matcher == "*" { ".*" } else { &config.matcher };
        let matcher = Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
            format!("invalid regular expression in `matcher` of the hook {:?}: {error}", config.name)
        })?;
        let globs =
            config.file_patterns.iter().map(|pattern| Glob::parse(pattern)).collect::<Result<_, _>>()?;
        Ok(Self {
            event,
            name: config.name.clone(),
            command: config.command.clone(),
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
        // Matcher and globs are about tools; events without one concern every hook of theirs.
        let Some(tool) = &subject.tool else { return true };
        let file_fits = |glob: &Glob| {
            let paths = tool.effects.writes.iter().chain(&tool.effects.reads);
            paths.into_iter().any(|path| glob.matches(path.as_str()))
        };
        self.matcher.is_match(tool.name)
            && (self.globs.is_empty() || self.globs.iter().any(file_fits))
            && (!self.edits_only || tool.is_edit())
    }
}

/// What the hooks of an event came to.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why what comes next must not be.
    pub blocked: Option<String>,
    /// Other arguments for the call.
    pub updated_input: Option<Value>,
    /// Words for the model.
    pub context: Vec<String>,
}

/// All hooks of a run.
pub struct Hooks {
    list: Vec<Hook>,
    setting: Arc<Setting>,
    /// Those that nobody waits for.
    started: Mutex<Vec<JoinHandle<HookRecord>>>,
}

/// What hooks need to know of the run.
pub struct Setting {
    /// Where the commands run.
    pub isolation: Arc<Isolation>,
    /// The checkout.
    pub workspace: PathBuf,
    /// The run's id.
    pub session: String,
    /// Whether nothing may change.
    pub dry_run: bool,
    /// Ends them early.
    pub cancel: CancellationToken,
    /// Takes the records.
    pub events: Events,
}

impl Hooks {
    /// Reads the hooks; the error names the one that is wrong.
    pub fn new(config: &config::Hooks, setting: Setting) -> Result<Self, String> {
        let lists = HookEvent::lists(config);
        let list = lists.into_iter().flat_map(|(event, edits_only, list)| {
            let enabled = list.iter().filter(|hook| hook.enabled);
            enabled.map(move |hook| Hook::new(event, edits_only, hook))
        });
        let list = list.collect::<Result<_, _>>()?;
        Ok(Self { list, setting: Arc::new(setting), started: Mutex::default() })
    }

    /// Whether there is a hook for an event at all.
    pub fn has(&self, event: HookEvent) -> bool {
        self.list.iter().any(|hook| hook.event == event)
    }

    /// Runs the hooks of an event in order; the first that blocks ends it.
    pub async fn run(&self, event: HookEvent, subject: Subject<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for hook in self.list.iter().filter(|hook| hook.is_for(event, &subject)) {
            let order = Order::new(hook, &subject, verdict.updated_input.as_ref(), &self.setting);
            if !hook.waits {
                let (hook, setting) = (hook.clone(), Arc::clone(&self.setting));
                let task = tokio::spawn(async move { order.run(&hook, &setting).await.1 });
                self.started.lock().unwrap_or_else(PoisonError::into_inner).push(task);
                continue;
            }
            let (answer, record) = order.run(hook, &self.setting).await;
            self.setting.events.emit(Event::Hook(record));
            match answer {
                Answer::Allow { context, updated_input } => {
                    verdict.context.extend(context);
                    if updated_input.is_some() && event.takes_input() {
                        verdict.updated_input = updated_input;
                    }
                }
                Answer::Block(reason) => {
                    verdict.blocked = Some(reason);
                    break;
                }
                Answer::Failed(report) => {
                    if event.tells_failures() {
                        verdict.context.push(report);
                    }
                }
            }
        }
        verdict
    }

    /// Waits for the hooks that nobody has waited for; each has its own time limit.
    pub async fn collect(&self) {
        let started = std::mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        for task in started {
            if let Ok(record) = task.await {
                self.setting.events.emit(Event::Hook(record));
            }
        }
    }
}

/// One run of a hook, with all that it is told.
struct Order {
    command: String,
    variables: Vec<(Cow<'static, str>, String)>,
    message: String,
    tool: String,
    step: u32,
}

impl Order {
    fn new(hook: &Hook, subject: &Subject<'_>, input: Option<&Value>, setting: &Setting) -> Self {
        let file = subject.file();
        Self {
            command: with_file(&hook.command, file),
            variables: subject.variables(hook.event, setting),
            message: subject.message(hook.event, input, setting),
            tool: subject.tool.as_ref().map_or(String::new(), |tool| tool.name.to_owned()),
            step: subject.step,
        }
    }

    async fn run(self, hook: &Hook, setting: &Setting) -> (Answer, HookRecord) {
        let work = Work {
            command: &self.command,
            cwd: &WorkspacePath::root(),
            variables: self.variables,
            stdin: Some(self.message.into_bytes()),
            merge: false,
            timeout: hook.timeout,
            cancel: setting.cancel.clone(),
            rights: Rights::Work,
            moves: Vec::new(),
            keep: if hook.waits { Keep::Changes } else { Keep::Nothing },
        };
        let mut changed: Vec<String> = Vec::new();
        let (finished, refused) = match setting.isolation.run(work).await {
            Ok(ran) => {
                changed = ran.changes.iter().map(|change| change.path.to_string()).collect();
                (ran.finished, ran.refused)
            }
            Err(error) => (Finished::not_started(error.to_string(), Duration::ZERO), Vec::new()),
        };
        let can_block = hook.event.can_block() && hook.waits;
        let mut answer = interpret(&hook.name, &finished, hook.timeout, can_block);
        if !refused.is_empty() {
            let reasons = refused.join("; ");
            answer =
                Answer::Failed(format!("[Hook {}: none of its changes were kept: {reasons}]", hook.name));
        } else if let (Answer::Allow { context, .. }, false) = (&mut answer, changed.is_empty()) {
            // An edit of the model's that counts on what the file was before would fail.
            let told = format!("[Hook {} changed: {}]", hook.name, changed.join(", "));
            *context = Some(context.take().map_or(told.clone(), |context| format!("{context}\n{told}")));
        }
        let decision = match &answer {
            Answer::Allow { updated_input: Some(_), .. } if hook.event.takes_input() && hook.waits => {
                HookDecision::Modify
            }
            Answer::Allow { .. } => HookDecision::Allow,
            Answer::Block(_) => HookDecision::Block,
            Answer::Failed(_) => HookDecision::Failed,
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
        (answer, record)
    }
}

/// The command line with `{file}` replaced by the quoted path (or nothing).
fn with_file(command: &str, file: Option<&str>) -> String {
    // Only NUL cannot be quoted, and no path holds one.
    let quoted = file.and_then(|file| shlex::try_quote(file).ok()).unwrap_or_default();
    command.replace("{file}", &quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_quoted_for_the_shell() {
        assert_eq!(
            with_file("lint {file}", Some("src/a b;rm -rf $HOME.py")),
            "lint 'src/a b;rm -rf $HOME.py'"
        );
        assert_eq!(with_file("lint {file}", Some("src/main.py")), "lint src/main.py");
        assert_eq!(with_file("lint {file}", None), "lint ");
    }

    #[test]
    fn a_broken_matcher_names_its_hook() {
        let hook: HookConfig =
            serde_json::from_value(serde_json::json!({"name": "lint", "command": "x", "matcher": "("}))
                .expect("a hook");
        let hook = Hook::new(HookEvent::PreToolUse, false, &hook);
        assert!(hook.is_err_and(|error| error.contains("\"lint\"")));
    }
}
