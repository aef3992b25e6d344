//! Pace: how fast requests to one model go out. All runs of the process share it, because the provider's limit is one
//! for all of them.
//!
//! Without a refusal there is no limit. The first one gives a rate, which grows slowly while requests are answered and
//! shrinks at once when one is refused, as TCP does it. What a refusal says of the time to wait holds for everybody.
//!
//! A rate that is granted, such as a shard's share of a known limit, is a schedule: what is late does not delay the rest, and a
//! refusal does not change it, because many machines that each keep to their share still meet in the same moment now and then. Only
//! several refusals in a row tell that the limit is another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// Time over which answers are counted to guess the first rate.
const WINDOW: Duration = Duration::from_secs(10);

/// Shortest time over which they are.
const LEAST_WINDOW: Duration = Duration::from_secs(1);

/// Slowest rate, in requests per second.
const SLOWEST: f64 = 1.0 / 60.0;

/// Slowest rate that is guessed first, in requests per second.
const FIRST: f64 = 0.5;

/// What is left of the rate after a refusal.
const DECREASE: f64 = 0.85;

/// Growth of the rate in a second, as a part of the rate that was too fast.
const INCREASE: f64 = 0.01;

/// Growth of a rate with each answer, as a part of it, while nobody knows what is too fast.
const PROBING: f64 = 0.05;

/// Time without a refusal after which the old limit means nothing any more.
const FORGET: Duration = Duration::from_mins(1);

/// Longest delay of the first request, where a rate is granted.
const LONGEST_DELAY_OF_FIRST: Duration = Duration::from_secs(5);

/// Time after an answer in which a refusal means that others share the limit, and not that it is used up for good.
const SHARED: Duration = Duration::from_mins(2);

/// How many refusals in a row are chance, where a rate is granted.
const CHANCE: u32 = 4;

/// Time over which machines that were refused come back, where a rate is granted: at the same moment they would meet again.
const SPREAD: Duration = Duration::from_secs(2);

/// Delay after a refusal that names none.
const DELAY: Duration = Duration::from_secs(1);

/// Pace of the requests to one model.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Held by the request that goes out next; others wait in line.
    line: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Requests per second; `None` if there is no limit.
    rate: Option<f64>,
    /// Rate that is granted; `None` if that is not limited.
    granted: Option<f64>,
    /// Rate that was too fast; `None` while that is not known.
    too_fast: Option<f64>,
    /// When the next request may go out, by the rate.
    next: Option<Instant>,
    /// Until when none may go out, whatever the rate.
    held: Option<Instant>,
    /// How many requests were refused since the last answer.
    refusals: u32,
    /// When the rate was last decreased.
    decreased: Option<Instant>,
    first: Option<Instant>,
    /// When the last answers came.
    recent: VecDeque<Instant>,
    /// When the last answer came.
    answered: Option<Instant>,
}

/// Permission to send one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    sent: Instant,
}

impl Pace {
    /// Returns the pace of the requests that share a limit, such as those to one model of one server.
    pub(super) fn of(shared: &str, per_minute: Option<u64>) -> Arc<Self> {
        static ALL: LazyLock<Mutex<BTreeMap<String, Arc<Pace>>>> = LazyLock::new(Mutex::default);
        let pace = Arc::clone(ALL.lock().entry(shared.to_owned()).or_default());
        #[expect(clippy::cast_precision_loss, reason = "a rate of requests is far below")]
        let granted = per_minute.map(|count| count as f64 / 60.0);
        let mut state = pace.state();
        state.granted = match (state.granted, granted) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        // Machines that share a limit and start together must not begin with a burst.
        if state.first.is_none()
            && state.next.is_none()
            && let Some(rate) = state.granted
        {
            let longest = Duration::from_secs_f64(1.0 / rate).min(LONGEST_DELAY_OF_FIRST);
            state.next = Some(Instant::now() + longest.mul_f64(fastrand::f64()));
        }
        drop(state);
        pace
    }

    /// Waits until a request may go out.
    pub(super) async fn turn(&self) -> Turn {
        let _first = self.line.lock().await;
        loop {
            let next = self.state().due();
            match next.filter(|next| *next > Instant::now()) {
                Some(next) => tokio::time::sleep_until(next.into()).await,
                None => break,
            }
        }
        let mut state = self.state();
        let now = Instant::now();
        state.first.get_or_insert(now);
        state.schedule(now);
        Turn { sent: now }
    }

    /// Takes note of an answer.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        let now = Instant::now();
        state.answered = Some(now);
        state.refusals = 0;
        state.recent.push_back(now);
        state.recent.retain(|then| now.duration_since(*then) <= WINDOW);
        let Some(rate) = state.rate else { return };
        if state.decreased.is_some_and(|then| now.duration_since(then) > FORGET) {
            state.too_fast = None;
        }
        state.rate = Some(match state.too_fast {
            Some(too_fast) => rate + INCREASE * too_fast / rate,
            None => rate * (1.0 + PROBING),
        });
    }

    /// Takes note of a refusal. Returns whether a request was answered lately, so that this one only has to wait for its turn.
    pub(super) fn refused(&self, turn: &Turn, retry_after: Option<Duration>) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        state.refusals += 1;
        if state.granted.is_some() && state.refusals <= CHANCE {
            // The turn was not used.
            state.next =
                state.next.zip(state.interval()).and_then(|(next, interval)| next.checked_sub(interval));
        } else if state.decreased.is_none_or(|then| turn.sent > then) {
            // What went out before the rate was decreased says nothing about the new one.
            state.decrease(now);
        }
        // Machines that share the limit must not come back at the same moment.
        let spread = if state.granted.is_some() { SPREAD } else { Duration::ZERO };
        let wait = retry_after.unwrap_or(DELAY).mul_f64(1.0 + fastrand::f64() / 10.0)
            + spread.mul_f64(fastrand::f64());
        state.held = state.held.max(Some(now + wait));
        state.answered.is_some_and(|then| now.duration_since(then) < SHARED)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Returns the rate at which requests go out, if it is limited.
    fn allowed(&self) -> Option<f64> {
        match (self.rate, self.granted) {
            (Some(rate), Some(granted)) => Some(rate.min(granted)),
            (rate, granted) => rate.or(granted),
        }
    }

    /// Returns when the next request may go out, if it has to wait.
    fn due(&self) -> Option<Instant> {
        self.next.max(self.held)
    }

    /// Returns the time between two requests, if the rate is limited.
    fn interval(&self) -> Option<Duration> {
        self.allowed().map(|rate| Duration::from_secs_f64(1.0 / rate))
    }

    /// Plans the request after the one that goes out now. By a rate that is granted, it is due a whole interval after this one was,
    /// so that a delay is made up for, but by one request at most.
    fn schedule(&mut self, now: Instant) {
        self.next = self.interval().map(|interval| {
            let due = self.next.filter(|_| self.granted.is_some()).unwrap_or(now);
            due.max(now.checked_sub(interval).unwrap_or(now)) + interval
        });
    }

    fn decrease(&mut self, now: Instant) {
        let rate = if let Some(rate) = self.rate {
            self.too_fast = Some(rate);
            rate * DECREASE
        } else {
            let since = self.first.map_or(LEAST_WINDOW, |first| now.duration_since(first));
            let window = since.clamp(LEAST_WINDOW, WINDOW);
            let count = self.recent.iter().filter(|then| now.duration_since(**then) <= window).count();
            // A first guess from a burst may be far too low, and then takes long to fix.
            (f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / window.as_secs_f64()).max(FIRST)
        };
        self.rate = Some(rate.max(SLOWEST));
        self.decreased = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A provider that answers so many requests in each second, and refuses the others.
    struct Provider {
        start: tokio::time::Instant,
        per_second: u32,
        seen: Mutex<BTreeMap<u64, u32>>,
    }

    impl Provider {
        fn answers(&self) -> bool {
            let mut seen = self.seen.lock();
            let count = seen.entry(self.start.elapsed().as_secs()).or_default();
            *count += 1;
            *count <= self.per_second
        }
    }

    #[tokio::test]
    async fn requests_of_many_keep_to_one_limit_without_being_told_it() {
        let provider =
            Arc::new(Provider { start: tokio::time::Instant::now(), per_second: 20, seen: Mutex::default() });
        let pace = Arc::new(Pace::default());
        let refusals = Arc::new(Mutex::new(0));
        let worker = || {
            let (provider, pace, refusals) =
                (Arc::clone(&provider), Arc::clone(&pace), Arc::clone(&refusals));
            tokio::spawn(async move {
                for _ in 0..10 {
                    loop {
                        let turn = pace.turn().await;
                        if provider.answers() {
                            pace.answered();
                            break;
                        }
                        *refusals.lock() += 1;
                        pace.refused(&turn, Some(Duration::from_millis(200)));
                    }
                }
            })
        };
        // Ideal: 160 requests in 8 s.
        let workers: Vec<_> = (0..16).map(|_| worker()).collect();
        for worker in workers {
            worker.await.expect("a worker");
        }
        let refused = *refusals.lock();
        assert!(refused < 50, "{refused} of 160 were refused");
    }

    #[tokio::test]
    async fn a_refusal_holds_for_all_and_counts_once() {
        let pace = Pace::default();
        let (one, other) = (pace.turn().await, pace.turn().await);
        assert!(!pace.refused(&one, Some(Duration::from_millis(50))), "nobody was answered");
        let rate = pace.state().rate;
        pace.answered();
        assert!(pace.refused(&other, None), "one was answered meanwhile");
        let after = pace.state().rate;
        assert!(after >= rate, "the same wave: {after:?} {rate:?}");
        let began = Instant::now();
        pace.turn().await;
        assert!(began.elapsed() >= Duration::from_millis(500), "the delay of the second refusal holds");
        let later = pace.turn().await;
        assert!(pace.refused(&later, None), "one was answered a moment ago");
    }

    #[tokio::test]
    async fn what_is_granted_is_never_exceeded() {
        let pace = Pace::of("granted", Some(60 * 50));
        assert!(Arc::ptr_eq(&pace, &Pace::of("granted", None)));
        let began = Instant::now();
        for _ in 0..11 {
            pace.turn().await;
            pace.answered();
        }
        assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
    }
}
