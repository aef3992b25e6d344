//! Clock of everything that waits for the network outside of the agent's work: requests to GitHub, and pushes to it.
//!
//! A client is made wherever one is needed, often long before it is known when the run has to end, so all clients of a job hold one
//! clock, which follows the run's time limit and signals from the moment at which they are known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::time_limit::{Grace, TimeLimit};

/// How often it is looked at whether a signal came while results are posted after the end of the time.
const PAUSE: Duration = Duration::from_millis(50);

/// What somebody waits for the network in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The work, which ends with its time.
    #[default]
    Work,
    /// Telling what has come of it, for which there is a short time more.
    Results,
}

/// A wait that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct CutOff {
    why: &'static str,
    is_late: bool,
}

impl CutOff {
    /// Returns whether the time was up, and nobody has stopped the run before.
    pub(crate) fn is_late(self) -> bool {
        self.is_late
    }
}

/// When waits for the network end. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkClock(Arc<Mutex<End>>);

#[derive(Clone, Debug, Default)]
struct End {
    token: CancellationToken,
    limit: TimeLimit,
}

/// Clocks say nothing about what is compared.
impl PartialEq for NetworkClock {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NetworkClock {}

impl NetworkClock {
    /// Lets all waits that begin from now on end with a token, which is cancelled by signals and when the time is up, or with the
    /// limit.
    pub(crate) fn follow(&self, token: CancellationToken, limit: TimeLimit) {
        *self.0.lock() = End { token, limit };
    }

    /// Returns another clock, which ends with this one until it is told to follow something else.
    pub(crate) fn detached(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().clone())))
    }

    /// Returns a clock that ends at a time, if that is given.
    pub(crate) fn until(deadline: Option<Instant>) -> Self {
        let clock = Self::default();
        clock.follow(CancellationToken::new(), TimeLimit::new(deadline));
        clock
    }

    /// Returns the token and the time with which the work ends.
    pub(crate) fn end_of_work(&self) -> (CancellationToken, Option<Instant>) {
        let end = self.0.lock();
        (end.token.clone(), end.limit.end())
    }

    /// Waits for some work, but not beyond its time.
    pub(crate) async fn within<T>(&self, stage: Stage, work: impl Future<Output = T>) -> Result<T, CutOff> {
        let end = self.0.lock().clone();
        tokio::select! {
            biased;
            () = end.comes(stage) => Err(end.cut_off()),
            done = work => Ok(done),
        }
    }
}

impl End {
    fn cut_off(&self) -> CutOff {
        CutOff { why: self.limit.why_cut_off(), is_late: self.limit.is_reached() }
    }

    async fn comes(&self, stage: Stage) {
        let is_up = async {
            match self.limit.end() {
                Some(end) => tokio::time::sleep_until(end.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.token.cancelled() => {}
            () = is_up => {}
        }
        if stage == Stage::Results {
            let noticed = Instant::now();
            let own = if self.limit.is_reached() { Grace::Results } else { Grace::ResultsInterrupted };
            // The limit may know of a signal only a moment later, or not at all once the run is over.
            let is_over = || {
                self.limit.is_over(Grace::Results)
                    || self.limit.is_stopped_for(Grace::ResultsInterrupted.duration())
                    || noticed.elapsed() >= own.duration()
            };
            while !is_over() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(ended_ms: Option<u64>, stopped: bool) -> NetworkClock {
        let ago = |ms| Instant::now().checked_sub(Duration::from_millis(ms)).expect("the machine is older");
        let (token, limit) = (CancellationToken::new(), TimeLimit::new(ended_ms.map(ago)));
        if stopped {
            token.cancel();
            limit.stop();
        }
        let clock = NetworkClock::default();
        clock.follow(token, limit);
        clock
    }

    async fn is_cut_off(clock: &NetworkClock, stage: Stage) -> bool {
        let never = clock.within(stage, std::future::pending::<()>());
        tokio::time::timeout(Duration::from_millis(300), never).await.is_ok()
    }

    #[tokio::test]
    async fn work_ends_with_time_and_results_have_a_little_more() {
        let late = 10_000;
        assert_eq!(Grace::Results.duration(), Duration::from_millis(late));
        for (ended_ms, stopped, work, results) in [
            (None, false, false, false),
            (Some(0), false, true, false),
            (None, true, true, false),
            (Some(late), false, true, true),
        ] {
            let clock = clock(ended_ms, stopped);
            assert_eq!(is_cut_off(&clock, Stage::Work).await, work, "{ended_ms:?} {stopped}");
            assert_eq!(is_cut_off(&clock, Stage::Results).await, results, "{ended_ms:?} {stopped}");
        }
    }

    #[tokio::test]
    async fn signal_during_grace_shortens_it() {
        let clock = clock(Some(0), true);
        let since = Instant::now();
        let ended = clock.within(Stage::Results, std::future::pending::<()>()).await;
        assert!(ended.is_err_and(CutOff::is_late));
        assert!(since.elapsed() < Grace::Results.duration());
    }

    #[tokio::test]
    async fn clones_follow_what_is_known_later() {
        let clock = NetworkClock::default();
        let of_client = clock.clone();
        let token = CancellationToken::new();
        clock.follow(token.clone(), TimeLimit::default());
        assert_eq!(of_client.within(Stage::Work, async { 1 }).await, Ok(1));
        token.cancel();
        let ended = of_client.within(Stage::Work, async { 1 }).await;
        assert_eq!(ended.map_err(|why| why.to_string()), Err("the run was interrupted".to_owned()));
    }
}
