//! Compares the counts in a runner's own summary with its single lines: anybody can print a line, the code under test as well.

use std::collections::{BTreeMap, BTreeSet};

use super::Results;

/// What the single lines of one run of a runner say, until its summary ends it.
#[derive(Default)]
pub(super) struct Tally {
    seen: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Tally {
    /// Notes a line that says this of a test.
    pub(super) fn note(&mut self, what: &'static str, test: String) {
        self.seen.entry(what).or_default().insert(test);
    }

    /// Ends the run with the runner's own counts. None of its lines may say more, and they name every test that failed,
    /// where they name any.
    pub(super) fn close(&mut self, runner: &str, counts: &[(&'static str, usize)], results: &mut Results) {
        let seen = std::mem::take(&mut self.seen);
        if seen.is_empty() {
            return;
        }
        for (what, counted) in counts {
            let named = seen.get(what).map_or(0, BTreeSet::len);
            if named > *counted || named < *counted && *what == "failed" {
                results.doubts.push(format!("{runner} counts {counted} {what}, and its lines name {named}"));
            }
        }
    }

    /// Ends a run of which there is no summary.
    pub(super) fn abandon(&mut self, results: &mut Results) {
        results.is_unfinished |= !std::mem::take(&mut self.seen).is_empty();
    }
}

/// Returns the number before a word, of a list such as `1 failed, 2 passed`; 0 if it is not there.
pub(super) fn count(list: &str, word: &str) -> usize {
    let parts = list.split([',', ';', '|']).map(str::trim);
    let found = parts.filter_map(|part| {
        let (number, rest) = part.rsplit_once(|c: char| c.is_whitespace())?;
        let number = number.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        (rest == word).then(|| number.parse::<usize>().ok())?
    });
    found.sum()
}
