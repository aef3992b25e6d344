//! Requirements of the grammars on a pattern.

use std::borrow::Cow;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Pattern, PatternError};
use grammar::Language;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::MAX_TIME;

/// A language as ast-grep asks for it.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PatternLanguage(pub(crate) Language);

impl ast_grep_core::Language for PatternLanguage {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let expando = self.expando_char();
        if expando == self.meta_var_char() { Cow::Borrowed(query) } else { with_expando(query, expando) }
    }

    /// Returns a letter that the grammar takes at the start of a name, where `$` is none.
    fn expando_char(&self) -> char {
        match self.0 {
            Language::Python | Language::Rust | Language::Go => 'µ',
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => '$',
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.0.grammar().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.0.grammar().field_id_for_name(field).map(std::num::NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, *self))
    }
}

impl LanguageExt for PatternLanguage {
    fn get_ts_language(&self) -> TSLanguage {
        self.0.grammar()
    }
}

/// Returns a pattern in which the `$` of each metavariable is another character: `$A`, `$_`, `$$$ARGS` and `$$$`. Any
/// other `$` belongs to the code.
fn with_expando(query: &str, expando: char) -> Cow<'_, str> {
    if !query.contains('$') {
        return Cow::Borrowed(query);
    }
    let mut text = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(at) = rest.find('$') {
        let after = rest[at..].trim_start_matches('$');
        let dollars = rest.len() - at - after.len();
        let names = after.starts_with(|first: char| first.is_ascii_uppercase() || first == '_');
        text.push_str(&rest[..at]);
        let sign = if names || dollars == 3 { expando } else { '$' };
        text.extend(std::iter::repeat_n(sign, dollars));
        rest = after;
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Puts patterns into the context in which they mean what they mean in a file.
///
/// Go's `fmt.Println($A)` alone could be a conversion to a type; in a function, it is a call.
pub(crate) fn with_contexts(form: &mut Value, language: Language) {
    match form {
        Value::Array(items) => items.iter_mut().for_each(|item| with_contexts(item, language)),
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(pattern) if key == "pattern" => {
                        if let Some(kind) = kind_in_function(pattern, language) {
                            *value = json!({ "context": in_function(pattern), "selector": kind });
                        }
                    }
                    value => with_contexts(value, language),
                }
            }
        }
        _ => {}
    }
}

/// Returns the first pattern of a rule that is no code of a language.
pub(crate) fn broken_pattern(form: &Value, language: Language) -> Option<String> {
    match form {
        Value::Array(items) => items.iter().find_map(|item| broken_pattern(item, language)),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| match value {
            Value::String(pattern) if key == "pattern" => {
                let parsed = Pattern::try_new(pattern, PatternLanguage(language));
                parsed.is_ok_and(|parsed| parsed.has_error()).then(|| pattern.clone())
            }
            value => broken_pattern(value, language),
        }),
        _ => None,
    }
}

fn in_function(pattern: &str) -> String {
    format!("package p\n\nfunc _() {{\n\t{pattern}\n}}\n")
}

fn tree(pattern: &str, language: Language) -> Option<tree_sitter::Tree> {
    let expando = ast_grep_core::Language::expando_char(&PatternLanguage(language));
    let text = if expando == '$' { Cow::Borrowed(pattern) } else { with_expando(pattern, expando) };
    grammar::parse(&text, &language.grammar(), MAX_TIME)
}

/// Returns the kind that a pattern of Go has in a function, if it could be the conversion to a type elsewhere.
fn kind_in_function(pattern: &str, language: Language) -> Option<String> {
    if language != Language::Go
        || !has_kind(tree(pattern, language)?.root_node(), "type_conversion_expression")
    {
        return None;
    }
    let context = tree(&in_function(pattern), language)?;
    let function = context.root_node().named_child(1).filter(|function| !function.has_error())?;
    let mut node = function.child_by_field_name("body")?;
    while matches!(node.kind(), "block" | "statement_list" | "expression_statement") {
        node = (node.named_child_count() == 1).then(|| node.named_child(0)).flatten()?;
    }
    Some(node.kind().to_owned())
}

fn has_kind(root: tree_sitter::Node<'_>, kind: &str) -> bool {
    let mut cursor = root.walk();
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        if node.kind() == kind {
            return true;
        }
        waiting.extend(node.children(&mut cursor));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_of_metavariables_become_letters() {
        for (query, expected) in [
            ("f($A)", "f(µA)"),
            ("f($$$ARGS)", "f(µµµARGS)"),
            ("f($$$)", "f(µµµ)"),
            ("f('$5')", "f('$5')"),
            ("$_ = $$NAME", "µ_ = µµNAME"),
            ("plain", "plain"),
            ("cost $ and $", "cost $ and $"),
        ] {
            assert_eq!(with_expando(query, 'µ'), expected);
        }
    }
}
