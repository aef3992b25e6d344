//! GitHub as a server on a clock of its own: it takes its time for each request, and refuses what is above its limits. When a
//! request goes out is decided by what decides it in the program.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use architect_ci::github::Quotas;

use super::world::Choice;

/// Requests that deliver to a target, and those that write down what is remembered, by method and kind.
pub(in crate::campaign) const DELIVERY: [&str; 9] = [
    "GET /pulls",
    "GET /git/ref",
    "GET /git/commits",
    "GET /git/ref",
    "POST /git/trees",
    "POST /git/commits",
    "POST /git/refs",
    "GET /pulls",
    "POST /pulls",
];
pub(super) const SAVE: [&str; 4] =
    ["GET /git/ref", "POST /git/trees", "POST /git/commits", "PATCH /git/refs"];

/// The query that looks at up to fifty targets, and its points, by GitHub's formula.
pub(in crate::campaign) const QUERY: &str = "POST /graphql";
const POINTS: u64 = 12;

/// The longest wait of a start; what takes longer is done by the next one.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// What GitHub documents: requests and points of an hour, points of a minute, and what may be created in a minute and in an hour.
const PER_HOUR: u64 = 5_000;
const POINTS_PER_MINUTE: u64 = 900;
const CREATED: [(Duration, usize); 2] = [(MINUTE, 80), (HOUR, 500)];

/// A start has to end, because GitHub's limits are reached.
#[derive(Debug)]
pub(super) struct LimitReached;

/// An hour's quota.
struct Window {
    left: u64,
    resets: Duration,
}

pub(super) struct Server {
    begin: Instant,
    pub(super) now: Duration,
    choice: Choice,
    /// What the program knows of its limits.
    quotas: Quotas,
    core: Window,
    graphql: Window,
    /// Requests of the last minute with their points, and when something was created in the last hour.
    minute: VecDeque<(Duration, u64)>,
    created: VecDeque<Duration>,
    pub(super) queries: usize,
    pub(super) requests: usize,
    pub(super) refused: usize,
}

impl Server {
    pub(super) fn new(seed: u64) -> Self {
        let window = || Window { left: PER_HOUR, resets: HOUR };
        Self {
            begin: Instant::now(),
            now: Duration::ZERO,
            choice: Choice(seed),
            quotas: Quotas::default(),
            core: window(),
            graphql: window(),
            minute: VecDeque::new(),
            created: VecDeque::new(),
            queries: 0,
            requests: 0,
            refused: 0,
        }
    }

    /// Sends requests, one after the other. Each is repeated until it is served.
    pub(super) fn send(&mut self, requests: &[&str]) -> Result<(), LimitReached> {
        requests.iter().try_for_each(|request| self.send_one(request))
    }

    fn send_one(&mut self, request: &str) -> Result<(), LimitReached> {
        let is_query = request == QUERY;
        let resource = if is_query { "graphql" } else { "core" };
        let writes = !is_query && !request.starts_with("GET ");
        let creates = request == "POST /pulls";
        loop {
            match self.quotas.reserve(self.begin + self.now, resource, writes, creates) {
                Some(wait) if wait > LONGEST_WAIT => return Err(LimitReached),
                Some(wait) => {
                    self.now += wait;
                    continue;
                }
                None => {}
            }
            *if is_query { &mut self.queries } else { &mut self.requests } += 1;
            let is_served = self.serves(is_query, writes, creates);
            let most = if is_query {
                3_000
            } else if writes {
                1_200
            } else {
                400
            };
            self.now += Duration::from_millis(most / 2 + self.choice.below(most / 2));
            let now = self.begin + self.now;
            if is_served {
                let window = if is_query { &self.graphql } else { &self.core };
                self.quotas.note(now, resource, window.left, window.resets.saturating_sub(self.now));
                self.quotas.served(now, writes);
                return Ok(());
            }
            self.refused += 1;
            self.quotas.refused(now, MINUTE, writes);
        }
    }

    /// Returns whether a request is within the limits, and counts it.
    fn serves(&mut self, is_query: bool, writes: bool, creates: bool) -> bool {
        let now = self.now;
        let window = if is_query { &mut self.graphql } else { &mut self.core };
        if window.resets <= now {
            *window = Window { left: PER_HOUR, resets: now + HOUR };
        }
        let (cost, points) = (if is_query { POINTS } else { 1 }, if writes { 5 } else { 1 });
        self.minute.retain(|(then, _)| now.saturating_sub(*then) < MINUTE);
        self.created.retain(|then| now.saturating_sub(*then) < HOUR);
        let within =
            |span: Duration| self.created.iter().filter(|then| now.saturating_sub(**then) < span).count();
        if window.left < cost
            || self.minute.iter().map(|(_, points)| points).sum::<u64>() + points > POINTS_PER_MINUTE
            || creates && CREATED.iter().any(|(span, most)| within(*span) >= *most)
        {
            return false;
        }
        window.left -= cost;
        self.minute.push_back((now, points));
        if creates {
            self.created.push_back(now);
        }
        true
    }
}
