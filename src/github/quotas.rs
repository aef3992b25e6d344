//! Quotas of a token: when a request may go out, as a function of the time.
//!
//! Quotas come from the headers of every response. The secondary limits that GitHub documents (requests that write, content
//! that is created) are kept from the start; of several processes that use the token at the same time, each keeps to its share
//! of what a minute allows, and writes in its own [`TimeSlots`], so that no two of them write at the same moment.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::write_rate::WriteRate;
use crate::base::time_slots::TimeSlots;

/// Points that may be used in a minute; a request that reads takes one, one that writes takes five.
const POINTS_PER_MINUTE: u32 = 900;
const POINTS_OF_WRITE: u32 = 5;

/// Requests that write which that leaves room for.
pub(super) const WRITES_PER_MINUTE: u32 = POINTS_PER_MINUTE / POINTS_OF_WRITE;

/// Pull requests, comments and the like that may be created in a minute and in an hour.
const CREATED_PER_MINUTE: u32 = 80;
const CREATED_PER_HOUR: usize = 500;

const MINUTE: Duration = Duration::from_mins(1);
pub(super) const HOUR: Duration = Duration::from_hours(1);

/// How often the spread of waits grows, if requests are refused again and again.
const MAX_DOUBLINGS: u32 = 4;
const MAX_SPREAD: Duration = Duration::from_secs(20);

/// Windows of a quota that end closer together than this are the same one.
const SAME_WINDOW: Duration = Duration::from_secs(5);

/// A quota of GitHub's, by the name that its headers use.
pub type Resource = &'static str;

/// What one token may do, as far as that is known.
#[derive(Debug, Default)]
pub struct Quotas {
    /// Until when nothing goes out, whatever it is.
    held: Option<Instant>,
    /// How many requests in a row were refused.
    refusals: u32,
    by_resource: BTreeMap<Resource, Quota>,
    write_rate: WriteRate,
    /// Requests of the last minute, with their points.
    points: VecDeque<(Instant, u32)>,
    /// When content was created in the last hour.
    created: VecDeque<Instant>,
    /// How many other processes use the token at the same time, and when this one writes for that reason.
    others: u32,
    slots: Option<TimeSlots>,
    /// When the slot after that of the last request that writes begins.
    next_write: Option<Instant>,
}

/// What is left of a quota, less what is under way.
#[derive(Clone, Copy, Debug)]
struct Quota {
    left: u64,
    resets: Instant,
}

impl Quotas {
    /// Takes note that so many processes, this one among them, use the token at the same time, and in which slots it writes.
    pub(super) fn share(&mut self, processes: usize, slots: TimeSlots) {
        self.others = u32::try_from(processes).unwrap_or(u32::MAX).saturating_sub(1);
        self.slots.get_or_insert(slots);
    }

    /// Returns this process's share of what a minute allows. The limits of an hour are not divided: a share of them would hold
    /// up for long what others leave over.
    fn share_of(&self, of_minute: u32) -> u32 {
        of_minute / (self.others + 1)
    }

    /// Takes what a request needs. Returns how long to wait before asking again if that is not there.
    pub fn reserve(
        &mut self,
        now: Instant,
        resource: Resource,
        writes: bool,
        creates: bool,
    ) -> Option<Duration> {
        let points = if writes { POINTS_OF_WRITE } else { 1 };
        self.forget(now);
        let mut until = self.held;
        if let Some(quota) = self.by_resource.get(resource).filter(|quota| quota.left == 0) {
            until = until.max(Some(quota.resets));
        }
        if writes {
            until = until.max(self.write_rate.next()).max(self.next_write);
        }
        let used: u32 = self.points.iter().map(|(_, points)| points).sum();
        if used + points > self.share_of(POINTS_PER_MINUTE) {
            until = until.max(self.points.front().map(|(then, _)| *then + MINUTE));
        }
        if creates {
            let of_minute = self.created.iter().filter(|then| now.duration_since(**then) < MINUTE);
            if of_minute.clone().count() >= self.share_of(CREATED_PER_MINUTE) as usize {
                until = until.max(of_minute.min().map(|then| *then + MINUTE));
            }
            if self.created.len() >= CREATED_PER_HOUR {
                until = until.max(self.created.front().map(|then| *then + HOUR));
            }
        }
        if let Some(slots) = self.slots.as_ref().filter(|_| writes) {
            // A timer may be late, and then the slot has begun.
            let late = now.checked_sub(slots.length() / 2).unwrap_or(now);
            until = Some(slots.next(until.map_or(late, |until| until.max(late))));
        }
        if let Some(wait) = until.and_then(|until| until.checked_duration_since(now)) {
            return Some(wait.max(Duration::from_millis(1)));
        }
        self.points.push_back((now, points));
        if writes {
            self.write_rate.sent(now);
            self.next_write = self.slots.as_ref().map(|slots| slots.after(now));
        }
        if creates {
            self.created.push_back(now);
        }
        if let Some(quota) = self.by_resource.get_mut(resource) {
            quota.left -= 1;
        }
        None
    }

    /// Takes note of a quota. A response that was under way for long knows less than what is counted here.
    pub fn note(&mut self, now: Instant, resource: Resource, left: u64, until: Duration) {
        let resets = now + until;
        let known =
            self.by_resource.get(resource).filter(|known| known.resets + SAME_WINDOW > resets).copied();
        let quota = match known {
            Some(known) if resets + SAME_WINDOW < known.resets => known,
            Some(known) => Quota { left: known.left.min(left), ..known },
            None => Quota { left, resets },
        };
        self.by_resource.insert(resource, quota);
    }

    /// Takes note of a request that was not refused.
    pub fn served(&mut self, now: Instant, writes: bool) {
        self.refusals = 0;
        if writes {
            self.write_rate.served(now);
        }
    }

    /// Takes note of a refusal for a secondary limit, after which nothing may go out for a while.
    pub fn refused(&mut self, now: Instant, pause: Duration, writes: bool) {
        // Machines that share the token must not come back at the same moment; the less so, the more often they were refused.
        let spread = if self.refusals == 0 || writes {
            0.1
        } else {
            f64::from(1 << self.refusals.min(MAX_DOUBLINGS)) / 2.0
        };
        self.refusals += 1;
        let later = pause.mul_f64(spread * fastrand::f64()).min(MAX_SPREAD.max(pause / 10));
        let until = now + pause + later;
        self.held = self.held.max(Some(until));
        if writes {
            self.write_rate.refused(now, until);
        }
    }

    fn forget(&mut self, now: Instant) {
        self.held = self.held.filter(|until| *until > now);
        self.by_resource.retain(|_, quota| quota.resets > now);
        while self.points.front().is_some_and(|(then, _)| now.duration_since(*then) >= MINUTE) {
            self.points.pop_front();
        }
        while self.created.front().is_some_and(|then| now.duration_since(*then) >= HOUR) {
            self.created.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time_slots::{Share, SharedRate};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn quota_is_used_to_its_last_request_and_no_further() {
        let (mut state, now) = (Quotas::default(), Instant::now());
        assert_eq!(state.reserve(now, "core", false, false), None, "nothing is known yet");
        state.note(now, "core", 3, 30 * SECOND);
        // Three go out at once. Answers of the first two say what was known when they were given.
        for _ in 0..3 {
            assert_eq!(state.reserve(now, "core", true, false), None);
        }
        state.note(now, "core", 2, 30 * SECOND);
        state.note(now, "core", 1, 31 * SECOND);
        assert_eq!(state.reserve(now, "core", false, false), Some(30 * SECOND));
        assert_eq!(state.reserve(now, "graphql", false, false), None, "another quota");
        let later = now + 30 * SECOND;
        assert_eq!(state.reserve(later, "core", false, false), None, "the next window");
        state.note(later, "core", 4999, HOUR);
        state.note(later, "core", 0, 2 * SECOND);
        assert_eq!(
            state.reserve(later, "core", false, false),
            None,
            "an answer of the last window came late"
        );
    }

    #[test]
    fn content_is_created_no_faster_than_github_allows() {
        let (mut state, start) = (Quotas::default(), Instant::now());
        let mut now = start;
        let mut sent = Vec::new();
        while sent.len() < 600 {
            match state.reserve(now, "core", true, true) {
                None => sent.push(now),
                Some(wait) => now += wait,
            }
        }
        let most = |window: Duration| {
            let within =
                |first: &Instant| sent.iter().filter(|at| **at >= *first && **at < *first + window).count();
            sent.iter().map(within).max()
        };
        assert_eq!((most(MINUTE), most(HOUR)), (Some(CREATED_PER_MINUTE as usize), Some(CREATED_PER_HOUR)));
        assert!(sent[499] < start + 7 * MINUTE && sent[500] >= start + HOUR);
    }

    #[test]
    fn requests_that_write_weigh_more() {
        let (mut state, now) = (Quotas::default(), Instant::now());
        let count = (0..400).take_while(|_| state.reserve(now, "core", true, false).is_none()).count();
        assert_eq!(count, 180);
        assert_eq!(state.reserve(now + MINUTE, "core", true, false), None);
    }

    /// The requests of a delivery that write; one of them creates a pull request.
    const DELIVERY: [bool; 4] = [false, false, false, true];

    /// What becomes of the deliveries of many machines.
    #[derive(Debug, Default, PartialEq)]
    struct Delivered {
        /// Number of requests that go beyond the documented limits.
        refused: usize,
        minutes: u64,
        /// Number of requests in the two seconds with most.
        most: usize,
    }

    /// Lets so many machines deliver 400 tasks, which know of each other or do not.
    fn deliver(machines: usize, are_known: bool) -> Delivered {
        let start = Instant::now();
        let mut quotas: Vec<Quotas> = (0..machines).map(|_| Quotas::default()).collect();
        for (own, quotas) in quotas.iter_mut().enumerate() {
            if let Some(share) = Share::equal(own, machines).filter(|_| are_known) {
                let rate = SharedRate { per_minute: u64::from(WRITES_PER_MINUTE), share };
                quotas.share(machines, TimeSlots::at(&rate, start, 1_000_000_007 * SECOND));
            }
        }
        let mut left: Vec<VecDeque<bool>> = vec![VecDeque::new(); machines];
        for task in 0..400 {
            left[task % machines].extend(DELIVERY);
        }
        let mut due = vec![start; machines];
        let (mut points, mut created): (VecDeque<Instant>, VecDeque<Instant>) = Default::default();
        let (mut delivered, mut now) = (Delivered::default(), start);
        while let Some(machine) =
            (0..machines).filter(|machine| !left[*machine].is_empty()).min_by_key(|machine| due[*machine])
        {
            now = now.max(due[machine]);
            let creates = left[machine][0];
            if let Some(wait) = quotas[machine].reserve(now, "core", true, creates) {
                due[machine] = now + wait;
                continue;
            }
            points.retain(|then| now.duration_since(*then) < MINUTE);
            created.retain(|then| now.duration_since(*then) < HOUR);
            let of_minute = created.iter().filter(|then| now.duration_since(**then) < MINUTE).count();
            if points.len() >= (POINTS_PER_MINUTE / POINTS_OF_WRITE) as usize
                || creates && (of_minute >= CREATED_PER_MINUTE as usize || created.len() >= CREATED_PER_HOUR)
            {
                delivered.refused += 1;
                quotas[machine].refused(now, MINUTE, true);
                due[machine] = now + MINUTE;
                continue;
            }
            quotas[machine].served(now, true);
            points.push_back(now);
            let recent = points.iter().filter(|then| now.duration_since(**then) < 2 * SECOND).count();
            delivered.most = delivered.most.max(recent);
            if creates {
                created.push_back(now);
            }
            left[machine].pop_front();
            due[machine] = now + SECOND;
        }
        Delivered { minutes: now.duration_since(start).as_secs().div_ceil(60), ..delivered }
    }

    #[test]
    fn machines_that_know_of_each_other_are_never_refused() {
        // 1,600 requests, 180 in a minute; of 16, each makes 11.
        assert_eq!(deliver(1, true), Delivered { refused: 0, minutes: 27, most: 2 });
        assert_eq!(deliver(16, true), Delivered { refused: 0, minutes: 11, most: 6 });
        assert_eq!(deliver(20, true), Delivered { refused: 0, minutes: 11, most: 6 });
        let strangers = deliver(16, false);
        assert!(strangers.refused > 100 && strangers.most > 20, "{strangers:?}");
    }
}
