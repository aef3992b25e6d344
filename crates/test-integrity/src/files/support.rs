//! Files that help tests, by their paths.

use super::file_name;

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
