//! Output of a child, bounded: its head and its tail, however much it prints.

use std::collections::VecDeque;

/// Bytes kept of the start, and as many of the end.
const HALF: usize = 32 * 1024;

/// Collects output in constant memory.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// Takes more output.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = HALF - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        // Of one large piece only its end can survive.
        let skipped = rest.len().saturating_sub(HALF);
        self.tail.extend(&rest[skipped..]);
        let excess = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..excess);
        self.dropped += (skipped + excess) as u64;
    }

    /// The text: invalid UTF-8 replaced, a word on what is missing in the middle.
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

/// The last lines of a text, without a newline at its end.
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
        let mut capture = Capture::default();
        capture.push(&vec![b'x'; 10 * HALF]);
        assert_eq!(capture.dropped, 8 * HALF as u64);
    }
}
