//! Bounded output of a child: its head and its tail, however much it prints.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::failure_lines::certainty;
use super::structured_lines::Certainty;

/// How much of an output is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Head and tail of 128 KiB each.
    #[default]
    Ends,
    /// Head and tail of 1 MiB each: all of most outputs.
    Whole,
    /// Head and tail of 16 MiB each: a list of 100,000 paths.
    List,
    /// Head and tail of 1 MiB each, and the first lines between them that report failures.
    Kept,
}

impl Retention {
    /// Returns the number of bytes kept of the head, and as many of the tail.
    fn half(self) -> usize {
        match self {
            Self::Ends => 128 * 1024,
            Self::Whole | Self::Kept => 1024 * 1024,
            Self::List => 16 * 1024 * 1024,
        }
    }
}

/// Maximum number of lines that are kept of what is dropped.
const MAX_FAILURES: usize = 20;

/// Maximum size of what is dropped and still searched for failures, in bytes; more would slow the command down.
const MAX_SEARCHED: u64 = 64 * 1024 * 1024;

/// Longest part of such a line that is kept, in bytes.
const MAX_FAILURE: usize = 400;

/// Output in bounded memory.
#[derive(Debug, Default)]
pub struct Capture {
    retention: Retention,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    /// Dropped lines that certainly report failures.
    failures: Vec<String>,
    /// The beginning of the last line of what was dropped.
    line: Vec<u8>,
    /// Number of line ends in the whole output.
    line_ends: usize,
    ends_in_line: bool,
}

impl Capture {
    /// Creates a capture that keeps so much.
    pub fn new(retention: Retention) -> Self {
        Self { retention, ..Self::default() }
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.line_ends += bytes.split(|byte| *byte == b'\n').count() - 1;
        self.ends_in_line = bytes.last().map_or(self.ends_in_line, |last| *last != b'\n');
        let half = self.retention.half();
        let room = half - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        // Only the end of a large piece can be kept.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(half));
        // What goes makes room before more comes, so that the buffer never grows beyond its limit.
        let excess = (self.tail.len() + rest.len()).saturating_sub(half);
        let oldest: Vec<u8> = self.tail.drain(..excess).collect();
        self.tail.extend(rest);
        self.leave_out(&oldest);
        self.leave_out(skipped);
    }

    /// Counts what is dropped, and looks for failures in it.
    fn leave_out(&mut self, bytes: &[u8]) {
        self.dropped += bytes.len() as u64;
        let is_searched = self.retention == Retention::Kept && self.dropped <= MAX_SEARCHED;
        if !is_searched || self.failures.len() == MAX_FAILURES {
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_FAILURE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim_end().to_owned();
                if self.failures.len() < MAX_FAILURES && certainty(&plain(&line)) == Some(Certainty::Certain)
                {
                    self.failures.push(line);
                }
            }
        }
    }

    /// Returns the number of lines of the whole output, with those that were dropped.
    pub fn lines(&self) -> usize {
        self.line_ends + usize::from(self.ends_in_line)
    }

    /// Returns whether some of the output was dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
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
        let mut text = String::with_capacity(self.head.len() + self.tail.len() + 64);
        text += &String::from_utf8_lossy(&self.head);
        text += &format!("\n… {} bytes omitted …\n", self.dropped);
        for line in &self.failures {
            text += line;
            text.push('\n');
        }
        text += &String::from_utf8_lossy(&[front, back].concat());
        text
    }
}

/// Returns output as plain text: without escape sequences, and of lines that were written over again and again,
/// as progress is, only what stood there last.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let text = if text.contains('\u{1b}') {
        Cow::Owned(anstream::adapter::strip_str(text).to_string())
    } else {
        Cow::Borrowed(text)
    };
    if !text.contains('\r') {
        return text;
    }
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line).to_owned()
    };
    let mut lines: Vec<String> = text.split('\n').map(last).collect();
    // `split` gives an empty line behind the last newline, which joins back to it.
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
        return Cow::Owned(lines.join("\n") + "\n");
    }
    Cow::Owned(lines.join("\n"))
}

/// Returns the last lines of a text, without a newline at the end.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of bytes of each end that are kept by default.
    const HALF: usize = 128 * 1024;

    #[test]
    fn plain_text_has_no_colours_and_no_past_progress() {
        for (text, expected) in [
            ("\u{1b}[31merror\u{1b}[0m: x\n", "error: x\n"),
            ("10%\r55%\r100%\ndone", "100%\ndone"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", "link"),
            ("", ""),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

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
        assert_eq!((capture.lines(), capture.is_cut()), (200_002, true));
        let mut capture = Capture::default();
        capture.push(&vec![b'x'; 10 * HALF]);
        assert_eq!((capture.dropped, capture.lines()), (8 * HALF as u64, 1));
    }

    #[test]
    fn failures_between_the_ends_are_kept() {
        let mut capture = Capture::new(Retention::Kept);
        let filler = format!("{}\n", "x".repeat(999)).repeat(24_000);
        for piece in [&filler, "src/a.rs:3:1: error: fir", "st\n", &filler, &filler] {
            capture.push(piece.as_bytes());
        }
        let text = capture.text();
        assert!(
            capture.is_cut() && text.contains("omitted …\nsrc/a.rs:3:1: error: first\n"),
            "{}",
            text.len()
        );
        assert_eq!(capture.lines(), 72_001);
    }
}
