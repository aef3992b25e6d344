//! Bounded output of a child: its head and its tail, however much it prints.

use std::collections::VecDeque;

/// Number of bytes kept of the head, and as many of the tail.
const HALF: usize = 128 * 1024;

/// Output in constant memory.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    dropped_lines: usize,
}

impl Capture {
    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = HALF - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        // Only the end of a large piece can be kept.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(HALF));
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(HALF);
        if excess + skipped.len() == 0 {
            return;
        }
        self.dropped += (skipped.len() + excess) as u64;
        let is_end = |byte: &u8| *byte == b'\n';
        let ends = self.tail.drain(..excess).filter(is_end).count();
        self.dropped_lines += ends + skipped.iter().filter(|byte| is_end(byte)).count();
    }

    /// Returns the text in at most `max` lines, without whitespace at its end. If there are more, one more
    /// line stands for those omitted in the middle.
    pub fn lines(&self, max: usize) -> String {
        let (front, back) = self.tail.as_slices();
        let head = String::from_utf8_lossy(&self.head);
        let tail = [front, back].concat();
        let tail = String::from_utf8_lossy(&tail);
        let whole = self.dropped == 0;
        let joined = if whole { format!("{head}{tail}") } else { String::new() };
        let (first, last): (Vec<&str>, Vec<&str>) = if whole {
            (joined.trim_end().lines().collect(), Vec::new())
        } else {
            (head.lines().collect(), tail.trim_end().lines().collect())
        };
        let known = first.len() + last.len();
        if whole && known <= max {
            return first.join("\n");
        }
        let (head, tail) =
            (max.div_ceil(2).min(first.len()), (max / 2).min(if whole { known } else { last.len() }));
        let rest = if whole { &first[known - tail..] } else { &last[last.len() - tail..] };
        // If the head ends within a line, the rest of that line was counted as another one.
        let torn = usize::from(!whole && !self.head.ends_with(b"\n"));
        let omitted = known + self.dropped_lines - torn - head - tail;
        [&first[..head], &[&*format!("… {omitted} lines omitted …")], rest].concat().join("\n")
    }

    /// Returns the text, or `None` if some of it was dropped.
    pub fn whole(&self) -> Option<String> {
        (self.dropped == 0).then(|| self.text())
    }

    /// Returns the text, with invalid UTF-8 replaced and a note in place of a dropped middle.
    pub fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        if self.dropped == 0 {
            return String::from_utf8_lossy(&[&self.head, front, back].concat()).into_owned();
        }
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let tail = [front, back].concat();
        format!("{head}\n… {} bytes omitted …\n{}", self.dropped, String::from_utf8_lossy(&tail))
    }
}

/// Returns the last lines of a text, without a newline at the end.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_is_kept_whole_and_a_lot_is_bounded() {
        let mut capture = Capture::default();
        capture.push(b"one\ntwo \xff\n");
        assert_eq!(capture.text(), "one\ntwo \u{fffd}\n");
        for n in 0..200_000 {
            capture.push(format!("line {n}\n").as_bytes());
        }
        let text = capture.text();
        assert!(text.len() < 2 * HALF + 100, "{}", text.len());
        assert!(text.starts_with("one\ntwo"));
        assert!(text.contains("bytes omitted …"));
        assert_eq!(last_lines(&text, 1), "line 199999");
        let lines = capture.lines(5);
        let expected = "one\ntwo \u{fffd}\nline 0\n… 199997 lines omitted …\nline 199998\nline 199999";
        assert_eq!(lines, expected);
        let mut short = Capture::default();
        short.push(b"1\n2\n3\n4\n5\n\n");
        for (max, expected) in [
            (9, "1\n2\n3\n4\n5"),
            (5, "1\n2\n3\n4\n5"),
            (4, "1\n2\n… 1 lines omitted …\n4\n5"),
            (3, "1\n2\n… 2 lines omitted …\n5"),
        ] {
            assert_eq!(short.lines(max), expected);
        }
        let mut capture = Capture::default();
        capture.push(&vec![b'x'; 10 * HALF]);
        assert_eq!(capture.dropped, 8 * HALF as u64);
    }
}
