//! Line ends: an edit is made as if all lines ended in `\n`, and each line keeps the end that it has in the file.

use patch::has_crlf_alone;
use workspace::LineMap;

/// Text of a file that has lines with `\r\n`, and the same with `\n` alone.
pub(super) struct PlainText<'a> {
    content: &'a str,
    plain: String,
}

impl<'a> PlainText<'a> {
    /// Returns the text of a file without the difference, or `None` if no line ends in `\r\n`.
    pub(super) fn of(content: &'a str) -> Option<Self> {
        content.contains("\r\n").then(|| Self { content, plain: plain(content) })
    }

    /// Returns the text with `\n` alone.
    pub(super) fn plain(&self) -> &str {
        &self.plain
    }

    /// Returns whether all lines of the file end in `\r\n`.
    pub(super) fn is_uniform(&self) -> bool {
        has_crlf_alone(self.content)
    }

    /// Returns a new text, made from the plain one, with the line ends of the file. A line that is new gets that of the one in whose
    /// place it comes, else of the one before it.
    pub(super) fn restored(&self, new: &str) -> String {
        if self.is_uniform() {
            return new.replace('\n', "\r\n");
        }
        let ends: Vec<bool> = self.content.split_inclusive('\n').map(|line| line.ends_with("\r\n")).collect();
        let map = LineMap::of(self.plain.as_bytes(), new.as_bytes());
        let kept = |line: usize| u32::try_from(line).ok().and_then(|line| map.kept(line));
        let mut old_line = vec![None; new.split_inclusive('\n').count()];
        for line in 0..ends.len() {
            if let Some(now) = kept(line).and_then(|now| old_line.get_mut(now as usize)) {
                *now = Some(line);
            }
        }
        let mut made = String::with_capacity(new.len() + ends.len());
        let (mut next, mut is_crlf) = (0, ends.first().copied().unwrap_or_default());
        for (line, old) in new.split_inclusive('\n').zip(old_line) {
            let place = old.or_else(|| Some(next).filter(|line| *line < ends.len() && kept(*line).is_none()));
            if let Some(place) = place {
                is_crlf = ends[place];
                next = place + 1;
            }
            match line.strip_suffix('\n') {
                Some(text) if is_crlf => made.extend([text, "\r\n"]),
                _ => made += line,
            }
        }
        made
    }
}

/// Returns a text with `\n` in place of `\r\n`.
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns a text that was made of another by putting in line ends. If `\r\n` is put in the place of `\n`, the `\n` of
/// a `\r\n` is not meant.
pub(super) fn without_doubled_returns(content: &str, made: String) -> String {
    if content.contains("\r\r\n") { made } else { made.replace("\r\r\n", "\r\n") }
}

/// Returns a block of lines, as somebody quotes them, with `\n` in place of `\r\n`. If the text was split at `\n`, its last line ends
/// with a `\r`, which is removed.
pub(super) fn plain_block(text: &str) -> String {
    let plain = plain(text);
    plain.strip_suffix('\r').map(str::to_owned).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        for (content, new, expected) in [
            ("a\r\nb\nc\r\n", "a\nB\nc\n", "a\r\nB\nc\r\n"),
            ("a\r\nb\nc\r\n", "A\nb\nc\n", "A\r\nb\nc\r\n"),
            ("a\r\nb\nc\r\n", "A\nB\nC\n", "A\r\nB\nC\r\n"),
            ("a\r\nb\nc\r\n", "b\nc\n", "b\nc\r\n"),
            ("a\nb\r\nc\n", "a\nb\nx\nc\n", "a\nb\r\nx\r\nc\n"),
            ("a\r\nb\n", "x\na\nb\ny", "x\r\na\r\nb\ny"),
            ("a\r\nb", "a\nB", "a\r\nB"),
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("a\r\nb\n", "", ""),
        ] {
            let file = PlainText::of(content).expect("it has such lines");
            assert_eq!(file.restored(new), expected, "{content:?}");
        }
    }
}
