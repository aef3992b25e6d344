//! The plan file `plan.json`: the exact plan and its digest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shell::with_variables;
use workspace::WorkspacePath;

use super::made::Made;
use super::planned_file::PlanFile;
use crate::base::time_limit::TimeLimit;
use crate::event::PlannedAction;
use crate::event::{Base, Block, Class, GateRecord, HookRecord, Usage};

/// Version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// Largest file of a plan that is read, in bytes.
pub const MAX_PLAN: u64 = 100_000_000;

/// The plan that another one follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedOver {
    /// The digest of the plan before.
    pub digest: String,
    /// The commit of the branch that the plan before was made for.
    pub commit: String,
    /// Planned files that others had changed as well, and that were merged.
    pub merged: Vec<WorkspacePath>,
}

/// A command of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCommand {
    /// The command line, with the variables that are set for it.
    pub command: String,
    /// The folder in which it runs.
    pub cwd: WorkspacePath,
    /// Its command class.
    pub class: Class,
    /// What decided the class.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The tool that runs it.
    #[serde(default = "run_command", skip_serializing_if = "is_run_command")]
    pub tool: String,
    /// All arguments of the call, including timeout and variables.
    pub input: Value,
    /// Whether it ran when the plan was made. Its changes are among the plan's files then, and nothing runs it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_run: bool,
}

/// Returns the tool that nearly all commands are for, which the file therefore omits.
fn run_command() -> String {
    "run_command".to_owned()
}

fn is_run_command(tool: &str) -> bool {
    tool == run_command()
}

impl PlannedCommand {
    /// Returns `true` if the call runs the command line that people see, which sets its variables.
    pub(super) fn is_as_shown(&self) -> bool {
        let text = |name: &str| self.input.get(name).and_then(Value::as_str);
        let runs = match self.tool.as_str() {
            "run_command" => {
                let variables = match self.input.get("env") {
                    Some(given) => BTreeMap::deserialize(given).ok(),
                    None => Some(BTreeMap::new()),
                };
                text("command").zip(variables).and_then(|(line, env)| with_variables(line, &env).ok())
            }
            "run_powershell" => text("script").map(str::to_owned),
            // Other tools state their command line in their effects before they run.
            _ => return true,
        };
        runs.as_ref() == Some(&self.command)
    }

    fn of(action: &PlannedAction) -> Option<Self> {
        let command = action.effects.command.as_ref()?;
        Some(Self {
            command: command.line.clone(),
            cwd: command.cwd.clone(),
            class: command.class,
            reason: command.reason.clone(),
            tool: action.tool_name.clone(),
            input: action.tool_input.clone(),
            has_run: action.has_run,
        })
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// The commit that the plan is based on; `null` outside of a repository.
    pub base: Option<Base>,
    /// What the agent would do, in order.
    pub actions: Vec<PlannedAction>,
    /// The combined changes, file by file.
    pub files: Vec<PlanFile>,
    /// Commands that would run, in order.
    pub commands: Vec<PlannedCommand>,
    /// Quality gates on the planned state.
    pub gates: Vec<GateRecord>,
    /// Calls that guardrails stopped.
    pub guardrails: Vec<Block>,
    /// Hooks that ran.
    pub hooks: Vec<HookRecord>,
    /// Tokens used.
    pub usage: Usage,
    /// Why the plan is incomplete: the run ended before it was done, or the quality gates did not run. Such a plan is not
    /// applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The workflow run that has made the plan; absent outside of GitHub Actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// The plan that this one follows from, where its branch has moved since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_over: Option<CarriedOver>,
    /// SHA-256 over the canonical JSON (RFC 8785) of `task`, `agent`, `model`, `base`, `files`, `commands` and, where they
    /// are there, `incomplete`, `carried_over`, and `made` with `gates`, in hexadecimal. Numbers of the commands' inputs that
    /// RFC 8785 cannot tell apart, which are integers from 2^53 on and whole numbers with a decimal point, follow in the order of the
    /// canonical JSON: each as a zero byte, its index among all numbers of the inputs, a colon, and as it is written.
    pub digest: String,
}

/// Parts that a plan is made from.
pub struct Planned<'a> {
    /// Text of the task.
    pub task: &'a str,
    /// Name of the agent.
    pub agent: &'a str,
    /// Name of the model.
    pub model: &'a str,
    /// Commit that the plan is based on.
    pub base: Option<Base>,
    /// Actions of the run, in order.
    pub actions: Vec<PlannedAction>,
    /// Combined changes of the run, file by file.
    pub files: Vec<PlanFile>,
}

impl Plan {
    /// Creates the plan and its digest. Gates, guardrails, hooks and usage are left empty, for the caller to
    /// fill.
    pub fn new(planned: Planned<'_>) -> Self {
        let mut plan = Self::unsealed(planned);
        plan.seal();
        plan
    }

    /// Creates the plan without its digest.
    pub fn unsealed(planned: Planned<'_>) -> Self {
        let commands = planned.actions.iter().filter_map(PlannedCommand::of).collect();
        Self {
            schema_version: SCHEMA_VERSION,
            task: planned.task.to_owned(),
            agent: planned.agent.to_owned(),
            model: planned.model.to_owned(),
            base: planned.base,
            actions: planned.actions,
            files: planned.files,
            commands,
            gates: Vec::new(),
            guardrails: Vec::new(),
            hooks: Vec::new(),
            usage: Usage::default(),
            incomplete: None,
            made: None,
            carried_over: None,
            digest: String::new(),
        }
    }

    /// Gives the plan its digest.
    pub fn seal(&mut self) {
        self.digest = self.computed_digest();
    }

    /// Gives the plan its digest, or none if the time for the report of a run is up before that.
    pub(crate) fn seal_until(&mut self, time_limit: &TimeLimit) {
        self.digest = self.computed_until(time_limit).unwrap_or_default();
    }

    /// Returns whether the plan has its digest.
    pub(crate) fn is_sealed(&self) -> bool {
        !self.digest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use workspace::{ChangeSet, FileChange, FileState, Mode};

    use super::*;

    fn plan(after: &[u8]) -> Plan {
        let state = |content: &[u8]| FileState { content: content.into(), mode: Mode::Regular };
        let path = WorkspacePath::parse("a.txt").expect("a plain path");
        let change = FileChange::new(path, Some(state(b"one\n")), Some(state(after)));
        let changes = ChangeSet::new(change.into_iter().collect());
        let base = Base { commit: "c".repeat(40), branch: Some("main".into()), dirty: false };
        let planned = Planned {
            task: "t",
            agent: "build",
            model: "m",
            base: Some(base),
            actions: vec![],
            files: changes.iter().map(PlanFile::new).collect(),
        };
        Plan::new(planned)
    }

    #[test]
    fn the_digest_covers_what_would_be_applied_and_what_is_told_of_it() {
        let original = plan(b"two\n");
        assert_eq!(original.digest.len(), 64);
        let reworded: [fn(&mut Plan); 3] = [
            |plan| plan.task = "approved: merge at once".into(),
            |plan| plan.agent = "release-team".into(),
            |plan| plan.model = "human".into(),
        ];
        for change in reworded {
            let mut other = original.clone();
            change(&mut other);
            assert_ne!(other.computed_digest(), original.digest);
        }
        let mut dearer = original.clone();
        dearer.usage.input += 1;
        assert_eq!(dearer.computed_digest(), original.digest);
        assert_ne!(plan(b"three\n").digest, original.digest);
        let mut moved = original.clone();
        moved.base.as_mut().expect("a base").commit = "d".repeat(40);
        assert_ne!(moved.computed_digest(), original.digest);
        let mut interrupted = original.clone();
        interrupted.incomplete = Some("the run was interrupted".into());
        interrupted.seal();
        assert_ne!(interrupted.digest, original.digest);
        interrupted.incomplete = None;
        assert_ne!(interrupted.computed_digest(), interrupted.digest, "nobody can strike it out");
    }

    #[test]
    fn numbers_that_floats_do_not_tell_apart_have_digests_of_their_own() {
        let with = |input: &str| {
            let input = serde_json::from_str(input).expect("JSON");
            let command = PlannedCommand {
                command: "ls".into(),
                cwd: WorkspacePath::root(),
                class: Class::Safe,
                reason: String::new(),
                tool: run_command(),
                input,
                has_run: false,
            };
            Plan { commands: vec![command], ..plan(b"two\n") }.computed_digest()
        };
        let different = [
            r#"{"n": 9007199254740992}"#,
            r#"{"n": 9007199254740993}"#,
            r#"{"n": -9007199254740993}"#,
            r#"{"n": 9007199254740992.0}"#,
            r#"{"n": [{"m": 18446744073709551615}]}"#,
            r#"{"n": [{"m": 18446744073709551614}]}"#,
            r#"{"n": 1}"#,
            r#"{"n": 1.0}"#,
            r#"{"a": 1, "b": 1.0}"#,
            r#"{"a": 1.0, "b": 1}"#,
            r#"{"a": 9007199254740992, "b": 9007199254740993}"#,
            r#"{"a": 9007199254740993, "b": 9007199254740992}"#,
        ];
        let digests: std::collections::BTreeSet<String> = different.into_iter().map(with).collect();
        assert_eq!(digests.len(), different.len());
        let one = r#"{"a": 9007199254740993, "b": [1, 2.5]}"#;
        assert_eq!(with(one), with(r#"{"b": [1, 2.5], "a": 9007199254740993}"#), "order says nothing");
    }

    #[test]
    fn a_plan_survives_its_file() {
        for after in [&b"two\n"[..], b"\xff\xfe latin", b"\0binary", b""] {
            let original = plan(after);
            let text = serde_json::to_string_pretty(&original).expect("a plan is JSON");
            let read: Plan = serde_json::from_str(&text).expect("and reads back");
            assert_eq!(read, original);
            assert_eq!(read.computed_digest(), original.digest);
        }
    }
}
