//! How a run goes about its work, and how it can end.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunMode {
    /// Writes are planned, nothing in the checkout changes.
    DryRun,
    /// Writes are done without asking.
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
    /// All done.
    Success,
    /// Some done; a limit was reached or a gate is open.
    Partial,
    /// Not done.
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
    /// The agent's steps were used up.
    MaxSteps,
    /// The time was used up.
    Timeout,
    /// The money was used up.
    BudgetExceeded,
    /// The conversation no longer fits.
    ContextFull,
    /// The same call was made over and over.
    Loop,
    /// The model could not be reached or understood.
    LlmError,
    /// A step of the recipe failed.
    RecipeFailed,
    /// SIGINT or SIGTERM.
    UserInterrupt,
    /// The final answer does not satisfy the output schema.
    InvalidOutput,
    /// A required gate failed.
    GatesFailed,
    /// The self-check found that the task is not done.
    NotConvinced,
    /// The review found what must not stay.
    FindingsLeft,
    /// A dry run found the checkout changed.
    CheckoutChanged,
    /// A hook stood against asking the model.
    HookBlocked,
    /// The plan was applied.
    Applied,
    /// The plan does not fit the checkout, or is not the one that was reviewed.
    NotApplied,
    /// The changes could not be delivered, or what is required could not be posted.
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
