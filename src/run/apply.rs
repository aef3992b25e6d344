//! Applies a reviewed plan: the files exactly, its commands if that is wanted, then the gates for real.

use super::{Outcome, Run};
use crate::agent::SessionOutcome;
use crate::base::verbose_log::detail;
use crate::engine::Caller;
use crate::event::{NoticeLevel, StopReason, ToolCall};
use crate::plan::{Applied, ApplyError, JournalError, Plan};
use crate::request::ApplyRequest;
use crate::tool::Access;

impl Run<'_> {
    pub(super) async fn apply(&self, request: &ApplyRequest) -> Outcome {
        let ApplyRequest { plan, digest, run_commands, .. } = request;
        // Whether the checkout holds local changes has to be known before there are some of ours.
        let _ = self.engine.baseline_ready.clone().wait_for(|ready| *ready).await;
        let (reason, message) = match self.change_files(plan, digest.as_deref()) {
            Err(error) => {
                self.events.notice(NoticeLevel::Error, error.to_string());
                // A checkout that is stuck halfway is no "nothing was written".
                let stuck = matches!(error, ApplyError::Journal(JournalError::Stuck { .. }));
                let reason = if stuck { StopReason::CheckoutChanged } else { StopReason::NotApplied };
                (reason, error.to_string())
            }
            Ok(Applied::Already) => {
                let message = format!("The plan {} is already applied.", short(&plan.digest));
                (StopReason::Applied, message)
            }
            Ok(Applied::Done(changes)) => {
                let files = if changes.len() == 1 { "file" } else { "files" };
                let message = format!("Applied the plan {}: {} {files}.", short(&plan.digest), changes.len());
                let succeeded = !*run_commands || self.run_commands(plan).await;
                let reason = match self.gates(1).await.map(|outcomes| self.tell_gates(outcomes)) {
                    _ if !succeeded => StopReason::CommandsFailed,
                    Ok(gates) if gates.iter().all(|gate| gate.passed || !gate.required) => {
                        StopReason::Applied
                    }
                    Ok(_) => StopReason::GatesFailed,
                    Err(()) => StopReason::GatesNotRun,
                };
                (reason, message)
            }
        };
        Outcome { ended: SessionOutcome { reason, message, error: None }, structured: None, cost_usd: None }
    }

    fn change_files(&self, plan: &Plan, digest: Option<&str>) -> Result<Applied, ApplyError> {
        let may_write = |path: &_| Ok(self.engine.guardrails.check_write(path)?);
        let checked = plan.check(&self.disk, digest, may_write)?;
        if checked.already > 0 {
            let told = format!("{} files already have their planned content", checked.already);
            self.events.notice(NoticeLevel::Info, told);
        }
        let applied = checked.apply(&self.disk, &|step| detail!("apply: {step:?}"))?;
        if let (Applied::Done(changes), Some(tracked)) = (&applied, &self.tracked) {
            tracked.absorb(changes);
        }
        Ok(applied)
    }

    /// Runs the plan's commands by the same pipeline as the agent's: classified again, behind the walls. Returns whether
    /// all of them succeeded.
    async fn run_commands(&self, plan: &Plan) -> bool {
        let mut succeeded = true;
        for (index, command) in plan.commands.iter().enumerate() {
            let call = ToolCall {
                id: format!("command-{}", index + 1),
                name: command.tool.clone(),
                arguments: command.input.clone(),
            };
            let step = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let caller = Caller { agent: &plan.agent, step, allowed: None, access: Access::Full };
            // A plan may name a tool, but none that does something else than to run the command that people see.
            let is_as_shown = self.engine.effects(&call).is_none_or(|effects| {
                effects.command.is_some_and(|found| found.line == command.command && found.cwd == command.cwd)
            });
            if !is_as_shown {
                let told = format!(
                    "the plan shows the command `{}`, but its input would run a different one",
                    command.command
                );
                self.events.notice(NoticeLevel::Error, told);
            }
            if !is_as_shown || !self.engine.call(caller, &call).await.success {
                succeeded = false;
            }
        }
        succeeded
    }
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
