//! Helpers of tests: functions, macros and hooks that check something and are no tests. One that checks less than before makes every
//! test weaker that calls it, whether the change touches that test or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::Change;
use crate::extract::{Test, TestFile};
use crate::files::{Language, file_name};
use crate::finding::Finding;
use crate::state::State;

/// Folders of what helps tests, in whatever language.
const FOLDERS: &[&str] = &[
    "testutil",
    "testutils",
    "test-utils",
    "test_utils",
    "testhelpers",
    "test-helpers",
    "test_helpers",
    "testkit",
    "testlib",
    "step_definitions",
    "step-definitions",
    "stepdefs",
];

/// Name for the targets of a build tool.
pub(crate) const TARGETS: &str = "(targets)";

/// Returns whether a file helps tests by its path: set-up of runners, steps of features, and packages of helpers.
pub(crate) fn is_support(path: &str) -> bool {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let folders: Vec<&str> = path.strip_suffix(name).unwrap_or_default().split('/').collect();
    let is_within =
        |outer: &str, inner: &str| folders.windows(2).any(|two| two[0] == outer && two[1] == inner);
    let is_set_up = [".setup.", "-setup.", ".teardown."].iter().any(|part| name.contains(part))
        && ["jest", "vitest", "test", "mocha", "global", "ava", "playwright"]
            .iter()
            .any(|tool| stem.starts_with(tool));
    folders.iter().any(|folder| FOLDERS.contains(folder))
        || is_within("features", "steps")
        || is_within("cypress", "support")
        || is_set_up
        || matches!(
            stem.as_str(),
            "setuptests"
                | "setup-tests"
                | "setup_tests"
                | "testutil"
                | "testutils"
                | "test-utils"
                | "test_helper"
        )
}

/// Returns whether a file is one of a Go package that only helps tests, or that a build tool runs.
pub(crate) fn is_package(path: &str) -> bool {
    Language::of(path) == Some(Language::Go) && !path.ends_with("_test.go")
}

/// Returns the functions of a file that are no tests, each as if it were one.
pub(crate) fn functions(path: &str, file: &TestFile) -> Vec<Test> {
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
pub(crate) fn pairs<'a>(before: &'a [Test], after: &'a [Test]) -> Vec<(&'a Test, &'a Test)> {
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
pub(crate) fn leave_idle_hooks(before: &mut State, after: &mut State) {
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
pub(crate) fn about_hook(finding: Finding, name: &str) -> Finding {
    about(finding, name, &format!("`{name}`, which runs for many tests,"))
}

/// Returns what was found of a helper, in words that are about one.
pub(crate) fn about_helper(finding: Finding, name: &str) -> Finding {
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
pub(crate) fn starts_nothing(test: &Test, changes: &[Change<'_>], unchanged: &[Change<'_>]) -> bool {
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
