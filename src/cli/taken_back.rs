//! Changes that take back an earlier one as a whole: tests that go together with the code that they came with.

use std::collections::BTreeMap;

use test_integrity::{
    Change, Finding, Severity, changed_tests, changes_code, concerns, is_of_tests, touched_names,
};

use crate::git::{EarlierChange, Repository};
use crate::plan::merged;

/// Number of earlier changes of a file that are looked at.
const MAX_EARLIER: usize = 200;

/// Most lines of tests that may go for each line of code. An earlier change that was about little but tests is one of tests, and so is
/// taking it back.
const MAX_TESTS: usize = 30;

/// Turns what was found into notes if the change takes back one earlier change of code and its tests, and does nothing else to files
/// that matter to tests. What cannot be read shows nothing.
pub(super) fn noted(
    mut findings: Vec<Finding>,
    repository: &Repository,
    base: &str,
    changes: &[Change<'_>],
) -> Vec<Finding> {
    let is_found = |finding: &&Finding| finding.severity != Severity::Note;
    let Some(first) = findings.iter().find(is_found).map(|finding| finding.path.clone()) else {
        return findings;
    };
    if !changes_code(changes) || is_about_tests(changes) || !is_about_code(changes) {
        return findings;
    }
    let prefix = repository.prefix();
    let earlier = repository.earlier_changes(base, &format!("{prefix}{first}"), MAX_EARLIER);
    let earlier = earlier.unwrap_or_default();
    let is_back = |(at, change): &(usize, &EarlierChange)| {
        takes_back(repository, change, changes) && !takes_up(repository, change, &earlier[at + 1..])
    };
    let found = earlier.iter().enumerate().find(is_back);
    let Some(earlier) = found.map(|(_, earlier)| earlier.commit.clone()) else {
        return findings;
    };
    for finding in findings.iter_mut().filter(|finding| finding.severity != Severity::Note) {
        finding.severity = Severity::Note;
        let short = earlier.get(..10).unwrap_or(&earlier);
        finding.message +=
            &format!("; the change takes back {short}, its code and its tests, and does nothing else");
    }
    findings
}

/// Returns whether a change is the reverse of an earlier one.
fn takes_back(repository: &Repository, earlier: &EarlierChange, changes: &[Change<'_>]) -> bool {
    let prefix = repository.prefix();
    let theirs = earlier.paths.iter().filter(|path| concerns(path)).count();
    let is_back = |change: &Change<'_>| {
        let path = format!("{prefix}{}", change.path);
        let read = |commit: &str| repository.read_at(commit, &path).ok().flatten();
        earlier.paths.contains(&path)
            && is_reverse(change, read(&earlier.parent).as_deref(), read(&earlier.commit).as_deref())
    };
    theirs == changes.len() && changes.iter().all(is_back)
}

/// Returns whether a commit itself takes back what one before it did to tests: who takes it back weakens them once more.
fn takes_up(repository: &Repository, earlier: &EarlierChange, before: &[EarlierChange]) -> bool {
    let read = |commit: &str, path: &str| repository.read_at(commit, path).ok().flatten();
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    earlier.paths.iter().filter(|path| concerns(path)).any(|path| {
        let (old, new) = (text(read(&earlier.parent, path)), text(read(&earlier.commit, path)));
        let change = Change { path, before: old.as_deref(), after: new.as_deref() };
        is_of_tests(path)
            && before.iter().filter(|other| other.paths.contains(path)).any(|other| {
                is_reverse(
                    &change,
                    read(&other.parent, path).as_deref(),
                    read(&other.commit, path).as_deref(),
                )
            })
    })
}

/// Returns whether all tests that go, or say less, are about code that the change touches.
fn is_about_code(changes: &[Change<'_>]) -> bool {
    let names = touched_names(changes);
    let back: Vec<Change<'_>> = changes
        .iter()
        .map(|change| Change { path: change.path, before: change.after, after: change.before })
        .collect();
    let is_named = |text: &str| names.iter().any(|name| name.len() > 2 && text.contains(name.as_str()));
    changed_tests(&back)
        .iter()
        .all(|test| test.needs(&names) || is_named(&test.name()) || is_named(&test.path))
}

/// Returns whether a file is as it would be without an earlier change, which led from one text to another.
fn is_reverse(change: &Change<'_>, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
    let (before, after) = (change.before.map(str::as_bytes), change.after.map(str::as_bytes));
    if from == to {
        return false;
    }
    if before == to && after == from {
        return true;
    }
    let (Some(before), Some(from), Some(to)) = (before, from, to) else { return false };
    after.is_some() && merged(to, before, from).as_deref() == after
}

/// Returns whether a change removes far more lines of tests than it changes lines of code.
fn is_about_tests(changes: &[Change<'_>]) -> bool {
    let (mut tests, mut code) = (0, 0);
    for change in changes {
        let (gone, come) = differing(change);
        if is_of_tests(change.path) {
            tests += gone;
        } else {
            code += gone + come;
        }
    }
    tests > MAX_TESTS * code
}

/// Returns how many lines are gone, and how many have come.
fn differing(change: &Change<'_>) -> (usize, usize) {
    let mut counts: BTreeMap<&str, isize> = BTreeMap::new();
    for line in lines(change.before) {
        *counts.entry(line).or_default() -= 1;
    }
    for line in lines(change.after) {
        *counts.entry(line).or_default() += 1;
    }
    let sum = |sign: isize| counts.values().map(|count| usize::try_from(count * sign).unwrap_or(0)).sum();
    (sum(-1), sum(1))
}

fn lines(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty())
}
