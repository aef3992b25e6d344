//! Statements that are a whole body without braces: with none or several in their place, the next one would be in the body, or some would
//! no longer be.

use std::ops::Range;

use tree_sitter::Node;

use crate::{Language, MAX_TIME};

pub(crate) fn has_braces(node: Node<'_>) -> bool {
    node.child(0).is_some_and(|first| first.kind() == "{")
}

pub(crate) fn is_lone_body(
    language: Language,
    parent: Node<'_>,
    node: Node<'_>,
    field: Option<&str>,
) -> bool {
    let is_statement = node.kind().ends_with("_statement") || node.kind().ends_with("_declaration");
    match language {
        Language::Go | Language::Rust => false,
        Language::Python => {
            let colon = parent.prev_sibling().filter(|_| parent.kind() == "block" && is_statement);
            colon.is_some_and(|colon| colon.end_position().row == parent.start_position().row)
        }
        Language::Java | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_last = || node.end_byte() == parent.end_byte();
            is_statement
                && !has_braces(node)
                && (matches!(field, Some("consequence" | "alternative" | "body"))
                    || matches!(parent.kind(), "else_clause" | "labeled_statement" | "switch_rule")
                        && is_last())
        }
    }
}

/// Returns what takes the place of a range within a body: in braces where it needs them. Returns `None` if it must not.
pub(crate) fn in_body(
    language: Language,
    body: Node<'_>,
    range: &Range<usize>,
    new: String,
) -> Option<String> {
    let tree = grammar::parse(&new, &language.grammar(), MAX_TIME)?;
    let root = tree.root_node();
    let mut cursor = root.walk();
    let statements: Vec<Node<'_>> =
        root.named_children(&mut cursor).filter(|statement| !statement.is_extra()).collect();
    // What is no code by itself is up to the check of the whole file.
    if root.has_error() {
        return Some(new);
    }
    if language == Language::Python {
        return (statements.len() <= 1 || !new.contains('\n')).then_some(new);
    }
    let semicolon = body.children(&mut body.walk()).last().filter(|last| last.kind() == ";");
    let keeps_semicolon = semicolon.is_some_and(|semicolon| range.end <= semicolon.start_byte());
    let is_replaced = range.start <= body.start_byte() && (keeps_semicolon || body.end_byte() <= range.end);
    match statements.as_slice() {
        [only] if !is_replaced || !needs_braces(*only, body) => Some(new),
        // A block there would have to yield the value.
        _ if is_value(body) => None,
        // An empty statement stays.
        [] if !is_replaced || keeps_semicolon => Some(new),
        [] if new.trim().is_empty() => Some("{}".to_owned()),
        _ if !is_replaced || keeps_semicolon => None,
        _ => Some(format!("{{ {} }}", new.trim())),
    }
}

/// Returns whether a body is that of a case with an arrow whose value is used.
fn is_value(body: Node<'_>) -> bool {
    let above = || std::iter::successors(body.parent(), Node::parent);
    let is_case = above().next().is_some_and(|parent| parent.kind() == "switch_rule");
    let around = above().nth(3);
    is_case
        && around.is_some_and(|around| {
            !matches!(around.kind(), "block" | "switch_block_statement_group" | "switch_rule")
                && !around.kind().ends_with("_statement")
        })
}

/// Returns whether a statement cannot be a body without braces: it declares something, an `else` behind the body would become its own, or a
/// case with an arrow does not take it.
fn needs_braces(statement: Node<'_>, body: Node<'_>) -> bool {
    let is_declaration =
        statement.kind().ends_with("_declaration") && statement.kind() != "variable_declaration";
    let has_else = || {
        std::iter::successors(Some(body), Node::parent)
            .take_while(|node| node.end_byte() == body.end_byte())
            .any(|node| node.next_sibling().is_some_and(|next| matches!(next.kind(), "else" | "else_clause")))
    };
    let can_take_else = matches!(
        statement.kind(),
        "if_statement"
            | "for_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "while_statement"
            | "labeled_statement"
            | "with_statement"
    );
    let is_no_case = !matches!(statement.kind(), "expression_statement" | "throw_statement" | "block");
    let is_in_case = || body.parent().is_some_and(|parent| parent.kind() == "switch_rule");
    is_declaration || can_take_else && has_else() || is_no_case && is_in_case()
}
