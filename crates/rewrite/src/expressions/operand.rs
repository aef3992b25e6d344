//! Expressions whose value something is done with.

use tree_sitter::Node;

use crate::{Language, MAX_TIME};

/// Returns whether a text has nothing that is carried out.
pub(crate) fn is_blank(language: Language, new: &str) -> bool {
    let new = new.trim();
    let has_comment = || {
        let tree = grammar::parse(new, &language.grammar(), MAX_TIME);
        tree.is_some_and(|tree| {
            let root = tree.root_node();
            !root.has_error() && root.children(&mut root.walk()).all(|child| child.is_extra())
        })
    };
    new.is_empty() || new.starts_with(['#', '/']) && has_comment()
}

/// Returns whether something is done with the value of a node, which cannot go without another in its place.
pub(crate) fn is_operand(parent: Node<'_>, node: Node<'_>) -> bool {
    let is_alone = match parent.kind() {
        "expression_statement" => {
            parent.named_children(&mut parent.walk()).filter(|child| !child.is_extra()).count() == 1
        }
        "array" => return true,
        parent => is_body(parent),
    };
    !is_alone && is_expression(node.kind())
}

/// Returns whether a node of a kind holds what has no value for it.
pub(crate) fn is_body(kind: &str) -> bool {
    matches!(
        kind,
        "block" | "declaration_list" | "source_file" | "module" | "program" | "jsx_element" | "jsx_fragment"
    )
}

fn is_expression(kind: &str) -> bool {
    ["_expression", "_operator", "_literal", "_invocation", "_comprehension", "_access"]
        .iter()
        .any(|end| kind.ends_with(end))
        || matches!(
            kind,
            "call"
                | "await"
                | "attribute"
                | "subscript"
                | "identifier"
                | "lambda"
                | "string"
                | "template_string"
                | "number"
                | "integer"
                | "float"
                | "list"
                | "tuple"
                | "set"
                | "dictionary"
                | "array"
                | "object"
                | "class"
                | "arrow_function"
                | "jsx_element"
                | "jsx_self_closing_element"
        )
}

/// Returns whether Python takes a text for a call, as its grammar does, whose argument is that of a `with`: `f(open(x) as y)`.
pub(crate) fn takes_as_element(language: Language, new: &str) -> bool {
    if language != Language::Python || !new.contains(" as ") {
        return false;
    }
    let Some(tree) = grammar::parse(new, &language.grammar(), MAX_TIME) else { return false };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if matches!(node.kind(), "argument_list" | "list")
            && node.named_children(&mut node.walk()).any(|child| child.kind() == "as_pattern")
        {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}
