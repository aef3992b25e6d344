//! Edits by line numbers, as some models write them: whole lines that are replaced, and numbers that tell which of several equal blocks
//! is meant.

use super::line_ends::{PlainText, plain_block};
use super::replace_block::{Edited, NotReplaced, replace};
use crate::base::text::shortened;

/// Lines of a file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRange {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl LineRange {
    /// The last line of any file.
    pub(super) const END: usize = usize::MAX;

    /// Returns the lines so many lines farther on.
    pub(super) fn moved(self, by: isize) -> Self {
        Self { first: self.first.saturating_add_signed(by), last: self.last.saturating_add_signed(by) }
    }

    /// Returns the bytes of the lines, or `None` if the text does not have them.
    fn bytes(self, content: &str) -> Option<std::ops::Range<usize>> {
        let mut starts: Vec<usize> = vec![0];
        starts.extend(content.match_indices('\n').map(|(at, _)| at + 1));
        if content.ends_with('\n') {
            starts.pop();
        }
        let start = *starts.get(self.first.checked_sub(1)?)?;
        let last = if self.last == Self::END { starts.len() } else { self.last };
        let end = starts.get(last).copied().unwrap_or(content.len());
        (self.first <= last && last <= starts.len()).then_some(start..end)
    }
}

/// Replaces whole lines. Without a new text, they are removed.
pub(super) fn replace_lines(content: &str, lines: LineRange, new: &str) -> Result<Edited, NotReplaced> {
    let LineRange { first, last } = lines;
    let Some(bytes) = lines.bytes(content) else {
        return Err(NotReplaced::because(format!("the file has no lines {first}–{last}")));
    };
    let note = shown(&content[bytes.clone()], first);
    let ends_line = content[bytes.clone()].ends_with('\n');
    let mut new = plain_block(new);
    if !new.is_empty() && !new.ends_with('\n') && ends_line {
        new.push('\n');
    }
    // Where the file has both kinds of line ends, the lines that are replaced say which.
    let file = PlainText::of(content).filter(PlainText::is_uniform);
    if let Some(lines) = file.or_else(|| PlainText::of(&content[bytes.clone()])) {
        new = lines.restored(&new);
    }
    // A last line without an end stays one, whichever line is the last.
    let above = &content[..bytes.start];
    let (above, new) = match (ends_line || content.is_empty(), new.is_empty()) {
        (true, _) => (above, new.as_str()),
        (false, true) => (without_end(above), ""),
        (false, false) => (above, without_end(&new)),
    };
    let content = [above, new, &content[bytes.end..]].concat();
    Ok(Edited { content, times: 1, is_by_number: true, note: Some(note) })
}

/// Longest part of a line that is shown.
const MAX_SHOWN: usize = 100;

/// Returns which lines are gone, so that numbers that were wrong are seen.
fn shown(lines: &str, first: usize) -> String {
    let mut all = lines.lines();
    let part = |line: &str| format!("`{}`", shortened(line, MAX_SHOWN));
    let (begin, end) = (all.next().map(part).unwrap_or_default(), all.next_back().map(part));
    match end {
        None => format!("line {first} was {begin}"),
        Some(end) => {
            let last = first.saturating_add(lines.lines().count() - 1);
            format!("lines {first}–{last} were {begin} to {end}")
        }
    }
}

/// Returns a text without the end of its last line.
fn without_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Replaces a block that occurs once, or once in the lines that the call names; or `all` that are in these lines.
pub(super) fn replace_near(
    content: &str,
    old: &str,
    new: &str,
    lines: LineRange,
    all: bool,
) -> Result<Edited, NotReplaced> {
    let whole = if all {
        Err(NotReplaced::because(format!("the file has no lines {}–{}", lines.first, lines.last)))
    } else {
        replace(content, old, new, false)
    };
    let (Err(error), Some(bytes)) = (&whole, lines.bytes(content)) else { return whole };
    let edited = match replace(&content[bytes.clone()], old, new, all) {
        Err(_) if !all => return Err(error.clone()),
        edited => edited?,
    };
    let made = [&content[..bytes.start], &edited.content, &content[bytes.end..]].concat();
    // Where all are meant, they may be all that there are.
    let anywhere = all.then(|| replace(content, old, new, all).ok()).flatten();
    let is_by_number = anywhere.is_none_or(|anywhere| anywhere.content != made);
    Ok(Edited { content: made, is_by_number, ..edited })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_replaced_and_removed() {
        let lines = |first, last| LineRange { first, last };
        for (content, range, new, expected) in [
            ("a\nb\nc\n", lines(2, 2), "x", Some("a\nx\nc\n")),
            ("a\nb\nc\n", lines(1, 2), "x\ny\n", Some("x\ny\nc\n")),
            ("a\nb\nc", lines(3, 3), "x", Some("a\nb\nx")),
            ("a\nb\nc", lines(3, 3), "x\ny\n", Some("a\nb\nx\ny")),
            ("a\nb\nc", lines(3, 3), "", Some("a\nb")),
            ("a\r\nb", lines(2, 2), "x\n", Some("a\r\nx")),
            ("a\nb\nc\n", lines(2, 3), "", Some("a\n")),
            ("a\r\nb\r\n", lines(1, 1), "x\ny", Some("x\r\ny\r\nb\r\n")),
            ("a\r\nb\r\n", lines(1, 1), "x\r\ny", Some("x\r\ny\r\nb\r\n")),
            ("a\r\nb\nc\n", lines(1, 1), "x", Some("x\r\nb\nc\n")),
            ("a\r\nb\nc\n", lines(1, 2), "x\ny\nz\n", Some("x\r\ny\nz\nc\n")),
            ("a\nb\r\nc\n", lines(2, 2), "x\ny\n", Some("a\nx\r\ny\r\nc\n")),
            ("a\n", lines(2, 2), "x", None),
            ("a\nb\n", lines(2, 1), "x", None),
            ("a\nb\n", lines(0, 1), "x", None),
        ] {
            let edited = replace_lines(content, range, new).ok().map(|edited| edited.content);
            assert_eq!(edited.as_deref(), expected, "{content:?} {range:?}");
        }
        let note = |range| replace_lines("a\nb\nc\n", range, "x").ok().and_then(|edited| edited.note);
        assert_eq!(note(lines(2, 2)).as_deref(), Some("line 2 was `b`"));
        assert_eq!(note(lines(2, LineRange::END)).as_deref(), Some("lines 2–3 were `b` to `c`"));
    }

    #[test]
    fn numbers_tell_which_of_equal_blocks_is_meant() {
        let lines = LineRange { first: 3, last: 3 };
        let edited = replace_near("x = 1\ny\nx = 1\n", "x = 1", "x = 2", lines, false).expect("an edit");
        assert_eq!(edited.content, "x = 1\ny\nx = 2\n");
        let once = replace_near("x = 1\ny\n", "x = 1", "x = 2", LineRange { first: 2, last: 2 }, false);
        assert_eq!(once.map(|edited| edited.content), Ok("x = 2\ny\n".to_owned()));
        for (lines, expected) in [
            (LineRange { first: 2, last: 3 }, Some("x\ny\ny\nx\n")),
            (LineRange { first: 2, last: LineRange::END }, Some("x\ny\ny\ny\n")),
            (LineRange { first: 3, last: 9 }, None),
        ] {
            let edited = replace_near("x\nx\nx\nx\n", "x", "y", lines, true).ok();
            assert_eq!(edited.map(|edited| edited.content).as_deref(), expected, "{lines:?}");
        }
    }
}
