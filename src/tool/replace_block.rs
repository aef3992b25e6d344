//! Replacement of a block of text that has to be unique. What models misquote without changing the meaning is
//! understood (line ends, indentation, trailing blanks, line numbers, codes of invisible characters); for the rest, the
//! error shows what is there.

use patch::block::places;
use sanitize::invisible::unmarked;
use workspace::MAX_FILE;

use super::block_by_lines::{by_cut_line, by_lines};
use super::invisible_codes::turned_back;
use super::line_ends::{PlainText, plain_block, without_doubled_returns};
use super::numbered_block::{by_numbers, not_found};
use super::{misquoted, typography};
use crate::base::text::grouped;

/// Text with a block replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) content: String,
    /// Number of replacements.
    pub(super) times: usize,
    /// Whether nothing but numbers of lines says that this place is meant.
    pub(super) is_by_number: bool,
    /// What was understood otherwise than it was written, for the model.
    pub(super) note: Option<String>,
}

/// Reason why a block was not replaced, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotReplaced(String);

impl NotReplaced {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Replaces `old`, which has to occur exactly once unless `all` are meant. The error is for the model.
pub(super) fn replace(content: &str, old: &str, new: &str, all: bool) -> Result<Edited, NotReplaced> {
    if old.is_empty() {
        return Err(NotReplaced::because(
            "old_str is empty; give the text to replace: edit_file(path=…, old_str=…, new_str=…), or replace the whole file: write_file(path=…, \
             content=…)",
        ));
    }
    if old == new {
        return Err(NotReplaced::because("old_str and new_str are the same; nothing to change"));
    }
    let (plain_old, plain_new) = (plain_block(old), plain_block(new));
    // If nothing else changes, the line ends are meant.
    if plain_old == plain_new || plain_old.is_empty() {
        let mut edited = by_text(content, old, new, all)?;
        edited.content = without_doubled_returns(content, edited.content);
        return Ok(edited);
    }
    let Some(file) = PlainText::of(content) else { return by_text(content, &plain_old, &plain_new, all) };
    let mut edited = by_text(file.plain(), &plain_old, &plain_new, all)?;
    edited.content = file.restored(&edited.content);
    Ok(edited)
}

/// Replaces `old` as it is written, else as it was shown, else by its lines.
fn by_text(content: &str, old: &str, new: &str, all: bool) -> Result<Edited, NotReplaced> {
    if content.contains(old) {
        return by_cut_line(content, old, new, all).unwrap_or_else(|| exactly(content, old, new, all));
    }
    // Files are shown with codes in place of invisible characters, so a block may be quoted with these codes.
    let meant = unmarked(old);
    if meant != old && content.contains(&meant) {
        return exactly(content, &meant, &turned_back(new, &meant), all);
    }
    if let Some(edited) = by_numbers(content, old, new) {
        return edited;
    }
    let as_lines = by_lines(content, old, new, all);
    if as_lines.is_ok() {
        return as_lines;
    }
    // As a last resort, with other quotation marks, what is around the text, or escapes in it.
    if let Some(edited) = by_marks(content, old, new, all) {
        return edited;
    }
    for (form, meant) in misquoted::forms(old) {
        let new = form.replacement(old, new);
        let edited = match &new {
            // What a fence is around are lines.
            Ok(new) if form == misquoted::Form::Fenced => match by_lines(content, &meant, new, all) {
                Err(_) if !has_lines(content, &meant) => continue,
                edited => edited,
            },
            Err(unclear) if form == misquoted::Form::Fenced => Err(NotReplaced(unclear.to_string())),
            Ok(new) if content.contains(&meant) => exactly(content, &meant, new, all),
            Err(unclear) if content.contains(&meant) => Err(NotReplaced(unclear.to_string())),
            Ok(new) => match by_lines(content, &meant, new, all) {
                Err(_) => continue,
                edited => edited,
            },
            Err(_) => continue,
        };
        return edited.map(|edited| Edited { note: Some(form.described().to_owned()), ..edited });
    }
    not_found(content, old).map_or(as_lines, Err)
}

/// Returns whether a text has the lines of a block, at any indentation.
fn has_lines(content: &str, block: &str) -> bool {
    let lines: Vec<&str> = content.split('\n').collect();
    let wanted: Vec<&str> = block.strip_suffix('\n').unwrap_or(block).split('\n').collect();
    !places(&lines, &wanted).is_empty()
}

/// Replaces `old` where the file has it with other quotation marks, dashes or blanks, which the new text gets as well; `None` if it
/// has it nowhere.
fn by_marks(content: &str, old: &str, new: &str, all: bool) -> Option<Result<Edited, NotReplaced>> {
    let places = typography::places(content, old);
    if places.len() > 1 && !all {
        let lines: Vec<usize> = places.iter().take(20).map(|place| line_of(content, place.start)).collect();
        return Some(Err(NotReplaced(not_unique(&lines, places.len()))));
    }
    if let Err(error) = check_size(new.len().saturating_mul(places.len()).saturating_add(content.len())) {
        return Some(Err(error));
    }
    if places.is_empty() {
        return None;
    }
    let change = typography::Change::new(old, new);
    let (mut made, mut from, mut times, mut has_plain) = (String::new(), 0, 0, false);
    for place in places {
        if place.start >= from {
            made += &content[from..place.start];
            let respelled = change.respelled(&content[place.clone()]);
            made += &respelled.text;
            has_plain |= respelled.has_plain;
            from = place.end;
            times += 1;
        }
    }
    made += &content[from..];
    let added = if has_plain { ", and what it adds to such a line got plain marks as well" } else { "" };
    let note = format!(
        "the file has other quotation marks, dashes or blanks than old_str; what new_str keeps of old_str stays as the file has it{added}"
    );
    (times > 0).then_some(Ok(Edited { content: made, times, is_by_number: false, note: Some(note) }))
}

pub(super) fn exactly(content: &str, old: &str, new: &str, all: bool) -> Result<Edited, NotReplaced> {
    if lacks_line_end(content, old, new) {
        let end = if old.ends_with("\r\n") { "\r\n" } else { "\n" };
        let edited = exactly(content, old, &format!("{new}{end}"), all)?;
        let is_last = !all && content.ends_with(old);
        let reason = if is_last { "" } else { ", so that the next line stays a line of its own" };
        let note = format!("new_str got the line end that old_str has{reason}");
        return Ok(Edited { note: Some(note), ..edited });
    }
    let found: Vec<usize> = overlapping(content, old).take(20).collect();
    match found.as_slice() {
        [at] => {
            let content = [&content[..*at], new, &content[at + old.len()..]].concat();
            Ok(Edited { content, times: 1, is_by_number: false, note: None })
        }
        _ if all => {
            let times = content.matches(old).count();
            let kept = content.len().saturating_sub(times.saturating_mul(old.len()));
            check_size(new.len().saturating_mul(times).saturating_add(kept))?;
            Ok(Edited { content: content.replace(old, new), times, is_by_number: false, note: None })
        }
        several => {
            let lines: Vec<usize> = several.iter().map(|at| line_of(content, *at)).collect();
            Err(NotReplaced(not_unique(&lines, content.matches(old).count().max(several.len()))))
        }
    }
}

/// Returns whether a new text for whole lines has no line end at its end, which would join its last line with the next one. If
/// that line end is the only change, it is intended.
fn lacks_line_end(content: &str, old: &str, new: &str) -> bool {
    let Some(lines) = old.strip_suffix('\n') else { return false };
    // Indentation before it is part of the line.
    let begins_line = |(at, _): (usize, &str)| {
        content[..at].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
    };
    let is_kept = new.is_empty() || new.ends_with('\n') || new == lines || lines.trim().is_empty();
    !is_kept && content.match_indices(old).all(begins_line)
}

/// Refuses content above the limit for whole files, before it is made.
pub(super) fn check_size(size: usize) -> Result<(), NotReplaced> {
    if size as u64 <= MAX_FILE {
        return Ok(());
    }
    let reason = format!("the file would have {} bytes; the limit is {} MiB", grouped(size), MAX_FILE >> 20);
    Err(NotReplaced(reason))
}

pub(super) fn not_unique(lines: &[usize], times: usize) -> String {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = if times > lines.len() { ", …" } else { "" };
    format!(
        "old_str is not unique ({times}): lines {}{more}; add lines around it, or set replace_all",
        lines.join(", ")
    )
}

/// Returns the positions of `needle`, including overlapping ones, because either could be meant.
pub(super) fn overlapping<'a>(content: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + content.get(from..)?.find(needle)?;
        from = at + step;
        Some(at)
    })
}

pub(super) fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(content: &str, old: &str, new: &str) -> Result<String, String> {
        replace(content, old, new, false).map(|edited| edited.content).map_err(|error| error.to_string())
    }

    #[test]
    fn a_block_may_be_quoted_as_it_was_shown() {
        for (file, old, new, expected) in [
            ("a\u{200b}b c", "a⟨U+200B⟩b", "a⟨U+200B⟩d", Ok("a\u{200b}d c")),
            ("a\u{200b}b c", "a⟨U+200B⟩b", "ab", Ok("ab c")),
            ("a⟨U+200B⟩b", "a⟨U+200B⟩b", "x⟨U+200B⟩", Ok("x⟨U+200B⟩")),
            ("ab", "a⟨U+200B⟩b", "x", Err("old_str not found, and nothing like it")),
            ("a\n  b\nc\n", "2\t  b\n3\tc\n", "2\t  B\n3\tc\n", Ok("a\n  B\nc\n")),
            (
                "  b\nc\n  b\n",
                "```\n  b\n```",
                "```\n  x\n```",
                Err("old_str is not unique (2): lines 1, 3; add lines around it, or set replace_all"),
            ),
            (
                "alpha\n",
                "1|beta\n2|gamma",
                "x",
                Err("old_str begins with line numbers; without them: old_str not found, and nothing like it"),
            ),
            (
                "1: alpha\n2: beta\n",
                "1: alpha\n2: betta",
                "x",
                Err("old_str not found; the nearest lines are:\n1\t1: alpha\n2\t2: beta"),
            ),
        ] {
            assert_eq!(content(file, old, new).as_deref().map_err(String::as_str), expected, "{file:?}");
        }
    }

    #[test]
    fn a_block_is_replaced_where_it_is_unique() {
        let cases = [
            ("a\nb\nc\n", "b", "B", Ok("a\nB\nc\n")),
            ("a\nb", "b", "B", Ok("a\nB")),
            ("a\r\nb\r\n", "a\nb", "x\ny", Ok("x\r\ny\r\n")),
            ("a\r\nb\nc\n", "b\nc", "x", Ok("a\r\nx\n")),
            ("ünïcode\n", "ï", "i", Ok("ünicode\n")),
            (
                "aXa",
                "a",
                "b",
                Err("old_str is not unique (2): lines 1, 1; add lines around it, or set replace_all"),
            ),
            (
                "aaa",
                "aa",
                "b",
                Err("old_str is not unique (2): lines 1, 1; add lines around it, or set replace_all"),
            ),
            ("a", "z", "b", Err("old_str not found, and nothing like it")),
            ("bar\nfoo\n", "foo \n", "F\n", Ok("bar\nF\n")),
            ("bar\nfoo\n", "foo \n", "", Ok("bar\n")),
            (
                "a",
                "",
                "b",
                Err(
                    "old_str is empty; give the text to replace: edit_file(path=…, old_str=…, new_str=…), or replace the whole file: write_file(path=…, content=…)",
                ),
            ),
            ("a", "a", "a", Err("old_str and new_str are the same; nothing to change")),
            (
                "def f(x):\n    return x + 1\n",
                "def f(x):\n    return x+1\n",
                "",
                Err("old_str not found; the nearest lines are:\n1\tdef f(x):\n2\t    return x + 1"),
            ),
            (
                "def total(x):\n    pass\n",
                "def sum(x):\n    pass",
                "def total(x):\n",
                Err("old_str not found; new_str is already at line 1"),
            ),
        ];
        for (file, old, new, expected) in cases {
            let result = content(file, old, new);
            assert_eq!(result.as_deref().map_err(String::as_str), expected, "{file:?} {old:?} {new:?}");
        }
    }

    #[test]
    fn results_above_the_limit_are_not_made() {
        // 40 GB and 10 TB, if they were made.
        let huge = "b".repeat(1 << 20);
        for (file, old) in [("a".repeat(40_000), "a"), ("    a\n".repeat(10 << 20 >> 10), "a \n")] {
            let result = replace(&file, old, &format!("{huge}\n"), true);
            assert!(result.is_err_and(|error| error.to_string().contains("the limit is 10 MiB")), "{old:?}");
        }
        let indented = format!("{}a\n", " ".repeat(1 << 20));
        let result = replace(&indented, "a \n", &"b\n".repeat(1 << 20), true);
        assert!(result.is_err_and(|error| error.to_string().contains("old_str not found")));
        assert!(replace(&"a".repeat(40_000), "a", "bb", true).is_ok_and(|edited| edited.times == 40_000));
    }

    #[test]
    fn the_end_of_the_last_line_is_not_a_blank_line() {
        let result = content("foo\nbar\nfoo\n", "foo\n\n", "F");
        assert!(result.is_err_and(|error| error.starts_with("old_str not found")));
    }

    #[test]
    fn indentation_and_trailing_blanks_are_forgiven() {
        let file = "class A:\n    def f(self):\n        if x:  \n            return 1\n        return 2\n";
        let edited = replace(file, "if x:\n    return 1\n", "if y:\n    return 3\n", false).expect("an edit");
        assert_eq!(edited.content, file.replace("if x:  ", "if y:").replace("return 1", "return 3"));
        assert_eq!(
            edited.note.as_deref(),
            Some("the file has 8 more spaces of indentation, and new_str was indented accordingly")
        );
        let edited = replace(file, "        if x:\n            return 1\n", "", false).expect("an edit");
        assert_eq!(edited.content, "class A:\n    def f(self):\n        return 2\n");
        assert_eq!(edited.note.as_deref(), Some("blanks at the ends of lines differ from old_str"));
        let tabs = replace("\tif a {\n\t\tb()\n\t}\n", "if a {\n\tb()\n}", "if c {\n\tb()\n}", false)
            .expect("an edit");
        assert_eq!(tabs.content, "\tif c {\n\t\tb()\n\t}\n");
        let twice = "  a(1)\n    b\n  a(1)\n    b\n";
        assert!(
            replace(twice, "a(1)\n  b\n", "c\n", false)
                .is_err_and(|error| error.to_string().contains("lines 1, 3"))
        );
        assert_eq!(
            replace(twice, "a(1)\n  b\n", "c\n", true).map(|edited| edited.content),
            Ok("  c\n  c\n".to_owned())
        );
    }

    #[test]
    fn every_occurrence_is_replaced() {
        let edited = replace("a b a", "a", "c", true).expect("an edit");
        assert_eq!((edited.content.as_str(), edited.times), ("c b c", 2));
    }
}
