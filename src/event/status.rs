//! The mode of a run, the status that it ends with, and the reason why it ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mode of a run, which says how writes are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunMode {
    /// Writes are planned; nothing in the checkout changes.
    DryRun,
    /// Writes are made without asking.
    Yolo,
    /// Every call is asked about; needs a terminal.
    ConfirmAll,
    /// Sensitive calls are asked about; needs a terminal.
    ConfirmSensitive,
    /// A plan is applied, without a model.
    Apply,
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DryRun => "dry-run",
            Self::Yolo => "yolo",
            Self::ConfirmAll => "confirm-all",
            Self::ConfirmSensitive => "confirm-sensitive",
            Self::Apply => "apply",
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The task is done.
    Success,
    /// Part of the task is done; a limit was reached, or a gate failed.
    Partial,
    /// The task is not done.
    Failed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
        })
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent said that it is done, or in rounds, all checks pass.
    LlmDone,
    /// The agent is done, and tests or checks are weaker than before, for which the configuration asks for a warning.
    TestsDemandLess,
    /// The agent is done, and tests of its change do not prove it, for which the configuration asks for a warning.
    TestsUnproven,
    /// The agent is done, and a required gate fails as it did before the run.
    FailedBefore,
    /// The agent is done, and its gates pass, but tests that ran before the run no longer do, or tests fail that did not.
    TestsLost,
    /// The agent is done, and a required gate failed before it passed on the same state.
    GatesFlaky,
    /// The agent is done, and the configuration had the gates skipped.
    GatesSkipped,
    /// The agent is done, and something that was not called required could not be published.
    ReportNotPosted,
    /// The agent is done, nothing changed, and every edit or every call that it tried failed or was refused.
    NothingWorked,
    /// Changes were expected, but there are none.
    NothingChanged,
    /// No changes were expected, but there are some.
    UnwantedChanges,
    /// Changes were expected, but every edit that the agent tried failed or was refused.
    EditsFailed,
    /// Changes were expected, but every call of the agent was refused.
    CallsRefused,
    /// The agent is done, and changes of its commands could not be kept.
    ChangesLost,
    /// The final answer is empty.
    EmptyAnswer,
    /// The final answer was cut off at the token limit.
    AnswerCut,
    /// The model, or its provider's filter, refused to answer.
    AnswerRefused,
    /// The agent reached its step limit.
    MaxSteps,
    /// The time limit was reached.
    Timeout,
    /// The budget was used up.
    BudgetExceeded,
    /// The conversation no longer fits the model's context.
    ContextFull,
    /// The agent repeated the same call.
    Loop,
    /// The model could not be reached, or its answer was unusable.
    LlmError,
    /// The provider refused the key.
    LlmUnauthorized,
    /// The provider does not know the model.
    LlmUnknown,
    /// A step of the recipe failed.
    RecipeFailed,
    /// SIGINT arrived.
    UserInterrupt,
    /// SIGTERM arrived.
    Terminated,
    /// The final answer does not satisfy the output schema.
    InvalidOutput,
    /// A required gate failed.
    GatesFailed,
    /// The gates could not be run.
    GatesNotRun,
    /// Tests or checks are weaker than before, which the configuration refuses.
    TestsWeakened,
    /// Tests of the change do not prove it, which the configuration refuses.
    ProofFailed,
    /// A requested review or self-check could not be carried out.
    NotChecked,
    /// The self-check found that the task is not done.
    NotConvinced,
    /// The review of the pull request has findings, which the configuration permits.
    ReviewFindings,
    /// The code review left unresolved findings.
    FindingsLeft,
    /// The checkout changed during a dry run.
    CheckoutChanged,
    /// Could not find out what the run changed.
    ChangesUnknown,
    /// A hook blocked a request to the model.
    HookBlocked,
    /// The plan was applied.
    Applied,
    /// The plan's files were applied, and a command of it failed.
    CommandsFailed,
    /// The plan does not fit the checkout, or is not the one that was reviewed.
    NotApplied,
    /// The changes could not be delivered, or something that is required could not be published.
    NotPublished,
    /// Report files could not be written.
    NotWritten,
    /// The changes contain a secret, so plan and patch, which are the result, were not written.
    PlanWithheld,
    /// What the run has cost could not be written to the ledger.
    CostsNotRecorded,
    /// The changes could not be delivered, because a token is missing or lacks a permission.
    NotPermitted,
}

impl StopReason {
    /// Returns whether a run that ended so may have been cut off in the midst of a call or of a judgement, of which there is no
    /// record then.
    pub fn may_cut_off(self) -> bool {
        // The last one stands in place of whatever else ended the run.
        matches!(self, Self::UserInterrupt | Self::Terminated | Self::Timeout | Self::CheckoutChanged)
    }
}
