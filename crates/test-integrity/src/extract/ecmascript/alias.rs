//! Names that a file of JavaScript gives to the functions that make tests: `const suite = CI ? describe.skip : describe`.

use super::test_calls::{GROUPS, TESTS, chain};
use crate::syntax::At;

/// What a name stands for that makes tests or groups of tests.
pub(super) struct Alias<'a> {
    /// Parts of the name that it stands for, such as `["describe", "only"]`.
    pub(super) parts: Vec<&'a str>,
    /// Whether what it stands for leaves out what it makes, and whether only under a condition.
    pub(super) skips: Option<bool>,
}

/// Returns what the name that a call begins with stands for. A test by a name of its own is no test for a runner of patterns, so
/// that only those of groups are followed, and known names that stand for something else.
pub(super) fn of(call: At<'_>) -> Option<Alias<'_>> {
    let mut root = call.field("function")?;
    while let Some(inner) = root.field("object").or_else(|| root.field("function")) {
        root = inner;
    }
    let value = root.given.filter(|_| root.kind() == "identifier")?.value(root)?;
    let value =
        if value.kind() == "parenthesized_expression" { value.children().into_iter().next()? } else { value };
    let branches = [value.field("consequence"), value.field("alternative")];
    let choices: Vec<Vec<&str>> = match branches {
        [Some(one), Some(other)] if value.kind() == "ternary_expression" => vec![chain(one), chain(other)],
        _ if matches!(value.kind(), "member_expression" | "identifier") => vec![chain(value)],
        _ => return None,
    };
    let makes = |parts: &Vec<&str>| {
        parts.first().is_some_and(|first| {
            GROUPS.contains(first) || TESTS.contains(first) && TESTS.contains(&root.text())
        })
    };
    if !choices.iter().all(makes) {
        return None;
    }
    let leaves_out = |parts: &&Vec<&str>| {
        parts[0].starts_with('x') || parts.iter().any(|part| matches!(*part, "skip" | "todo" | "fixme"))
    };
    let left_out = choices.iter().filter(leaves_out).count();
    let parts = choices.iter().find(|parts| !leaves_out(parts)).or(choices.first())?.clone();
    Some(Alias { parts, skips: (left_out > 0).then_some(left_out < choices.len()) })
}
