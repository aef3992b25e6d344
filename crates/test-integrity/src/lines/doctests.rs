//! Examples in the documentation of Python, which doctest runs.

use crate::Change;
use crate::files::{Language, Role};
use crate::finding::{Finding, Kind, short};

/// One example: what is run, and what it has to print.
struct Example {
    line: usize,
    /// What is run, without its options.
    code: String,
    options: String,
    expected: String,
}

/// Sign that an example begins with.
const PROMPT: &str = ">>> ";

/// Returns whether the file at a path may hold examples.
pub(crate) fn may_hold(path: &str, text: &str) -> bool {
    Language::of(path) == Some(Language::Python) && text.contains(PROMPT)
}

/// Returns which examples no longer run, accept more, or are gone although what they call is still there.
pub(crate) fn compare(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for change in changes {
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        if !may_hold(change.path, before) {
            continue;
        }
        let (old, mut new) = (examples(before), examples(after));
        let mut gone = Vec::new();
        for example in old {
            let Some(at) = new.iter().position(|other| other.code == example.code) else {
                gone.push(example);
                continue;
            };
            let other = new.remove(at);
            let mut found = |kind: Kind, how: &str| {
                let message = format!("the example `{}` {how}", short(&other.code));
                findings.push(Finding::new(change.path, other.line, kind, message));
            };
            let has = |options: &str, option: &str| options.contains(option);
            if has(&other.options, "SKIP") && !has(&example.options, "SKIP") {
                found(Kind::SkippedTest, "no longer runs");
            } else if other.expected.contains("...") && !example.expected.contains("...") {
                found(Kind::WeakerAssertion, "accepts more");
            } else if other.expected.is_empty() && !example.expected.is_empty() {
                found(Kind::WeakerAssertion, "may print whatever it does");
            }
        }
        // What is left is new, and each may say what another one said.
        for example in gone.iter().skip(new.len()).filter(|example| !example.expected.is_empty()) {
            if is_defined(example, after) && !is_said(example, changes) {
                let message = format!("the example `{}` is gone", short(&example.code));
                let line = example.line.min(after.lines().count().max(1));
                findings.push(Finding::new(change.path, line, Kind::FewerAssertions, message));
            }
        }
    }
    findings
}

/// Returns whether a file still defines a function that an example calls.
fn is_defined(example: &Example, text: &str) -> bool {
    let names = example.code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    names
        .filter(|name| !name.is_empty())
        .any(|name| ["def", "class"].iter().any(|word| text.contains(&format!("{word} {name}("))))
}

/// Returns whether a test does what an example did.
fn is_said(example: &Example, changes: &[Change<'_>]) -> bool {
    let of_tests = changes.iter().filter(|change| Role::of(change.path) == Role::Test);
    of_tests.filter_map(|change| change.after).any(|text| text.contains(&example.code))
}

fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(code) = line.strip_prefix(PROMPT) {
            let (code, options) = code.split_once("# doctest:").unwrap_or((code, ""));
            let (code, options) = (code.trim().to_owned(), options.trim().to_owned());
            found.push(Example { line: at + 1, code, options, expected: String::new() });
            is_open = true;
        } else if line.is_empty() || line.ends_with("\"\"\"") || line.ends_with("'''") {
            is_open = false;
        } else if let Some(example) = found.last_mut().filter(|_| is_open) {
            match line.strip_prefix("... ").filter(|_| example.expected.is_empty()) {
                Some(more) => example.code += more.trim(),
                None => example.expected += line,
            }
        }
    }
    found
}
