//! New text with line numbers, as models copy it from what `read_file` shows. In files of code, the numbers are left out where they are
//! those of the lines; where that is not certain, the text is refused.

use outline::first_syntax_error;

use super::misquoted_file::{NO_FENCE, kind};
use super::numbered_block::{Numbered, has_numbers};

/// Kinds of files whose lines may begin with numbers.
const NUMBERED: [&str; 12] =
    ["tsv", "csv", "tab", "psv", "txt", "dat", "data", "log", "out", "lst", "golden", "snap"];

/// Kinds of files, beside those with a grammar and [`NO_FENCE`], whose lines do not begin with numbers.
const CODE: [&str; 24] = [
    "md", "markdown", "mdx", "rst", "rb", "php", "kts", "cs", "c", "h", "cpp", "cc", "hpp", "m", "mm",
    "scala", "dart", "lua", "pl", "ps1", "bat", "gradle", "ex", "hs",
];

/// Kinds of files beside them that may hold a table in which the first column counts.
const WITH_TABLES: [&str; 9] = ["md", "markdown", "mdx", "rst", "sql", "conf", "cfg", "m", "env"];

/// Returns whether numbers before the lines of a file can be nothing but those of the lines.
pub(super) fn has_no_tables(name: &str) -> bool {
    let kind = kind(name);
    (is_listed(&kind) && !WITH_TABLES.contains(&kind.as_str()))
        || first_syntax_error(name, "1\tx\n2\ty\n").is_some()
}

/// Returns whether the lines of a file do not begin with numbers and tabs, by its name.
fn is_code(name: &str) -> bool {
    is_listed(&kind(name)) || first_syntax_error(name, "1\tx\n2\ty\n").is_some()
}

/// Returns whether the lines of files of a kind do not begin with numbers, although it may have no grammar.
pub(super) fn is_listed(kind: &str) -> bool {
    CODE.contains(&kind) || NO_FENCE.contains(&kind)
}

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
    if !is_of_lines || NUMBERED.contains(&kind(name).as_str()) || has_numbers(old) || has_numbers(content) {
        return NewText::Given;
    }
    let is_at_line = line.is_some_and(|line| block.begins_at(line));
    if is_at_line && has_no_tables(name) {
        NewText::Plain(block.plain())
    } else if is_at_line || is_code(name) {
        NewText::Unclear
    } else {
        NewText::Given
    }
}

/// Returns whether the whole text of a file has numbers that nobody meant, in place of `old`, and it is not certain which lines they are.
pub(super) fn is_unclear(name: &str, given: &str, old: Option<&str>) -> bool {
    let is_numbered =
        Numbered::parse(given).is_some_and(|block| block.is_as_read() && block.is_of_lines(None));
    let may_have = NUMBERED.contains(&kind(name).as_str()) || old.is_some_and(has_numbers);
    is_numbered && !may_have && (is_code(name) || old.is_some())
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
