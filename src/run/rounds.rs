//! Rounds: each starts a new conversation with the notes of the previous one, until all checks pass.

use super::acceptance::Acceptance;
use super::agent_run::AgentRun;
use super::gate_outputs::outputs;
use super::records;
use crate::agent::{Session, SessionOutcome, StepOffset};
use crate::engine::truncate_middle;
use crate::event::{Event, Line, NoticeLevel, StopReason};
use crate::gates::GateOutcome;
use crate::sessions::Resumed;

/// Most tokens of the changes that a round is shown.
const MAX_CHANGES: usize = 8_000;
/// Most tokens of the notes of one round.
const MAX_NOTES: usize = 500;
/// Rounds whose notes are shown: the last ones.
const ROUNDS_TOLD: usize = 5;

const NOTES: &str = "End with notes for the next round: what you did, what you found out, what is left.";

impl<'a> AgentRun<'a> {
    /// Works until every required gate passes, or rounds, money or time are used up.
    pub(super) async fn rounds<'s>(
        &'s self,
        most: u32,
        task: &str,
        session: impl Fn(StepOffset) -> Session<'s>,
        acceptance: impl Fn(u32) -> Acceptance<'s>,
    ) -> SessionOutcome
    where
        'a: 's,
    {
        let mut notes: Vec<String> = Vec::new();
        let checks = &self.request.job.config().guardrails.quality_gates;
        let checks: String = checks
            .iter()
            .filter(|gate| gate.required)
            .map(|gate| format!("- `{}`\n", gate.command))
            .collect();
        let mut told = format!("{task}\n\nThe work is done when these commands succeed:\n{checks}{NOTES}");
        let mut round = (self.rounds_before() + 1).min(most);
        loop {
            let mut ended = session(self.since()).run(&told, &mut acceptance(round)).await;
            let failed = match ended.reason {
                StopReason::GatesFailed => self.run.failed_gates(),
                // That was the end of a round and not of the work.
                StopReason::MaxSteps | StopReason::ContextFull | StopReason::Loop
                    if ended.error.is_none() =>
                {
                    match self.gates(round).await {
                        Ok(outcomes) => {
                            self.run.tell_outcomes(&outcomes);
                            if self.run.is_cut_off(&records(&outcomes)) {
                                let is_late = self.run.time_limit.is_reached();
                                let reason =
                                    if is_late { StopReason::Timeout } else { StopReason::UserInterrupt };
                                return SessionOutcome { reason, ..ended };
                            }
                            self.run.failed_gates()
                        }
                        Err(()) => return ended,
                    }
                }
                _ => return ended,
            };
            if failed.is_empty() {
                ended.reason = StopReason::LlmDone;
                return ended;
            }
            let names: Vec<&str> = failed.iter().map(|gate| gate.record.name.as_str()).collect();
            let names = names.join(", ");
            if round >= most {
                let notice = format!("all {most} rounds are used up; still failing: {names}");
                self.run.events.notice(NoticeLevel::Warning, notice);
                return SessionOutcome { reason: StopReason::GatesFailed, ..ended };
            }
            self.run.events.notice(
                NoticeLevel::Info,
                format!("round {round} of at most {most} ended; failing: {names}"),
            );
            notes.push(format!("Round {round}: {}", truncate_middle(ended.message.trim(), MAX_NOTES)));
            round += 1;
            told = self.next(task, (round, most), &failed, &notes);
        }
    }

    /// Returns how many rounds were over when a resumed run was interrupted.
    fn rounds_before(&self) -> u32 {
        let round = |line: &Line| match &line.event {
            Event::Gate(gate) => Some(gate.round),
            _ => None,
        };
        self.request.resumed.iter().flat_map(Resumed::past).filter_map(round).max().unwrap_or(0)
    }

    /// Where the steps of the next round begin.
    fn since(&self) -> StepOffset {
        let steps = self.run.collector.look(|collected| collected.steps.clone());
        let of_agent = steps.iter().filter(|step| step.agent == self.request.agent.name);
        StepOffset {
            step: of_agent.map(|step| step.step).max().unwrap_or(0),
            subagent_steps: self.budget.steps(),
        }
    }

    fn next(
        &self,
        task: &str,
        (round, most): (u32, u32),
        failed: &[GateOutcome],
        notes: &[String],
    ) -> String {
        let mut text = format!(
            "{task}\n\n[ROUND {round} of at most {most}] Others have worked on this before you, and you see \
             the checkout as they left it. The work is done when these checks pass:\n"
        );
        let failed: Vec<&GateOutcome> = failed.iter().collect();
        text += &self.run.engine.masker.mask_known(&outputs(&failed, &self.run.limits));
        text += &format!("\nChanges so far:\n{}", self.run.diff(MAX_CHANGES));
        text += "\nTheir notes, which may be wrong:\n";
        for note in &notes[notes.len().saturating_sub(ROUNDS_TOLD)..] {
            text += &format!("- {note}\n");
        }
        text + "\n" + NOTES
    }
}
