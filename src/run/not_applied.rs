//! Reasons why a plan is not applied. Nothing was written then, or what was written has been reverted.

use workspace::WorkspacePath;

use crate::github::{ApiError, AttestationError};
use crate::guardrails::{InspectionError, Refusal};
use crate::plan::{ApplyError, CarryOverError, MadeError};

/// Reason why a plan is not applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotApplied {
    /// The plan does not fit, or is not the one that was reviewed.
    #[error(transparent)]
    Plan(#[from] ApplyError),
    /// It does not fit where the branch is now.
    #[error("the pull request has moved since the plan was made: {0}")]
    Moved(#[from] CarryOverError),
    /// The branch has moved, and the gates of the plan cannot run again here.
    #[error(
        "the pull request has moved since the plan was made, and this job does not run the plan's quality gates again; \
         start the workflow again"
    )]
    GatesElsewhere,
    /// The plan was made elsewhere.
    #[error(transparent)]
    Made(#[from] MadeError),
    /// A guardrail forbids it as a whole.
    #[error("a guardrail refuses the plan: {0}")]
    Rule(#[from] Refusal),
    /// It holds what a reviewer could overlook.
    #[error("the plan was inspected and refused: {0}")]
    Inspection(#[from] InspectionError),
    /// Nobody known has signed that the plan was made where it says.
    #[error(transparent)]
    Attestation(#[from] AttestationError),
    /// The pull request is not as the configuration demands.
    #[error("the pull request does not meet `apply.requires`: {0}")]
    Unmet(String),
    /// It is not known whether the branch already has what the checkout has of the plan.
    #[error(
        "{0} already has its planned content here, and the commit that the plan was made for could not be read to see whether it is \
         there as well; start again with a fresh checkout"
    )]
    Unread(WorkspacePath),
    /// Whether it is could not be found out.
    #[error("could not find out whether the pull request meets `apply.requires`: {0}")]
    Unknown(#[from] ApiError),
}
