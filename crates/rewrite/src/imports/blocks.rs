//! Nodes whose names are not known around them.

use tree_sitter::Node;

use crate::Language;

/// Returns whether no name that is bound in a node is known around it, of a function or a class.
pub(super) fn is_scope(node: Node<'_>, language: Language) -> bool {
    match language {
        Language::Python => matches!(
            node.kind(),
            "function_definition"
                | "class_definition"
                | "lambda"
                | "list_comprehension"
                | "set_comprehension"
                | "dictionary_comprehension"
                | "generator_expression"
        ),
        Language::JavaScript | Language::TypeScript | Language::Tsx => matches!(
            node.kind(),
            "function_declaration"
                | "function_expression"
                | "generator_function"
                | "generator_function_declaration"
                | "arrow_function"
                | "method_definition"
                | "class"
                | "class_declaration"
                | "abstract_class_declaration"
                | "internal_module"
                | "class_static_block"
        ),
        Language::Rust => matches!(
            node.kind(),
            "function_item"
                | "function_signature_item"
                | "closure_expression"
                | "impl_item"
                | "trait_item"
                | "mod_item"
                | "struct_item"
                | "enum_item"
                | "union_item"
                | "type_item"
        ),
        Language::Go => matches!(node.kind(), "function_declaration" | "method_declaration" | "func_literal"),
        Language::Java => matches!(
            node.kind(),
            "class_declaration"
                | "interface_declaration"
                | "enum_declaration"
                | "record_declaration"
                | "annotation_type_declaration"
                | "method_declaration"
                | "constructor_declaration"
                | "lambda_expression"
        ),
    }
}

/// Returns whether names that are bound in a node are not known around it, but for `var` of scripts.
pub(super) fn is_block(node: Node<'_>, language: Language) -> bool {
    let kinds: &[&str] = match language {
        Language::Python | Language::Java => &[],
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            &["statement_block", "for_statement", "for_in_statement", "catch_clause", "switch_body"]
        }
        Language::Rust => &["block", "match_arm", "for_expression", "if_expression", "while_expression"],
        Language::Go => &[
            "block",
            "if_statement",
            "for_statement",
            "expression_switch_statement",
            "type_switch_statement",
            "expression_case",
            "type_case",
            "communication_case",
            "default_case",
        ],
    };
    kinds.contains(&node.kind())
}

/// Returns whether what a node itself binds is known within it alone.
pub(super) fn binds_within(node: Node<'_>) -> bool {
    let kinds = ["for_in_statement", "catch_clause", "match_arm", "for_expression", "type_switch_statement"];
    kinds.contains(&node.kind())
}

/// Returns whether a node of a script within a block binds a name of the function around it.
pub(super) fn is_hoisted(node: Node<'_>) -> bool {
    match node.kind() {
        "variable_declarator" => node.parent().is_some_and(|parent| parent.kind() == "variable_declaration"),
        "for_in_statement" => node.child_by_field_name("kind").is_some_and(|kind| kind.kind() == "var"),
        _ => false,
    }
}

/// Returns the first byte from which on the names are known that a node binds: those of Go and Rust's `let` not before its end.
pub(super) fn known_from(node: Node<'_>) -> usize {
    let is_late = matches!(
        node.kind(),
        "let_declaration"
            | "let_condition"
            | "short_var_declaration"
            | "var_spec"
            | "const_spec"
            | "range_clause"
            | "receive_statement"
    );
    if is_late { node.end_byte() } else { 0 }
}
