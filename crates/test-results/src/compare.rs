//! What became of each test between two runs of the same command.

use std::collections::{BTreeMap, BTreeSet};

use super::{Outcome, Results, TestResult};

/// How many times as long a test takes that is slower by far.
const SLOWER_TIMES: u64 = 5;

/// By how many milliseconds a test is slower that is so by far: less is noise.
const SLOWER_MS: u64 = 2_000;

/// What became of each test. Tests are named as `parts::of::name[case]`, in the order of the alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tests that ran now, whether they passed or failed.
    pub ran: usize,
    /// Tests that were not there before.
    pub new: Vec<String>,
    /// Tests that were there before, and of which nothing is seen now.
    pub gone: Vec<String>,
    /// Tests that ran before, and are skipped now.
    pub newly_skipped: Vec<String>,
    /// Tests that fail now and did not before; those that are new as well.
    pub newly_failing: Vec<String>,
    /// Tests that fail now as they did before.
    pub still_failing: Vec<String>,
    /// Tests that failed before and pass now.
    pub mended: Vec<String>,
    /// Tests that take far longer than before.
    pub slower: Vec<String>,
}

impl Comparison {
    /// Returns whether tests that ran before do not run now.
    pub fn has_lost_tests(&self) -> bool {
        !self.gone.is_empty() || !self.newly_skipped.is_empty()
    }
}

/// Compares what two runs of a command say about tests.
///
/// A test that is found elsewhere under its own name has moved. In a file or class that has as many new tests as gone
/// ones, tests were renamed; so were the cases of a test that has as many as before. None of these are gone.
pub fn compare(before: &Results, now: &Results) -> Comparison {
    let (was, is) = (seen(before), seen(now));
    let mut found = Comparison::default();
    let mut gone = BTreeSet::new();
    for (key, old) in &was {
        let Some(new) = is.get(key) else {
            // Nothing is known of what could not be built, and that is a failure of its own. What did not run is no loss.
            let is_lost = old.outcome != Outcome::Skipped && now.unbuilt_of(&key.name).is_none();
            if is_lost && !key.is_build {
                gone.insert(key);
            }
            continue;
        };
        let list = match (old.outcome, new.outcome) {
            (Outcome::Passed | Outcome::Failed, Outcome::Skipped) => &mut found.newly_skipped,
            (Outcome::Failed, Outcome::Failed) => &mut found.still_failing,
            (_, Outcome::Failed) => &mut found.newly_failing,
            (Outcome::Failed, Outcome::Passed) => &mut found.mended,
            _ if new.is_slower_than(*old) => &mut found.slower,
            _ => continue,
        };
        list.push(key.to_string());
    }
    let mut new: BTreeSet<&Key> = is.keys().filter(|key| !was.contains_key(*key) && !key.is_build).collect();
    found.newly_failing.extend(
        is.iter()
            .filter(|(key, test)| !was.contains_key(*key) && test.outcome == Outcome::Failed)
            .map(|(key, _)| key.to_string()),
    );
    found.newly_failing.sort_unstable();
    // One that is skipped takes no other's place.
    let mut takers: BTreeSet<&Key> = new
        .iter()
        .copied()
        .filter(|key| is.get(*key).is_some_and(|test| test.outcome != Outcome::Skipped))
        .collect();
    for is_same in [Key::has_moved_from, Key::is_case_like, Key::is_beside] {
        gone.retain(|old| {
            let taker = takers.iter().copied().find(|new| is_same(new, old));
            if let Some(taker) = taker {
                takers.remove(taker);
                new.remove(taker);
            }
            taker.is_none()
        });
    }
    found.ran = is.iter().filter(|(key, test)| !key.is_build && test.outcome != Outcome::Skipped).count();
    found.gone = gone.into_iter().map(Key::to_string).collect();
    found.new =
        new.into_iter().filter(|key| before.unbuilt_of(&key.name).is_none()).map(Key::to_string).collect();
    found
}

/// What tells a test from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: Vec<String>,
    case: Option<String>,
    /// Whether it stands for what could not be built or loaded.
    is_build: bool,
}

impl Key {
    fn of(test: &TestResult) -> Self {
        Self { name: test.name.clone(), case: test.case.clone(), is_build: false }
    }

    fn has_moved_from(&self, old: &Self) -> bool {
        self.name.last() == old.name.last() && self.case == old.case
    }

    fn is_case_like(&self, old: &Self) -> bool {
        self.name == old.name && self.case.is_some() == old.case.is_some()
    }

    fn is_beside(&self, old: &Self) -> bool {
        let parent = |key: &Self| key.name.split_last().map(|(_, above)| above.to_vec());
        parent(self).is_some_and(|above| !above.is_empty()) && parent(self) == parent(old)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.is_build, self.name.as_slice()) {
            (true, []) => return f.write_str("(the build)"),
            (true, name) => return write!(f, "{} (could not be loaded)", name.join("::")),
            (false, name) => f.write_str(&name.join("::"))?,
        }
        self.case.as_ref().map_or(Ok(()), |case| write!(f, "[{case}]"))
    }
}

/// What is seen of a test.
#[derive(Clone, Copy)]
struct Seen {
    outcome: Outcome,
    duration_ms: Option<u64>,
}

impl Seen {
    fn is_slower_than(self, old: Self) -> bool {
        let (Some(old), Some(new)) = (old.duration_ms, self.duration_ms) else { return false };
        new >= old.saturating_mul(SLOWER_TIMES) && new.saturating_sub(old) >= SLOWER_MS
    }

    /// Adds another result of the same test: runners name a test twice, and retry what failed.
    fn add(&mut self, other: Self) {
        let rank = |outcome| match outcome {
            Outcome::Failed => 2,
            Outcome::Passed => 1,
            Outcome::Skipped => 0,
        };
        if rank(other.outcome) > rank(self.outcome) {
            self.outcome = other.outcome;
        }
        self.duration_ms = self.duration_ms.max(other.duration_ms);
    }
}

fn seen(results: &Results) -> BTreeMap<Key, Seen> {
    let tests = results
        .tests
        .iter()
        .map(|test| (Key::of(test), Seen { outcome: test.outcome, duration_ms: test.duration_ms }));
    let unbuilt = results.unbuilt.iter().map(|unbuilt| {
        let key = Key { name: unbuilt.name.clone(), case: None, is_build: true };
        (key, Seen { outcome: Outcome::Failed, duration_ms: None })
    });
    let mut all: BTreeMap<Key, Seen> = BTreeMap::new();
    for (key, test) in tests.chain(unbuilt) {
        all.entry(key).and_modify(|known| known.add(test)).or_insert(test);
    }
    all
}
