//! The languages that can be rewritten, and what their grammars ask of a pattern.

use std::borrow::Cow;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Pattern, PatternError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language whose files can be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// `.py`, `.pyi`
    Python,
    /// `.js`, `.mjs`, `.cjs`, `.jsx`
    JavaScript,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.tsx`
    Tsx,
    /// `.rs`
    Rust,
    /// `.go`
    Go,
    /// `.java`
    Java,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 7] =
        [Self::Python, Self::JavaScript, Self::TypeScript, Self::Tsx, Self::Rust, Self::Go, Self::Java];

    /// Returns the language of a file, by the extension of its name.
    pub fn of(file_name: &str) -> Option<Self> {
        let (_, extension) = file_name.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "py" | "pyi" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => return None,
        })
    }

    /// Returns the grammar.
    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            // All of JavaScript is TypeScript with JSX; a grammar of its own would cost a megabyte.
            Self::JavaScript | Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

impl ast_grep_core::Language for Language {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let expando = self.expando_char();
        if expando == self.meta_var_char() { Cow::Borrowed(query) } else { with_expando(query, expando) }
    }

    /// Returns a letter that the grammar takes at the start of a name, where `$` is none.
    fn expando_char(&self) -> char {
        match self {
            Self::Python | Self::Rust | Self::Go => 'µ',
            Self::JavaScript | Self::TypeScript | Self::Tsx | Self::Java => '$',
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.grammar().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.grammar().field_id_for_name(field).map(std::num::NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, *self))
    }
}

impl LanguageExt for Language {
    fn get_ts_language(&self) -> TSLanguage {
        self.grammar()
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

    #[test]
    fn every_grammar_fits_the_parser() {
        for language in Language::ALL {
            let tree = grammar::parse("x", &language.grammar(), std::time::Duration::from_secs(10));
            assert!(tree.is_some(), "{language:?}");
        }
    }
}
