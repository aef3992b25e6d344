//! Helpers of tests: functions, macros and hooks that check something and are no tests. One that checks less than before makes every
//! test weaker that calls it, whether the change touches that test or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::Change;
use crate::extract::{TARGETS, Test, TestFile, tests as read};
use crate::files::{Language, Role};
use crate::finding::Finding;
use crate::matching::state::State;

/// Returns whether a file is one of a Go package that only helps tests, or that a build tool runs.
pub(super) fn is_package(path: &str) -> bool {
    Language::of(path) == Some(Language::Go) && !path.ends_with("_test.go")
}

/// Returns the functions of a file that are no tests, each as if it were one.
pub(super) fn functions(path: &str, file: &TestFile) -> Vec<Test> {
    let bodies = file.helpers.iter().chain(&file.plain);
    let functions = bodies.map(|(name, body)| Test {
        path: path.to_owned(),
        name: name.clone(),
        line: body.assertions.first().map_or(1, |first| first.line),
        body: body.clone(),
        focus: None,
        cases: None,
        hidden: None,
    });
    functions.collect()
}

/// Returns the functions that were there before and still are, in the same file or, if there is only one of that name, in another.
pub(super) fn pairs<'a>(before: &'a [Test], after: &'a [Test]) -> Vec<(&'a Test, &'a Test)> {
    let mut by_name: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
    for function in after {
        by_name.entry(&function.name).or_default().push(function);
    }
    let heir = |one: &'a Test| {
        let named = by_name.get(one.name.as_str())?;
        let here = named.iter().find(|other| other.path == one.path);
        let moved = || {
            named.first().filter(|_| {
                named.len() == 1 && before.iter().filter(|other| other.name == one.name).count() == 1
            })
        };
        here.or_else(moved).map(|other| (one, *other))
    };
    before.iter().filter(|one| !one.body.assertions.is_empty()).filter_map(heir).collect()
}

/// Takes out the hooks that assert nothing, but for those that asserted something before the change.
pub(super) fn leave_idle_hooks(before: &mut State, after: &mut State) {
    let is_idle = |test: &Test| test.is_hook() && test.body.assertions.is_empty();
    before.tests.retain(|test| !is_idle(test));
    let asserted: BTreeSet<(&str, &str)> = before
        .tests
        .iter()
        .filter(|test| test.is_hook())
        .map(|test| (test.path.as_str(), test.name.as_str()))
        .collect();
    after.tests.retain(|test| !is_idle(test) || asserted.contains(&(test.path.as_str(), test.name.as_str())));
}

/// Returns what was found of a hook, in words that are about one.
pub(super) fn about_hook(finding: Finding, name: &str) -> Finding {
    about(finding, name, &format!("`{name}`, which runs for many tests,"))
}

/// Returns what was found of a helper, in words that are about one.
pub(super) fn about_helper(finding: Finding, name: &str) -> Finding {
    let helper = match name {
        TARGETS => "what the build tool runs".to_owned(),
        _ => format!("`{name}`, which tests call,"),
    };
    about(finding, name, &helper)
}

fn about(mut finding: Finding, name: &str, words: &str) -> Finding {
    finding.message = finding.message.replace(&format!("the test `{name}`"), words);
    finding
}

/// Returns whether a test that is gone only started the specs of its folder, and there are none any more.
pub(super) fn starts_nothing(test: &Test, changes: &[Change<'_>], unchanged: &[Change<'_>]) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    // Ginkgo's call that runs the specs of a folder, and gocheck's that runs its suites.
    let starts = |call: &str| test.body.words.iter().any(|word| word == call);
    let specs: &[&str] = match () {
        () if starts("RunSpecs") => &["Describe(", "DescribeTable("],
        () if starts("TestingT") => &["= Suite(", ".Suite("],
        () => return false,
    };
    let has_specs = |text: &str| specs.iter().any(|call| text.contains(call));
    let is_here = |file: &&Change<'_>| folder(file.path) == folder(&test.path);
    changes.iter().filter(is_here).any(|file| file.before.is_some_and(has_specs))
        && !changes.iter().chain(unchanged).filter(is_here).any(|file| file.after.is_some_and(has_specs))
}

/// Makes the helpers of the files that stay known to both states, so that a test says as much if it calls one of them in place of one
/// of the same name that the change touches.
pub(super) fn lend_helpers(unchanged: &[Change<'_>], before: &mut State, after: &mut State) {
    let called: BTreeSet<String> = after
        .tests
        .iter()
        .flat_map(|test| &test.body.calls)
        .filter(|name| before.has_helper(name) && !after.has_helper(name))
        .cloned()
        .collect();
    if called.is_empty() {
        return;
    }
    for file in unchanged.iter().filter(|file| matches!(Role::of(file.path), Role::Test)) {
        let text = file.after.unwrap_or_default();
        if called.iter().any(|name| text.contains(name.as_str())) {
            let helpers = read(file.path, text).helpers;
            before.lend(&helpers);
            after.lend(&helpers);
        }
    }
}
