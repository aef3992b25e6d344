//! Patches in fences of Markdown, with words around them, as models write them in their answers.

use std::borrow::Cow;

/// A fenced patch, and the rest of the text if that begins with the fence of another one.
struct Fenced<'a> {
    inner: &'a str,
    next: Option<&'a str>,
}

/// Returns the patch in a text: what its fences are around, without the words before, between and behind them; or the whole text if it
/// has none.
pub(super) fn unfenced(text: &str) -> Cow<'_, str> {
    let Some(Fenced { inner, mut next }) = Fenced::read(text) else { return Cow::Borrowed(text) };
    let mut all = Cow::Borrowed(inner);
    while let Some(rest) = next {
        let Some(another) = Fenced::read(rest) else { return Cow::Borrowed(text) };
        all += another.inner;
        next = another.next;
    }
    all
}

impl<'a> Fenced<'a> {
    /// Reads the first fenced patch of a text; `None` if there is none, or if what follows its fence may be part of a patch.
    fn read(text: &'a str) -> Option<Self> {
        let mut start = 0;
        let (mark, length) =
            text.split_inclusive('\n').take_while(|line| !begins_patch(line)).find_map(|line| {
                start += line.len();
                opening(line)
            })?;
        let inner = &text[start..];
        // Fences in what is patched stand before its own end, behind which there are words alone.
        let (mut end, mut is_closed) = (None, false);
        let mut at = 0;
        for line in inner.split_inclusive('\n') {
            let behind = &inner[at + line.len()..];
            let found = opening(line);
            let closes = found.is_some_and(|found| found.0 == mark && found.1 >= length)
                && line.trim_end().chars().all(|sign| sign == mark);
            if let (Some(end), true) = (end, found.is_some()) {
                // Of another patch, or of what the words behind this one show.
                let has_words = inner[end..at].contains(char::is_alphanumeric);
                let next = begins_file(behind).then(|| &inner[at..]);
                if next.is_some() || (has_words && !behind.lines().any(is_of_patch)) {
                    return Some(Self { inner: &inner[..end], next });
                }
            }
            if closes {
                (end, is_closed) = (Some(at), true);
            } else if is_of_patch(line) {
                end = None;
            }
            at += line.len();
        }
        let inner = match end {
            Some(end) => &inner[..end],
            None if is_closed => return None,
            // Some close it on the last line itself.
            None => inner.trim_end().strip_suffix(&mark.to_string().repeat(length)).unwrap_or(inner),
        };
        Some(Self { inner, next: None })
    }
}

/// Returns the character of the fence that a line begins with, and how often it stands there.
fn opening(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.chars().take_while(|sign| *sign == mark).count();
    (length >= 3).then_some((mark, length))
}

fn begins_patch(line: &str) -> bool {
    ["--- ", "+++ ", "diff ", "*** ", "@@"].iter().any(|start| line.trim_start().starts_with(start))
}

/// Returns whether a line may be one of a patch, and no words.
fn is_of_patch(line: &str) -> bool {
    line.starts_with(['+', '\\']) || line.starts_with('-') && !line.starts_with("- ") || begins_patch(line)
}

/// Returns whether a text begins with the header of a file.
fn begins_file(text: &str) -> bool {
    let mut lines = text.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    first.starts_with("diff --git ")
        || first.starts_with("*** ")
        || (first.starts_with("--- ") && second.starts_with("+++ "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_taken_out_of_their_fences() {
        let (one, two) =
            ("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n", "*** Begin Patch\n*** Delete File: b\n*** End Patch\n");
        for (text, expected) in [
            (one.to_owned(), one.to_owned()),
            (format!("So:\n```diff\n{one}```\nThat is all.\n- And this.\n"), one.to_owned()),
            (format!("~~~~\n{one}~~~~"), one.to_owned()),
            (format!("```\n{one}```\nand\n~~~patch\n{two}~~~\n"), format!("{one}{two}")),
            (format!("```\n{one}```\n\n```\n{one}```\n\n```\n{two}```\nDone."), format!("{one}{one}{two}")),
            (format!("```diff\n{one}```\nThen run:\n```sh\npytest\n```\n"), one.to_owned()),
            // The second fence is one of the text that is patched.
            (format!("```\n{one} x\n```\n```sh\n y\n+z\n```\n"), format!("{one} x\n```\n```sh\n y\n+z\n")),
            (format!("```\n{one}```\n{two}"), format!("```\n{one}```\n{two}")),
        ] {
            assert_eq!(unfenced(&text), expected, "{text}");
        }
    }
}
