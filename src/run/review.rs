//! What stands between an agent's last words and the end: the form of the answer, tests, quality gates.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::driver::AgentRun;
use super::evaluate::Evaluator;
use super::inspect::{self, Inspector};
use super::structured::Structured;
use crate::agent::{AnswerCheck, AnswerVerdict};
use crate::config;
use crate::event::{Finding, GateRecord, Severity, Status, StopReason};

/// How often an answer of the wrong form is sent back.
const MAX_FORM_REVIEWS: u32 = 2;

/// How often the agent goes back to work because of the self-check.
const MAX_EVALUATIONS: u32 = 2;

const UNTESTED: &str = "You have edited files without running tests since. Run the relevant tests with \
                        run_command (a dry run records them), then finish. If there are none, say so and \
                        finish.";

/// Looks at final answers for a run.
pub(super) struct Reviewer<'a> {
    agent_run: &'a AgentRun<'a>,
    structured: Option<&'a Structured>,
    evaluator: Evaluator,
    inspector: Option<&'a Inspector>,
    reviews: u32,
    evaluations: u32,
    forms: u32,
    asked_for_tests: bool,
    round: u32,
    gate_rounds: u32,
}

impl<'a> Reviewer<'a> {
    /// Gates are counted from `round` on.
    pub(super) fn new(
        agent_run: &'a AgentRun<'a>,
        structured: Option<&'a Structured>,
        evaluator: Evaluator,
        inspector: Option<&'a Inspector>,
        round: u32,
    ) -> Self {
        Self {
            agent_run,
            structured,
            evaluator,
            inspector,
            reviews: 0,
            evaluations: 0,
            forms: 0,
            asked_for_tests: false,
            round,
            gate_rounds: 0,
        }
    }

    async fn look(&mut self, answer: &str) -> AnswerVerdict {
        if let Some(complaint) = self.structured.and_then(|structured| structured.complaint(answer)) {
            self.forms += 1;
            if self.forms > MAX_FORM_REVIEWS {
                return AnswerVerdict::GiveUp(Status::Failed, StopReason::InvalidOutput);
            }
            return AnswerVerdict::SendBack(complaint);
        }
        let rules = &self.agent_run.request.job.config().guardrails;
        if rules.require_test_after_edit && !self.asked_for_tests && self.agent_run.run.engine.is_untested() {
            self.asked_for_tests = true;
            return AnswerVerdict::SendBack(UNTESTED.to_owned());
        }
        match self.gates().await {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.evaluate(answer).await {
            AnswerVerdict::Accept => self.inspect(answer).await,
            opinion => opinion,
        }
    }

    /// The review. What it finds goes back to the agent as often as the configuration says.
    async fn inspect(&mut self, answer: &str) -> AnswerVerdict {
        let Some(inspector) = self.inspector else { return AnswerVerdict::Accept };
        if self.agent_run.budget.is_used_up() || self.agent_run.run.cancel.is_cancelled() {
            return AnswerVerdict::Accept;
        }
        self.reviews += 1;
        let Some(record) = inspector.inspect(self.agent_run, answer, self.reviews).await else {
            return AnswerVerdict::Accept;
        };
        let rules = &self.agent_run.request.job.config().review;
        let of = |least: Severity| record.findings.iter().filter(move |finding| finding.severity >= least);
        let to_mend: Vec<&Finding> = of(rules.fix).collect();
        if !to_mend.is_empty() && u64::from(self.reviews) <= rules.max_fix_passes.get() {
            return AnswerVerdict::SendBack(inspect::complaint(&to_mend));
        }
        match rules.fail_on {
            Some(least) if of(least).next().is_some() => {
                AnswerVerdict::GiveUp(Status::Partial, StopReason::FindingsLeft)
            }
            _ => AnswerVerdict::Accept,
        }
    }

    async fn evaluate(&mut self, answer: &str) -> AnswerVerdict {
        let wanted = self.agent_run.request.job.config().evaluation;
        // Where there is nothing left to ask with, the answer stands.
        if wanted == config::Evaluation::Off
            || self.agent_run.budget.is_used_up()
            || self.agent_run.run.cancel.is_cancelled()
        {
            return AnswerVerdict::Accept;
        }
        self.evaluations += 1;
        match self.evaluator.evaluate(self.agent_run, answer).await {
            Some(found) if found.completed => AnswerVerdict::Accept,
            Some(found) if wanted == config::Evaluation::Full && self.evaluations <= MAX_EVALUATIONS => {
                AnswerVerdict::SendBack(found.complaint())
            }
            Some(_) => AnswerVerdict::GiveUp(Status::Partial, StopReason::NotConvinced),
            // No opinion is no reason to doubt.
            None => AnswerVerdict::Accept,
        }
    }

    async fn gates(&mut self) -> AnswerVerdict {
        self.gate_rounds += 1;
        let failed: Vec<GateRecord> = match self.agent_run.gates(self.round + self.gate_rounds - 1).await {
            Ok(records) => records.into_iter().filter(|gate| gate.required && !gate.passed).collect(),
            // The run cannot check what it has to: no round of the agent's changes that.
            Err(()) => return AnswerVerdict::GiveUp(Status::Failed, StopReason::GatesFailed),
        };
        if failed.is_empty() {
            return AnswerVerdict::Accept;
        }
        if u64::from(self.gate_rounds) >= self.agent_run.request.job.config().guardrails.max_gate_rounds.get()
        {
            return AnswerVerdict::GiveUp(Status::Partial, StopReason::GatesFailed);
        }
        AnswerVerdict::SendBack(complaint(&failed))
    }
}

impl AnswerCheck for Reviewer<'_> {
    fn check<'a>(&'a mut self, answer: &'a str) -> BoxFuture<'a, AnswerVerdict> {
        self.look(answer).boxed()
    }
}

fn complaint(failed: &[GateRecord]) -> String {
    let mut text = "Required quality gates failed. Fix the cause, then finish again.\n".to_owned();
    if failed.iter().any(|gate| gate.predicted) {
        text += "They ran on a copy of the checkout with your planned edits.\n";
    }
    for gate in failed {
        text +=
            &format!("\n{} (`{}`): exit code {}\n{}\n", gate.name, gate.command, gate.exit_code, gate.output);
    }
    text
}
