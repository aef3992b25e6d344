//! Findings that other files of the change answer: tests that are built either way, code that is gone with its tests, failures that end
//! a test without being caught.

use std::sync::LazyLock;

use regex::Regex;

use crate::Change;
use crate::files::{Language, file_name};
use crate::finding::{Finding, Kind};

/// Returns whether nothing is lost with what a finding is about.
pub(crate) fn is_excused(finding: &Finding, changes: &[Change<'_>]) -> bool {
    let Some(own) = changes.iter().find(|change| change.path == finding.path) else { return false };
    match Language::of(&finding.path) {
        Some(Language::Go) => {
            is_of_benchmark(finding)
                || is_built_either_way(finding, own, changes)
                || is_of_lost_build(finding, own, changes)
        }
        Some(Language::Java) => is_thrown_anyway(finding, changes),
        _ => false,
    }
}

/// Returns whether a function only measures: no test calls it.
fn is_of_benchmark(finding: &Finding) -> bool {
    finding.kind == Kind::EmptyTest && finding.message.starts_with("`Benchmark")
}

/// Returns the condition under which a file of Go's is built.
fn constraint(text: Option<&str>) -> Option<&str> {
    let mut above = text?.lines().take_while(|line| !line.starts_with("package "));
    above.find_map(|line| line.strip_prefix("//go:build ")).map(str::trim)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the text of a function of Go's, up to the bracket at its end.
fn function<'a>(text: Option<&'a str>, name: &str) -> Option<&'a str> {
    let text = text?;
    let (at, _) = text
        .match_indices(&format!(" {name}("))
        .find(|(at, _)| text[..*at].rsplit('\n').next().is_some_and(|start| start.starts_with("func")))?;
    text[at..].split("\n}").next()
}

/// Returns whether a test that is built under a condition now stands in another file as it was, which is built where that one is not.
fn is_built_either_way(finding: &Finding, own: &Change<'_>, changes: &[Change<'_>]) -> bool {
    let named = finding.message.split('`').nth(1).filter(|_| finding.kind == Kind::ConditionalTest);
    let (Some(name), Some(condition)) = (named, constraint(own.after)) else { return false };
    let is_other = |other: &str| {
        other.strip_prefix('!') == Some(condition) || condition.strip_prefix('!') == Some(other)
    };
    let mut twins = changes.iter().filter(|other| {
        folder(other.path) == folder(own.path) && constraint(other.after).is_some_and(is_other)
    });
    // Either may name its own file.
    let body = |file: &Change<'_>| Some(function(file.after, name)?.replace(file_name(file.path), ""));
    finding.message.contains("//go:build")
        && body(own).is_some_and(|own| twins.any(|twin| body(twin).is_some_and(|twin| twin == own)))
}

/// Returns whether a test is gone with all code that was built under the condition of its file, and is there under the other one.
fn is_of_lost_build(finding: &Finding, own: &Change<'_>, changes: &[Change<'_>]) -> bool {
    let named = finding.message.split('`').nth(1).filter(|_| finding.kind == Kind::VanishedTest);
    let (Some(name), Some(condition), None) = (named, constraint(own.before), own.after) else {
        return false;
    };
    let here =
        || changes.iter().filter(|other| folder(other.path) == folder(own.path) && other.path != own.path);
    let has_code =
        here().any(|other| !other.path.ends_with("_test.go") && constraint(other.before) == Some(condition));
    has_code
        && here().all(|other| constraint(other.after) != Some(condition))
        && here().any(|other| function(other.after, name).is_some())
}

/// Returns whether all that is gone is a failure of JUnit's on what was caught, which ends the test uncaught as well: the block that it
/// was caught of still stands there.
fn is_thrown_anyway(finding: &Finding, changes: &[Change<'_>]) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static CAUGHT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"try \{\s*([^{}]+?)\s*\}\s*catch \((?:final )?\w+ \w+\) \{\s*(?:Assert(?:ions)?\.)?(fail\([^{};]*\));\s*\}")
            .unwrap()
    });
    static COUNTS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"makes (\d+) instead of (\d+) assertions; gone is `(fail [^`…]*)").ok());
    let counts = COUNTS.as_ref().and_then(|counts| counts.captures(&finding.message));
    let gone = match (finding.kind, counts) {
        (Kind::FewerAssertions, Some(found)) => {
            let number = |at: usize| found[at].parse::<usize>().unwrap_or(0);
            if number(1) + 1 != number(2) {
                return false;
            }
            found[3].to_owned()
        }
        (Kind::EmptyTest, None) if finding.message.ends_with("it made 1 assertion") => String::new(),
        _ => return false,
    };
    let plain = |text: &str| text.replace(char::is_whitespace, "");
    let is_here = |change: &&Change<'_>| {
        Language::of(change.path) == Some(Language::Java)
            && (finding.kind == Kind::FewerAssertions || change.path == finding.path)
    };
    changes.iter().filter(is_here).any(|change| {
        let (Some(before), Some(after)) = (change.before, change.after) else { return false };
        let catches = |text: &str| text.matches("catch (").count();
        catches(after) < catches(before)
            && CAUGHT.captures_iter(before).any(|found| {
                plain(&found[2]).starts_with(&plain(&gone)) && plain(after).contains(&plain(&found[1]))
            })
    })
}
