//! Imports of Python that stand in an `if` or a `try` at the top level of a file, and what is bound however these are left.

use std::collections::HashSet;

use tree_sitter::Node;

use super::declared::declared_by;
use super::items::items;
use super::statements::kinds;
use crate::Language;

/// Returns whether a statement of Python may hold imports that are carried out under a condition.
pub(super) fn is_guard(node: Node<'_>) -> bool {
    matches!(node.kind(), "try_statement" | "if_statement")
}

/// Adds the nodes of the imports in the blocks of a statement of Python.
pub(super) fn add_guarded<'t>(node: Node<'t>, found: &mut Vec<Node<'t>>) {
    for child in node.named_children(&mut node.walk()) {
        let is_block = child.kind() == "block" || child.kind().ends_with("_clause");
        if kinds(Language::Python).contains(&child.kind()) {
            found.push(child);
        } else if is_block || is_guard(child) {
            add_guarded(child, found);
        }
    }
}

/// Returns the names that a statement or a block of Python binds to something that can be used, whichever of its branches is taken; `None`
/// if what follows it is never reached.
pub(super) fn always_bound(node: Node<'_>, text: &str) -> Option<HashSet<String>> {
    let field = |name: &str| node.child_by_field_name(name);
    let bound_by =
        |node: Option<Node<'_>>| node.map_or(Some(HashSet::new()), |node| always_bound(node, text));
    let mut cursor = node.walk();
    match node.kind() {
        "raise_statement" | "return_statement" => None,
        "expression_statement" if is_exit(node, text) => None,
        "expression_statement" if is_placeholder(node) => Some(HashSet::new()),
        "block" => {
            let mut children = node.named_children(&mut cursor);
            children.try_fold(HashSet::new(), |all, child| Some(both(all, always_bound(child, text)?)))
        }
        "if_statement" => {
            let others: Vec<Node<'_>> = node.children_by_field_name("alternative", &mut cursor).collect();
            let has_else = others.last().is_some_and(|last| last.kind() == "else_clause");
            // What is known to the type checker alone is never reached.
            let first = bound_by(field("consequence")).filter(|_| !is_for_types(node, text));
            let others = others.into_iter().map(|other| always_bound(other, text));
            in_each([first].into_iter().chain(others).chain((!has_else).then(|| Some(HashSet::new()))))
        }
        "try_statement" => {
            let clauses = |kind: &str| {
                let mut cursor = node.walk();
                let clauses = node.named_children(&mut cursor).filter(|clause| clause.kind() == kind);
                clauses.collect::<Vec<_>>()
            };
            let otherwise = bound_by(clauses("else_clause").pop());
            let tried = bound_by(field("body")).zip(otherwise).map(|(body, otherwise)| both(body, otherwise));
            let caught = [clauses("except_clause"), clauses("except_group_clause")].concat();
            let each =
                in_each([tried].into_iter().chain(caught.into_iter().map(|it| always_bound(it, text))));
            each.zip(bound_by(clauses("finally_clause").pop())).map(|(each, last)| both(each, last))
        }
        "with_statement" => bound_by(field("body")),
        "elif_clause" | "else_clause" | "except_clause" | "except_group_clause" | "finally_clause" => {
            bound_by(node.named_children(&mut cursor).find(|child| child.kind() == "block"))
        }
        "for_statement" | "while_statement" | "match_statement" => Some(HashSet::new()),
        kind if kinds(Language::Python).contains(&kind) => {
            let (_, items) = items(node, text, Language::Python);
            Some(items.into_iter().filter_map(|item| item.locals.into_iter().next()).collect())
        }
        _ => {
            let mut names = Vec::new();
            declared_by(node, text, Language::Python, &mut names);
            Some(names.into_iter().map(str::to_owned).collect())
        }
    }
}

fn is_exit(node: Node<'_>, text: &str) -> bool {
    let call = text.get(node.byte_range()).unwrap_or_default();
    ["sys.exit(", "exit(", "quit("].iter().any(|exit| call.starts_with(exit))
}

/// Returns whether a statement gives a name a constant, such as `None`, which says that there is nothing of that name.
fn is_placeholder(node: Node<'_>) -> bool {
    let mut value = node.named_child(0).and_then(|child| child.child_by_field_name("right"));
    // `a = b = None` is a chain.
    while let Some(chain) = value.filter(|value| value.kind() == "assignment") {
        value = chain.child_by_field_name("right");
    }
    value.is_some_and(|last| {
        matches!(last.kind(), "none" | "false" | "true" | "integer" | "float" | "string" | "ellipsis")
    })
}

/// Returns whether the first block of an `if` is for the type checker alone.
fn is_for_types(node: Node<'_>, text: &str) -> bool {
    let condition =
        node.child_by_field_name("condition").and_then(|condition| text.get(condition.byte_range()));
    condition.is_some_and(|condition| condition.ends_with("TYPE_CHECKING") && !condition.starts_with("not "))
}

fn both(mut all: HashSet<String>, mut more: HashSet<String>) -> HashSet<String> {
    if all.len() < more.len() {
        std::mem::swap(&mut all, &mut more);
    }
    all.extend(more);
    all
}

/// Returns what is bound in each of several branches that are left at their end.
fn in_each(branches: impl Iterator<Item = Option<HashSet<String>>>) -> Option<HashSet<String>> {
    branches.flatten().reduce(|mut all, more| {
        all.retain(|name| more.contains(name));
        all
    })
}
