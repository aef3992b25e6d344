//! Time limit of a run, and the time after it: whatever is still under way is given up in an order in which each has time left that
//! needs what the others have done, so that all of it takes less than two seconds.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time that somebody has after the end of a run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// That of children which were asked to end; then they are killed.
    Children,
    /// That of a command's changes to be judged and kept; then they are dropped.
    Changes,
    /// That of a call; then nobody waits for it any more.
    Calls,
    /// That of the report: files that have not been compared by then are only named, and what has not been searched for secrets is
    /// not written.
    Report,
}

impl Grace {
    /// Returns how long it is.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(match self {
            Self::Children => 800,
            Self::Changes => 1_100,
            Self::Calls => 1_300,
            Self::Report => 1_500,
        })
    }
}

/// When the time of a run is up: at an end that is known from the start, or because somebody stopped the run.
#[derive(Clone, Debug, Default)]
pub struct TimeLimit(Arc<Ends>);

#[derive(Debug, Default)]
struct Ends {
    end: Option<Instant>,
    stopped: OnceLock<Instant>,
}

impl TimeLimit {
    /// Creates a limit that ends at `end`, or not by itself.
    pub fn new(end: Option<Instant>) -> Self {
        Self(Arc::new(Ends { end, stopped: OnceLock::new() }))
    }

    /// Ends the time now.
    pub fn stop(&self) {
        self.0.stopped.get_or_init(Instant::now);
    }

    /// Returns when a grace ends, as far as that is known.
    fn end_of(&self, grace: Grace) -> Option<Instant> {
        let end = self.0.end.into_iter().chain(self.0.stopped.get().copied()).min();
        end.map(|end| end + grace.duration())
    }

    /// Returns whether a grace is over.
    pub fn is_over(&self, grace: Grace) -> bool {
        self.end_of(grace).is_some_and(|end| Instant::now() >= end)
    }

    /// Returns how much time is left until a grace is over, as far as that is known.
    pub fn until(&self, grace: Grace) -> Option<Duration> {
        self.end_of(grace).map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Returns how much time is left until a grace is over, but not more than `most`.
    pub fn left(&self, grace: Grace, most: Duration) -> Duration {
        self.until(grace).map_or(most, |left| left.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graces_begin_with_the_first_end() {
        let now = Instant::now();
        let ago = |ms| now.checked_sub(Duration::from_millis(ms)).expect("the machine is older than that");
        let limit = TimeLimit::new(Some(ago(900)));
        assert!(limit.is_over(Grace::Children));
        assert_eq!(limit.left(Grace::Children, Duration::MAX), Duration::ZERO);
        let limit = TimeLimit::new(Some(now + Duration::from_mins(1)));
        assert_eq!(limit.left(Grace::Children, Duration::from_secs(1)), Duration::from_secs(1));
        limit.stop();
        assert!(limit.left(Grace::Children, Duration::from_mins(1)) <= Grace::Children.duration());
        let unlimited = TimeLimit::default();
        assert!(!unlimited.is_over(Grace::Report));
        assert_eq!(unlimited.left(Grace::Report, Duration::MAX), Duration::MAX);
    }
}
