//! Gates as an acceptance check: what each comes to against the state before the run, and what the agent is told of it.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::agent_run::AgentRun;
use super::gate_outputs::{named, outputs};
use super::records;
use crate::agent::AnswerVerdict;
use crate::config::TestIntegrity;
use crate::event::{GateRecord, GateVerdict, NoticeLevel, StopReason, TestChanges};
use crate::gates::GateOutcome;
use crate::tool::OutputLimits;

/// Runs the gates before an answer is accepted.
pub(super) struct GateCheck {
    /// The round of the agent's work, from which the runs of the gates are counted.
    round: u32,
    /// Number of runs of the gates that reports know of: of all these, only the last one counts.
    runs: u32,
    /// Number of rounds that the agent has used up, which is less where it was asked for what costs it none.
    gate_rounds: u32,
    /// Number of calls that may have changed something when the gates last ran, and their outcomes.
    last: Option<(u64, Vec<GateOutcome>)>,
    /// What is to be said of gates that fail as they did before the run.
    remark: Option<String>,
    told_of_old_failures: bool,
    told_of_lost_tests: bool,
    /// What has been reported, so that it is not reported twice.
    reported: BTreeSet<String>,
}

impl GateCheck {
    pub(super) fn new(round: u32) -> Self {
        Self {
            round,
            runs: 0,
            gate_rounds: 0,
            last: None,
            remark: None,
            told_of_old_failures: false,
            told_of_lost_tests: false,
            reported: BTreeSet::new(),
        }
    }

    pub(super) async fn look(&mut self, agent_run: &AgentRun<'_>, can_answer: bool) -> AnswerVerdict {
        self.gate_rounds += 1;
        let most = agent_run.request.job.config().guardrails.max_gate_rounds.get();
        let is_last = u64::from(self.gate_rounds) >= most;
        let mutations = agent_run.run.engine.mutations.load(Ordering::Relaxed);
        let unchanged = self.last.take_if(|(at, _)| *at == mutations).map(|(_, outcomes)| outcomes);
        let is_rerun = unchanged.is_none();
        let told = unchanged.as_deref().map(records);
        let ran = match unchanged {
            Some(outcomes) => Ok(outcomes),
            None => self.run_gates(agent_run).await,
        };
        let ran = match ran {
            Ok(outcomes) if is_last || !can_answer => self.second_try(agent_run, outcomes).await,
            ran => ran,
        };
        // The run cannot check what it has to: no round of the agent's changes that.
        let Ok(mut outcomes) = ran else { return AnswerVerdict::GiveUp(StopReason::GatesNotRun) };
        if told.as_ref() != Some(&records(&outcomes)) {
            self.runs += 1;
            let run = self.round + self.runs - 1;
            for outcome in &mut outcomes {
                outcome.record.round = run;
            }
            agent_run.run.tell_outcomes(&outcomes);
        }
        let records = records(&outcomes);
        let is_failed = |gate: &&GateOutcome| gate.record.required && !gate.record.passed;
        let failed: Vec<GateOutcome> = outcomes.iter().filter(is_failed).cloned().collect();
        if agent_run.run.is_cut_off(&records) {
            return AnswerVerdict::GiveUp(StopReason::UserInterrupt);
        }
        self.last = Some((mutations, outcomes));
        let (old, new): (Vec<_>, Vec<_>) =
            failed.iter().partition(|gate| gate.record.verdict == GateVerdict::FailedBefore);
        if !new.is_empty() {
            if is_last {
                return AnswerVerdict::GiveUp(StopReason::GatesFailed);
            }
            return AnswerVerdict::SendBack(complaint(
                &new,
                &agent_run.run.limits,
                is_rerun,
                (self.gate_rounds, most),
            ));
        }
        match self.lost_tests(agent_run, &records, can_answer) {
            AnswerVerdict::Accept => self.old_failures(agent_run, &old),
            opinion => opinion,
        }
    }

    /// Runs the gates and compares them with the state before the run.
    async fn run_gates(&self, agent_run: &AgentRun<'_>) -> Result<Vec<GateOutcome>, ()> {
        let list = &agent_run.request.job.config().guardrails.quality_gates;
        if !agent_run.skips_gates() {
            agent_run.base.prepare(agent_run, list).await;
        }
        let mut outcomes = agent_run.gates(self.round + self.runs).await?;
        for outcome in &mut outcomes {
            // Rounds are there to make the checks pass, whatever they said before.
            if !outcome.record.passed && agent_run.request.rounds.is_some() {
                continue;
            }
            if let Some(gate) = list.iter().find(|gate| gate.name == outcome.record.name) {
                let before = agent_run.base.outcome(agent_run, gate, outcome).await;
                outcome.judge(before.as_ref());
            }
        }
        Ok(outcomes)
    }

    /// Runs required gates again that would fail the run, on the state on which they began: one that passes there is flaky.
    async fn second_try(
        &self,
        agent_run: &AgentRun<'_>,
        mut outcomes: Vec<GateOutcome>,
    ) -> Result<Vec<GateOutcome>, ()> {
        let round = self.round + self.runs;
        let list = &agent_run.request.job.config().guardrails.quality_gates;
        for first in &mut outcomes {
            let again = agent_run.run.passing_again(list, first, round).await?;
            let Some((at, mut second)) = again else { continue };
            let before = agent_run.base.outcome(agent_run, &list[at], &second).await;
            second.judge(before.as_ref());
            second.is_second_try_of(first);
            if second.record.passed {
                *first = second;
            }
        }
        Ok(outcomes)
    }

    /// Tells the agent once of tests that ran before the run and do not now, and of tests that newly fail, though the gates
    /// pass. After that, they are only reported.
    fn lost_tests(
        &mut self,
        agent_run: &AgentRun<'_>,
        records: &[GateRecord],
        can_answer: bool,
    ) -> AnswerVerdict {
        let run = &agent_run.run;
        if run.request.config().tests.integrity == TestIntegrity::Off {
            return AnswerVerdict::Accept;
        }
        let (mut text, mut all) = (String::new(), TestChanges::default());
        for gate in records {
            let Some(tests) = gate.lost_tests() else { continue };
            if let Some(unclear) = &tests.unclear {
                text += &format!("- {}: nothing shows that they run: {unclear}\n", gate.name);
                all.unclear = Some(unclear.clone());
            }
            all.new_failing += tests.new_failing;
            all.newly_failing.count += tests.newly_failing.count;
            all.gone.count += tests.gone.count;
            all.newly_skipped.count += tests.newly_skipped.count;
            for (what, list) in tests.lost_lists() {
                text += &format!("- {}: {what}: {}\n", gate.name, named(list));
            }
        }
        if text.is_empty() {
            return AnswerVerdict::Accept;
        }
        if can_answer && !self.told_of_lost_tests && !run.cancel.is_cancelled() {
            self.told_of_lost_tests = true;
            // The gates pass, so this is none of their rounds.
            self.gate_rounds -= 1;
            let wanted = match (all.has_lost(), all.newly_failing.is_empty()) {
                (true, false) => "run and pass",
                (true, true) => "run",
                (false, _) => "pass",
            };
            return AnswerVerdict::SendBack(format!(
                "The gates pass, but {}:\n{text}Make them {wanted} unless your task asks for this, then finish again; \
                 explain those that you leave, for the people who review this.",
                all.told_losses("your change")
            ));
        }
        self.report(
            agent_run,
            format!("the gates pass, but {}:\n{}", all.told_losses("the run"), text.trim_end()),
        );
        AnswerVerdict::Accept
    }

    /// Reports gates that fail as they did before the run, and keeps what is to be said of them in what the agent is asked
    /// anyway: nothing that it did is to blame, so it pays no turn for them.
    fn old_failures(&mut self, agent_run: &AgentRun<'_>, failed: &[&GateOutcome]) -> AnswerVerdict {
        self.remark = None;
        if failed.is_empty() {
            return AnswerVerdict::Accept;
        }
        // It is none of its rounds either.
        self.gate_rounds -= 1;
        let names: Vec<&str> = failed.iter().map(|gate| gate.record.name.as_str()).collect();
        let names = names.join(", ");
        self.report(
            agent_run,
            format!(
                "required gates failed as they did before the run, and the run does not fail because of them: {names}"
            ),
        );
        let told = || format!("\n{}", outputs(failed, &agent_run.run.limits));
        let known = if agent_run.base.is_told() { String::new() } else { told() };
        self.remark = Some(format!(
            "These gates fail just as they did before your change: {names}. If your task or your change is meant to make them \
             pass, continue; otherwise leave them as they are.{known}"
        ));
        AnswerVerdict::Accept
    }

    /// Returns what is to be said of gates that fail as before; the first time only.
    pub(super) fn remark(&mut self) -> Option<String> {
        let remark = self.remark.take().filter(|_| !self.told_of_old_failures);
        self.told_of_old_failures |= remark.is_some();
        remark
    }

    fn report(&mut self, agent_run: &AgentRun<'_>, told: String) {
        if self.reported.insert(told.clone()) {
            agent_run.run.events.notice(NoticeLevel::Warning, told);
        }
    }
}

fn complaint(
    failed: &[&GateOutcome],
    limits: &OutputLimits,
    is_rerun: bool,
    (round, most): (u32, u64),
) -> String {
    let mut text = "Required quality gates failed. Fix the cause, then finish again.".to_owned();
    text += &format!(" This was round {round} of {most}.\n");
    if !is_rerun {
        text += "Nothing has changed since they last ran, so they were not run again.\n";
    } else if failed.iter().any(|gate| gate.record.predicted) {
        text += "They ran on a copy of the checkout with your planned edits.\n";
    }
    text + &outputs(failed, limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::outcome_of;

    fn gate(name: &str, output: &str) -> GateOutcome {
        let mut gate = outcome_of(&format!("make {name}"), 2, output);
        name.clone_into(&mut gate.record.name);
        gate.record.predicted = true;
        gate
    }

    #[test]
    fn the_same_error_is_told_once_with_the_round() {
        let failed = [
            gate("build", "src/a.c:3:1: error: no\nmake: *** [a.o] Error 1"),
            gate("test", "src/a.c:3:1: error: no"),
            gate("lint", "src/b.c:9:1: error: other"),
        ];
        let limits = OutputLimits { lines: 200, tokens: 5_000, kept: None };
        assert_eq!(
            complaint(&failed.iter().collect::<Vec<_>>(), &limits, true, (1, 3)),
            "Required quality gates failed. Fix the cause, then finish again. This was round 1 of 3.\nThey ran on a copy of \
             the checkout with your planned edits.\n\nbuild (`make build`): exit code 2\nsrc/a.c:3:1: error: no\nmake: *** [a.o] \
             Error 1\n\ntest (`make test`): exit code 2\n(the same errors as build)\n\nlint (`make lint`): exit code \
             2\nsrc/b.c:9:1: error: other\n"
        );
        let again = complaint(&[&failed[2]], &limits, false, (2, 3));
        assert!(again.contains("round 2 of 3.\nNothing has changed since they last ran"), "{again}");
    }
}
