//! What tools are for, and which of them can take the place of another.

use std::collections::BTreeSet;

use super::commands::{Check, checks};
use crate::files::Format;

/// Returns whether another tool of the same purpose runs now, which did not before.
pub(super) fn is_replaced(tool: &str, new: &[Check], old: &[Check]) -> bool {
    let new = new.iter().filter(|check| !old.iter().any(|known| known.tool == check.tool));
    is_of_purpose(tool, new.map(|check| check.tool.as_str()))
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

fn is_of_purpose<'a>(tool: &str, mut new: impl Iterator<Item = &'a str>) -> bool {
    const PURPOSES: &[&[&str]] = &[
        &["pytest", "py.test", "unittest", "tox", "nox", "coverage", "rails test", "rspec"],
        &["flake8", "pylint", "ruff", "black", "isort", "bandit", "ruff check", "ruff format", "pre-commit"],
        &["mypy", "pyright"],
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
        ],
        &["eslint", "biome", "xo", "standard", "stylelint", "deno lint", "npm", "yarn", "pnpm"],
        &["cargo test", "cargo nextest", "cargo llvm-cov", "cargo tarpaulin", "just", "make"],
        &["go test", "richgo test", "gotestsum", "just", "make"],
        &["cargo clippy", "cargo check", "just", "make"],
        &["staticcheck", "golangci-lint", "go vet"],
        &["go tool cover", "go-test-coverage"],
    ];
    let family = |word: &str, purpose: &[&str]| {
        purpose.iter().any(|known| word == *known || word.starts_with(&format!("{known} ")))
    };
    // A target that lints does not replace one that tests.
    let lints = |tool: &str| {
        let name = tool.rsplit(' ').next().unwrap_or(tool);
        tool.contains(' ') && ["lint", "fmt", "format", "type"].iter().any(|part| name.contains(part))
    };
    let is_builder = |tool: &str| {
        ["make ", "just ", "npm ", "yarn ", "pnpm ", "bun "].iter().any(|word| tool.starts_with(word))
    };
    let is_alike = |other: &str| !is_builder(tool) || !is_builder(other) || lints(tool) == lints(other);
    new.any(|other| {
        is_alike(other) && PURPOSES.iter().any(|purpose| family(tool, purpose) && family(other, purpose))
    })
}
