//! The exit codes of the process, in one table.

use std::process::ExitCode;

/// The exit of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The task is done.
    Success,
    /// The agent, or a required gate, failed.
    Failed,
    /// A limit was reached, so that a part of the task is done.
    Partial,
    /// The configuration or an input is invalid.
    Configuration,
    /// A key or a permission is missing or invalid.
    Authentication,
    /// The time limit was reached.
    Timeout,
    /// A plan does not fit the checkout; nothing was written.
    NotApplied,
    /// SIGINT arrived.
    Interrupted,
    /// SIGTERM arrived.
    Terminated,
}

impl Exit {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Partial => 2,
            Self::Configuration => 3,
            Self::Authentication => 4,
            Self::Timeout => 5,
            Self::NotApplied => 6,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
