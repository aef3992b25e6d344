//! Files in which some lines end in `\r\n` and some in `\n`: an edit is made without the difference, and each line keeps its end.

use workspace::LineMap;

/// Returns the text of such a file with `\n` alone, in which a block is found whichever ends its lines have.
pub(super) fn plain(content: &str) -> Option<String> {
    content.contains("\r\n").then(|| content.replace("\r\n", "\n"))
}

/// Returns a new text with the line ends of the old one (`content`, which is `plain` without the difference). A line that is new gets
/// that of the one in whose place it comes, else of the one before it.
pub(super) fn restored(content: &str, plain: &str, new: &str) -> String {
    let ends: Vec<bool> = content.split_inclusive('\n').map(|line| line.ends_with("\r\n")).collect();
    let map = LineMap::of(plain.as_bytes(), new.as_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        for (content, new, expected) in [
            ("a\r\nb\nc\r\n", "a\nB\nc\n", "a\r\nB\nc\r\n"),
            ("a\r\nb\nc\r\n", "A\nb\nc\n", "A\r\nb\nc\r\n"),
            ("a\r\nb\nc\r\n", "b\nc\n", "b\nc\r\n"),
            ("a\nb\r\nc\n", "a\nb\nx\nc\n", "a\nb\r\nx\r\nc\n"),
            ("a\r\nb\n", "x\na\nb\ny", "x\r\na\r\nb\ny"),
            ("a\r\nb", "a\nB", "a\r\nB"),
            ("a\r\nb\n", "", ""),
        ] {
            assert_eq!(
                restored(content, &plain(content).expect("it is mixed"), new),
                expected,
                "{content:?}"
            );
        }
    }
}
