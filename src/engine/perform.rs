//! Calls that have passed all checks: they are planned, or executed.

use serde_json::{Map, Value};

use super::record::{Diffs, Target, describe};
use super::{CallOutcome, Caller, Cleared, Engine, Refusal, append};
use crate::event::{Class, Effects, Outcome, PlannedAction};
use crate::hooks::{HookEvent, Subject, ToolSubject};
use crate::plan::summarize_call;
use crate::tool::{Access, Progress, ToolResult};

impl Engine {
    /// Runs the call on the planned state and records it as a planned action. A call that fails is not
    /// planned.
    pub(super) async fn plan(&self, caller: Caller<'_>, cleared: Cleared) -> CallOutcome {
        let Cleared { tool, call, input, effects, .. } = cleared;
        let mut result = call.run(self.context.by(caller.access)).await;
        self.enforce(caller, tool.name(), &effects, &mut result);
        let has_run = effects.command.is_some() && result.progress != Progress::Recorded;
        if has_run && result.changes.is_empty() {
            // Nothing of it remains, so there is nothing to plan.
            self.post_hooks(caller, tool.name(), &input, &effects, &mut result).await;
            return CallOutcome { outcome: Outcome::Executed, result, effects, diffs: None };
        }
        let mut diffs = None;
        // A command that ran, failed, and changed files is part of the plan as well.
        if result.success || result.exit_code.is_some() {
            let shown = summarize_call(tool.name(), &input);
            let mut made = Diffs::of(&result);
            result.output = if has_run {
                format!("[DRY-RUN] Ran on the planned state.\n{}", result.output)
            } else {
                format!("[DRY-RUN] Would execute: {shown}\n{}", result.output)
            };
            self.tracker.lock().record(PlannedAction {
                step: caller.step,
                agent: caller.agent.to_owned(),
                tool_name: tool.name().to_owned(),
                description: describe(tool.name(), &effects, made.lines),
                tool_input: input.clone(),
                effects: effects.clone(),
                diff: std::mem::take(&mut made.whole),
                has_run,
            });
            diffs = Some(made);
            // Hooks run on the planned state as they would on the real one, but not for calls that were only
            // recorded.
            if effects.remote.is_none() && result.progress != Progress::Recorded {
                self.post_hooks(caller, tool.name(), &input, &effects, &mut result).await;
            }
        }
        CallOutcome { outcome: Outcome::Planned, result, effects, diffs }
    }

    pub(super) async fn execute(&self, caller: Caller<'_>, cleared: Cleared) -> CallOutcome {
        let Cleared { tool, call, input, effects, .. } = cleared;
        let mut result = call.run(self.context.by(caller.access)).await;
        self.enforce(caller, tool.name(), &effects, &mut result);
        self.post_hooks(caller, tool.name(), &input, &effects, &mut result).await;
        CallOutcome { outcome: Outcome::Executed, result, effects, diffs: None }
    }

    async fn post_hooks(
        &self,
        caller: Caller<'_>,
        tool: &str,
        input: &Value,
        effects: &Effects,
        result: &mut ToolResult,
    ) {
        let subject = Subject {
            agent: caller.agent,
            step: caller.step,
            tool: Some(ToolSubject { name: tool, input, effects, result: Some(result) }),
            details: Map::new(),
        };
        let verdict = self.hooks.run(HookEvent::PostToolUse, subject).await;
        append(result, &verdict.context);
    }
}

/// Checks what a call would do against what its caller may do at all.
pub(super) fn may(caller: Caller<'_>, effects: &Effects) -> Result<(), Refusal> {
    let agent = caller.agent;
    let reason = match (caller.access, &effects.command) {
        (Access::Full, _) | (Access::Trial, Some(_)) => return Ok(()),
        (Access::Look, Some(command)) if command.class == Class::Safe => return Ok(()),
        (Access::Look, Some(command)) => format!(
            "the agent {agent} runs only commands that read, such as `git log`, `git show` or `git blame`, but this one is {}: {}",
            command.class, command.reason
        ),
        (_, None) if effects.is_read_only() => return Ok(()),
        (_, None) => {
            format!("the agent {agent} is not allowed to change files; describe the change in your answer")
        }
    };
    Err(Refusal::Guardrail(reason, Target::of(effects)))
}
