//! Kinds of nodes of the seven grammars, by the values that they take.

use crate::Language;

/// Values with something behind them.
const POSTFIX: &[&str] = &[
    "array_access",
    "attribute",
    "await_expression",
    "call",
    "call_expression",
    "field_access",
    "field_expression",
    "index_expression",
    "member_expression",
    "method_invocation",
    "non_null_expression",
    "selector_expression",
    "slice_expression",
    "subscript",
    "subscript_expression",
    "try_expression",
    "update_expression",
];

/// Nodes that take any value, but for several and for assignments.
const ANY: &[&str] = &[
    "annotation_argument_list",
    "annotation_type_element_declaration",
    "argument_list",
    "arguments",
    "array",
    "array_expression",
    "array_initializer",
    "array_type",
    "arrow_function",
    "as_pattern",
    "assignment_pattern",
    "base_field_initializer",
    "block",
    "break_expression",
    "case_clause",
    "closure_expression",
    "communication_case",
    "computed_property_name",
    "const_item",
    "const_spec",
    "decorator",
    "default_parameter",
    "dimensions_expr",
    "element_value_array_initializer",
    "element_value_pair",
    "elif_clause",
    "enum_variant",
    "except_clause",
    "expression_case",
    "expression_list",
    "field_definition",
    "field_initializer",
    "for_clause",
    "for_expression",
    "format_expression",
    "format_specifier",
    "function_definition",
    "generator_expression",
    "guard",
    "if_expression",
    "interpolation",
    "jsx_expression",
    "keyed_element",
    "keyword_argument",
    "lambda",
    "lambda_expression",
    "let_declaration",
    "list",
    "literal_element",
    "literal_value",
    "match_arm",
    "match_expression",
    "match_pattern",
    "module",
    "named_expression",
    "optional_parameter",
    "pair",
    "parenthesized_expression",
    "program",
    "public_field_definition",
    "range_clause",
    "required_parameter",
    "resource",
    "return_expression",
    "sequence_expression",
    "set",
    "source_file",
    "spread_element",
    "statement_list",
    "static_item",
    "switch_case",
    "switch_expression",
    "switch_label",
    "template_substitution",
    "tuple",
    "tuple_expression",
    "type",
    "type_conversion_expression",
    "type_parameter",
    "typed_default_parameter",
    "typed_parameter",
    "var_spec",
    "variable_declarator",
    "variadic_argument",
    "while_expression",
    "with_clause",
    "with_item",
    "yield",
    "yield_expression",
];

/// Nodes that have items with commas between them, which each may be more than a value.
const ITEMS: &[&str] = &[
    "argument_list",
    "arguments",
    "array",
    "array_expression",
    "array_initializer",
    "dictionary",
    "expression_list",
    "list",
    "literal_value",
    "object",
    "sequence_expression",
    "set",
    "token_tree",
    "tuple",
    "tuple_expression",
    "type_arguments",
];

/// Returns whether a kind of node is a value with something behind it.
pub(crate) fn is_postfix(kind: &str) -> bool {
    POSTFIX.contains(&kind)
}

/// Returns whether a kind of node has items with commas between them, which each may be more than a value.
pub(crate) fn holds_items(kind: &str) -> bool {
    ITEMS.contains(&kind)
}

/// Returns whether a kind of node takes any value, but for several and for assignments.
pub(crate) fn takes_any(kind: &str, is_first: bool) -> bool {
    let is_index = matches!(
        kind,
        "subscript"
            | "subscript_expression"
            | "index_expression"
            | "array_access"
            | "slice"
            | "slice_expression"
    );
    let is_set = kind.contains("assignment") || kind == "short_var_declaration";
    (is_index || is_set) && (!is_first || kind == "slice")
        || kind.ends_with("_statement") && !matches!(kind, "go_statement" | "defer_statement")
        || kind.ends_with("_comprehension")
        || ANY.contains(&kind)
}

/// Returns whether a kind of node takes several values with commas between them.
pub(crate) fn takes_list(language: Language, kind: &str, is_first: bool) -> bool {
    match kind {
        "expression_statement" | "return_statement" | "parenthesized_expression" => true,
        "subscript" | "subscript_expression" => !is_first,
        "assignment" | "augmented_assignment" | "yield" => language == Language::Python && !is_first,
        "for_statement" => language == Language::Python,
        "assignment_statement" | "short_var_declaration" | "expression_case" => language == Language::Go,
        "throw_statement" | "template_substitution" | "if_statement" | "while_statement" => {
            language != Language::Python
        }
        _ => false,
    }
}

/// Returns whether the signs around a value part it from others.
pub(crate) fn is_delimited(before: &str, behind: &str) -> bool {
    before.trim_end().ends_with(['(', '[', '{', ',', ';'])
        && behind.trim_start().starts_with([')', ']', '}', ',', ';'])
}
