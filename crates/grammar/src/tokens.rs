//! Tokens of source text, for syntax highlighting.

use std::ops::Range;
use std::time::Duration;

use tree_sitter::Node;

use super::{Language, parse};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A comment.
    Comment,
    /// A keyword, or another word that the language reserves.
    Keyword,
    /// A number.
    Number,
    /// A string or a character.
    Text,
}

/// Returns the byte ranges of all tokens that have a kind, in order; the text between them has none. A fragment, such as some lines
/// of a file, has as many as the grammar recognizes. Returns nothing if parsing takes longer than `limit`.
///
/// ```
/// use std::time::Duration;
///
/// use grammar::{Language, TokenKind, tokens};
///
/// let found = tokens("return 'x'  # why", Language::Python, Duration::from_secs(10));
/// assert_eq!(found, [(0..6, TokenKind::Keyword), (7..10, TokenKind::Text), (12..17, TokenKind::Comment)]);
/// ```
pub fn tokens(text: &str, language: Language, limit: Duration) -> Vec<(Range<usize>, TokenKind)> {
    let Some(tree) = parse(text, &language.grammar(), limit) else { return Vec::new() };
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let kind = kind_of(node);
        if let Some(kind) = kind.filter(|_| !node.byte_range().is_empty()) {
            found.push((node.byte_range(), kind));
        }
        if kind.is_none() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// Returns the kind of a node and everything in it. The grammars use similar names for nodes that have one.
fn kind_of(node: Node<'_>) -> Option<TokenKind> {
    let name = node.kind();
    if name.contains("comment") {
        return Some(TokenKind::Comment);
    }
    if !node.is_named() {
        let is_word = name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        return is_word.then_some(TokenKind::Keyword);
    }
    match name {
        "true"
        | "false"
        | "null"
        | "none"
        | "nil"
        | "undefined"
        | "self"
        | "this"
        | "super"
        | "boolean_literal"
        | "primitive_type"
        | "predefined_type"
        | "integral_type"
        | "floating_point_type"
        | "boolean_type"
        | "void_type"
        | "mutable_specifier"
        | "crate" => Some(TokenKind::Keyword),
        "integer" | "float" | "number" | "imaginary_literal" => Some(TokenKind::Number),
        "regex" | "character" | "rune_literal" | "char_literal" | "character_literal" => {
            Some(TokenKind::Text)
        }
        _ if name.ends_with("string") || name.ends_with("string_literal") || name == "string_fragment" => {
            Some(TokenKind::Text)
        }
        _ if name.ends_with("integer_literal")
            || name.ends_with("float_literal")
            || name.ends_with("int_literal")
            || name.ends_with("floating_point_literal") =>
        {
            Some(TokenKind::Number)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_words_texts_numbers_and_comments() {
        for (name, text) in [
            ("a.py", "def f():\n    return 'é' + 1  # why\n"),
            ("a.js", "const x = 'é' + 1; // why\n"),
            ("a.ts", "const x: string = 'é' + 1; // why\n"),
            ("a.tsx", "const x = <a b=\"é\">{1}</a>; // why\n"),
            ("a.rs", "fn f() -> u8 { g(\"é\"); 1 } // why\n"),
            ("a.go", "func f() int { g(\"é\"); return 1 } // why\n"),
            ("a.java", "int f() { g(\"é\"); return 1; } // why\n"),
        ] {
            let found = tokens(text, Language::of(name).expect("a language"), Duration::from_mins(1));
            for kind in [TokenKind::Keyword, TokenKind::Text, TokenKind::Number, TokenKind::Comment] {
                assert!(found.iter().any(|(_, other)| *other == kind), "{name}: {kind:?} in {found:?}");
            }
            assert_ordered(name, text, &found);
        }
    }

    /// Checks that the ranges are in order, do not overlap, and are parts of the text.
    #[track_caller]
    fn assert_ordered(name: &str, text: &str, found: &[(Range<usize>, TokenKind)]) {
        let mut end = 0;
        for (range, _) in found {
            // A range outside of the text, or one that begins or ends inside of a character, is no part of it.
            assert!(range.start >= end && text.get(range.clone()).is_some(), "{name}: {range:?} in {text:?}");
            end = range.end;
        }
    }

    #[test]
    fn tokens_tolerate_fragments_and_garbage() {
        let limit = Duration::from_mins(1);
        let found = tokens("    return 'x'\n}\n) else {", Language::JavaScript, limit);
        assert!(found.iter().any(|(range, _)| *range == (11..14)), "{found:?}");
        for text in
            ["", "\0\u{fffd}((((", "\"", "/*", "é 'é", "\"é\u{1f600} 1 /* é", "\u{feff}return 1\r\n\"é\r"]
        {
            for language in Language::ALL {
                assert_ordered(&format!("{language:?}"), text, &tokens(text, language, limit));
            }
        }
    }
}
