//! Parentheses around a value, without which something beside it would take a part of it.

use std::ops::Range;

use tree_sitter::Node;

use crate::{Language, MAX_TIME};

/// A value in parentheses.
pub(crate) struct Held {
    pub(crate) text: String,
    /// Whether it is an operator with what that is applied to, of which a neighbour could take a part.
    pub(crate) is_operator: bool,
}

/// Returns a text in parentheses, if it is a value.
pub(crate) fn in_parentheses(language: Language, new: &str) -> Option<Held> {
    let new = new.trim();
    let (before, behind) = around_value(language);
    let held = |newline: &str| {
        let text = format!("({new}{newline})");
        let code = format!("{before}{text}{behind}");
        let tree = grammar::parse(&code, &language.grammar(), MAX_TIME)?;
        let (start, end) = (before.len(), before.len() + text.len());
        let whole = tree.root_node().named_descendant_for_byte_range(start, end)?;
        if tree.root_node().has_error() || whole.byte_range() != (start..end) {
            return None;
        }
        let mut cursor = whole.walk();
        let value = whole.named_children(&mut cursor).find(|child| !child.is_extra())?;
        Some(Held { is_operator: is_operator(value.kind()), text })
    };
    // Go would take the end of the line for that of the statement.
    held("").or_else(|| held("\n").filter(|_| language != Language::Go))
}

/// Returns what makes a file of a value that stands between.
fn around_value(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Python => ("_ = ", ""),
        Language::JavaScript | Language::TypeScript | Language::Tsx => ("let _ = ", ""),
        Language::Go => ("package p\nfunc f() { _ = ", " }"),
        Language::Rust => ("fn f() { let _ = ", "; }"),
        Language::Java => ("class A { Object a = ", "; }"),
    }
}

/// Returns for each of some values in a text whether it is not one there: something takes a part of it.
pub(crate) fn are_taken_apart(language: Language, text: &str, values: &[Range<usize>]) -> Vec<bool> {
    let in_function = match language {
        Language::Go => ("package p\nfunc f() { ", "\n}"),
        Language::Rust => ("fn f() { ", "\n}"),
        Language::Java => ("class A { void f() { ", "\n} }"),
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => ("", ""),
    };
    let in_class = if language == Language::Java { ("class A { ", "\n}") } else { ("", "") };
    let trees = [around_value(language), in_function, in_class, ("", "")].into_iter().filter_map(
        |(before, behind)| {
            let tree = grammar::parse(&format!("{before}{text}{behind}"), &language.grammar(), MAX_TIME)?;
            (!tree.root_node().has_error()).then_some((before.len(), tree))
        },
    );
    let Some((start, tree)) = { trees }.next() else { return vec![false; values.len()] };
    let is_taken_apart = |value: &Range<usize>| {
        let value = start + value.start..start + value.end;
        let around = tree.root_node().descendant_for_byte_range(value.start, value.end);
        let is_bound = |node: Node<'_>| {
            node.parent().is_some_and(|parent| {
                is_loose(node.kind()) && binds(parent.kind())
                    || is_postfix(parent.kind()) && parent.start_byte() == node.start_byte()
            })
        };
        // In strings and comments, it is text.
        let is_text = |node: Node<'_>| node.child_count() == 0 || node.kind().contains("string");
        around.is_some_and(|node| if node.byte_range() == value { is_bound(node) } else { !is_text(node) })
    };
    values.iter().map(is_taken_apart).collect()
}

/// Returns whether a kind of node is an operator with its operands.
pub(crate) fn is_operator(kind: &str) -> bool {
    binds(kind)
        || is_loose(kind)
        || matches!(
            kind,
            "update_expression"
                | "cast_expression"
                | "type_cast_expression"
                | "as_expression"
                | "satisfies_expression"
                | "instanceof_expression"
                | "range_expression"
                | "reference_expression"
                | "type_assertion"
                | "type_assertion_expression"
                | "return_expression"
                | "break_expression"
        )
}

/// Returns whether a kind of node is an operator whose operands bind tighter than most others.
pub(crate) fn binds(kind: &str) -> bool {
    ["binary_", "unary_", "boolean_", "comparison_", "not_", "await", "conditional_", "ternary_"]
        .iter()
        .any(|start| kind.starts_with(start))
}

/// Returns whether a kind of node is an operator that takes in all that it can.
pub(crate) fn is_loose(kind: &str) -> bool {
    ["conditional_", "ternary_", "yield", "assignment", "augmented_", "compound_assignment"]
        .iter()
        .any(|start| kind.starts_with(start))
        || matches!(
            kind,
            "lambda" | "lambda_expression" | "arrow_function" | "closure_expression" | "named_expression"
        )
}

/// Returns whether a kind of node is a value with something behind it.
pub(crate) fn is_postfix(kind: &str) -> bool {
    matches!(
        kind,
        "call"
            | "call_expression"
            | "attribute"
            | "subscript"
            | "member_expression"
            | "subscript_expression"
            | "field_expression"
            | "field_access"
            | "selector_expression"
            | "index_expression"
            | "slice_expression"
            | "try_expression"
            | "await_expression"
            | "method_invocation"
            | "array_access"
            | "non_null_expression"
            | "update_expression"
    )
}
