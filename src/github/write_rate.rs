//! Rate of the requests that write, once GitHub has refused one for a secondary limit. Other machines may share the token, and
//! nobody knows how many there are, so each of them slows down at once and speeds up slowly (additive increase, multiplicative
//! decrease), until all of them fit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The slowest rate, in requests per second: with a few requests for each, what one task delivers fits into its time.
const SLOWEST: f64 = 0.1;

/// The slowest rate that is assumed at first: few recent requests do not mean that few are allowed.
const FIRST: f64 = 0.2;

/// The rate above which the documented limits apply first.
const FASTEST: f64 = 3.0;

/// Factor by which a refusal reduces the rate.
const DECREASE: f64 = 0.7;

/// Increase of the rate with each request that succeeds, in requests per second.
const INCREASE: f64 = 0.005;

/// Time over which requests are counted to estimate the first rate.
const WINDOW: Duration = Duration::from_secs(10);

/// The rate of one token's requests from one process.
#[derive(Debug, Default)]
pub(super) struct WriteRate {
    /// Requests per second; `None` while no limit but the documented ones is known.
    rate: Option<f64>,
    next: Option<Instant>,
    /// When the last requests were served.
    served: VecDeque<Instant>,
}

impl WriteRate {
    /// Returns when the next request may go out.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Records a request that is sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.next = self.rate.map(|rate| now + Duration::from_secs_f64(1.0 / rate));
    }

    /// Records a request that succeeded.
    pub(super) fn served(&mut self, now: Instant) {
        self.served.push_back(now);
        self.forget(now);
        self.rate = self.rate.map(|rate| rate + INCREASE).filter(|rate| *rate < FASTEST);
    }

    /// Records a request that was refused, after which nothing is sent before `until`.
    pub(super) fn refused(&mut self, now: Instant, until: Instant) {
        self.forget(now);
        let recent = f64::from(u32::try_from(self.served.len()).unwrap_or(u32::MAX));
        let estimate = (recent / WINDOW.as_secs_f64()).max(FIRST);
        let rate = self.rate.map_or(estimate, |rate| rate * DECREASE);
        let rate = rate.clamp(SLOWEST, FASTEST);
        self.rate = Some(rate);
        // Machines that share the token must not come back at the same moment.
        self.next = Some(until + Duration::from_secs_f64(fastrand::f64() / rate));
    }

    /// Forgets requests that are older than [`WINDOW`].
    fn forget(&mut self, now: Instant) {
        while self.served.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
            self.served.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of 2,000 requests of some machines were refused by a server that lets `most` through in two seconds, how
    /// often one of them was, and how long all took, in seconds.
    fn share(machines: usize, most: usize) -> (usize, u32, f64) {
        const SPAN: Duration = Duration::from_secs(2);
        let start = Instant::now();
        let mut rates: Vec<WriteRate> = (0..machines).map(|_| WriteRate::default()).collect();
        let mut due: Vec<Instant> = rates.iter().map(|_| start + SPAN.mul_f64(fastrand::f64())).collect();
        let mut row = vec![0; machines];
        let mut through: VecDeque<Instant> = VecDeque::new();
        let (mut served, mut refused, mut often) = (0, 0, 0);
        let mut now = start;
        while served < 2_000 {
            let machine = (0..machines).min_by_key(|machine| due[*machine]).expect("a machine");
            now = now.max(due[machine]);
            rates[machine].sent(now);
            through.retain(|then| now.duration_since(*then) < SPAN);
            if through.len() < most {
                through.push_back(now);
                rates[machine].served(now);
                served += 1;
                row[machine] = 0;
            } else {
                rates[machine].refused(now, now + SPAN);
                refused += 1;
                row[machine] += 1;
                often = often.max(row[machine]);
            }
            due[machine] = rates[machine].next().unwrap_or(now).max(now + Duration::from_millis(20));
        }
        (refused, often, now.duration_since(start).as_secs_f64())
    }

    #[test]
    fn machines_that_share_a_limit_find_their_pace() {
        for (machines, most) in [(1, 4), (4, 6), (16, 6)] {
            let (refused, often, took) = share(machines, most);
            let ideal = f64::from(2_000_u32) / f64::from(u32::try_from(most).expect("a few")) * 2.0;
            let figures = format!(
                "{machines} of {most}: {refused} refused, one {often} times, {took:.0} s of {ideal:.0}"
            );
            assert!(refused < 400 && often <= 10 && took < 1.8 * ideal, "{figures}");
        }
    }

    #[test]
    fn rate_follows_refusals_and_is_forgotten() {
        let (mut rate, now) = (WriteRate::default(), Instant::now());
        rate.sent(now);
        assert_eq!(rate.next(), None, "no limit is known");
        for _ in 0..5 {
            rate.served(now);
        }
        rate.refused(now, now + WINDOW);
        assert_eq!(rate.rate, Some(0.5));
        assert!(rate.next() >= Some(now + WINDOW) && rate.next() <= Some(now + WINDOW + 2 * WINDOW / 10));
        rate.sent(now);
        assert_eq!(rate.next(), Some(now + Duration::from_secs(2)));
        for _ in 0..20 {
            rate.refused(now, now);
        }
        assert_eq!(rate.rate, Some(SLOWEST));
        for _ in 0..600 {
            rate.served(now);
        }
        rate.sent(now);
        assert_eq!((rate.rate, rate.next()), (None, None));
    }
}
