//! The time that a server has to start.

use std::time::Duration;

use tokio::time::Instant;

/// How long a server may take until it has listed its tools.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartLimit {
    pub(super) until: Instant,
    /// The limit of its own; `None` where the run's time is up before.
    own: Option<Duration>,
}

impl StartLimit {
    /// Returns the limit of a server that is started now and may take this long, in a run that ends at `deadline`.
    pub(super) fn of(start_timeout: Duration, deadline: Option<std::time::Instant>) -> Self {
        let own = Instant::now() + start_timeout;
        match deadline.map(Instant::from_std).filter(|deadline| *deadline < own) {
            Some(until) => Self { until, own: None },
            None => Self { until: own, own: Some(start_timeout) },
        }
    }
}

impl std::fmt::Display for StartLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.own {
            Some(own) => write!(f, "{} s (start_timeout)", own.as_secs()),
            None => f.write_str("the time of the run"),
        }
    }
}
