//! Which test after a change is which test before it, in whatever file and by whatever name.

use std::collections::BTreeMap;

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
        let taken: Vec<usize> = found.pairs.iter().map(|(_, other)| *other).collect();
        found.new.retain(|at| !taken.contains(at));
    }

    let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
    for one in &found.gone {
        for other in &found.new {
            let likeness = likeness(&before[*one].body.words, &after[*other].body.words);
            if likeness >= ALIKE {
                candidates.push((likeness, *one, *other));
            }
        }
    }
    candidates.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (_, one, other) in candidates {
        if found.gone.contains(&one) && found.new.contains(&other) {
            found.pairs.push((one, other));
            found.gone.retain(|at| *at != one);
            found.new.retain(|at| *at != other);
        }
    }
    found
}

/// Returns whether what a test says is said by another one, which may say more.
pub(crate) fn is_contained(test: &Test, other: &Test) -> bool {
    let own = content(&test.body.words);
    let total: usize = own.values().sum();
    let theirs = content(&other.body.words);
    let common: usize =
        own.iter().map(|(word, count)| (*count).min(theirs.get(word).copied().unwrap_or(0))).sum();
    let asserts = test.body.assertions.is_empty() || !other.body.assertions.is_empty();
    total > 0 && asserts && share(common, total) >= CONTAINED
}

/// Returns the share of tokens that two tests have in common, from 0 to 1.
fn likeness(one: &[String], other: &[String]) -> f64 {
    let (one, other) = (count(one.iter()), count(other.iter()));
    let total: usize = one.values().sum::<usize>() + other.values().sum::<usize>();
    let common: usize =
        one.iter().map(|(word, count)| (*count).min(other.get(word).copied().unwrap_or(0))).sum();
    if total == 0 { 0.0 } else { share(2 * common, total) }
}

/// Returns the names and literals of a test, and how often each occurs.
fn content(words: &[String]) -> BTreeMap<&str, usize> {
    count(words.iter().filter(|word| word.chars().any(char::is_alphanumeric)))
}

fn count<'a>(words: impl Iterator<Item = &'a String>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_insert(0) += 1;
    }
    counts
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tokens are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
