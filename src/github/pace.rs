//! Pace of requests to GitHub. All clients of the process that have the same token share it, because GitHub's limits are
//! those of the token: what one of them learns applies to all, and none has to be refused to find out.
//!
//! [`Quotas`] says when a request may go out; requests that write go out one after the other.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use reqwest::header::HeaderMap;

use super::operation::Method;
use super::quotas::{HOUR, Quotas, Resource, WRITES_PER_MINUTE};
use crate::base::integrity::digest;
use crate::base::time_slots::{Share, SharedRate, TimeSlots};

/// The longest wait for a turn.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(2);

/// The shortest wait that the log mentions.
const WORTH_TELLING: Duration = Duration::from_secs(1);

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
    /// Held by who changes a branch of records, by repository and name.
    branches: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
    quotas: Mutex<Quotas>,
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
    /// Returns the pace of the requests with a token to a server, of which this process has a share if others use the token as well.
    pub(super) fn of(server: &str, token: &str, share: Option<&Share>) -> Arc<Self> {
        static ALL: LazyLock<Mutex<BTreeMap<String, Arc<Pace>>>> = LazyLock::new(Mutex::default);
        let key = digest(format!("{server} {token}").as_bytes());
        let pace = Arc::clone(ALL.lock().entry(key).or_default());
        if let Some(share) = share {
            let rate = SharedRate { per_minute: u64::from(WRITES_PER_MINUTE), share: share.clone() };
            pace.quotas().share(share.processes(), TimeSlots::of(&rate));
        }
        pace
    }

    /// Waits until a request may go out.
    pub(super) async fn turn(&self, resource: Resource, method: Method) -> Result<Turn, TooLong> {
        let writes = writes(method, resource);
        let line = if writes { Some(Arc::clone(&self.line).lock_owned().await) } else { None };
        loop {
            let wait = self.quotas().reserve(Instant::now(), resource, writes, method == Method::Post);
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

    /// Waits until nobody else in this process changes a branch: who comes second would send all of the requests in vain.
    pub(super) async fn alone_on(&self, branch: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let line = Arc::clone(self.branches.lock().entry(branch.to_owned()).or_default());
        line.lock_owned().await
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
            self.quotas().note(Instant::now(), resource, left, until);
        }
    }

    /// Takes note of a request that was not refused.
    pub(super) fn served(&self, writes: bool) {
        self.quotas().served(Instant::now(), writes);
    }

    /// Takes note of a refusal for a rate limit.
    pub(super) fn refused(&self, resource: Resource, headers: &HeaderMap, pause: Duration, writes: bool) {
        let is_used_up = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0")
            && !headers.contains_key("retry-after");
        let (mut quotas, now) = (self.quotas(), Instant::now());
        if is_used_up {
            quotas.note(now, resource, 0, pause.min(HOUR));
        } else {
            quotas.refused(now, pause.min(HOUR), writes);
        }
    }

    fn quotas(&self) -> MutexGuard<'_, Quotas> {
        self.quotas.lock()
    }
}

/// Returns whether a request writes. A query is sent by POST, and may be repeated.
pub(super) fn writes(method: Method, resource: Resource) -> bool {
    method == Method::Mutation || method != Method::Get && resource != "graphql"
}

/// Returns the time by the server's clock if a response has it, else by ours, in seconds since 1970.
fn seconds_of(headers: &HeaderMap) -> u64 {
    let server_time =
        headers.get("date").and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let now = server_time.unwrap_or_else(SystemTime::now);
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refusal_holds_for_all_clients_of_a_token() {
        let of = |token| Pace::of("https://x", token, None);
        let (one, other) = (of("token"), of("token"));
        let stranger = of("another");
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
