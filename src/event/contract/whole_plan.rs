//! Selects the ends of runs that leave a plan which may be applied.

use crate::event::StopReason;

impl StopReason {
    /// Returns whether the plan of a run that ends so is whole, so that it may be applied: its agent came to an end of
    /// its own, and its checks could be run.
    pub const fn has_whole_plan(self) -> bool {
        match self {
            Self::LlmDone
            | Self::Applied
            | Self::TestsDemandLess
            | Self::TestsUnproven
            | Self::ProofFailed
            | Self::ReviewFindings
            | Self::FailedBefore
            | Self::TestsLost
            | Self::GatesFlaky
            | Self::GatesSkipped
            | Self::ReportNotPosted
            | Self::NothingWorked
            | Self::NothingChanged
            | Self::UnwantedChanges
            | Self::EditsFailed
            | Self::CallsRefused
            | Self::EmptyAnswer
            | Self::AnswerCut
            | Self::InvalidOutput
            | Self::GatesFailed
            | Self::NotChecked
            | Self::NotConvinced
            | Self::FindingsLeft
            | Self::NotApplied
            | Self::CommandsFailed
            | Self::NotWritten
            | Self::CostsNotRecorded
            | Self::NotPublished
            | Self::NotPermitted => true,
            // Its agent may have been stopped, and what the configuration refuses is not offered.
            Self::TestsWeakened
            | Self::ChangesLost
            | Self::AnswerRefused
            | Self::GatesNotRun
            | Self::MaxSteps
            | Self::Timeout
            | Self::BudgetExceeded
            | Self::ContextFull
            | Self::Loop
            | Self::HookBlocked
            | Self::UserInterrupt
            | Self::Terminated
            | Self::LlmError
            | Self::LlmUnauthorized
            | Self::LlmUnknown
            | Self::RecipeFailed
            | Self::CheckoutChanged
            | Self::ChangesUnknown
            | Self::PlanWithheld => false,
        }
    }
}
