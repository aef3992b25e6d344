//! Clauses: how an end is reported, one clause for each reason.

use std::fmt;

use crate::event::{Exit, Status, StopReason};

/// The result of the test case that stands for the run in JUnit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JunitResult {
    /// It passed.
    Passed,
    /// It was skipped, with the sentence as its reason.
    Skipped,
    /// It failed, with the sentence as its message.
    Failed,
}

/// The conclusion of a check run, in GitHub's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The run succeeded.
    Success,
    /// The run achieved a part of its task, or did not show all that was asked.
    Neutral,
    /// The run failed, or a required gate did.
    Failure,
    /// The run was interrupted.
    Cancelled,
    /// The run reached its time limit.
    TimedOut,
}

impl Conclusion {
    /// Returns GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

/// Meaning of an end: everything that is reported about a run follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The status of report and outputs.
    pub status: Status,
    /// The sign at the beginning of the heading.
    pub sign: &'static str,
    /// The exit of the process.
    pub exit: Exit,
    /// The result in JUnit.
    pub junit: JunitResult,
    /// The conclusion of the check run.
    pub conclusion: Conclusion,
    /// What happened, as the heading says it.
    pub sentence: &'static str,
    /// What to do next; empty where there is nothing to do.
    pub next_step: &'static str,
}

/// Done, and shown.
const fn done(sentence: &'static str) -> Clause {
    Clause {
        status: Status::Success,
        sign: "✅",
        exit: Exit::Success,
        junit: JunitResult::Passed,
        conclusion: Conclusion::Success,
        sentence,
        next_step: "",
    }
}

/// Done, and not shown in every respect: nothing fails, and nothing is green.
const fn done_but(sentence: &'static str, next_step: &'static str) -> Clause {
    Clause { sign: "⚠️", conclusion: Conclusion::Neutral, next_step, ..done(sentence) }
}

/// Done in part.
const fn partial(sentence: &'static str, next_step: &'static str) -> Clause {
    Clause {
        status: Status::Partial,
        sign: "🟡",
        exit: Exit::Partial,
        junit: JunitResult::Skipped,
        conclusion: Conclusion::Neutral,
        sentence,
        next_step,
    }
}

/// Done in part, and the process says why by its exit code and the check by its conclusion.
const fn stopped(
    exit: Exit,
    conclusion: Conclusion,
    sentence: &'static str,
    next_step: &'static str,
) -> Clause {
    Clause { exit, conclusion, ..partial(sentence, next_step) }
}

/// Not done.
const fn failed(sentence: &'static str, next_step: &'static str) -> Clause {
    failed_by(Exit::Failed, sentence, next_step)
}

const fn failed_by(exit: Exit, sentence: &'static str, next_step: &'static str) -> Clause {
    Clause {
        status: Status::Failed,
        sign: "❌",
        exit,
        junit: JunitResult::Failed,
        conclusion: Conclusion::Failure,
        sentence,
        next_step,
    }
}

impl StopReason {
    /// All reasons, in the order of the documentation.
    pub const ALL: [Self; 48] = [
        Self::LlmDone,
        Self::Applied,
        Self::TestsDemandLess,
        Self::TestsUnproven,
        Self::ReviewFindings,
        Self::FailedBefore,
        Self::TestsLost,
        Self::GatesFlaky,
        Self::GatesSkipped,
        Self::ReportNotPosted,
        Self::NothingWorked,
        Self::NothingChanged,
        Self::UnwantedChanges,
        Self::EditsFailed,
        Self::CallsRefused,
        Self::ChangesLost,
        Self::EmptyAnswer,
        Self::AnswerCut,
        Self::AnswerRefused,
        Self::InvalidOutput,
        Self::GatesFailed,
        Self::GatesNotRun,
        Self::TestsWeakened,
        Self::ProofFailed,
        Self::NotChecked,
        Self::NotConvinced,
        Self::FindingsLeft,
        Self::MaxSteps,
        Self::Timeout,
        Self::BudgetExceeded,
        Self::ContextFull,
        Self::Loop,
        Self::HookBlocked,
        Self::UserInterrupt,
        Self::Terminated,
        Self::LlmError,
        Self::LlmUnauthorized,
        Self::LlmUnknown,
        Self::RecipeFailed,
        Self::CheckoutChanged,
        Self::ChangesUnknown,
        Self::NotApplied,
        Self::CommandsFailed,
        Self::NotWritten,
        Self::PlanWithheld,
        Self::CostsNotRecorded,
        Self::NotPublished,
        Self::NotPermitted,
    ];

    /// Returns what this end means.
    #[expect(clippy::too_many_lines, reason = "one table")]
    pub const fn clause(self) -> Clause {
        match self {
            Self::LlmDone => done("the agent is done"),
            Self::Applied => done("the plan is applied"),
            Self::TestsDemandLess => done_but(
                "tests or checks are weaker than before",
                "read the findings; where a change is intended, permit it by `tests.allow`",
            ),
            Self::TestsUnproven => done_but(
                "tests of the change do not prove it",
                "read which tests pass without the change or fail with it, and make them demonstrate the change",
            ),
            Self::ReviewFindings => done_but(
                "the review has findings",
                "resolve the findings, or answer them; set `review.fail_on` if such a run is to fail",
            ),
            Self::FailedBefore => done_but(
                "a required gate fails as it did before the run",
                "fix the gate separately; this change neither broke nor fixed it",
            ),
            Self::TestsLost => done_but(
                "the gates pass, but some tests no longer run, or newly fail",
                "see which tests are gone or newly skipped, and which fail (new ones as well): a passing gate says nothing about them",
            ),
            Self::GatesFlaky => done_but(
                "a required gate failed, and passed when it ran again on the same state",
                "fix what makes the gate flaky; until then, its result means little",
            ),
            Self::GatesSkipped => done_but(
                "the quality gates were skipped",
                "run the gates on the result, or remove `dry_run.gates: skip`",
            ),
            Self::ReportNotPosted => done_but(
                "the report could not be posted",
                "read the report in the output folder, and the warning for the permission that is missing",
            ),
            Self::NothingWorked => done_but(
                "every edit or every call that the agent tried failed, and nothing changed",
                "read the refusals below; set `expect: changes` if such a run is to fail",
            ),
            Self::NothingChanged => failed(
                "changes were expected, but there are none",
                "make the task more precise, or set `expect: any` if it may need no change",
            ),
            Self::UnwantedChanges => failed(
                "no changes were expected, but there are some",
                "set `expect: any` if the task may change files, or use an agent that only reads",
            ),
            Self::EditsFailed => failed(
                "every edit that the agent tried failed, so nothing changed",
                "read why the edits failed below; a protected file needs another task or other guardrails",
            ),
            Self::CallsRefused => failed(
                "every call of the agent was refused",
                "read the refusals below, and permit what the task needs",
            ),
            Self::ChangesLost => partial(
                "changes of a command could not be kept",
                "let commands change fewer or smaller files, or write build output where Git ignores it",
            ),
            Self::EmptyAnswer => failed(
                "the model's final answer is empty",
                "try again, or another model; what changed is in the plan or the checkout",
            ),
            Self::AnswerCut => {
                partial("the final answer was cut off at the token limit", "raise `llm.max_tokens`")
            }
            Self::AnswerRefused => failed(
                "the model refused to answer",
                "word the task differently, or use another model; the provider's filter refused it",
            ),
            Self::InvalidOutput => failed(
                "the final answer does not satisfy the output schema",
                "simplify the schema, or describe the result in the task",
            ),
            Self::GatesFailed => Clause {
                junit: JunitResult::Failed,
                ..stopped(
                    Exit::Failed,
                    Conclusion::Failure,
                    "a required quality gate failed",
                    "read the gate's output, and continue by hand or with another run",
                )
            },
            Self::GatesNotRun => failed(
                "the quality gates could not be run",
                "read the error: without the gates, nobody knows whether the result is right",
            ),
            Self::TestsWeakened => failed(
                "tests or checks are weaker than before, which the configuration refuses",
                "restore what the findings name, or have a person permit it by `tests.allow`",
            ),
            Self::ProofFailed => failed(
                "tests of the change do not prove it, which the configuration refuses",
                "read which tests pass without the change or fail with it, and make them demonstrate the change",
            ),
            Self::NotChecked => partial(
                "a requested check could not be carried out",
                "read the warning for the reason, and review the change yourself",
            ),
            Self::NotConvinced => partial(
                "the self-check found that the task is not done",
                "read what it found missing, and continue by hand or with another run",
            ),
            Self::FindingsLeft => {
                partial("the code review left unresolved findings", "resolve the findings, or answer them")
            }
            Self::MaxSteps => partial("the step limit was reached", "raise `max-steps`, or divide the task"),
            Self::Timeout => stopped(
                Exit::Timeout,
                Conclusion::TimedOut,
                "the time limit was reached",
                "raise `timeout`, or divide the task",
            ),
            Self::BudgetExceeded => partial(
                "the budget is used up",
                "raise the budget that was reached (`budget-usd`, `costs.budget_per_day` or `_per_month`), or divide the task",
            ),
            Self::ContextFull => partial(
                "the context limit was reached",
                "divide the task, or raise `context.max_context_tokens` if the model can take it",
            ),
            Self::Loop => partial(
                "the agent repeated the same call",
                "make the task more precise, or use another model",
            ),
            Self::HookBlocked => partial("a hook stopped the run", "read the hook's reason"),
            Self::UserInterrupt => stopped(
                Exit::Interrupted,
                Conclusion::Cancelled,
                "the run was interrupted",
                "continue with `architect-ci sessions resume`, or apply the plan again",
            ),
            Self::Terminated => stopped(
                Exit::Terminated,
                Conclusion::Cancelled,
                "the run was terminated",
                "continue with `architect-ci sessions resume`, or apply the plan again",
            ),
            Self::LlmError => {
                failed("the model failed", "read the error; if the provider was down, try again later")
            }
            Self::LlmUnauthorized => failed_by(
                Exit::Authentication,
                "the model's provider refused the key",
                "check the secret that holds the key, and the variable that `api-key-env` names",
            ),
            Self::LlmUnknown => failed_by(
                Exit::Configuration,
                "the provider does not know the model",
                "check the model's name and `base-url`",
            ),
            Self::RecipeFailed => failed(
                "a step of the recipe failed",
                "read the step's error; mark it `optional` if it may fail",
            ),
            Self::CheckoutChanged => failed(
                "the checkout changed in a way that is not allowed",
                "read the error for what changed it; restore the checkout before you use it, and do not apply this plan",
            ),
            Self::ChangesUnknown => failed(
                "could not find out what the run changed",
                "read the error; inspect this checkout before you use it",
            ),
            Self::NotApplied => failed_by(
                Exit::NotApplied,
                "the plan cannot be applied; nothing was written",
                "read the error: give the whole digest if it asks for it, and make a new plan if the old one does not fit any more",
            ),
            Self::CommandsFailed => failed(
                "the plan's files are applied, and a command of it failed",
                "read the command's output, and run it by hand",
            ),
            Self::NotWritten => failed(
                "report files could not be written",
                "read the warning for the files, and see whether the disk is full",
            ),
            Self::PlanWithheld => failed(
                "the changes contain a secret, so plan and patch were not written",
                "remove the secret from the files that the patch would show, and run again",
            ),
            Self::CostsNotRecorded => failed(
                "what the run has cost could not be recorded",
                "read the error for the reason; plan and patch are in the output folder",
            ),
            Self::NotPublished => failed(
                "the result could not be published on GitHub",
                "read the error; plan and patch are in the output folder",
            ),
            Self::NotPermitted => failed_by(
                Exit::Authentication,
                "the result could not be published on GitHub for lack of a permission",
                "give the job the permission that the error names",
            ),
        }
    }

    /// Returns the status of a run that ends so.
    pub const fn status(self) -> Status {
        self.clause().status
    }

    /// Returns whether a run that ends so has done and shown what was asked.
    pub fn is_green(self) -> bool {
        self.clause().conclusion == Conclusion::Success
    }

    /// Returns whether a run that would end so may end for another reason instead: only what is not yet red by itself.
    pub fn yields(self) -> bool {
        matches!(self.clause().exit, Exit::Success | Exit::Partial)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.clause().sentence)
    }
}
