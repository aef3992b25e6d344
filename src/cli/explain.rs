//! `architect-ci explain`: how a command line is classified under the current configuration, and why.

use std::collections::BTreeMap;
use std::io::{BufRead, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use sanitize::untrusted::{log_lines, visible};
use serde::{Deserialize, Serialize};
use workspace::{DiskWorkspace, TrackedWorkspace, WorkspaceLocation, WorkspacePath};

use super::config::CheckError;
use super::print;
use super::style::{below, log_error};
use crate::base::error::chain;
use crate::command::{Containment, Policy, Verdict, sandbox};
use crate::config::SandboxMode;
use crate::event::{Class, Exit};
use crate::git::Repository;
use crate::guardrails::{GuardrailContext, Guardrails, Refusal};
use crate::request::{Lookup, variables};

use crate::tool::command_effects;
use crate::trust::{Trust, Trusted};

/// Show the class of a shell command, whether a run would execute it, why, and which paths it affects
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci explain 'cargo test && git push'", "Shows which part of the line decides its class"),
        ("architect-ci explain --jsonl < commands.jsonl", "Answers each line with a line of JSON"),
    ],
    "",
))]
pub(super) struct Explain {
    /// The command line
    #[arg(required_unless_present = "jsonl")]
    command: Option<String>,
    /// Read lines such as {"command": "ls"} and answer each one with a line of JSON
    #[arg(long, conflicts_with = "command")]
    jsonl: bool,
    /// Treat the input as scripts for `run_powershell`, not as command lines
    #[arg(long)]
    powershell: bool,
    /// Folder of the checkout
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    workspace: PathBuf,
    /// Configuration file [default: the checkout's]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Question {
    command: String,
    #[serde(default)]
    cwd: Option<WorkspacePath>,
}

/// What there is to say of a command.
#[derive(Serialize)]
struct Explanation<'a> {
    command: &'a str,
    class: Class,
    /// Never run, in any mode.
    blocked: bool,
    /// Whether a run under this configuration would run it.
    allowed: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    way_out: String,
    reads: Vec<WorkspacePath>,
    writes: Vec<WorkspacePath>,
}

/// The rules in force.
struct Rules {
    policy: Policy,
    guardrails: Guardrails,
    workspace: TrackedWorkspace,
}

impl Explain {
    pub(super) fn execute(&self) -> Exit {
        let rules = match Rules::read(self) {
            Ok(rules) => rules,
            Err(error) => {
                log_error(&log_lines(&visible(&chain(&error))));
                return Exit::Configuration;
            }
        };
        if self.jsonl {
            return lines(&rules);
        }
        let text = self.command.as_deref().unwrap_or_default();
        print(&log_lines(&visible(&rules.answer(text, &WorkspacePath::root()).text())));
        Exit::Success
    }
}

impl Rules {
    fn read(asked: &Explain) -> Result<Self, CheckError> {
        let root = &asked.workspace;
        let disk =
            Arc::new(DiskWorkspace::open(root).map_err(|error| CheckError::Workspace(root.clone(), error))?);
        let repository = Repository::find(disk.path(), None)?;
        let trusted = Trusted {
            workspace: disk.path(),
            repository: repository.as_ref(),
            trust: Trust::Checkout,
            places: Vec::new(),
            remote: None,
        };
        let origin = trusted.config(asked.config.as_deref())?;
        let commands = &origin.config.commands;
        let in_ci = Lookup::new(BTreeMap::new(), variables()).in_ci();
        let ground = GuardrailContext {
            root: disk.path(),
            location: WorkspaceLocation::below(
                repository.as_ref().map_or(disk.path(), Repository::root),
                disk.path(),
            ),
            config_file: origin.file.as_deref(),
            allow_workflow_edits: origin.config.workspace.allow_workflow_edits,
            allowed_only: in_ci || commands.allowed_only == Some(true),
            ..GuardrailContext::default()
        };
        let stand = commands.sandbox != SandboxMode::Off && sandbox::kernel_support().files;
        let containment = if stand { Containment::Sandbox } else { Containment::None };
        let policy = Policy::new(commands, disk.path())?.within(containment);
        Ok(Self {
            policy: if asked.powershell { policy.for_powershell() } else { policy },
            guardrails: Guardrails::new(&origin.config.guardrails, ground)?,
            workspace: TrackedWorkspace::new(disk),
        })
    }

    fn answer<'a>(&self, command: &'a str, cwd: &WorkspacePath) -> Explanation<'a> {
        let judgement = self.policy.judge(command, cwd.as_str());
        let effects = command_effects(command, cwd, self.policy.root(), &judgement, &self.workspace);
        let refusal = self.guardrails.check(&effects).err();
        let Verdict { class, reason, way_out } = judgement.verdict;
        let allowed = refusal.is_none();
        let reason = match (judgement.blocked.clone(), refusal) {
            (Some(blocked), _) => blocked,
            // That of the class is given by the class.
            (None, Some(refusal)) if !matches!(refusal, Refusal::Dangerous(_)) => refusal.to_string(),
            (None, _) => reason,
        };
        let blocked = judgement.blocked.is_some();
        let way_out = if blocked { String::new() } else { way_out };
        Explanation {
            command,
            class,
            blocked,
            allowed,
            reason,
            way_out,
            reads: effects.reads,
            writes: effects.writes,
        }
    }
}

impl Explanation<'_> {
    fn text(&self) -> String {
        let state = match (self.blocked, self.allowed) {
            (true, _) => "blocked",
            (false, true) => "allowed",
            (false, false) => "refused",
        };
        let line = |name: &str, text: &str| {
            if text.is_empty() { String::new() } else { format!("{name}: {text}\n") }
        };
        let joined =
            |paths: &[WorkspacePath]| paths.iter().map(WorkspacePath::as_str).collect::<Vec<_>>().join(", ");
        format!(
            "{}, {state}\n{}{}{}{}",
            self.class,
            line("reason", &self.reason),
            line("instead", &self.way_out),
            line("reads", &joined(&self.reads)),
            line("writes", &joined(&self.writes))
        )
    }
}

fn lines(rules: &Rules) -> Exit {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (index, line) in std::io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let question: Question = match serde_json::from_slice(line.as_bytes()) {
            Ok(question) => question,
            Err(error) => {
                let message = format!("line {} is not of the form {{\"command\": …}}: {error}", index + 1);
                log_error(&log_lines(&visible(&message)));
                return Exit::Configuration;
            }
        };
        let answer = rules.answer(&question.command, &question.cwd.unwrap_or_else(WorkspacePath::root));
        let written = serde_json::to_writer(&mut out, &answer)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"));
        if written.is_err() {
            // The reader of the output has gone away.
            return Exit::Success;
        }
    }
    let _ = out.flush();
    Exit::Success
}
