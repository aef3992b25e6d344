//! Numbers that say how much a test tries or asserts: cases, examples, repetitions, planned assertions.

use std::sync::LazyLock;

use regex::Regex;

use crate::Change;
use crate::files::Language;
use crate::finding::{Finding, Kind};
use crate::syntax::code_of;

/// Numbers of assertions that a test is to make.
const PLANNED: [&str; 2] = [r"\bexpect\.assertions\(\s*(\d+)", r"\bt\.plan\(\s*(\d+)"];

/// Numbers that say how much is tried. The fewer, the less is demanded.
#[rustfmt::skip]
const EFFORTS: &[&str] = &[
    r"\bwith_cases\(\s*(\d+)", r"\bmax_examples\s*=\s*(\d+)", r"\bnumRuns:\s*(\d+)", r"@RepeatedTest\(\s*(\d+)", r"\btries\s*=\s*(\d+)",
    PLANNED[0], PLANNED[1],
    // Ranges of values that are generated; those of loops stand behind `for`.
    r"(?:^|[(,])\s*(?:mut\s+)?\w+\s+in\s+[\w:]+\s*\.\.=?\s*(\d+)", r"\bmax_(?:value|size)\s*=\s*(\d+)",
];

static NUMBERS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| EFFORTS.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect());

/// Calls that assert something, in the tests that say how many there are to be.
static ASSERTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:assert|expect|should)\s*[.(]|\bt\.(?:\w*(?:[eE]qual|[eE]rror|[sS]ame|[mM]atch|[tT]hrows|[tT]ruthy|[fF]alsy)|ok|notOk|not|is|deep|true|false|like|has|rejects|resolves|pass|fail)\(").ok()
});

/// Returns the numbers of a file that say how much is tried, and that are lower than before.
pub(super) fn efforts(change: &Change<'_>) -> Vec<Finding> {
    let (Some(before), Some(after)) = (change.before, change.after) else { return Vec::new() };
    if !NUMBERS.iter().any(|pattern| pattern.is_match(before)) {
        return Vec::new();
    }
    // What a comment or a text says is neither a number nor an assertion.
    let language = Language::of(change.path);
    let code = |text: &str| language.and_then(|language| code_of(text, language)).unwrap_or(text.to_owned());
    let (before, after) = (code(before), code(after));
    let numbers = |text: &str, pattern: &Regex| -> Vec<(usize, u64)> {
        let lines = text.lines().enumerate();
        let of_line = |line| pattern.captures_iter(line).filter_map(|found| found[1].parse().ok());
        lines.flat_map(|(at, line)| of_line(line).map(move |number| (at + 1, number))).collect()
    };
    let mut findings = Vec::new();
    for pattern in NUMBERS.iter() {
        let (old, new) = (numbers(&before, pattern), numbers(&after, pattern));
        if old.len() != new.len() {
            continue;
        }
        let is_planned = PLANNED.contains(&pattern.as_str());
        // Up to the next such number.
        let asserted = |text: &str, all: &[(usize, u64)], place: usize| {
            let (from, to) = (all[place].0, all.get(place + 1).map_or(usize::MAX, |next| next.0));
            let lines = text.lines().skip(from).take(to.saturating_sub(from + 1));
            lines
                .map(|line| ASSERTING.as_ref().map_or(0, |asserting| asserting.find_iter(line).count()))
                .sum()
        };
        for (place, ((_, was), (line, is))) in old.iter().zip(&new).enumerate() {
            // Which assertions are gone is told of the tests.
            let fewer = || {
                let had: usize = asserted(&before, &old, place);
                had.saturating_sub(asserted(&after, &new, place)) as u64
            };
            if is >= was || is_planned && fewer() >= was - is {
                continue;
            }
            let (old, new) = (was, is);
            let message = format!("{new} instead of {old} cases are tried");
            findings.push(Finding::new(change.path, *line, Kind::FewerCases, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!(NUMBERS.len(), EFFORTS.len());
        assert!(ASSERTING.is_some());
    }

    #[test]
    fn fewer_planned_assertions_are_excused_by_assertions_that_are_gone() {
        let test = |body: &str| format!("test('a', (t) => {{\n{body}\n}});\n");
        for (before, after, expected) in [
            ("t.plan(2);\nt.is(a, 1);\nt.is(b, 2);", "t.plan(1);\nt.is(a, 1);", 0),
            ("t.plan(2);\n// t.is(a, 1)\nt.is(b, 2);", "t.plan(1);\nt.is(b, 2);", 1),
            ("t.plan(2);\n/* expect(a) */\nt.is(b, 2);", "t.plan(1);\nt.is(b, 2);", 1),
            ("t.plan(2);\nlog('expect(a)');\nt.is(b, 2);", "t.plan(1);\nt.is(b, 2);", 1),
            ("t.plan(2);\nt.is(b, 2);", "t.plan(1); // t.plan(2)\nt.is(b, 2);", 1),
            ("t.plan(1);\n// t.plan(2)\nt.is(b, 2);", "t.plan(1);\n// t.plan(1)\nt.is(b, 2);", 0),
        ] {
            let (before, after) = (test(before), test(after));
            let change = Change { path: "a.test.js", before: Some(&before), after: Some(&after) };
            assert_eq!(efforts(&change).len(), expected, "{before}{after}");
        }
    }
}
