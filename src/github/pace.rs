//! Pace of requests to GitHub. All clients of the process that have the same token share it, because GitHub's limits are
//! those of the token: what one of them learns applies to all, and none has to be refused to find out.
//!
//! Quotas come from the headers of every response. The secondary limits that GitHub documents (requests that write, content
//! that is created) are kept from the start, and requests that write go out one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use reqwest::header::HeaderMap;

use super::api::Method;
use super::write_rate::WriteRate;
use crate::base::integrity::digest;

/// The longest wait for a turn.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(2);

/// The shortest wait that the log mentions.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// Points that may be used in a minute; a request that reads takes one, one that writes takes five.
const POINTS_PER_MINUTE: u32 = 900;
const POINTS_OF_WRITE: u32 = 5;

/// Pull requests, comments and the like that may be created in a minute and in an hour.
const CREATED_PER_MINUTE: usize = 80;
const CREATED_PER_HOUR: usize = 500;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// How often the spread of waits grows, if requests are refused again and again.
const MAX_DOUBLINGS: u32 = 4;
const MAX_SPREAD: Duration = Duration::from_secs(20);

/// Windows of a quota that end closer together than this are the same one.
const SAME_WINDOW: Duration = Duration::from_secs(5);

/// A quota of GitHub's, by the name that its headers use.
pub(super) type Resource = &'static str;

/// Returns the quota that a request counts against.
pub(super) fn resource_of(address: &str) -> Resource {
    if address.ends_with("/graphql") {
        "graphql"
    } else if address.contains("/search/code") {
        "code_search"
    } else if address.contains("/search/") {
        "search"
    } else {
        "core"
    }
}

/// Pace of the requests with one token.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Held by the request that writes; others that write wait in line.
    line: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<State>,
}

/// Permission to send one request. It is dropped when the response is there.
#[derive(Debug)]
pub(super) struct Turn(Option<tokio::sync::OwnedMutexGuard<()>>);

impl Turn {
    /// Ends the turn.
    pub(super) fn end(self) {
        drop(self.0);
    }
}

/// A wait that is longer than [`MAX_WAIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong(pub(super) Duration);

impl Pace {
    /// Returns the pace of the requests with a token to a server.
    pub(super) fn of(server: &str, token: &str) -> Arc<Self> {
        static ALL: LazyLock<Mutex<BTreeMap<String, Arc<Pace>>>> = LazyLock::new(Mutex::default);
        let key = digest(format!("{server} {token}").as_bytes());
        Arc::clone(ALL.lock().entry(key).or_default())
    }

    /// Waits until a request may go out.
    pub(super) async fn turn(&self, resource: Resource, method: Method) -> Result<Turn, TooLong> {
        let writes = writes(method, resource);
        let line = if writes { Some(Arc::clone(&self.line).lock_owned().await) } else { None };
        loop {
            let wait = self.state().reserve(Instant::now(), resource, writes, method == Method::Post);
            match wait {
                None => return Ok(Turn(line)),
                Some(wait) if wait > MAX_WAIT => return Err(TooLong(wait)),
                Some(wait) => {
                    if wait >= WORTH_TELLING {
                        let seconds = wait.as_secs_f64().ceil();
                        tracing::info!(
                            "waiting {seconds} s before the next request, as GitHub's rate limit demands"
                        );
                    }
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Takes note of what a response says about the quota.
    pub(super) fn observe(&self, resource: Resource, headers: &HeaderMap) {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
        let named = headers.get("x-ratelimit-resource").and_then(|name| name.to_str().ok());
        if named.is_some_and(|named| named != resource) {
            return;
        }
        if let (Some(left), Some(reset)) = (number("x-ratelimit-remaining"), number("x-ratelimit-reset")) {
            // A window is no longer than an hour, whatever a clock says; and clocks may differ by a second.
            let until =
                Duration::from_secs(reset.saturating_sub(seconds_of(headers)).saturating_add(1)).min(HOUR);
            self.state().note(Instant::now(), resource, left, until);
        }
    }

    /// Takes note of a request that was not refused.
    pub(super) fn served(&self, writes: bool) {
        let mut state = self.state();
        state.refusals = 0;
        if writes {
            state.write_rate.served(Instant::now());
        }
    }

    /// Takes note of a refusal for a rate limit.
    pub(super) fn refused(&self, resource: Resource, headers: &HeaderMap, pause: Duration, writes: bool) {
        let is_used_up = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0")
            && !headers.contains_key("retry-after");
        let mut state = self.state();
        let now = Instant::now();
        if is_used_up {
            state.note(now, resource, 0, pause.min(HOUR));
        } else {
            // Machines that share the token must not come back at the same moment; the less so, the more often they were refused.
            let spread = if state.refusals == 0 || writes {
                0.1
            } else {
                f64::from(1 << state.refusals.min(MAX_DOUBLINGS)) / 2.0
            };
            state.refusals += 1;
            let pause = pause.min(HOUR);
            let later = pause.mul_f64(spread * fastrand::f64()).min(MAX_SPREAD.max(pause / 10));
            let until = now + pause + later;
            state.held = state.held.max(Some(until));
            if writes {
                state.write_rate.refused(now, until);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Returns whether a request writes. A query is sent by POST, and may be repeated.
pub(super) fn writes(method: Method, resource: Resource) -> bool {
    method != Method::Get && resource != "graphql"
}

/// Returns the time by the server's clock if a response has it, else by ours, in seconds since 1970.
fn seconds_of(headers: &HeaderMap) -> u64 {
    let server_time =
        headers.get("date").and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let now = server_time.unwrap_or_else(SystemTime::now);
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[derive(Debug, Default)]
struct State {
    /// Until when nothing goes out, whatever it is.
    held: Option<Instant>,
    /// How many requests in a row were refused.
    refusals: u32,
    quotas: BTreeMap<Resource, Quota>,
    write_rate: WriteRate,
    /// Requests of the last minute, with their points.
    points: VecDeque<(Instant, u32)>,
    /// When content was created in the last hour.
    created: VecDeque<Instant>,
}

/// What is left of a quota, less what is under way.
#[derive(Clone, Copy, Debug)]
struct Quota {
    left: u64,
    resets: Instant,
}

impl State {
    /// Takes what a request needs. Returns how long to wait before asking again if that is not there.
    fn reserve(&mut self, now: Instant, resource: Resource, writes: bool, creates: bool) -> Option<Duration> {
        let points = if writes { POINTS_OF_WRITE } else { 1 };
        self.forget(now);
        let mut until = self.held;
        if let Some(quota) = self.quotas.get(resource).filter(|quota| quota.left == 0) {
            until = until.max(Some(quota.resets));
        }
        if writes {
            until = until.max(self.write_rate.next());
        }
        let used: u32 = self.points.iter().map(|(_, points)| points).sum();
        if used + points > POINTS_PER_MINUTE {
            until = until.max(self.points.front().map(|(then, _)| *then + MINUTE));
        }
        if creates {
            let of_minute = self.created.iter().filter(|then| now.duration_since(**then) < MINUTE);
            if of_minute.clone().count() >= CREATED_PER_MINUTE {
                until = until.max(of_minute.min().map(|then| *then + MINUTE));
            }
            if self.created.len() >= CREATED_PER_HOUR {
                until = until.max(self.created.front().map(|then| *then + HOUR));
            }
        }
        if let Some(wait) = until.and_then(|until| until.checked_duration_since(now)) {
            return Some(wait.max(Duration::from_millis(1)));
        }
        self.points.push_back((now, points));
        if writes {
            self.write_rate.sent(now);
        }
        if creates {
            self.created.push_back(now);
        }
        if let Some(quota) = self.quotas.get_mut(resource) {
            quota.left -= 1;
        }
        None
    }

    /// Takes note of a quota. A response that was under way for long knows less than what is counted here.
    fn note(&mut self, now: Instant, resource: Resource, left: u64, until: Duration) {
        let resets = now + until;
        let known = self.quotas.get(resource).filter(|known| known.resets + SAME_WINDOW > resets).copied();
        let quota = match known {
            Some(known) if resets + SAME_WINDOW < known.resets => known,
            Some(known) => Quota { left: known.left.min(left), ..known },
            None => Quota { left, resets },
        };
        self.quotas.insert(resource, quota);
    }

    fn forget(&mut self, now: Instant) {
        self.held = self.held.filter(|until| *until > now);
        self.quotas.retain(|_, quota| quota.resets > now);
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

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn quota_is_used_to_its_last_request_and_no_further() {
        let (mut state, now) = (State::default(), Instant::now());
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
        let (mut state, start) = (State::default(), Instant::now());
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
        assert_eq!((most(MINUTE), most(HOUR)), (Some(CREATED_PER_MINUTE), Some(CREATED_PER_HOUR)));
        assert!(sent[499] < start + 7 * MINUTE && sent[500] >= start + HOUR);
    }

    #[test]
    fn requests_that_write_weigh_more() {
        let (mut state, now) = (State::default(), Instant::now());
        let count = (0..1000).take_while(|_| state.reserve(now, "core", true, false).is_none()).count();
        assert_eq!(count, 180);
        assert_eq!(state.reserve(now + MINUTE, "core", true, false), None);
    }

    #[tokio::test]
    async fn refusal_holds_for_all_clients_of_a_token() {
        let (one, other) = (Pace::of("https://x", "token"), Pace::of("https://x", "token"));
        let stranger = Pace::of("https://x", "another");
        let headers = [("retry-after", "1000")]
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        one.refused("core", &headers.into_iter().collect(), Duration::from_secs(1000), false);
        let held = other.turn("graphql", Method::Get).await.expect_err("held");
        assert!(held.0 >= Duration::from_secs(990) && held.0 <= Duration::from_secs(1100), "{held:?}");
        stranger.turn("core", Method::Post).await.expect("not held").end();
    }

    #[tokio::test]
    async fn server_clock_decides_when_quota_comes_back() {
        let pace = Pace::default();
        // A server whose clock is far ahead.
        let headers = [
            ("date", "Fri, 01 Jan 2100 00:00:00 GMT"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "4102444980"),
            ("x-ratelimit-resource", "core"),
        ];
        let headers: HeaderMap = headers
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")))
            .into_iter()
            .collect();
        pace.observe("core", &headers);
        let wait = pace.turn("core", Method::Get).await.expect_err("held").0;
        assert!(wait > Duration::from_secs(170) && wait <= Duration::from_secs(181), "{wait:?}");
        pace.observe("graphql", &headers);
        assert!(pace.turn("graphql", Method::Get).await.is_ok(), "the headers are of another quota");
    }
}
