//! Commands of the user's at points of the run.
//!
//! A hook is trusted configuration, but what it is told (arguments, paths, results) is not: all of it
//! travels in environment variables and on standard input, and `{file}` is quoted for the shell.

mod protocol;

use std::borrow::Cow;
use std::path::PathBuf;

use regex::Regex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::command::{Job, Shell};
use crate::config::{self, HookConfig};
use crate::event::{Event, Events, HookDecision, HookRecord, millis};
use crate::tool::{Effects, ToolResult};
use crate::workspace::{Glob, WorkspacePath};

use protocol::{Answer, interpret};

/// Where in the run a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a tool runs.
    PreToolUse,
    /// After a tool ran.
    PostToolUse,
}

impl HookEvent {
    /// The name in configuration, environment and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "pre_tool_use",
            Self::PostToolUse => "post_tool_use",
        }
    }

    /// Whether a hook here can stop what comes next.
    fn can_block(self) -> bool {
        self == Self::PreToolUse
    }
}

/// A hook that is ready to run.
struct Hook {
    name: String,
    command: String,
    matcher: Regex,
    globs: Vec<Glob>,
    timeout: std::time::Duration,
}

impl Hook {
    fn new(config: &HookConfig) -> Result<Self, String> {
        let pattern = if config.matcher == "*" { ".*" } else { &config.matcher };
        let matcher = Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
            format!("the hook {:?} has a matcher that is no regular expression: {error}", config.name)
        })?;
        let globs =
            config.file_patterns.iter().map(|pattern| Glob::parse(pattern)).collect::<Result<_, _>>()?;
        Ok(Self {
            name: config.name.clone(),
            command: config.command.clone(),
            matcher,
            globs,
            timeout: config.timeout.seconds(),
        })
    }

    fn is_for(&self, subject: &Subject<'_>) -> bool {
        let file_fits = |glob: &Glob| {
            subject
                .effects
                .writes
                .iter()
                .chain(&subject.effects.reads)
                .any(|path| glob.matches(path.as_str()))
        };
        self.matcher.is_match(subject.tool) && (self.globs.is_empty() || self.globs.iter().any(file_fits))
    }
}

/// What a hook is told about.
pub struct Subject<'a> {
    /// The agent that acts.
    pub agent: &'a str,
    /// Its step.
    pub step: u32,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub input: &'a Value,
    /// What it touches.
    pub effects: &'a Effects,
    /// What came of it, once it ran.
    pub result: Option<&'a ToolResult>,
}

/// What the hooks before a call came to.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why the call must not go on.
    pub blocked: Option<String>,
    /// Other arguments for the call.
    pub updated_input: Option<Value>,
    /// Words for the model.
    pub context: Vec<String>,
}

/// All hooks of a run.
pub struct Hooks {
    pre: Vec<Hook>,
    post: Vec<Hook>,
    shell: Shell,
    workspace: PathBuf,
    session: String,
    dry_run: bool,
    cancel: CancellationToken,
    events: Events,
}

/// What hooks need to know of the run.
pub struct Setting {
    /// Runs the commands.
    pub shell: Shell,
    /// Where they run.
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
        let ready = |hooks: &[HookConfig]| -> Result<Vec<Hook>, String> {
            hooks.iter().filter(|hook| hook.enabled).map(Hook::new).collect()
        };
        let Setting { shell, workspace, session, dry_run, cancel, events } = setting;
        Ok(Self {
            pre: ready(&config.pre_tool_use)?,
            post: ready(&config.post_tool_use)?,
            shell,
            workspace,
            session,
            dry_run,
            cancel,
            events,
        })
    }

    /// Runs the hooks of an event in order; the first that blocks ends it.
    pub async fn run(&self, event: HookEvent, subject: Subject<'_>) -> Verdict {
        let hooks = match event {
            HookEvent::PreToolUse => &self.pre,
            HookEvent::PostToolUse => &self.post,
        };
        let mut verdict = Verdict::default();
        for hook in hooks.iter().filter(|hook| hook.is_for(&subject)) {
            let input = verdict.updated_input.as_ref().unwrap_or(subject.input);
            match self.run_one(event, hook, &subject, input).await {
                Answer::Allow { context, updated_input } => {
                    verdict.context.extend(context);
                    if updated_input.is_some() && event.can_block() {
                        verdict.updated_input = updated_input;
                    }
                }
                Answer::Block(reason) => {
                    verdict.blocked = Some(reason);
                    break;
                }
                Answer::Failed(report) => {
                    if event == HookEvent::PostToolUse {
                        verdict.context.push(report);
                    }
                }
            }
        }
        verdict
    }

    async fn run_one(&self, event: HookEvent, hook: &Hook, subject: &Subject<'_>, input: &Value) -> Answer {
        let file =
            subject.effects.writes.first().or(subject.effects.reads.first()).map(WorkspacePath::as_str);
        let finished = self
            .shell
            .run(Job {
                command: &with_file(&hook.command, file),
                cwd: &self.workspace,
                root: &self.workspace,
                mount: None,
                variables: self.variables(event, subject, file),
                stdin: Some(self.message(event, subject, input).into_bytes()),
                merge: false,
                timeout: hook.timeout,
                cancel: self.cancel.clone(),
            })
            .await;
        let answer = interpret(&hook.name, &finished, hook.timeout, event.can_block());
        let decision = match &answer {
            Answer::Allow { updated_input: Some(_), .. } if event.can_block() => HookDecision::Modify,
            Answer::Allow { .. } => HookDecision::Allow,
            Answer::Block(_) => HookDecision::Block,
            Answer::Failed(_) => HookDecision::Failed,
        };
        self.events.emit(Event::Hook(HookRecord {
            event: event.name().to_owned(),
            name: hook.name.clone(),
            tool: subject.tool.to_owned(),
            step: subject.step,
            decision,
            exit_code: finished.ended.code(),
            duration_ms: millis(finished.duration),
            output: crate::command::last_lines(&finished.output(), 20),
        }));
        answer
    }

    fn variables(
        &self,
        event: HookEvent,
        subject: &Subject<'_>,
        file: Option<&str>,
    ) -> Vec<(Cow<'static, str>, String)> {
        let mut variables = vec![
            ("ARCHITECT_EVENT", event.name().to_owned()),
            ("ARCHITECT_WORKSPACE", self.workspace.display().to_string()),
            ("ARCHITECT_SESSION_ID", self.session.clone()),
            ("ARCHITECT_AGENT", subject.agent.to_owned()),
            ("ARCHITECT_STEP", subject.step.to_string()),
            ("ARCHITECT_DRY_RUN", u8::from(self.dry_run).to_string()),
            ("ARCHITECT_TOOL_NAME", subject.tool.to_owned()),
        ];
        if let Some(file) = file {
            variables.push(("ARCHITECT_FILE_PATH", file.to_owned()));
        }
        let edited =
            subject.effects.writes.first().filter(|_| subject.result.is_some_and(|result| result.success));
        if let Some(file) = edited {
            variables.push(("ARCHITECT_EDITED_FILE", file.to_string()));
        }
        if let Some(command) = &subject.effects.command {
            variables.push(("ARCHITECT_COMMAND", command.line.clone()));
        }
        if let Some(result) = subject.result {
            variables.push(("ARCHITECT_TOOL_RESULT_SUCCESS", result.success.to_string()));
        }
        variables.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    fn message(&self, event: HookEvent, subject: &Subject<'_>, input: &Value) -> String {
        let mut message = serde_json::json!({
            "event": event.name(),
            "session": self.session,
            "agent": subject.agent,
            "step": subject.step,
            "dry_run": self.dry_run,
            "tool_name": subject.tool,
            "tool_input": input,
            "effects": subject.effects,
        });
        if let Some(result) = subject.result {
            message["tool_output"] = serde_json::json!({"success": result.success, "text": result.text()});
        }
        message.to_string()
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
        assert!(Hook::new(&hook).is_err_and(|error| error.contains("\"lint\"")));
    }
}
