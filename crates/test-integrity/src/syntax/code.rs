//! Text without what is not code.

use super::{At, is_string, parse};
use crate::files::Language;

/// Returns a text with blanks in place of its comments and strings, so that each line and place stays. Returns `None` if it cannot be
/// parsed.
pub(crate) fn code_of(text: &str, language: Language) -> Option<String> {
    let tree = parse(text, language)?;
    let mut code = text.as_bytes().to_vec();
    At::root(&tree, text).walk(|at| {
        let is_blank = at.is_comment() || is_string(at.kind());
        if let Some(bytes) = code.get_mut(at.node.byte_range()).filter(|_| is_blank) {
            bytes.iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
        }
        !is_blank
    });
    String::from_utf8(code).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blank() {
        let text = "a('é', 1); // b\n/* c\nd */ `e`;\n";
        let expected = "a(    , 1);     \n    \n        ;\n";
        assert_eq!(code_of(text, Language::EcmaScript).as_deref(), Some(expected));
    }
}
