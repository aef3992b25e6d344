//! Codes of invisible characters in what models write. Files are shown with them in place of the characters, so a model that repeats
//! a line writes the code where the character is meant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use sanitize::invisible::unmarked;
use workspace::{FileChange, FileState, Mode, WorkspacePath};

use super::ToolError;

/// Returns the codes in a text with the characters that they stand for.
fn codes(text: &str) -> BTreeMap<&str, String> {
    let mut found = BTreeMap::new();
    for (at, _) in text.match_indices("⟨U+") {
        let Some((inner, _)) = text[at..].split_once('⟩') else { break };
        let code = &text[at..at + inner.len() + '⟩'.len_utf8()];
        let character = unmarked(code);
        if character != code {
            found.insert(code, character);
        }
    }
    found
}

/// Returns a text with the codes of those characters turned back that another text has.
pub(super) fn turned_back(text: &str, other: &str) -> String {
    let known = codes(text).into_iter().filter(|(_, character)| other.contains(character.as_str()));
    known.fold(text.to_owned(), |text, (code, character)| text.replace(code, &character))
}

/// Returns the new text of a file with the codes turned back that stand for characters of the lines which they replace. A code that was
/// there as text stays one; any other is refused, because nobody can tell what is meant.
pub(super) fn restored<'a>(
    path: &WorkspacePath,
    before: &str,
    after: &'a str,
) -> Result<Cow<'a, str>, ToolError> {
    let mut new = codes(after);
    new.retain(|code, _| after.matches(code).count() > before.matches(code).count());
    if new.is_empty() {
        return Ok(Cow::Borrowed(after));
    }
    let replaced = replaced_lines(path, before, after);
    let everywhere: String = replaced.iter().map(|change| change.removed.as_str()).collect();
    let mut restored = String::with_capacity(after.len());
    for (index, line) in after.split_inclusive('\n').enumerate() {
        let change = replaced.iter().find(|change| change.added.contains(&index));
        let Some(change) = change else {
            restored += line;
            continue;
        };
        let plain = line.trim_end_matches(['\r', '\n']);
        let is_copied = |line: &str| before.lines().any(|other| other == line);
        let mut line = line.to_owned();
        for (code, character) in &new {
            if !line.contains(code) {
                continue;
            }
            let by_place = Meaning::of(change.removed.contains(code), change.removed.contains(character));
            // A line that is copied or moved tells by itself what is meant.
            let meaning = by_place
                .or_else(|| Meaning::of(is_copied(plain), is_copied(&unmarked(plain))))
                .or_else(|| Meaning::of(everywhere.contains(code), everywhere.contains(character)));
            match meaning {
                Some(Meaning::Text) => {}
                Some(Meaning::Character) => line = line.replace(code, character),
                Some(Meaning::Either) => {
                    return Err(unclear(path, code, "has both this text and that character"));
                }
                None => return Err(unclear(path, code, "has not that character")),
            }
        }
        restored += &line;
    }
    Ok(Cow::Owned(restored))
}

fn unclear(path: &WorkspacePath, code: &str, why: &str) -> ToolError {
    ToolError::Refused(format!(
        "{code} is how an invisible character is shown, and {path} {why} in the lines that this replaces, so it is not clear what to write; \
         nothing was changed. Leave it out, or write the character or this text by a command: run_command(command=\"printf …\")"
    ))
}

/// What a code in new text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Text,
    Character,
    Either,
}

impl Meaning {
    /// Returns what the code stands for where there was such text, or that character; `None` if there was neither.
    fn of(is_text: bool, is_character: bool) -> Option<Self> {
        match (is_text, is_character) {
            (true, true) => Some(Self::Either),
            (true, false) => Some(Self::Text),
            (false, true) => Some(Self::Character),
            (false, false) => None,
        }
    }
}

/// Lines that others replace.
struct ReplacedLines {
    removed: String,
    /// The places of the others among the new lines, from 0.
    added: Range<usize>,
}

/// Returns the change that goes on, or begins at a place among the new lines.
fn change_at<'a>(place: usize, all: &'a mut Vec<ReplacedLines>, is_open: &mut bool) -> &'a mut ReplacedLines {
    if !std::mem::replace(is_open, true) || all.is_empty() {
        all.push(ReplacedLines { removed: String::new(), added: place..place });
    }
    let last = all.len() - 1;
    &mut all[last]
}

fn replaced_lines(path: &WorkspacePath, before: &str, after: &str) -> Vec<ReplacedLines> {
    let state = |text: &str| Some(FileState { content: text.as_bytes().into(), mode: Mode::Regular });
    let Some(change) = FileChange::new(path.clone(), state(before), state(after)) else { return Vec::new() };
    let (mut all, mut next, mut is_open): (Vec<ReplacedLines>, usize, bool) = (Vec::new(), 0, false);
    for line in change.diff().split_inclusive('\n') {
        if let Some(header) = line.strip_prefix("@@ ") {
            next = first_line(header).saturating_sub(1);
            is_open = false;
        } else if let Some(text) = line.strip_prefix('-') {
            change_at(next, &mut all, &mut is_open).removed += text;
        } else if line.starts_with('+') {
            next += 1;
            change_at(next - 1, &mut all, &mut is_open).added.end = next;
        } else if !line.starts_with('\\') {
            is_open = false;
            next += 1;
        }
    }
    all
}

/// Returns the first line of the new side of a hunk, from 1, by its header.
fn first_line(header: &str) -> usize {
    let new = header.split_once('+').map_or("", |(_, new)| new);
    let digits: String = new.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_characters_that_the_file_has() {
        let path = WorkspacePath::parse("a.txt").expect("a path");
        for (before, after, expected) in [
            ("a\u{200b}b", "a⟨U+200B⟩c", Some("a\u{200b}c")),
            ("\u{feff}a", "⟨U+FEFF⟩b ⟨U+FEFF⟩", Some("\u{feff}b \u{feff}")),
            ("a ⟨U+200B⟩", "⟨U+200B⟩ ⟨U+200B⟩", Some("⟨U+200B⟩ ⟨U+200B⟩")),
            ("a ⟨U+200B⟩\u{200b}", "b ⟨U+200B⟩\u{200b}", Some("b ⟨U+200B⟩\u{200b}")),
            ("a ⟨U+200B⟩\u{200b}", "⟨U+200B⟩ ⟨U+200B⟩", None),
            ("a\u{200b}b", "a⟨U+FEFF⟩", None),
            ("", "⟨U+200B⟩", None),
            // The place decides, wherever else the character or its code is.
            (
                "a ⟨U+200B⟩\nb\u{200b}\nc\n",
                "a ⟨U+200B⟩ ⟨U+200B⟩\nb\u{200b}\nc\n",
                Some("a ⟨U+200B⟩ ⟨U+200B⟩\nb\u{200b}\nc\n"),
            ),
            (
                "a ⟨U+200B⟩\nb\u{200b}\nc\n",
                "a ⟨U+200B⟩\nb⟨U+200B⟩d\nc\n",
                Some("a ⟨U+200B⟩\nb\u{200b}d\nc\n"),
            ),
            ("b\u{200b}\nc\n", "b\u{200b}\nsee ⟨U+200B⟩\n", None),
            ("b\u{200b}\nc\n", "b\u{200b}\nc\nsee ⟨U+200B⟩\n", None),
            // Copied, and moved with a change.
            (
                "b\u{200b}\nsee ⟨U+200B⟩\n",
                "see ⟨U+200B⟩\nb\u{200b}\nsee ⟨U+200B⟩\n",
                Some("see ⟨U+200B⟩\nb\u{200b}\nsee ⟨U+200B⟩\n"),
            ),
            ("b\u{200b}\nc\n", "b\u{200b}\nb⟨U+200B⟩\n", Some("b\u{200b}\nb\u{200b}\n")),
            ("b\u{200b}\nc\nd\ne\n", "c\nd\nx⟨U+200B⟩\ne\n", Some("c\nd\nx\u{200b}\ne\n")),
            // The code of a character that is shown as it is.
            ("", "⟨U+0041⟩ ⟨U+ ⟩ ⟨U+200B", Some("⟨U+0041⟩ ⟨U+ ⟩ ⟨U+200B")),
        ] {
            assert_eq!(restored(&path, before, after).ok().as_deref(), expected, "{before:?} {after:?}");
        }
        assert_eq!(turned_back("⟨U+200B⟩⟨U+FEFF⟩", "x\u{200b}"), "\u{200b}⟨U+FEFF⟩");
    }
}
