//! Tests that stay in their files and are no longer built or run: modules that nothing declares, and examples in the documentation
//! of code that are marked as not to be run.

use std::collections::BTreeMap;

use crate::Change;
use crate::files::{Language, file_name, stem};
use crate::finding::{Finding, Kind};

/// Marks of examples that are not run.
const NOT_RUN: &[&str] = &["ignore", "no_run", "text", "txt", "compile_fail", "plain", "console"];

/// Names of modules that help tests and hold none.
const HELPERS: &[&str] = &["common", "util", "utils", "support", "helper", "helpers", "fixtures", "testutil"];

/// Returns whether a text may hold a mark that keeps an example from running.
pub(crate) fn has_mark(text: &str) -> bool {
    text.contains("doctest:")
}

/// Returns the tests that are there and no longer run, although no line of them was touched.
pub(crate) fn compare(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of_rust = || changes.iter().filter(|change| Language::of(change.path) == Some(Language::Rust));
    for change in of_rust() {
        findings.extend(left_behind(change, changes));
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        for (line, name) in test_modules(change.path, before) {
            let is_declared = |text: &str| declaration(text, name).is_some();
            let is_gone = || {
                of_rust().any(|other| {
                    let folder = other.path.strip_suffix(file_name(other.path)).unwrap_or_default();
                    other.after.is_none()
                        && (stem(other.path) == name
                            || file_name(other.path) == "mod.rs"
                                && folder.trim_end_matches('/').ends_with(name))
                })
            };
            let is_new_elsewhere = || {
                of_rust().filter(|other| other.path != change.path).any(|other| {
                    other.after.is_some_and(is_declared) && !other.before.is_some_and(is_declared)
                })
            };
            if !is_declared(after) && !is_gone() && !is_new_elsewhere() {
                let message = format!("the tests in the module `{name}` no longer run: nothing declares it");
                findings.push(Finding::new(change.path, line, Kind::SkippedTest, message));
            }
            let condition = |text: &str| declaration(text, name).flatten();
            if let Some(condition) = condition(after).filter(|now| condition(before).as_ref() != Some(now)) {
                let kind = if is_never(&condition) { Kind::SkippedTest } else { Kind::ConditionalTest };
                let message = format!("the tests in the module `{name}` are built only under `{condition}`");
                findings.push(Finding::new(change.path, line, kind, message));
            }
        }
        findings.extend(examples(change.path, before, after));
    }
    findings.extend(
        changes
            .iter()
            .filter(|change| Language::of(change.path) == Some(Language::Python))
            .flat_map(doctests),
    );
    findings
}

/// Returns what it means for tests that they moved into a folder of `tests` whose `main.rs` does not declare their file.
fn left_behind(change: &Change<'_>, changes: &[Change<'_>]) -> Option<Finding> {
    let after = change.after.filter(|text| change.before.is_none() && text.contains("#[test]"))?;
    let (folder, file) = change.path.rsplit_once('/')?;
    let name = file.strip_suffix(".rs").filter(|name| !matches!(*name, "main" | "mod"))?;
    let is_of_tests = folder.rsplit('/').nth(1) == Some("tests");
    let came = changes.iter().any(|other| other.after.is_none() && file_name(other.path) == file);
    let main = changes.iter().find(|other| other.path == format!("{folder}/main.rs"))?.after?;
    let is_named = |other: &Change<'_>| {
        other.path.starts_with(folder)
            && other.after.is_some_and(|text| declaration(text, name).is_some() || text.contains(file))
    };
    let is_left = is_of_tests && came && !main.contains(file) && !changes.iter().any(is_named);
    let line = after.lines().position(|line| line.contains("#[test]")).map_or(1, |at| at + 1);
    let message = format!("the tests in the module `{name}` no longer run: nothing declares it");
    is_left.then(|| Finding::new(change.path, line, Kind::SkippedTest, message))
}

/// Returns the modules of tests that a file declares and that are files of their own, with their lines.
fn test_modules<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    // What stands in `tests` itself is a target of its own, and what others name helps them.
    let folders: Vec<&str> = path.split('/').rev().skip(1).collect();
    let is_of_tests = folders.contains(&"tests") && folders.first() != Some(&"tests");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let module = |at: usize| {
        let declared = lines[at].strip_suffix(';')?;
        let name = declared.strip_prefix("mod ").or_else(|| declared.strip_prefix("pub mod "))?;
        let is_helper = || HELPERS.contains(&name) || text.contains(&format!("{name}::"));
        let mut above = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        let is_marked = above.any(|line| line.contains("cfg(test)"));
        (is_marked || is_of_tests && !is_helper()).then_some((at + 1, name))
    };
    (0..lines.len()).filter_map(module).collect()
}

/// Returns the condition under which a text declares a module, if it does.
fn declaration(text: &str, name: &str) -> Option<Option<String>> {
    let mut condition = None;
    let mut is_comment = false;
    for line in text.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        let is_left_out = is_comment || line.starts_with("//");
        is_comment &= !line.contains("*/");
        if is_left_out {
            continue;
        }
        if line.contains("#[cfg(") && !line.contains("#[cfg(test)]") {
            condition = Some(line.split_inclusive(']').next().unwrap_or(line).to_owned());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = |two: &[&str]| two[0] == "mod" && two[1].trim_end_matches([';', '{']) == name;
        if words.windows(2).any(is_it) {
            return Some(condition);
        }
        if !line.starts_with("#[") {
            condition = None;
        }
    }
    None
}

/// Returns whether a condition never holds where tests are built.
fn is_never(condition: &str) -> bool {
    let plain: String = condition.chars().filter(|sign| !sign.is_whitespace()).collect();
    ["cfg(any())", "cfg(FALSE)", "cfg(false)", "not(test)", "not(all())"]
        .iter()
        .any(|never| plain.contains(never))
}

/// Returns the examples of documentation that were run, and are not.
fn examples(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let old = fenced(before);
    let is_run = |mark: &str| mark.split(',').all(|word| !NOT_RUN.contains(&word.trim()));
    let found = fenced(after).into_iter().filter_map(|(code, (line, mark))| {
        let (_, was) = old.get(&code)?;
        (is_run(was) && !is_run(mark)).then(|| {
            let message = format!("an example of the documentation no longer runs: it is marked `{mark}`");
            Finding::new(path, line, Kind::SkippedTest, message)
        })
    });
    found.collect()
}

/// Returns the examples in the documentation of a Rust file, by their code, with their lines and marks.
fn fenced(text: &str) -> BTreeMap<Vec<&str>, (usize, &str)> {
    let mut found = BTreeMap::new();
    let mut open: Option<(usize, &str, Vec<&str>)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(said) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        let said = said.trim();
        match (open.as_mut(), said.strip_prefix("```")) {
            (None, Some(mark)) => open = Some((at + 1, mark.trim(), Vec::new())),
            (Some(_), Some(_)) => {
                if let Some((line, mark, code)) = open.take() {
                    found.insert(code, (line, mark));
                }
            }
            (Some((.., code)), None) => code.push(said),
            (None, None) => {}
        }
    }
    found
}

/// Returns the lines of Python's doctests that are no longer run.
fn doctests(change: &Change<'_>) -> Vec<Finding> {
    let (Some(before), Some(after)) = (change.before, change.after) else { return Vec::new() };
    let skipped = |line: &str| line.contains(">>> ") && line.contains("doctest:") && line.contains("+SKIP");
    if before.lines().filter(|line| skipped(line)).count()
        >= after.lines().filter(|line| skipped(line)).count()
    {
        return Vec::new();
    }
    let is_new = |line: &str| {
        let code = line.split("# doctest:").next().unwrap_or(line).trim();
        before.lines().any(|other| other.trim() == code)
    };
    let lines = after.lines().enumerate().filter(|(_, line)| skipped(line) && is_new(line));
    lines
        .map(|(at, line)| {
            let message = format!("an example of the documentation no longer runs: `{}`", line.trim());
            Finding::new(change.path, at + 1, Kind::SkippedTest, message)
        })
        .collect()
}
