//! Code of a block that may be passed over: it stands behind a jump, or behind a condition under which the turn of a loop ends.

use super::reach::is_block;
use crate::syntax::At;

/// Returns the place of the first statement of a block that may leave out those behind it: a condition under which the turn of a loop
/// ends, or a jump over them.
pub(in crate::extract) fn passed_over(parent: At<'_>, children: &[At<'_>], nested: bool) -> Option<usize> {
    if !is_block(parent.kind()) {
        return None;
    }
    children.iter().position(|at| {
        let inner = if at.kind() == "expression_statement" { at.children().first().copied() } else { None };
        let at = inner.unwrap_or(*at);
        let is_condition = matches!(at.kind(), "if_statement" | "if_expression");
        is_condition && !fails(at) && !is_of_failure(at) && leaves(at, nested)
    })
}

/// Returns whether a condition is about a failure: where there is one, nothing else is to be looked at.
fn is_of_failure(at: At<'_>) -> bool {
    let condition = at.field("condition").map_or("", At::text);
    ["err", "Err", "fail", "Fail", "ok"].iter().any(|word| condition.contains(word))
}

/// Returns whether something below a node fails a test, or tells of a failure.
fn fails(at: At<'_>) -> bool {
    const WORDS: &[&str] = &[
        "assert", "expect", "fail", "Fail", "Error", "Fatal", "raise", "throw", "panic", "require", "Skip",
        "skip", "Log",
    ];
    WORDS.iter().any(|word| at.text().contains(word))
}

/// Returns whether a statement leaves the block that it stands in, without ending a loop or a function of its own.
fn leaves(at: At<'_>, nested: bool) -> bool {
    let mut waiting: Vec<(At<'_>, bool)> = at.children().into_iter().map(|child| (child, false)).collect();
    while let Some((at, in_loop)) = waiting.pop() {
        let is_labelled = || {
            at.kind().starts_with("goto")
                || at
                    .children()
                    .iter()
                    .any(|child| child.kind().contains("label") || child.kind() == "statement_identifier")
        };
        match at.kind() {
            "break_statement"
            | "continue_statement"
            | "break_expression"
            | "continue_expression"
            | "goto_statement" => {
                if !in_loop || is_labelled() {
                    return true;
                }
            }
            "return_statement" | "return_expression" if nested => return true,
            kind if crate::extract::is_function(kind) => {}
            kind => {
                let is_loop = kind.starts_with("for_")
                    || kind.starts_with("while_")
                    || matches!(
                        kind,
                        "loop_expression"
                            | "enhanced_for_statement"
                            | "do_statement"
                            | "switch_statement"
                            | "expression_switch_statement"
                            | "select_statement"
                    );
                waiting.extend(at.children().into_iter().map(|child| (child, in_loop || is_loop)));
            }
        }
    }
    false
}
