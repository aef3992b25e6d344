//! Calls that end the process with success from within tests, hooks and set-up: what fails later, or has failed, counts for nobody.

mod calls;
mod own_runner;
mod place;

use std::cell::Cell;
use std::collections::BTreeMap;

use super::reported::Reported;
use super::signs::is_steering;
use crate::Change;
use crate::extract;
use crate::extract::meant_endings::is_meant;
use crate::files::{Language, file_name, is_support};
use crate::finding::{Finding, Kind, short};
use crate::syntax::bindings::Given;
use crate::syntax::{At, parse};
use calls::Names;
use own_runner::is_end_of_own_runner;
use place::{File, MAX_LOOKUPS};

/// Returns the calls that newly end the process with success, unless something was `reported` of the test that they stand in.
pub(crate) fn compare(changes: &[Change<'_>], reported: &Reported<'_>) -> Vec<Finding> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut read = Vec::new();
    for change in changes.iter().filter(|change| change.before != change.after) {
        for ending in endings(change.path, change.before.unwrap_or_default()) {
            *known.entry(ending.text).or_default() += 1;
        }
        read.push((change, endings(change.path, change.after.unwrap_or_default())));
    }
    let mut findings = Vec::new();
    for (change, endings) in read {
        for Ending { line, text, is_guard } in endings {
            // Nothing ran in a new file before.
            let leaves_out_new = is_guard && change.before.is_none() && !is_support(change.path);
            if let Some(count) = known.get_mut(&text).filter(|count| **count > 0) {
                *count -= 1;
            } else if !leaves_out_new && !reported.covers(change.path, line) {
                let text = short(&text);
                let message =
                    format!("the process ends with success, whatever has failed or comes later: `{text}`");
                findings.push(Finding::new(change.path, line, Kind::WeakerCheck, message));
            }
        }
    }
    findings
}

/// Calls of a file that are judged.
const MAX_CALLS: usize = 500;

/// Call that ends the process with success.
struct Ending {
    line: usize,
    text: String,
    /// Whether it stands under a condition, outside of all functions: it leaves out the file.
    is_guard: bool,
}

/// Returns the calls of a file that end the process of its tests with success.
fn endings(path: &str, text: &str) -> Vec<Ending> {
    let Some(language) = Language::of(path) else { return Vec::new() };
    let may_end = ["xit", "halt", "quit"].iter().any(|part| text.contains(part));
    let is_of_tests = is_steering(path) || is_support(path);
    if !may_end || !(is_of_tests || language == Language::Rust) {
        return Vec::new();
    }
    let Some(tree) = parse(text, language) else { return Vec::new() };
    let root = At::root(&tree, text);
    let given = Given::of(root);
    let file = File { path, language, all: root.descendants(), is_of_tests, lookups: Cell::new(MAX_LOOKUPS) };
    let names = Names::of(&file.all, language, &given);
    let mut calls: Vec<At<'_>> =
        file.all.iter().copied().filter(|at| names.end(*at)).take(MAX_CALLS).collect();
    if calls.is_empty() {
        return Vec::new();
    }
    // A program that tests start is none of theirs, whatever its folder.
    let is_loaded = is_support(path)
        || matches!(file_name(path), "conftest.py" | "__init__.py" | "sitecustomize.py" | "usercustomize.py");
    let has_tests = || {
        let file = extract::tests(path, text);
        !file.tests.is_empty() || !file.hooks.is_empty()
    };
    if !is_loaded && !has_tests() {
        // The runner loads all of Go's; whether `TestMain` itself leaves out the tests of other files is asked where tests are compared.
        calls.retain(|at| language == Language::Go && !is_in_main(*at));
    }
    let is_own = |at: At<'_>| is_end_of_own_runner(at, language);
    let ends = calls.into_iter().filter(|at| file.comes_by(*at) && !is_meant(*at, text) && !is_own(*at));
    let text_of = |at: At<'_>| at.text().lines().next().unwrap_or_default().trim_end().to_owned();
    ends.map(|at| Ending { line: at.line(), text: text_of(at), is_guard: is_guard(at) }).collect()
}

/// Returns whether a call stands in Go's `TestMain`.
fn is_in_main(call: At<'_>) -> bool {
    let mut above = std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    let name = |node| call.with(node).field("name").map_or("", At::text);
    above.any(|node| node.kind() == "function_declaration" && name(node) == "TestMain")
}

/// Returns whether a call stands under a condition, outside of all functions.
fn is_guard(call: At<'_>) -> bool {
    let above = || std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    let is_function =
        |kind: &str| ["func", "method", "lambda", "closure"].iter().any(|part| kind.contains(part));
    above().any(|node| node.kind() == "if_statement") && !above().any(|node| is_function(node.kind()))
}
