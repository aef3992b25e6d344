//! Trees of signs, as Node's own runner, Jest, Vitest and Mocha print them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::tally::count;
use super::{Outcome, Results, Unbuilt, duration_ms, path_parts};

/// Duration at the end of a line.
#[expect(clippy::unwrap_used, reason = "a constant")]
static DURATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\s+\(?([0-9]+(?:\.[0-9]+)?)\s?(ms|s|µs)\)?$").unwrap());

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut file: Vec<String> = Vec::new();
    // Signs before the first file or test are somebody else's.
    for line in output.lines() {
        let text = line.trim_start();
        let indent = line.chars().count() - text.chars().count();
        if is_summary(text) {
            break;
        }
        if let Some(path) = file_line(text) {
            file = path_parts(path);
            above.clear();
            continue;
        }
        if text.starts_with("● Test suite failed to run") {
            results.unbuilt.push(Unbuilt {
                name: file.clone(),
                message: "the file could not be run".to_owned(),
                stops_all: false,
            });
            continue;
        }
        if text.is_empty() {
            continue;
        }
        above.retain(|(outer, _)| *outer < indent);
        let Some((outcome, name)) = signed(text, indent) else {
            let group = text.strip_prefix("▶ ").unwrap_or(text);
            if indent > 0 || text.starts_with('▶') {
                above.push((indent, DURATION.replace(group, "").into_owned()));
            }
            continue;
        };
        let skipped = name.ends_with(" # SKIP") || name.ends_with(" # TODO") || name.contains(" # SKIP ");
        let name = name.split(" # ").next().unwrap_or(name);
        let time = DURATION.captures(name).and_then(|time| {
            let unit = match &time[2] {
                "s" => 1000.0,
                "ms" => 1.0,
                _ => 0.001,
            };
            duration_ms(&time[1], unit)
        });
        let name = DURATION.replace(name, "");
        let outcome = if skipped { Outcome::Skipped } else { outcome };
        // Vitest says all of it in one line.
        let parts: Vec<String> = if name.contains(" > ") && above.is_empty() {
            let mut parts = name.split(" > ");
            let path = parts.next().unwrap_or_default();
            path_parts(path).into_iter().chain(parts.map(str::to_owned)).collect()
        } else {
            let groups = above.iter().map(|(_, group)| group.clone());
            file.iter().cloned().chain(groups).chain([name.clone().into_owned()]).collect()
        };
        // The summary of Swift's.
        if name.starts_with("Test run with ") {
            continue;
        }
        if is_script(&name) {
            if outcome == Outcome::Failed {
                results.unbuilt.push(Unbuilt {
                    name: path_parts(&name),
                    message: "the file could not be run".to_owned(),
                    stops_all: false,
                });
            }
            continue;
        }
        results.add(parts, outcome, None);
        results.complete(None, time);
    }
    check(output, &mut results);
    results
}

/// Holds the counts of a summary against the lines.
fn check(output: &str, results: &mut Results) {
    let (mut passed, mut failed, mut is_told) = (0, 0, false);
    for line in output.lines().map(str::trim) {
        let jest = line.strip_prefix("Tests:").or_else(|| line.strip_prefix("Tests  "));
        let node = |word: &str| line.strip_prefix("ℹ ")?.strip_prefix(word)?.trim().parse::<usize>().ok();
        let mocha = |word: &str| {
            let (number, rest) = line.split_once(' ')?;
            (rest.split(' ').next() == Some(word)).then(|| number.parse::<usize>().ok())?
        };
        if let Some(list) = jest {
            let list = list.split('(').next().unwrap_or(list);
            passed += count(&format!("{list} "), "passed");
            failed += count(&format!("{list} "), "failed");
            is_told = true;
        }
        passed += node("pass ").or_else(|| mocha("passing")).unwrap_or(0);
        failed += node("fail ").or_else(|| mocha("failing")).unwrap_or(0);
        is_told |= node("pass ").or_else(|| mocha("passing")).is_some();
    }
    if !is_told || results.tests.is_empty() {
        return;
    }
    // A group has a line of its own, and is counted by no runner.
    let groups: BTreeSet<&[String]> =
        results.tests.iter().filter_map(|test| test.name.split_last()).map(|(_, group)| group).collect();
    let is_test = |name: &[String]| !groups.contains(name);
    let named =
        |outcome| results.tests.iter().filter(|test| test.outcome == outcome && is_test(&test.name)).count();
    let (ok, bad) = (named(Outcome::Passed), named(Outcome::Failed));
    if ok > passed {
        results.doubts.push(format!("the summary counts {passed} passed, and lines name {ok}"));
    }
    // Some runners count files that could not be run.
    if bad > failed || bad + results.unbuilt.len() < failed {
        results.doubts.push(format!("the summary counts {failed} failed, and lines name {bad}"));
    }
}

/// Returns whether what follows repeats what failed.
fn is_summary(text: &str) -> bool {
    text.starts_with("✖ failing tests:")
        || text.starts_with("Summary of all failing tests")
        || (text.ends_with(" passing") || text.contains(" passing ("))
            && text.starts_with(|first: char| first.is_ascii_digit())
        || text.starts_with("⎯⎯⎯") && text.contains("Failed Tests")
}

/// Reads `PASS tests/shop.test.js`, as Jest begins a file.
fn file_line(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("PASS ").or_else(|| text.strip_prefix("FAIL "))?.trim();
    let path = rest.split(" (").next().unwrap_or(rest);
    is_script(path).then_some(path)
}

fn is_script(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    !name.contains(' ') && matches!(extension, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx")
}

fn signed(text: &str, indent: usize) -> Option<(Outcome, &str)> {
    for (sign, outcome) in [
        ("✓ ", Outcome::Passed),
        ("✔ ", Outcome::Passed),
        ("√ ", Outcome::Passed),
        ("✕ ", Outcome::Failed),
        ("✖ ", Outcome::Failed),
        ("× ", Outcome::Failed),
        ("✗ ", Outcome::Failed),
        ("○ ", Outcome::Skipped),
        ("↓ ", Outcome::Skipped),
        ("﹣ ", Outcome::Skipped),
        ("✎ ", Outcome::Skipped),
    ] {
        if let Some(name) = text.strip_prefix(sign) {
            let name = name.strip_prefix("skipped ").filter(|_| sign == "○ ").unwrap_or(name);
            return Some((outcome, name.trim_end()));
        }
    }
    // Mocha numbers what failed.
    let (number, name) = text.split_once(") ").filter(|_| indent >= 2)?;
    (!number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()))
        .then_some((Outcome::Failed, name.trim_end()))
}
