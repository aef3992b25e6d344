//! Acceptance checks between an agent's final answer and the end of the run: the form of the answer, tests, quality gates.

use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::agent_run::AgentRun;
use super::code_review::{self, CodeReview, NotChecked};
use super::gate_check::GateCheck;
use super::integrity::{self, demand_less};
use super::pull_review::PullReview;
use super::recipe_check::RecipeCheck;
use super::self_check::SelfCheck;
use super::structured::Structured;
use super::test_proof::ProofCheck;
use crate::agent::{AnswerCheck, AnswerVerdict};
use crate::config;
use crate::event::{Expectation, Finding, NoticeLevel, Severity, StopReason};

/// How often an answer of the wrong form is sent back.
const MAX_FORM_REVIEWS: u32 = 2;

/// How often the agent goes back to work because of the self-check.
const MAX_EVALUATIONS: u32 = 2;

const UNTESTED: &str = "You have edited files without running tests since. Run the relevant tests with \
                        run_command, then finish. If there are none, say so and \
                        finish.";

const UNCHANGED: &str = "Nothing has changed, but this task is expected to change files. If an edit failed, find out why and make it \
                         in another way. If there really is nothing to change, say why, and finish again.";

const CHECKLIST: &str = "Before you end, check your work against the task, point by point: for each, is it done, and which \
                         command or test did you see pass that shows it? If something is missing or unseen, do it now.";

const STANDS: &str =
    " Your answer stands, and what you reply now is added to it: say only what it does not say yet.";

const AGAIN: &str = " Then give your final answer again, in its form.";

/// Looks at final answers for a run.
#[expect(clippy::struct_excessive_bools, reason = "complaints that are made once, independent of each other")]
pub(super) struct Acceptance<'a> {
    agent_run: &'a AgentRun<'a>,
    structured: Option<&'a Structured>,
    self_check: SelfCheck,
    code_review: Option<&'a CodeReview>,
    reviews: u32,
    evaluations: u32,
    forms: u32,
    asked_for_tests: bool,
    gates: GateCheck,
    is_checked: bool,
    asked_for_changes: bool,
    told_of_tests: bool,
    /// The pull request, if the answer has to be findings in it.
    pull_review: Option<&'a PullReview>,
    proof: ProofCheck,
    recipe: RecipeCheck,
}

impl<'a> Acceptance<'a> {
    /// Gates are counted from `round` on.
    pub(super) fn new(
        agent_run: &'a AgentRun<'a>,
        structured: Option<&'a Structured>,
        self_check: SelfCheck,
        code_review: Option<&'a CodeReview>,
        round: u32,
    ) -> Self {
        Self {
            agent_run,
            structured,
            self_check,
            code_review,
            reviews: 0,
            evaluations: 0,
            forms: 0,
            asked_for_tests: false,
            gates: GateCheck::new(round),
            is_checked: false,
            asked_for_changes: false,
            told_of_tests: false,
            pull_review: None,
            proof: ProofCheck::default(),
            recipe: RecipeCheck::default(),
        }
    }

    /// Returns the same for an agent whose answer has to be findings in a pull request, if there is one.
    pub(super) fn of_findings(self, pull_review: Option<&'a PullReview>) -> Self {
        Self { pull_review, ..self }
    }

    async fn look(&mut self, answer: &str) -> AnswerVerdict {
        let of_findings = || code_review::form_complaint(answer).filter(|_| self.pull_review.is_some());
        let of_schema = self.structured.and_then(|structured| structured.complaint(answer));
        if let Some(complaint) = of_schema.or_else(of_findings) {
            self.forms += 1;
            if self.forms > MAX_FORM_REVIEWS {
                return AnswerVerdict::GiveUp(StopReason::InvalidOutput);
            }
            return AnswerVerdict::SendBack(complaint);
        }
        if let Some(part) = self.next_part(answer) {
            self.forms = 0;
            return AnswerVerdict::SendBack(part);
        }
        let rules = &self.agent_run.request.job.config().guardrails;
        if rules.require_test_after_edit && !self.asked_for_tests && self.agent_run.run.engine.is_untested() {
            self.asked_for_tests = true;
            return AnswerVerdict::SendBack(UNTESTED.to_owned());
        }
        match self.changes() {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        let can_answer = self.self_check.model.has_further_answer(&self.agent_run.run.request.agent);
        match self.gates.look(self.agent_run, can_answer).await {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.recipe.look(self.agent_run, can_answer).await {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.integrity().await {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.proof.look(self.agent_run, can_answer).await {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.checklist() {
            AnswerVerdict::Accept => {}
            opinion => return opinion,
        }
        match self.evaluate(answer).await {
            AnswerVerdict::Accept => self.inspect(answer).await,
            opinion => opinion,
        }
    }

    /// Returns the next part of a pull request that is reviewed in parts.
    fn next_part(&self, answer: &str) -> Option<String> {
        let run = &self.agent_run.run;
        let can_answer = !run.cancel.is_cancelled()
            && !self.agent_run.budget.is_used_up()
            && self.self_check.model.has_further_answer(&run.request.agent);
        self.pull_review.filter(|_| can_answer)?.next_part(answer)
    }

    /// The review. What it finds goes back to the agent as often as the configuration says.
    async fn inspect(&mut self, answer: &str) -> AnswerVerdict {
        let Some(code_review) = self.code_review else { return AnswerVerdict::Accept };
        if let Some(verdict) = self.cannot_check("code review") {
            return verdict;
        }
        self.reviews += 1;
        let record = match code_review.inspect(self.agent_run, answer, self.reviews).await {
            Ok(Some(record)) => record,
            Ok(None) => return AnswerVerdict::Accept,
            Err(NotChecked) => return self.unchecked(),
        };
        let rules = &self.agent_run.request.job.config().review;
        let of = |least: Severity| record.findings.iter().filter(move |finding| finding.severity >= least);
        let to_mend: Vec<&Finding> = of(rules.fix).collect();
        if !to_mend.is_empty() && u64::from(self.reviews) <= rules.max_fix_passes.get() {
            return AnswerVerdict::SendBack(code_review::complaint(&to_mend));
        }
        match rules.fail_on {
            Some(least) if of(least).next().is_some() => AnswerVerdict::GiveUp(StopReason::FindingsLeft),
            _ => AnswerVerdict::Accept,
        }
    }

    async fn evaluate(&mut self, answer: &str) -> AnswerVerdict {
        let wanted = self.agent_run.request.job.config().evaluation;
        if matches!(wanted, config::Evaluation::Off | config::Evaluation::Checklist) {
            return AnswerVerdict::Accept;
        }
        if let Some(verdict) = self.cannot_check("self-check") {
            return verdict;
        }
        self.evaluations += 1;
        match self.self_check.evaluate(self.agent_run, answer).await {
            Some(found) if found.completed => AnswerVerdict::Accept,
            Some(found) if wanted == config::Evaluation::Full && self.evaluations <= MAX_EVALUATIONS => {
                AnswerVerdict::SendBack(found.complaint())
            }
            Some(_) => AnswerVerdict::GiveUp(StopReason::NotConvinced),
            None => self.unchecked(),
        }
    }

    /// Returns the verdict where a check cannot be made, because the run was interrupted or has no money left.
    fn cannot_check(&self, check: &str) -> Option<AnswerVerdict> {
        if self.agent_run.run.cancel.is_cancelled() {
            return Some(AnswerVerdict::GiveUp(StopReason::UserInterrupt));
        }
        self.agent_run.budget.is_used_up().then(|| {
            let told = format!("{check}: not carried out: the budget is used up");
            self.agent_run.run.events.notice(NoticeLevel::Warning, told);
            self.unchecked()
        })
    }

    /// Accepts an answer that should have been checked further: other checks may still refuse it. A check that was cut
    /// short because the run was interrupted ends it.
    fn unchecked(&self) -> AnswerVerdict {
        if self.agent_run.run.cancel.is_cancelled() {
            return AnswerVerdict::GiveUp(StopReason::UserInterrupt);
        }
        self.agent_run.is_unchecked.store(true, Ordering::Relaxed);
        AnswerVerdict::Accept
    }

    /// Sends an answer back, once, if changes are expected and there are none.
    fn changes(&mut self) -> AnswerVerdict {
        let run = &self.agent_run.run;
        let is_wanted = run.request.expected == Expectation::Changes
            && !self.asked_for_changes
            && !run.cancel.is_cancelled()
            && self.self_check.model.has_further_answer(&run.request.agent);
        if !is_wanted || run.engine.context.workspace.has_changes().unwrap_or_default() {
            return AnswerVerdict::Accept;
        }
        self.asked_for_changes = true;
        AnswerVerdict::SendBack(UNCHANGED.to_owned())
    }

    /// Judges what the change does to the meaning of tests. The agent is told once of what demands less.
    async fn integrity(&mut self) -> AnswerVerdict {
        let findings = self.agent_run.judge_tests().await;
        if !demand_less(&findings) {
            return AnswerVerdict::Accept;
        }
        let run = &self.agent_run.run;
        if !self.told_of_tests
            && !run.cancel.is_cancelled()
            && !self.agent_run.budget.is_used_up()
            && self.self_check.model.has_further_answer(&run.request.agent)
        {
            self.told_of_tests = true;
            return AnswerVerdict::SendBack(integrity::complaint(&findings));
        }
        if run.refuses(&findings) {
            return AnswerVerdict::GiveUp(StopReason::TestsWeakened);
        }
        AnswerVerdict::Accept
    }

    /// Has the agent compare the task with what it did, once, if it has changed files.
    fn checklist(&mut self) -> AnswerVerdict {
        let run = &self.agent_run.run;
        let can_answer = self.agent_run.request.rounds.is_none()
            && !self.agent_run.budget.is_used_up()
            && !run.cancel.is_cancelled()
            && self.self_check.model.has_further_answer(&run.request.agent);
        if !can_answer || !run.engine.context.workspace.has_changes().unwrap_or_default() {
            return AnswerVerdict::Accept;
        }
        let remark = self.gates.remark();
        let wanted = self.agent_run.request.job.config().evaluation;
        if wanted == config::Evaluation::Checklist && !self.is_checked {
            self.is_checked = true;
            let remark = remark.map(|remark| format!("\n\n{remark}")).unwrap_or_default();
            let open = match run.engine.ledger.open_items() {
                items if items.is_empty() => items,
                items => format!("\n\nStill open on your list:\n{items}"),
            };
            // An answer that has a form would lose it.
            if self.structured.is_some() || self.pull_review.is_some() {
                return AnswerVerdict::SendBack(format!("{CHECKLIST}{AGAIN}{open}{remark}"));
            }
            return AnswerVerdict::Confirm(format!("{CHECKLIST}{STANDS}{open}{remark}"));
        }
        // Without the list, it is asked only for what it could not know.
        match remark.filter(|_| !self.agent_run.base.is_told()) {
            Some(remark) => AnswerVerdict::SendBack(remark),
            None => AnswerVerdict::Accept,
        }
    }
}

impl AnswerCheck for Acceptance<'_> {
    fn check<'a>(&'a mut self, answer: &'a str) -> BoxFuture<'a, AnswerVerdict> {
        self.look(answer).boxed()
    }
}
