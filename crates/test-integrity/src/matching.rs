//! Which test after a change is which test before it, in whatever file and by whatever name.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::Test;

/// Least share of tokens in common of two tests that are the same under another name.
const ALIKE: f64 = 0.6;
/// Least share of a test's own words that another test has to have to stand for it.
const CONTAINED: f64 = 0.75;

/// Tests before and after a change, by what became of them.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    /// Pairs of the same test: its place before and after.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// Tests that are in no pair, before.
    pub(crate) gone: Vec<usize>,
    /// Tests that are in no pair, after.
    pub(crate) new: Vec<usize>,
}

/// Most tokens that are compared for one change. Beyond that, tests are told apart by name alone.
const MAX_COMPARED: usize = 40_000_000;

/// What two tests have to have in common: a path, which may be empty, and a name.
type Key = fn(&Test) -> (String, String);

/// Finds the pairs: by path and name, by name alone, by simple name, then by likeness.
pub(crate) fn pairs(before: &[Test], after: &[Test]) -> Matching {
    let mut found =
        Matching { pairs: Vec::new(), gone: (0..before.len()).collect(), new: (0..after.len()).collect() };
    let keys: [Key; 3] = [
        |test| (test.path.clone(), test.name.clone()),
        |test| (test.path.clone(), test.simple_name().to_owned()),
        |test| (String::new(), test.simple_name().to_owned()),
    ];
    for key in keys {
        let mut by_key: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for at in found.new.iter().rev() {
            by_key.entry(key(&after[*at])).or_default().push(*at);
        }
        let gone = std::mem::take(&mut found.gone);
        for at in gone {
            match by_key.get_mut(&key(&before[at])).and_then(Vec::pop) {
                Some(other) => found.pairs.push((at, other)),
                None => found.gone.push(at),
            }
        }
        let taken: BTreeSet<usize> = found.pairs.iter().map(|(_, other)| *other).collect();
        found.new.retain(|at| !taken.contains(at));
    }

    let mut work = MAX_COMPARED;
    let (gone, new) = (bags(before, &found.gone), bags(after, &found.new));
    let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
    for (one, words) in &gone {
        for (other, others) in new.iter().filter(|(_, others)| words.could_be_alike(others)) {
            let cost = words.kinds() + others.kinds();
            let Some(left) = work.checked_sub(cost) else { break };
            work = left;
            let likeness = words.likeness(others);
            if likeness >= ALIKE {
                candidates.push((likeness, *one, *other));
            }
        }
    }
    candidates.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (mut gone, mut new): (BTreeSet<usize>, BTreeSet<usize>) =
        (found.gone.drain(..).collect(), found.new.drain(..).collect());
    for (_, one, other) in candidates {
        if gone.contains(&one) && new.remove(&other) {
            gone.remove(&one);
            found.pairs.push((one, other));
        }
    }
    found.gone.extend(gone);
    found.new.extend(new);
    found
}

/// Returns the tokens of chosen tests.
fn bags<'a>(tests: &'a [Test], chosen: &[usize]) -> Vec<(usize, Bag<'a>)> {
    chosen.iter().map(|at| (*at, Bag::new(tests[*at].body.words.iter()))).collect()
}

/// Tests that may stand for others, which may say more than those do.
pub(crate) struct Heirs<'a>(Vec<(&'a Test, Bag<'a>)>);

impl<'a> Heirs<'a> {
    /// Takes those tests that run.
    pub(crate) fn new(tests: &'a [Test]) -> Self {
        let running = tests.iter().filter(|test| test.body.skip.is_none());
        Self(running.map(|test| (test, Bag::of_content(test))).collect())
    }

    /// Returns whether what a test says is said by one of these.
    pub(crate) fn include(&self, test: &Test) -> bool {
        let own = Bag::of_content(test);
        let mut work = MAX_COMPARED / 16;
        self.0.iter().any(|(other, theirs)| {
            work = work.saturating_sub(own.kinds() + theirs.kinds());
            let asserts = test.body.assertions.is_empty() || !other.body.assertions.is_empty();
            work > 0 && asserts && own.total > 0 && share(own.common(theirs), own.total) >= CONTAINED
        })
    }
}

/// New tests with several cases, each of which may be what another test was.
pub(crate) struct Tables<'a>(Vec<(&'a Test, Bag<'a>, usize)>);

impl<'a> Tables<'a> {
    /// Takes those tests that run and have several cases.
    pub(crate) fn new(tests: impl Iterator<Item = &'a Test>) -> Self {
        let room = |test: &Test| test.cases.filter(|cases| *cases > 1 && test.body.skip.is_none());
        Self(tests.filter_map(|test| Some((test, Bag::of_content(test), room(test)?))).collect())
    }

    /// Returns whether a test became a case of one of these, in the same file. No more tests do than there are cases.
    pub(crate) fn take_in(&mut self, test: &Test) -> bool {
        let own = Bag::of_content(test);
        let fits = |(table, words, room): &&mut (&Test, Bag<'_>, usize)| {
            *room > 0
                && table.path == test.path
                && own.total > 0
                && table.body.assertions.len() >= test.body.assertions.len()
                && share(own.common(words), own.total) >= ALIKE
        };
        self.0.iter_mut().find(fits).is_some_and(|(.., room)| {
            *room -= 1;
            true
        })
    }
}

/// Tokens, and how often each occurs.
struct Bag<'a> {
    counts: BTreeMap<&'a str, usize>,
    total: usize,
}

impl<'a> Bag<'a> {
    fn new(words: impl Iterator<Item = &'a String>) -> Self {
        let mut counts = BTreeMap::new();
        let mut total = 0;
        for word in words {
            *counts.entry(word.as_str()).or_insert(0) += 1;
            total += 1;
        }
        Self { counts, total }
    }

    /// Takes the names and literals of a test.
    fn of_content(test: &'a Test) -> Self {
        Self::new(test.body.words.iter().filter(|word| word.chars().any(char::is_alphanumeric)))
    }

    fn kinds(&self) -> usize {
        self.counts.len()
    }

    fn common(&self, other: &Self) -> usize {
        self.counts
            .iter()
            .map(|(word, count)| (*count).min(other.counts.get(word).copied().unwrap_or(0)))
            .sum()
    }

    /// Returns the share of tokens that two have in common, from 0 to 1.
    fn likeness(&self, other: &Self) -> f64 {
        let total = self.total + other.total;
        if total == 0 { 0.0 } else { share(2 * self.common(other), total) }
    }

    /// Returns whether their sizes allow them to be alike.
    fn could_be_alike(&self, other: &Self) -> bool {
        let (least, total) = (self.total.min(other.total), self.total + other.total);
        total > 0 && share(2 * least, total) >= ALIKE
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tokens are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
