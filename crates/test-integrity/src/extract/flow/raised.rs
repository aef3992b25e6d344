//! Statements that are never reached because what stands in front of them is expected to fail.

use crate::assertion::vocabulary::plain;
use crate::syntax::At;

/// Returns the statements of a block that are reached. Where a failure is expected, the first statement that can fail ends the
/// block, so that what asserts behind it never runs.
pub(in crate::extract) fn without_unreached<'a>(block: At<'a>, statements: Vec<At<'a>>) -> Vec<At<'a>> {
    if statements.len() < 2 || !expects_failure(block) {
        return statements;
    }
    let mut kept = statements.into_iter();
    let first = kept.next();
    first.into_iter().chain(kept.filter(|statement| !asserts(*statement))).collect()
}

/// Returns whether a block is one in which a failure is expected that is no failed assertion.
fn expects_failure(block: At<'_>) -> bool {
    let Some(parent) = block.node.parent().filter(|_| super::reach::is_block(block.kind())) else {
        return false;
    };
    let outer = block.with(parent);
    let head = match outer.kind() {
        "with_statement" => {
            outer.children().into_iter().find(|part| part.kind() == "with_clause").map(At::text)
        }
        "lambda_expression" | "arrow_function" => call_around(outer),
        _ => None,
    };
    head.is_some_and(|head| {
        let name = plain(head.split('(').next().unwrap_or_default());
        let is_of_failure = matches!(
            name.as_str(),
            "raises"
                | "assertraises"
                | "assertraisesregex"
                | "assertthrows"
                | "assertthatthrownby"
                | "throws"
                | "rejects"
        );
        is_of_failure && !head.contains("Assertion") && !head.contains("Exception,")
    })
}

/// Returns the text of the call that a function is given to.
fn call_around(function: At<'_>) -> Option<&str> {
    let arguments = function.node.parent()?;
    let call =
        arguments.parent().filter(|call| matches!(call.kind(), "method_invocation" | "call_expression"))?;
    let at = function.with(call);
    let name = at.field("name").or_else(|| at.field("function"))?;
    at.source.get(name.node.start_byte()..function.node.start_byte())
}

/// Returns whether a statement asserts something, by its looks.
fn asserts(statement: At<'_>) -> bool {
    let inner = match statement.kind() {
        "expression_statement" => statement.children().first().copied(),
        _ => None,
    };
    let text = inner.unwrap_or(statement).text();
    let name = plain(text.split(['(', ' ']).next().unwrap_or_default());
    name.starts_with("assert") || text.starts_with("expect(")
}
