//! Kinds of nodes that are alike in all languages.

/// Returns whether a kind of node is that of a function.
pub(crate) fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "lambda"
            | "arrow_function"
            | "function_expression"
            | "function_declaration"
            | "func_literal"
            | "closure_expression"
            | "function_item"
            | "lambda_expression"
            | "method_declaration"
    )
}

/// Returns whether a kind of node is the part of a `try` that handles failures.
pub(super) fn is_handler(kind: &str) -> bool {
    // What a `with` enters is outside of it.
    kind.contains("except") || kind.contains("catch") || kind.contains("finally") || kind == "with_clause"
}
