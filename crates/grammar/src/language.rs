//! The languages whose grammars are in the program, by the extensions of their files.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

    /// Returns the language of a file, by the extension of its name or path.
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
    pub fn grammar(self) -> tree_sitter::Language {
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

impl fmt::Display for Language {
    /// Writes the language's name; TypeScript with JSX is TypeScript.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript | Self::Tsx => "TypeScript",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Java => "Java",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_fits_the_parser() {
        for language in Language::ALL {
            let tree = crate::parse("x", &language.grammar(), std::time::Duration::from_secs(10));
            assert!(tree.is_some(), "{language:?}");
        }
    }

    #[test]
    fn casts_and_elements_are_told_apart() {
        let has_error = |name: &str, text: &str| {
            let grammar = Language::of(name).expect("a known extension").grammar();
            let tree = crate::parse(text, &grammar, std::time::Duration::from_secs(10));
            tree.expect("it takes no time").root_node().has_error()
        };
        assert!(!has_error("a.ts", "const a = <T>b;\n") && has_error("a.tsx", "const a = <T>b;\n"));
        assert!(!has_error("a.tsx", "const a = <T />;\n") && has_error("a.ts", "const a = <T />;\n"));
    }
}
