//! Pace: how fast requests to one model go out. All runs of the process share it, because the provider's limit is one
//! for all of them.
//!
//! Without a refusal there is no limit. The first one gives a rate, which grows slowly while requests are answered and
//! shrinks at once when one is refused, as TCP does it. What a refusal says of the time to wait holds for everybody.
//!
//! A rate that is granted is a schedule: what is late does not delay the rest, and a refusal does not change it. Only several
//! refusals in a row tell that the limit is another. Where several machines have shares in it, as the shards of a batch do, their
//! requests go out in [`TimeSlots`], so that no two of them meet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::base::time_slots::{SharedRate, TimeSlots};

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

/// Time after a refusal in which a request that is late for its slot waits for the next one. Until somebody is refused, there is
/// room for it.
const STRICT: Duration = Duration::from_mins(1);

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
    /// Slots of this machine, if others have shares in the rate.
    slots: Option<TimeSlots>,
    /// Rate that was too fast; `None` while that is not known.
    too_fast: Option<f64>,
    /// When the next request may go out, by the rate.
    next: Option<Instant>,
    /// Until when none may go out, whatever the rate.
    held: Option<Instant>,
    /// When a request was last refused.
    refused: Option<Instant>,
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
    /// Returns the pace of the requests that share a limit, such as those to one model of one server. `shared_rate` is
    /// one that other machines have a share in.
    pub(super) fn of(shared: &str, per_minute: Option<u64>, shared_rate: Option<&SharedRate>) -> Arc<Self> {
        static ALL: LazyLock<Mutex<BTreeMap<String, Arc<Pace>>>> = LazyLock::new(Mutex::default);
        let pace = Arc::clone(ALL.lock().entry(shared.to_owned()).or_default());
        #[expect(clippy::cast_precision_loss, reason = "a rate of requests is far below")]
        let granted = per_minute.map(|count| count as f64 / 60.0);
        let mut state = pace.state();
        state.granted = match (state.granted, granted) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if state.slots.is_none()
            && let Some(rate) = shared_rate
        {
            state.slots = Some(TimeSlots::of(rate));
        }
        if state.first.is_none() && state.next.is_none() {
            state.next = state.first_turn(Instant::now());
        }
        drop(state);
        pace
    }

    /// Waits until a request may go out.
    pub(super) async fn turn(&self) -> Turn {
        let _first = self.line.lock().await;
        loop {
            let sent = self.state().send(Instant::now());
            match sent {
                Ok(turn) => return turn,
                Err(next) => tokio::time::sleep_until(next.into()).await,
            }
        }
    }

    /// Takes note of an answer.
    pub(super) fn answered(&self) {
        self.state().note_answer(Instant::now());
    }

    /// Takes note of a refusal. Returns whether a request was answered lately, so that this one only has to wait for its turn.
    pub(super) fn refused(&self, turn: &Turn, retry_after: Option<Duration>) -> bool {
        self.state().note_refusal(Instant::now(), turn, retry_after)
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

    /// Returns when the first request may go out: machines that share a limit and start together must not begin with a burst.
    fn first_turn(&self, now: Instant) -> Option<Instant> {
        if let Some(slots) = &self.slots {
            return Some(slots.next(now));
        }
        let longest = Duration::from_secs_f64(1.0 / self.granted?).min(LONGEST_DELAY_OF_FIRST);
        Some(now + longest.mul_f64(fastrand::f64()))
    }

    /// Returns when the next request may go out, if it has to wait.
    fn due(&self, now: Instant) -> Option<Instant> {
        let due = self.next.max(self.held)?;
        match &self.slots {
            Some(slots) if self.refused.is_some_and(|then| now.duration_since(then) < STRICT) => {
                // A timer may be late as well.
                let late = now.checked_sub(slots.length() / 2).unwrap_or(now);
                Some(slots.next(due.max(late)))
            }
            _ => Some(due),
        }
    }

    /// Lets a request go out now; fails with when the next one may, if this is too early.
    fn send(&mut self, now: Instant) -> Result<Turn, Instant> {
        if let Some(next) = self.due(now).filter(|next| *next > now) {
            return Err(next);
        }
        self.first.get_or_insert(now);
        self.schedule(now);
        Ok(Turn { sent: now })
    }

    /// Returns the time between two requests, if the rate is limited.
    fn interval(&self) -> Option<Duration> {
        self.allowed().map(|rate| Duration::from_secs_f64(1.0 / rate))
    }

    /// Plans the request after the one that goes out now. By a rate that is granted, it is due a whole interval after this one was,
    /// so that a delay is made up for, but by one request at most.
    fn schedule(&mut self, now: Instant) {
        if let Some(slots) = &self.slots {
            // More than the slots may be known of the limit.
            let slowed = self.rate.map_or(now, |rate| now + Duration::from_secs_f64(1.0 / rate));
            self.next = Some(slots.after(now).max(slots.next(slowed)));
            return;
        }
        self.next = self.interval().map(|interval| {
            let due = self.next.filter(|_| self.granted.is_some()).unwrap_or(now);
            due.max(now.checked_sub(interval).unwrap_or(now)) + interval
        });
    }

    fn note_answer(&mut self, now: Instant) {
        self.answered = Some(now);
        self.refusals = 0;
        self.recent.push_back(now);
        self.recent.retain(|then| now.duration_since(*then) <= WINDOW);
        let Some(rate) = self.rate else { return };
        if self.decreased.is_some_and(|then| now.duration_since(then) > FORGET) {
            self.too_fast = None;
        }
        self.rate = Some(match self.too_fast {
            Some(too_fast) => rate + INCREASE * too_fast / rate,
            None => rate * (1.0 + PROBING),
        });
    }

    fn note_refusal(&mut self, now: Instant, turn: &Turn, retry_after: Option<Duration>) -> bool {
        self.refusals += 1;
        self.refused = Some(now);
        if self.granted.is_some() && self.refusals <= CHANCE {
            // The turn was not used. A slot that was is over.
            if self.slots.is_none() {
                self.next =
                    self.next.zip(self.interval()).and_then(|(next, interval)| next.checked_sub(interval));
            }
        } else if self.decreased.is_none_or(|then| turn.sent > then) {
            // What went out before the rate was decreased says nothing about the new one.
            self.decrease(now);
        }
        let wait = retry_after.unwrap_or(DELAY);
        // Machines that share the limit must not come back at the same moment, which slots see to.
        let spread = if self.slots.is_some() { Duration::ZERO } else { (wait / 10).mul_f64(fastrand::f64()) };
        self.held = self.held.max(Some(now + wait + spread));
        self.answered.is_some_and(|then| now.duration_since(then) < SHARED)
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
mod tests;
