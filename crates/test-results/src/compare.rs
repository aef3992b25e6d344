//! The outcome of each test between two runs of the same command.

use std::collections::{BTreeMap, BTreeSet};

use super::{Outcome, Results, TestResult};

/// How many times as long a test takes that is slower by far.
const SLOWER_TIMES: u64 = 5;

/// By how many milliseconds a test is slower that is so by far: less is noise.
const SLOWER_MS: u64 = 2_000;

/// The outcome of each test. Tests are named as `parts::of::name[case]`, in the order of the alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tests that ran now, whether they passed or failed.
    pub ran: usize,
    /// Tests that were not there before.
    pub new: Vec<String>,
    /// Tests that were there before, and of which nothing is seen now.
    pub gone: Vec<String>,
    /// Tests that were there before, and that could not run now, as something could not be built or loaded.
    pub blocked: Vec<String>,
    /// Tests that were there before under a name that is gone, in whose place there are others.
    pub replaced: Vec<String>,
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
/// A test that is found elsewhere under its own name has moved. One in whose file or class there is a new test with at least
/// half of its words was renamed; so were the cases of a test that has as many as before. None of these are gone.
pub fn compare(before: &Results, now: &Results) -> Comparison {
    let (was, is) = (seen(before), seen(now));
    let mut found = Comparison::default();
    let (mut gone, mut blocked) = (BTreeSet::new(), BTreeSet::new());
    // One that only names failures does not name what passes now; it counts no fewer tests then.
    let counts_all = before.counted > 0 && now.counted >= before.counted;
    for (key, old) in &was {
        let Some(new) = is.get(key) else {
            if counts_all && old.outcome == Outcome::Failed && now.unbuilt.is_empty() {
                continue;
            }
            // What did not run is no loss.
            if old.outcome != Outcome::Skipped && !key.is_build {
                let is_blocked = now.unbuilt_of(&key.name).is_some();
                (if is_blocked { &mut blocked } else { &mut gone }).insert(key);
            }
            continue;
        };
        let list = match (old.outcome, new.outcome) {
            // Anybody can print that a test passed; where it is also said that it did not run, that counts.
            (Outcome::Passed | Outcome::Failed, Outcome::Skipped | Outcome::Passed)
                if new.is_skipped && !old.is_skipped =>
            {
                &mut found.newly_skipped
            }
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
    let words: BTreeMap<&Key, BTreeSet<String>> =
        gone.iter().chain(&takers).map(|key| (*key, key.words())).collect();
    let is_same = |same: Same, new: &Key, old: &Key| match same {
        Same::Moved => new.has_moved_from(old),
        Same::CaseLike => new.is_case_like(old),
        Same::Renamed => words.get(new).zip(words.get(old)).is_some_and(|(new, old)| are_alike(new, old)),
    };
    let mut work = MAX_COMPARED;
    for same in [Same::Moved, Same::CaseLike, Same::Renamed] {
        let mut groups: BTreeMap<Vec<&str>, BTreeSet<&Key>> = BTreeMap::new();
        for taker in &takers {
            groups.entry(same.group(taker)).or_default().insert(taker);
        }
        gone.retain(|old| {
            let Some(group) = groups.get_mut(&same.group(old)) else { return true };
            let known = work;
            let taker = group.iter().copied().take(known).find(|new| {
                work = work.saturating_sub(1);
                is_same(same, new, old)
            });
            if let Some(taker) = taker {
                group.remove(taker);
                takers.remove(taker);
                new.remove(taker);
                if same != Same::Moved {
                    found.replaced.push(old.to_string());
                }
            }
            taker.is_none()
        });
    }
    found.blocked = blocked.into_iter().map(Key::to_string).collect();
    found.ran = is.iter().filter(|(key, test)| !key.is_build && test.outcome != Outcome::Skipped).count();
    found.gone = gone.into_iter().map(Key::to_string).collect();
    found.new =
        new.into_iter().filter(|key| before.unbuilt_of(&key.name).is_none()).map(Key::to_string).collect();
    found
}

/// Most pairs of an old and a new test that are compared. What is gone beyond that has no other name.
const MAX_COMPARED: usize = 100_000;

/// Ways in which a new test can stand for an old one, the most certain first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    Moved,
    CaseLike,
    Renamed,
}

impl Same {
    /// Returns what the names of two such tests have in common.
    fn group(self, key: &Key) -> Vec<&str> {
        let parts = key.name.iter().map(String::as_str);
        match self {
            Self::Moved => parts.rev().take(1).chain(key.case.as_deref()).collect(),
            Self::CaseLike => parts.chain(key.case.as_ref().map(|_| "[]")).collect(),
            // What is in no file or class is beside nothing.
            Self::Renamed if key.name.len() < 2 => vec!["", key.name.first().map_or("", String::as_str)],
            Self::Renamed => parts.take(key.name.len() - 1).collect(),
        }
    }
}

/// Returns whether at least half of the words of two names are the same.
fn are_alike(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let common = one.intersection(other).count();
    2 * common >= one.len() + other.len() - common
}

/// Identity of a test.
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

    /// Returns the words of its own name: `test_adds_all` and `TestAddsAll` both give `adds` and `all`.
    fn words(&self) -> BTreeSet<String> {
        let mut text = String::new();
        for sign in self.name.last().map_or("", String::as_str).chars() {
            if sign.is_uppercase() {
                text.push(' ');
            }
            text.extend(sign.to_lowercase());
        }
        let words =
            text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !matches!(*word, "" | "test"));
        words.map(str::to_owned).collect()
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
    /// Whether it is said that it did not run, whatever else is said.
    is_skipped: bool,
    duration_ms: Option<u64>,
}

impl Seen {
    fn new(outcome: Outcome, duration_ms: Option<u64>) -> Self {
        Self { outcome, is_skipped: outcome == Outcome::Skipped, duration_ms }
    }

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
        self.is_skipped |= other.is_skipped;
        self.duration_ms = self.duration_ms.max(other.duration_ms);
    }
}

fn seen(results: &Results) -> BTreeMap<Key, Seen> {
    let tests = results.tests.iter().map(|test| (Key::of(test), Seen::new(test.outcome, test.duration_ms)));
    let unbuilt = results.unbuilt.iter().map(|unbuilt| {
        let key = Key { name: unbuilt.name.clone(), case: None, is_build: true };
        (key, Seen::new(Outcome::Failed, None))
    });
    let mut all: BTreeMap<Key, Seen> = BTreeMap::new();
    for (key, test) in tests.chain(unbuilt) {
        all.entry(key).and_modify(|known| known.add(test)).or_insert(test);
    }
    all
}
