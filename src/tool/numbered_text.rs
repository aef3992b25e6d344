//! New text with line numbers, as models copy it from what `read_file` shows. In files of code, the numbers are left out where they are
//! those of the lines; where that is not certain, the text is refused.

use super::file_kind::FileKind;
use super::numbered_block::{Numbered, has_numbers};

/// How the new text of an edit is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NewText {
    /// As it is given.
    Given,
    /// Without the numbers before its lines.
    Plain(String),
    /// Not at all: its numbers are not those of the lines.
    Unclear,
}

/// Returns how the text is written that is put in place of `old`, which begins at a line of `content`.
pub(super) fn new_text(name: &str, content: &str, old: &str, new: &str, line: Option<usize>) -> NewText {
    let Some(block) = Numbered::parse(new) else { return NewText::Given };
    let is_of_lines = block.is_as_read() && block.is_of_lines(line);
    let kind = FileKind::of(name);
    if !is_of_lines || kind.is_data() || has_numbers(old) || has_numbers(content) {
        return NewText::Given;
    }
    let is_at_line = line.is_some_and(|line| block.begins_at(line));
    if is_at_line && kind.has_no_numbers() {
        NewText::Plain(block.plain())
    } else if is_at_line || kind.is_code() {
        NewText::Unclear
    } else {
        NewText::Given
    }
}

/// Returns whether the whole text of a file has numbers that nobody meant, in place of `old`, and it is not certain which lines they are.
pub(super) fn is_unclear(name: &str, given: &str, old: Option<&str>) -> bool {
    let is_numbered =
        Numbered::parse(given).is_some_and(|block| block.is_as_read() && block.is_of_lines(None));
    let kind = FileKind::of(name);
    let may_have = kind.is_data() || old.is_some_and(has_numbers);
    is_numbered && !may_have && (kind.is_code() || old.is_some())
}

/// Returns why a text with numbers is not written.
pub(super) fn refusal(argument: &str, path: &str) -> String {
    format!(
        "the lines of {argument} begin with line numbers, which would be written to {path}; nothing was changed: give them without numbers; \
         if the numbers are meant, write them with a patch: apply_patch(patch=…)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines_are_no_part_of_new_text() {
        let yml = "a:\n  b: 1\n  c: 2\n";
        for (name, content, old, new, line, expected) in [
            (
                "a.yml",
                yml,
                "  b: 1\n  c: 2",
                "2\t  b: 3\n3\t  c: 2",
                Some(2),
                NewText::Plain("  b: 3\n  c: 2".into()),
            ),
            ("a.yml", yml, "  b: 1", "2\t  b: 3", Some(2), NewText::Plain("  b: 3".into())),
            ("a.yml", yml, "  b: 1", "7\t  b: 3\n8\t  c: 4", Some(2), NewText::Unclear),
            ("a.yml", yml, "  b: 1", "7\t  b: 3", Some(2), NewText::Given),
            ("a.yml", yml, "  b: 1", "2\t  b: 3\n7\t  c: 4", Some(2), NewText::Given),
            ("a.yml", yml, "  b: 1", "2: b\n3: c", Some(2), NewText::Given),
            ("a.tsv", "0\ta\nx\n", "x", "2\tb\n3\tc", Some(2), NewText::Given),
            ("notes", "a\nx\n", "x", "7\tb\n8\tc", Some(2), NewText::Given),
            ("a.py", "s = '1\tb'\n1\tc\nx", "x", "3\tb\n4\tc", Some(3), NewText::Given),
        ] {
            assert_eq!(new_text(name, content, old, new, line), expected, "{name} {new:?}");
        }
    }

    #[test]
    fn whole_texts_with_numbers_are_unclear_where_no_line_has_any() {
        let numbered = "5\ta\n6\tb\n";
        for (name, given, old, expected) in [
            ("a.rb", numbered, None, true),
            ("a.rb", numbered, Some("1\tx\n"), false),
            ("a.tsv", numbered, Some("x\n"), false),
            ("a.expected", numbered, Some("x\n"), true),
            ("a.expected", numbered, None, false),
            ("a.rb", "5\ta\nb\n", None, false),
        ] {
            assert_eq!(is_unclear(name, given, old), expected, "{name} {given:?}");
        }
    }
}
