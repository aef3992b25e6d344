//! Finds reasons that keep tests from running and did not before.

use crate::Change;
use crate::assertion::Assertion;
use crate::extract::{Skip, Test};
use crate::files::{Language, is_collected};
use crate::finding::{Finding, Kind, short};
use crate::matching::state::State;

/// Returns what keeps one test from running.
pub(super) fn of_pair(before: &Test, after: &Test) -> Vec<Finding> {
    let name = &after.name;
    let mut findings = Vec::new();
    let mut found = |line: usize, kind: Kind, message: String| {
        findings.push(Finding::new(&after.path, line, kind, message));
    };
    match (&before.body.skip, &after.body.skip) {
        (None, Some(Skip { is_conditional: true, text, .. })) if was_at_run_time(before, text) => {}
        (None, Some(Skip { line, is_conditional: true, text })) => {
            let message = format!("the test `{name}` now runs only under a condition: {}", short(text));
            found(*line, Kind::ConditionalTest, message);
        }
        (
            None | Some(Skip { is_conditional: true, .. }),
            Some(Skip { line, is_conditional: false, text }),
        ) => {
            let text = short(text);
            let message = if text.starts_with("return") {
                format!("the test `{name}` ends before its assertions: `{text}`")
            } else {
                format!("the test `{name}` no longer runs: `{text}`")
            };
            found(*line, Kind::SkippedTest, message);
        }
        (Some(Skip { is_conditional: true, .. }), Some(Skip { is_conditional: true, .. })) => {
            if let Some(exit) = further_exit(before, after) {
                let message =
                    format!("the test `{name}` now also ends under a condition: {}", short(&exit.text));
                found(exit.line, Kind::ConditionalTest, message);
            }
        }
        _ => {}
    }
    if let (None, Some(why)) = (before.hidden, after.hidden) {
        found(after.line, Kind::SkippedTest, format!("the test `{name}` no longer runs: {why}"));
    }
    if is_collected(&before.path) && !is_collected(&after.path) && !after.body.is_inherited {
        let message = format!(
            "the test `{name}` is in a file whose path no longer marks it as a test file; runners do not look there"
        );
        found(after.line, Kind::SkippedTest, message);
    }
    findings
}

/// Returns what ends a test under a condition, and did not before, if there is more of that.
fn further_exit<'a>(before: &Test, after: &'a Test) -> Option<&'a Skip> {
    let mut known: Vec<&str> = before.body.exits.iter().map(|exit| exit.text.as_str()).collect();
    // One may take the place of a mark on the test.
    let is_exit = |test: &Test| {
        let skip = test.body.skip.as_ref();
        skip.is_some_and(|skip| test.body.exits.iter().any(|exit| exit.line == skip.line))
    };
    let marks = usize::from(!is_exit(before) && is_exit(after));
    if after.body.exits.len() <= known.len() + marks {
        return None;
    }
    let mut exits = after.body.exits.iter();
    exits.find(|exit| match known.iter().position(|text| *text == exit.text) {
        Some(place) => {
            known.remove(place);
            false
        }
        None => true,
    })
}

/// Returns whether a test only ran a suite of Go's whose type is gone: `suite.Run(t, new(StoreSuite))`. Its tests are compared by themselves.
pub(super) fn runs_lost_suite(test: &Test, changes: &[Change<'_>]) -> bool {
    let text = test.body.words.join(" ");
    let name = text.split_once("suite . Run ( t ,").and_then(|(_, given)| {
        given.split(' ').find(|word| word.starts_with(char::is_uppercase)).map(str::to_owned)
    });
    name.is_some_and(|name| {
        let declares = format!("type {name} struct");
        !changes.iter().any(|change| change.after.is_some_and(|text| text.contains(&declares)))
    })
}

/// Returns whether a condition of Rust's was asked by the test itself before: `if cfg!(windows) { return; }` became
/// `#[cfg(not(windows))]`.
fn was_at_run_time(before: &Test, text: &str) -> bool {
    let words = &before.body.words;
    let asks = words.windows(3).any(|three| three[0] == "cfg" && three[1] == "!" && three[2] == "(");
    let names = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let mut names = names.filter(|name| !matches!(*name, "" | "cfg" | "not" | "any" | "all")).peekable();
    asks && text.starts_with("#[cfg(")
        && names.peek().is_some()
        && names.all(|name| words.iter().any(|word| word == name))
}

/// Returns whether a test called a function that might skip it, and that is gone: the test may ask by itself now.
pub(super) fn was_in_helper(test: &Test, before: &State, after: &State) -> bool {
    let words = &test.body.words;
    let is_called = |name: &String| words.windows(2).any(|two| two[0] == *name && two[1] == "(");
    before.may_skip.keys().any(|name| !after.functions.contains(name) && is_called(name))
}

/// Returns what keeps tests from running that the change need not touch: functions that they call, and fixtures.
pub(super) fn of_helpers(before: &State, after: &State, changes: &[Change<'_>]) -> Vec<Finding> {
    let is_new = |name: &String| before.functions.contains(name) && !before.skipping.contains_key(name);
    // A function of its file that might skip them is gone.
    let was_asked = |path: &String| {
        let mut lost = before.may_skip.iter().filter(|(name, _)| !after.functions.contains(*name));
        lost.any(|(_, (file, _))| file == path)
    };
    let may = after
        .may_skip
        .iter()
        .filter(|(name, (path, _))| is_new(name) && !before.may_skip.contains_key(*name) && !was_asked(path));
    let may = may.map(|(name, (path, skip))| {
        let message =
            format!("`{name}` skips every test that asks for it under a condition: `{}`", short(&skip.text));
        Finding::new(path, skip.line, Kind::ConditionalTest, message)
    });
    let called = after.skipping.iter().filter(|(name, _)| is_new(name)).map(|(name, (path, skip))| {
        let message = format!("`{name}` skips every test that asks for it: `{}`", short(&skip.text));
        Finding::new(path, skip.line, Kind::SkippedTest, message)
    });
    let is_known = |path: &str, skip: &Skip| {
        before.everywhere.iter().any(|(file, known)| file == path && known.text == skip.text)
    };
    // With tests that are new as a whole, nothing is lost.
    let is_of_new = |path: &str| {
        let is_here = |other: &str| folder(other) == folder(path);
        Language::of(path) == Some(Language::Go)
            && after.tests.iter().any(|test| is_here(&test.path))
            && !changes.iter().any(|change| change.before.is_some() && is_here(change.path))
    };
    let everywhere = after.everywhere.iter().filter(|(path, skip)| !is_known(path, skip) && !is_of_new(path));
    let everywhere = everywhere.map(|(path, skip)| {
        let (kind, when) = if skip.is_conditional {
            (Kind::ConditionalTest, " under a condition")
        } else {
            (Kind::SkippedTest, "")
        };
        let message = format!("every test is skipped{when}: `{}`", short(&skip.text));
        Finding::new(path, skip.line, kind, message)
    });
    called.chain(may).chain(everywhere).collect()
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the finding on a test that is the only one to run.
pub(super) fn focused(test: &Test, line: usize) -> Finding {
    Finding::new(
        &test.path,
        line,
        Kind::FocusedTest,
        format!("only `{}` runs; the other tests of its file do not", test.name),
    )
}

/// Returns whether a test that is gone did nothing: it was skipped, or empty.
pub(super) fn is_trivial(assertions: &[Assertion], test: &Test) -> bool {
    let skipped = test.body.skip.as_ref().is_some_and(|skip| !skip.is_conditional);
    skipped || (assertions.is_empty() && test.body.words.len() <= 3)
}
