//! A limit that GitHub calls secondary: how many requests may write within a time.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// A limit of requests that write. One that is over it says how long to wait.
pub struct SecondaryLimit {
    most: usize,
    within: Duration,
    /// When requests were let through, in that time.
    recent: VecDeque<Instant>,
    /// How often each request was refused.
    refused: BTreeMap<String, usize>,
}

impl SecondaryLimit {
    pub fn new(most: usize, within: Duration) -> Self {
        Self { most, within, recent: VecDeque::new(), refused: BTreeMap::new() }
    }

    /// Returns how many requests were refused, and how often one of them was at most.
    pub fn refusals(&self) -> (usize, usize) {
        (self.refused.values().sum(), self.refused.values().max().copied().unwrap_or(0))
    }

    /// Returns for how many seconds a request has to wait, if it has to.
    pub fn refuses(&mut self, request: String) -> Option<u64> {
        let now = Instant::now();
        while self.recent.front().is_some_and(|then| now.duration_since(*then) >= self.within) {
            self.recent.pop_front();
        }
        if self.recent.len() < self.most {
            self.recent.push_back(now);
            return None;
        }
        *self.refused.entry(request).or_default() += 1;
        let first = self
            .recent
            .front()
            .map_or(self.within, |then| self.within.saturating_sub(now.duration_since(*then)));
        Some(first.as_secs() + 1)
    }
}
