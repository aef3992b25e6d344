//! Briefing of the agent: what this run is, in a few lines behind the task, so that no turn is lost to finding it
//! out.

use std::fmt::Write;

use time::Date;
use workspace::{AttachedFolder, Workspace};

use super::test_commands::test_commands;
use crate::agent::Agent;
use crate::base::text::shortened;
use crate::command::Shell;
use crate::config::GateConfig;
use crate::event::RunMode;
use crate::request::JobRequest;
use crate::tool::Access;
use sanitize::untrusted::visible;

/// Number of commits whose subjects are told.
const COMMITS: usize = 3;
/// Maximum number of characters of a subject.
const MAX_SUBJECT: usize = 60;
/// Maximum number of bytes that are told of all gates, of a gate's name, and of its command: at least, however many there are.
const MAX_GATES: usize = 600;
const MAX_GATE_NAME: usize = 40;
const MIN_COMMAND: usize = 30;
/// Maximum number of gates that are told.
const MAX_TOLD_GATES: usize = 10;

/// What the briefing is made from.
pub(super) struct Briefing<'a> {
    pub(super) job: &'a JobRequest,
    pub(super) agent: &'a Agent,
    pub(super) shell: &'a Shell,
    /// Whether commands of a dry run are only recorded.
    pub(super) records_commands: bool,
    pub(super) workspace: &'a dyn Workspace,
    pub(super) attached: &'a [AttachedFolder],
    /// Time limit of the run, in seconds.
    pub(super) timeout: Option<u64>,
    pub(super) today: Date,
}

impl Briefing<'_> {
    /// Returns the lines, under a heading.
    pub(super) fn text(&self) -> String {
        let mut text = "[THIS RUN]\n".to_owned();
        let lines = [
            ("Mode", Some(self.mode().to_owned())),
            ("Deleting", self.deleting().map(str::to_owned)),
            ("Commands", self.commands()),
            ("Gates", self.gates()),
            ("Tests", self.tests()),
            ("Limits", Some(self.limits())),
            ("Also readable", self.readable()),
            ("Machine", Some(format!("{} {}, {}", std::env::consts::OS, std::env::consts::ARCH, self.today))),
            ("Git", self.git()),
        ];
        for (name, line) in lines {
            if let Some(line) = line {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name}: {line}");
            }
        }
        text
    }

    fn mode(&self) -> &'static str {
        match (self.agent.access, self.job.mode) {
            (Access::Look | Access::Trial, _) => "you change nothing",
            (_, RunMode::DryRun) => {
                "dry-run: your edits are planned and seen by every later call; the checkout itself stays as it is"
            }
            (_, RunMode::Yolo | RunMode::Apply) => "yolo: your edits change the checkout",
            (_, RunMode::ConfirmAll | RunMode::ConfirmSensitive) => {
                "a person at the terminal confirms your calls, and may decline them"
            }
        }
    }

    /// Returns what a patch must not do: every patch that does it is a turn lost.
    fn deleting(&self) -> Option<&'static str> {
        let is_off = self.agent.access == Access::Full && !self.job.config().workspace.allow_delete;
        is_off.then_some("no tool deletes files, not even apply_patch (`workspace.allow_delete` is off)")
    }

    fn commands(&self) -> Option<String> {
        let commands = &self.job.config().commands;
        if !commands.enabled {
            return Some("none in this run".to_owned());
        }
        let has_tool = self.agent.allowed_tools.as_ref();
        if has_tool.is_some_and(|allowed| !allowed.iter().any(|name| name == "run_command")) {
            return None;
        }
        if self.agent.access == Access::Look {
            return Some("those that change nothing, such as git log, show, blame and diff".to_owned());
        }
        let runs = if self.shell.is_sandboxed() {
            "whatever works on files of the checkout or /tmp: tests, builds, formatters, scripts, sed -i, git mv. Refused: \
             git push and fetch, publishing, system-wide installs, other machines"
        } else if commands.allowed_only == Some(true) {
            "tests, linters, builds, formatters, and read-only commands; others are refused"
        } else {
            "tests, linters, builds, formatters, and read-only commands"
        };
        let runs_git = !(self.job.mode == RunMode::DryRun && self.records_commands);
        let where_to = match self.job.mode {
            RunMode::DryRun if self.records_commands && !self.shell.is_sandboxed() => {
                "; only read-only ones run, as this machine has no sandbox; others are recorded without output"
            }
            RunMode::DryRun if self.records_commands => {
                "; only read-only ones run, others are recorded without output"
            }
            RunMode::DryRun => {
                ". Commands run on a throw-away copy with your planned edits, and what they change is planned too"
            }
            _ => "",
        };
        // Git's records are those of a state that ends with the run.
        let records = if self.agent.access == Access::Full && runs_git {
            ". What git commit, tag or stash makes is not kept; only changed files are"
        } else {
            ""
        };
        let seconds = commands.default_timeout.get();
        Some(format!("{runs}{where_to}{records}. Each command has {seconds} s unless you give `timeout`"))
    }

    fn gates(&self) -> Option<String> {
        let guardrails = &self.job.config().guardrails;
        let all = &guardrails.quality_gates;
        let name = |gate: &GateConfig| shortened(&gate.name, MAX_GATE_NAME);
        let names: usize = all.iter().map(|gate| name(gate).len() + 6).sum();
        let room = (MAX_GATES.saturating_sub(names) / all.len().max(1)).max(MIN_COMMAND);
        let told = |gate: &GateConfig| {
            let optional = if gate.required { "" } else { ", optional" };
            format!("{} (`{}`{optional})", name(gate), shortened(&gate.command.replace('\n', "; "), room))
        };
        let mut gates: Vec<String> = all.iter().take(MAX_TOLD_GATES).map(told).collect();
        if all.len() > MAX_TOLD_GATES {
            gates.push(format!("and {} more", all.len() - MAX_TOLD_GATES));
        }
        (!gates.is_empty() && self.agent.access == Access::Full).then(|| {
            format!(
                "{}; they run when you finish, at most {} times",
                gates.join(", "),
                guardrails.max_gate_rounds.get()
            )
        })
    }

    fn tests(&self) -> Option<String> {
        if !self.job.config().commands.enabled || self.agent.access == Access::Look {
            return None;
        }
        let found = test_commands(self.workspace);
        let told: Vec<String> = found.iter().map(|(command, file)| format!("`{command}` ({file})")).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn limits(&self) -> String {
        let mut limits = format!("{} turns", self.agent.max_steps);
        if let Some(seconds) = self.timeout {
            let _ = write!(
                limits,
                ", {}",
                if seconds % 60 == 0 { format!("{} min", seconds / 60) } else { format!("{seconds} s") }
            );
        }
        if let Some(budget) = self.job.config().costs.budget_usd {
            let _ = write!(limits, ", ${:.2}", budget.get());
        }
        limits
    }

    fn readable(&self) -> Option<String> {
        let extra = self.attached.iter().take(self.job.config().workspace.extra_dirs.len());
        let told: Vec<String> = extra.map(|folder| visible(&folder.path().display().to_string())).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn git(&self) -> Option<String> {
        let repository = self.job.repository.as_ref()?;
        let commits = repository.last_commits(COMMITS);
        let short = |(id, subject): &(String, String)| {
            let subject: String = visible(subject).chars().take(MAX_SUBJECT).collect();
            format!("{} {subject:?}", id.get(..7).unwrap_or(id))
        };
        let commits: Vec<String> = commits.iter().map(short).collect();
        if commits.is_empty() {
            return Some("no commit yet".to_owned());
        }
        let branch = repository.branch().map_or("no branch".to_owned(), |branch| visible(&branch));
        Some(format!("{branch}; last commits: {}", commits.join(", ")))
    }
}
