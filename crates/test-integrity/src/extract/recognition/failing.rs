//! Failures that a condition leads to: `if not found: pytest.fail("none")` is an assertion on what is found.

use crate::assertion::Assertion;
use crate::syntax::At;

/// Returns the assertion that a call that fails a Python test is, where the body of an `if` is nothing else.
pub(in crate::extract) fn of_condition(fail: At<'_>) -> Option<Assertion> {
    let condition = condition(fail)?;
    let text = condition.normal();
    let positive = match text.strip_prefix("not ") {
        Some(inner) if ![" and ", " or "].iter().any(|word| inner.contains(word)) => inner.to_owned(),
        _ if text.matches(" != ").count() == 1 => text.replacen(" != ", " == ", 1),
        _ => format!("not ( {text} )"),
    };
    let words: Vec<&str> = ["assert"].into_iter().chain(positive.split(' ')).collect();
    Some(Assertion::of_condition(&positive, fail.line(), &words))
}

/// Returns the condition of an `if` that stands in a function itself, has no other branch, and whose whole body is this call.
pub(in crate::extract) fn condition(fail: At<'_>) -> Option<At<'_>> {
    let statement = if fail.kind() == "raise_statement" { fail } else { parent(fail)? };
    let block = parent(statement).filter(|block| block.kind() == "block" && block.children().len() == 1)?;
    let branch = parent(block)
        .filter(|branch| branch.kind() == "if_statement" && branch.field("alternative").is_none())?;
    let outer = parent(branch)?;
    let is_plain = parent(outer).is_some_and(|function| function.kind() == "function_definition");
    branch.field("condition").filter(|_| is_plain)
}

fn parent(at: At<'_>) -> Option<At<'_>> {
    at.node.parent().map(|node| at.with(node))
}
