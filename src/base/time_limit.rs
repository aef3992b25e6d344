//! Time limit of a run, and the time after it: whatever is still under way is given up in an order in which each has time left that
//! needs what the others have done, so that all of it takes less than two seconds, but for what is posted
//! for others to see.

use std::io::{self, Write};
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
    /// That of all that tells people and other runs of what came of the run: what is not posted by then is only told of in the report.
    Results,
    /// The same once a signal has come: whoever sent it kills soon.
    ResultsInterrupted,
}

impl Grace {
    /// Returns how long it is.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(match self {
            Self::Children => 500,
            Self::Changes => 700,
            Self::Calls => 800,
            Self::Report => 1_100,
            Self::Results => 10_000,
            Self::ResultsInterrupted => 3_000,
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

    /// Returns the end that was known from the start, if there is one.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.0.end
    }

    /// Returns whether somebody has stopped the run at least so long ago.
    pub(crate) fn is_stopped_for(&self, time: Duration) -> bool {
        self.0.stopped.get().is_some_and(|stopped| stopped.elapsed() >= time)
    }

    /// Returns whether the end that was known from the start has come, and nobody has stopped the run before.
    pub fn is_reached(&self) -> bool {
        let is_first = |end: Instant| self.0.stopped.get().is_none_or(|stopped| *stopped >= end);
        self.0.end.is_some_and(|end| Instant::now() >= end && is_first(end))
    }

    /// Returns why what was under way at the end of the time was cut off, for people.
    pub fn why_cut_off(&self) -> &'static str {
        if self.is_reached() { "the time limit of the run was reached" } else { "the run was interrupted" }
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

/// Writer that fails with [`io::ErrorKind::TimedOut`] once a grace is over, so that nothing long is written after it.
pub(crate) struct WriteUntil<'a, W> {
    to: W,
    limit: &'a TimeLimit,
    grace: Grace,
    /// Number of bytes that may be written before the time is looked at again.
    free: usize,
}

impl<'a, W: Write> WriteUntil<'a, W> {
    /// Number of bytes that take no time worth looking at.
    const FREE: usize = 64 * 1024;

    pub(crate) fn new(to: W, limit: &'a TimeLimit, grace: Grace) -> Self {
        Self { to, limit, grace, free: 0 }
    }
}

impl<W: Write> Write for WriteUntil<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.free < bytes.len() {
            if self.limit.is_over(self.grace) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.free = Self::FREE.max(bytes.len());
        }
        let written = self.to.write(bytes)?;
        self.free -= written.min(self.free);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_end_with_their_grace() {
        let limit = TimeLimit::new(Instant::now().checked_sub(Grace::Calls.duration()));
        let mut written = Vec::new();
        let mut late = WriteUntil::new(&mut written, &limit, Grace::Calls);
        assert_eq!(late.write(b"a").map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
        let stopped = TimeLimit::default();
        let mut timely = WriteUntil::new(&mut written, &stopped, Grace::Changes);
        timely.write_all(&vec![1; 100_000]).expect("there is time");
        timely.write_all(b"b").expect("there is time");
        assert_eq!(written.len(), 100_001);
    }

    #[test]
    fn limits_know_whether_they_were_reached() {
        let past = Instant::now().checked_sub(Duration::from_millis(1));
        let (reached, stopped) = (TimeLimit::new(past), TimeLimit::default());
        stopped.stop();
        assert!(reached.is_reached() && !stopped.is_reached());
        // What comes after the first end changes nothing.
        reached.stop();
        assert!(reached.is_reached());
    }

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
