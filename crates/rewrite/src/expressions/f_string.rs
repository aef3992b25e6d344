//! Braces of Python's f-strings, which do not hold every expression.

use tree_sitter::Node;

/// Braces of an f-string of Python, whose quotes may not be within them before version 3.12.
#[derive(Clone)]
pub(crate) struct Field<'t> {
    pub(crate) string: Node<'t>,
    pub(crate) braces: Node<'t>,
}

impl Field<'_> {
    /// Returns whether the braces cannot hold a text in place of an old one: it has signs that they may not have, and the old one has not.
    pub(crate) fn refuses(&self, text: &str, old: &str, new: &str) -> bool {
        let start = self.string.child(0).and_then(|start| text.get(start.byte_range())).unwrap_or_default();
        let quote = start.trim_start_matches(|sign: char| sign.is_alphabetic());
        refuses_in_quotes(quote, new) && !refuses_in_quotes(quote, old)
    }

    /// Returns a text as the braces take it: a second brace would be one of the string, and a colon outside of brackets begins a format.
    pub(crate) fn fitted(&self, text: &str, start: usize, new: String) -> String {
        let mut depth = 0_usize;
        let mut has_colon = false;
        for sign in new.chars() {
            match sign {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ':' => has_colon |= depth == 0,
                _ => {}
            }
        }
        let is_first = text.get(self.braces.start_byte()..start) == Some("{");
        if has_colon {
            format!("({new})")
        } else if is_first && new.starts_with('{') {
            format!(" {new}")
        } else {
            new
        }
    }
}

/// Returns whether the braces of a string with such quotes may not hold a text, in all versions of Python.
pub(crate) fn refuses_in_quotes(quote: &str, new: &str) -> bool {
    [quote, "\\", "\n"].iter().any(|sign| new.contains(sign) && !(*sign == "\n" && quote.len() == 3))
}
