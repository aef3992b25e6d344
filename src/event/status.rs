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
    /// A part of the task is done; a limit was reached, or a gate failed.
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
    /// The model said that it is done.
    LlmDone,
    /// The agent used up its turns.
    MaxSteps,
    /// The time limit was reached.
    Timeout,
    /// The budget was used up.
    BudgetExceeded,
    /// The conversation no longer fits the model's context.
    ContextFull,
    /// The agent made the same call over and over.
    Loop,
    /// The model could not be reached, or its answer was unusable.
    LlmError,
    /// A step of the recipe failed.
    RecipeFailed,
    /// SIGINT or SIGTERM arrived.
    UserInterrupt,
    /// The final answer does not satisfy the output schema.
    InvalidOutput,
    /// A required gate failed.
    GatesFailed,
    /// The self-check found that the task is not done.
    NotConvinced,
    /// The code review left unresolved findings.
    FindingsLeft,
    /// The checkout changed during a dry run.
    CheckoutChanged,
    /// A hook blocked a request to the model.
    HookBlocked,
    /// The plan was applied.
    Applied,
    /// The plan does not fit the checkout, or is not the one that was reviewed.
    NotApplied,
    /// The changes could not be delivered, or something that is required could not be published.
    NotPublished,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LlmDone => "the agent is done",
            Self::MaxSteps => "the step limit was reached",
            Self::Timeout => "the time limit was reached",
            Self::BudgetExceeded => "the budget is used up",
            Self::ContextFull => "the context limit was reached",
            Self::Loop => "the agent repeated the same call",
            Self::LlmError => "the model failed",
            Self::RecipeFailed => "a step of the recipe failed",
            Self::UserInterrupt => "the run was interrupted",
            Self::InvalidOutput => "the final answer does not satisfy the output schema",
            Self::GatesFailed => "a required quality gate failed",
            Self::NotConvinced => "the self-check found that the task is not done",
            Self::FindingsLeft => "the code review left unresolved findings",
            Self::CheckoutChanged => "something changed the checkout during a dry run",
            Self::HookBlocked => "a hook stopped the run",
            Self::Applied => "the plan is applied",
            Self::NotPublished => "GitHub did not accept the result",
            Self::NotApplied => "the plan cannot be applied; nothing was written",
        })
    }
}
