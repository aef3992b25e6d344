//! Purposes of tools, and the tools that can replace one another.

use std::collections::BTreeSet;

use super::check::Check;
use super::commands::checks;
use crate::files::Format;

/// Returns whether another tool of the same purpose runs now, which did not before.
pub(super) fn is_replaced(check: &Check, new: &[Check], old: &[Check]) -> bool {
    let new = || new.iter().filter(|check| !old.iter().any(|known| known.tool == check.tool));
    is_of_purpose(&check.tool, new().map(|check| check.tool.as_str()))
        || new().any(|other| builds_as_much(check, other))
}

/// Returns whether a build of Gradle runs the checks that one of Maven ran.
fn builds_as_much(maven: &Check, gradle: &Check) -> bool {
    let has = |text: &str, goals: &[&str]| {
        text.split_whitespace().any(|word| goals.contains(&word.rsplit(':').next().unwrap_or(word)))
    };
    let runs_all = has(&gradle.text, &["check", "build"]);
    maven.tool == "mvn"
        && gradle.tool == "gradle"
        && (runs_all || !has(&maven.text, &["verify", "install", "deploy"]) && has(&gradle.text, &["test"]))
}

/// Returns whether another tool of tests runs now that leaves nothing out, so that what is left of the first one is an addition.
pub(super) fn is_replaced_whole(tool: &str, new: &[Check], old: &[Check]) -> bool {
    const WHOLE: &[(&str, &str)] = &[("cargo test", "cargo nextest"), ("go test", "gotestsum")];
    let runs = |wanted: &str, checks: &[Check]| {
        checks.iter().any(|check| check.tool == wanted && check.narrow.is_empty())
    };
    WHOLE.iter().any(|(first, second)| tool == *first && runs(second, new) && !runs(second, old))
}

/// Returns whether a command still runs all tools that another one ran, in one another or alone: `c8 node --test` has no `ava`.
pub(super) fn has_all_tools(before: &str, after: &str) -> bool {
    let tools = |text: &str| -> BTreeSet<String> {
        checks(text, Format::Text).into_iter().map(|check| check.tool).collect()
    };
    tools(before).is_subset(&tools(after))
}

/// Returns whether one of these tools does what another one did.
pub(super) fn is_replaced_by(tool: &str, others: &BTreeSet<String>) -> bool {
    is_of_purpose(tool, others.iter().map(String::as_str))
}

/// Tools, and whether they lint rather than test.
const PURPOSES: &[(bool, &[&str])] = &[
    (
        false,
        &[
            "pytest",
            "py.test",
            "unittest",
            "tox",
            "nox",
            "coverage",
            "rails test",
            "rspec",
            "nosetests",
            "nose2",
            "make",
            "just",
            "task",
        ],
    ),
    (true, &["flake8", "pylint", "ruff", "isort", "bandit", "ruff check", "pre-commit"]),
    (true, &["black", "ruff", "ruff format", "pre-commit"]),
    (true, &["mypy", "pyright"]),
    (
        false,
        &[
            "jest",
            "vitest",
            "mocha",
            "ava",
            "tape",
            "npm",
            "yarn",
            "pnpm",
            "bun",
            "node",
            "nyc",
            "c8",
            "deno test",
            "karma",
            "jasmine",
            "react-scripts",
            "craco",
            "ng",
            "egg-bin",
            "vue-cli-service",
            "tsdx",
            "aegir",
            "kcd-scripts",
            "wp-scripts",
            "make",
            "just",
            "task",
        ],
    ),
    (
        true,
        &[
            "eslint",
            "tslint",
            "jshint",
            "oxlint",
            "biome",
            "xo",
            "standard",
            "stylelint",
            "deno lint",
            "npm",
            "yarn",
            "pnpm",
            "make",
            "just",
            "task",
        ],
    ),
    (false, &["cargo test", "cargo nextest", "cargo llvm-cov", "cargo tarpaulin", "just", "make", "task"]),
    (false, &["go test", "richgo test", "gotestsum", "just", "make", "task"]),
    (true, &["cargo clippy", "cargo check", "just", "make", "task"]),
    (true, &["cargo fmt", "rustfmt"]),
    (true, &["staticcheck", "golangci-lint", "go vet"]),
    (false, &["go tool cover", "go-test-coverage"]),
    (false, &["cypress", "playwright", "testcafe", "nightwatch", "wdio"]),
];

fn is_of_purpose<'a>(tool: &str, mut new: impl Iterator<Item = &'a str>) -> bool {
    let family = |word: &str, purpose: &[&str]| {
        // Ruff's commands are for different things.
        let is_below = |known: &str| known != "ruff" && word.starts_with(&format!("{known} "));
        purpose.iter().any(|known| word == *known || is_below(known))
    };
    // A target or script that lints does not replace one that tests, nor a tool that does.
    let lints = |tool: &str| {
        let name = tool.rsplit(' ').next().unwrap_or(tool);
        let says = |words: &[&str]| words.iter().any(|part| name.contains(part));
        if tool.contains(' ') && says(&["lint", "fmt", "format", "type"]) {
            Some(true)
        } else {
            says(&["test", "spec", "e2e", "cover"]).then_some(false)
        }
    };
    let is_builder = |tool: &str| {
        ["make ", "just ", "task ", "npm ", "yarn ", "pnpm ", "bun "]
            .iter()
            .any(|word| tool.starts_with(word))
    };
    let is_alike = |other: &str| {
        !is_builder(tool) || !is_builder(other) || (lints(tool) == Some(true)) == (lints(other) == Some(true))
    };
    let fits =
        |word: &str, is_lint: bool| !is_builder(word) || lints(word).is_none_or(|lints| lints == is_lint);
    new.any(|other| {
        let of_both = |(is_lint, purpose): &(bool, &[&str])| {
            family(tool, purpose) && family(other, purpose) && fits(tool, *is_lint) && fits(other, *is_lint)
        };
        is_alike(other) && PURPOSES.iter().any(of_both)
    })
}
