//! Lines of pytest (`-v` and `-rA`).

use std::sync::LazyLock;

use regex::Regex;

use std::collections::BTreeSet;

use super::tally::{Tally, count};
use super::{Outcome, Results, Unbuilt, path_parts};

/// Summary at the end: `=== 1 failed, 2 passed, 3 subtests passed in 0.03s ===`.
#[expect(clippy::unwrap_used, reason = "a constant")]
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^=*\s*(\d+ \w+(?: \w+)?(?:, \d+ \w+(?: \w+)?)*|no tests ran) in [0-9.]+\s?s\b").unwrap()
});

/// Line of a test with its outcome, its reason and the progress behind it.
#[expect(clippy::unwrap_used, reason = "a constant")]
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\S.*?) +(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUBFAIL)(?: \(.*\))?(?: +\[ *\d+%\])?$")
        .unwrap()
});

/// Line of a failed part of a test, which says behind the word which part it is. Parts that pass are none of the tests that are
/// counted.
#[expect(clippy::unwrap_used, reason = "a constant")]
static PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:(\S.*?::.*?) +)?SUBFAILED((?:\[.*?\])?(?: ?\(.*?\))?)(?: +(\S+::.*?))?(?: +\[ *\d+%\])?$",
    )
    .unwrap()
});

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    let mut tally = Tally::default();
    // Failures of which it is known what they say.
    let mut explained = BTreeSet::new();
    for line in output.lines() {
        if let Some(found) = SUMMARY.captures(line) {
            let list = &found[1];
            let passed = count(list, "passed") + count(list, "xpassed");
            let counts = [
                ("passed", passed),
                ("failed", count(list, "failed")),
                ("skipped", count(list, "skipped") + count(list, "xfailed")),
            ];
            tally.close("pytest", &counts, &mut results);
            continue;
        }
        pytest(line, (&mut tally, &mut explained), &mut results);
    }
    tally.abandon(&mut results);
    results
}

/// Id of a test, as pytest writes it.
struct Node<'a> {
    name: Vec<String>,
    case: Option<&'a str>,
    /// What follows it.
    behind: &'a str,
}

fn node(text: &str) -> Option<Node<'_>> {
    let Some(at) = text.find(".py") else { return other(text) };
    let (path, rest) = text.split_at(at + 3);
    let mut parts = path_parts(path);
    let Some(mut rest) = rest.strip_prefix("::") else {
        let is_file = rest.is_empty() || rest.starts_with(' ');
        return is_file.then_some(Node { name: parts, case: None, behind: rest });
    };
    loop {
        let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() {
            return None;
        }
        parts.push(name.to_owned());
        let Some(next) = behind.strip_prefix("::") else {
            let (case, behind) = split_case(behind);
            return Some(Node { name: parts, case, behind });
        };
        rest = next;
    }
}

/// Reads the id of something that is not Python: `docs/guide.txt::guide.txt - AssertionError`.
fn other(text: &str) -> Option<Node<'_>> {
    let (path, rest) = text.split_once("::")?;
    let (name, behind) = rest.split_once(" - ").map_or((rest, ""), |(name, _)| (name, &rest[name.len()..]));
    if !path.contains('.') || path.starts_with(' ') || name.is_empty() {
        return None;
    }
    let mut parts = path_parts(path);
    parts.extend(name.split("::").map(str::to_owned));
    Some(Node { name: parts, case: None, behind })
}

/// Splits off the case of a parametrized test: `[1-2] - error` gives `1-2` and ` - error`.
fn split_case(text: &str) -> (Option<&str>, &str) {
    let Some(inside) = text.strip_prefix('[') else { return (None, text) };
    let end = inside.find("] - ").or_else(|| inside.rfind(']'));
    match end.and_then(|end| Some((inside.get(..end)?, inside.get(end + 1..)?))) {
        Some((case, behind)) => (Some(case), behind),
        None => (None, ""),
    }
}

fn outcome(word: &str) -> Option<(Outcome, &'static str)> {
    Some(match word {
        "PASSED" | "XPASS" => (Outcome::Passed, "passed"),
        "FAILED" => (Outcome::Failed, "failed"),
        // The same test can pass, and fail as it is taken down.
        "ERROR" | "SUBFAIL" => (Outcome::Failed, "errors"),
        "SKIPPED" | "XFAIL" => (Outcome::Skipped, "skipped"),
        _ => return None,
    })
}

fn pytest(line: &str, (tally, explained): (&mut Tally, &mut BTreeSet<String>), results: &mut Results) {
    // xdist puts the worker and the progress first.
    let mut text = line.trim_end();
    while text.starts_with("[gw") || text.starts_with("[ ") {
        let Some((_, rest)) = text.split_once(']') else { return };
        text = rest.trim_start();
    }
    if let Some(found) = PART.captures(text) {
        let id = found.get(1).or_else(|| found.get(3)).map_or("", |id| id.as_str());
        let Some(Node { name, case, behind }) = node(id).filter(|_| id.contains("::")) else { return };
        let part = format!("{} {}", key(&name, case), &found[2]);
        tally.note("failed", part.clone());
        let says = behind.trim_start().strip_prefix("- ");
        if explained.insert(part) || says.is_some() {
            results.add(name, Outcome::Failed, says);
            results.complete(case, None);
        }
        return;
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if let Some((outcome, what)) = outcome(first) {
        let Some(Node { name, case, behind }) = node(rest) else { return };
        let message = behind.trim_start().strip_prefix("- ");
        if first == "ERROR" && !rest.contains("::") {
            let path = rest.split(".py").next().unwrap_or(rest);
            if path.contains(' ') && !path.contains('/') {
                return;
            }
            let message = message.unwrap_or("").trim().to_owned();
            results.unbuilt.push(Unbuilt { name, message, stops_all: false });
        } else if rest.contains("::") {
            tally.note(what, key(&name, case));
            let known = format!("{outcome:?} {}", key(&name, case));
            // The summary may name a failure twice, once with what it says.
            if !explained.contains(&known) {
                if message.is_some_and(|message| !message.trim().is_empty()) {
                    explained.insert(known);
                }
                results.add(name, outcome, message);
                results.complete(case, None);
            }
        }
        return;
    }
    let Some(found) = ITEM.captures(text) else { return };
    let (id, word) = (found.get(1).map_or("", |id| id.as_str()), &found[2]);
    let Some(Node { name, case, behind: _ }) = node(id).filter(|_| id.contains("::")) else { return };
    if let Some((outcome, what)) = outcome(word) {
        tally.note(what, key(&name, case));
        results.add(name, outcome, None);
        results.complete(case, None);
    }
}

fn key(name: &[String], case: Option<&str>) -> String {
    format!("{}[{}]", name.join("::"), case.unwrap_or_default())
}
