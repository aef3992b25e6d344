//! The statements of a file, by its grammar.

use crate::files::Language;
use crate::syntax::{At, parse};

/// Statement or annotation with its line, as tokens.
pub(crate) type Statement = (usize, Vec<String>);

/// Returns the statements and annotations of a file, but those that hold blocks.
pub(crate) fn statements(path: &str, text: &str) -> Vec<Statement> {
    let Some(language) = Language::of(path) else { return Vec::new() };
    let Some(tree) = parse(text, language) else { return Vec::new() };
    let mut found = Vec::new();
    for at in At::root(&tree, text).descendants() {
        let is_plain = matches!(
            at.kind(),
            "expression_statement"
                | "let_declaration"
                | "local_variable_declaration"
                | "short_var_declaration"
                | "assignment_statement"
                | "return_statement"
                | "lexical_declaration"
                | "var_declaration"
                | "field_declaration"
                | "annotation"
                | "defer_statement"
                | "if_statement"
        );
        // Of a condition, only what is asked.
        let at = if at.kind() == "if_statement" {
            at.field("initializer").or_else(|| at.field("condition"))
        } else {
            Some(at).filter(|at| is_plain && at.text().len() < 4_000 && !holds_block(*at))
        };
        if let Some(at) = at.filter(|_| is_plain) {
            found.push((at.line(), at.words().into_iter().map(str::to_owned).collect()));
        }
    }
    found
}

/// Returns whether a statement holds others, in a function that it gives to something.
fn holds_block(at: At<'_>) -> bool {
    at.text().contains('{')
        && at.descendants().iter().any(|below| {
            matches!(below.kind(), "statement_block" | "block" | "statement_list")
                && below.children().len() > 1
        })
}
