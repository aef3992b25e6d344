//! Statements that are the whole body of another, without braces: `if (a) old();`. Without them, or with several in their place, the
//! next statement would be in the body, or some would no longer be.

use std::ops::Range;

use tree_sitter::Node;

use crate::{Language, MAX_TIME};

/// Returns what takes the place of a range, given what is to: in braces where a body needs them. Returns `None` if it must not.
pub(crate) fn in_body(
    language: Language,
    node: Node<'_>,
    range: &Range<usize>,
    new: String,
) -> Option<String> {
    let Some(body) = lone_body(language, node, range) else { return Some(new) };
    let Some(tree) = grammar::parse(&new, &language.grammar(), MAX_TIME) else { return None };
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
    let has_semicolon = body
        .child(body.child_count().saturating_sub(1) as u32)
        .is_some_and(|last| last.kind() == ";" && range.end <= last.start_byte());
    let end = if has_semicolon { range.end } else { body.end_byte() };
    let is_replaced = range.start <= body.start_byte() && end <= range.end;
    match statements.as_slice() {
        [only] if !is_replaced || !needs_braces(*only, body) => Some(new),
        // An empty statement stays.
        [] if !is_replaced || has_semicolon => Some(new),
        [] if new.trim().is_empty() => Some("{}".to_owned()),
        _ if !is_replaced || has_semicolon => None,
        _ => Some(format!("{{ {} }}", new.trim())),
    }
}

/// Returns the body without braces in which a range is, if no block between them has it in braces.
fn lone_body<'t>(language: Language, node: Node<'t>, range: &Range<usize>) -> Option<Node<'t>> {
    let is_within = |node: &Node<'_>| range.start <= node.start_byte() && node.end_byte() <= range.end;
    std::iter::successors(Some(node), Node::parent)
        .take_while(|node| is_within(node) || node.child(0).is_none_or(|first| first.kind() != "{"))
        .find(|node| is_lone_body(language, *node))
}

fn is_lone_body(language: Language, node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let is_statement = node.kind().ends_with("_statement") || node.kind().ends_with("_declaration");
    let has_braces = node.child(0).is_some_and(|first| first.kind() == "{");
    match language {
        Language::Go | Language::Rust => false,
        Language::Python => {
            let colon = parent.prev_sibling().filter(|_| parent.kind() == "block");
            colon.is_some_and(|colon| colon.end_position().row == parent.start_position().row)
        }
        Language::Java | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_field = |name: &&str| parent.child_by_field_name(name) == Some(node);
            let is_last = || parent.child(parent.child_count().saturating_sub(1) as u32) == Some(node);
            is_statement
                && !has_braces
                && (["consequence", "alternative", "body"].iter().any(|name| is_field(name))
                    || matches!(parent.kind(), "else_clause" | "labeled_statement") && is_last())
        }
    }
}

/// Returns whether a statement cannot be a body without braces: it declares something, or an `else` behind the body would become its own.
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
    is_declaration || can_take_else && has_else()
}
