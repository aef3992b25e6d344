//! Reason why no further task of a batch is begun.

/// Why no further task is begun.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Time,
    Budget,
    Signal,
}

impl Stop {
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Time => "not started: the batch's time limit was reached",
            Self::Budget => "not started: the batch's budget was used up",
            Self::Signal => "not started: the batch was interrupted",
        }
    }
}
