//! Codes of invisible characters in what models write. Files are shown with them in place of the characters, so a model that repeats
//! a line writes the code where the character is meant.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sanitize::invisible::unmarked;
use workspace::WorkspacePath;

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

/// Returns the new text of a file with the codes turned back that stand for characters of the file. A code that was in the file as
/// text stays one; any other is refused, because nobody can tell what is meant.
pub(super) fn restored<'a>(
    path: &WorkspacePath,
    before: &str,
    after: &'a str,
) -> Result<Cow<'a, str>, ToolError> {
    let mut restored = Cow::Borrowed(after);
    for (code, character) in codes(after) {
        let is_text = before.contains(code);
        let is_new = after.matches(code).count() > before.matches(code).count();
        match (is_text, before.contains(&character)) {
            _ if !is_new => {}
            (true, false) => {}
            (false, true) => restored = restored.replace(code, &character).into(),
            (true, true) | (false, false) => {
                let why = if is_text { "has both this text and" } else { "has not" };
                return Err(ToolError::Refused(format!(
                    "{code} is how an invisible character is shown, and {path} {why} that character, so it is not clear what to write; \
                     nothing was changed. Leave it out, or write the character or this text by a command: run_command(command=\"printf …\")"
                )));
            }
        }
    }
    Ok(restored)
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
            // The code of a character that is shown as it is.
            ("", "⟨U+0041⟩ ⟨U+ ⟩ ⟨U+200B", Some("⟨U+0041⟩ ⟨U+ ⟩ ⟨U+200B")),
        ] {
            assert_eq!(restored(&path, before, after).ok().as_deref(), expected, "{before:?} {after:?}");
        }
        assert_eq!(turned_back("⟨U+200B⟩⟨U+FEFF⟩", "x\u{200b}"), "\u{200b}⟨U+FEFF⟩");
    }
}
