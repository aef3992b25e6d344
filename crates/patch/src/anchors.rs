//! Blocks of a file that anchors lead to: what stands below a line such as `class A`, up to the next line that begins as it does.

use std::collections::HashMap;
use std::ops::Range;

/// A file, with the blocks that its lines open.
pub(super) struct Blocks<'a> {
    lines: &'a [String],
    /// For each line, the index of the line behind the block that it opens.
    ends: Vec<usize>,
}

impl<'a> Blocks<'a> {
    /// Finds the ends of all blocks: the next line that has the same indentation and first word, such as `class`. A line that opens
    /// no block, because what follows is not indented below it, counts to the end of the file.
    pub(super) fn new(lines: &'a [String]) -> Self {
        let mut ends = vec![lines.len(); lines.len()];
        let mut next_indent = 0;
        let mut nearest: HashMap<(usize, &str), usize> = HashMap::new();
        for (at, line) in lines.iter().enumerate().rev() {
            let beginning = beginning(line);
            if let Some(end) = nearest.get(&beginning).filter(|_| next_indent > beginning.0) {
                ends[at] = *end;
            }
            if !line.trim().is_empty() {
                next_indent = beginning.0;
                nearest.insert(beginning, at);
            }
        }
        Self { lines, ends }
    }

    /// Returns the blocks that begin with a line that contains an anchor, in any of `within`. A line that is equal to it is preferred.
    /// Of several blocks that begin with the same line, the longest stands for all: what comes first in them is the same.
    pub(super) fn below(&self, within: &[Range<usize>], anchor: &str) -> Vec<Range<usize>> {
        let anchor = anchor.trim();
        let equal = self.opened(within, |line| line == anchor);
        if equal.is_empty() { self.opened(within, |line| line.contains(anchor)) } else { equal }
    }

    fn opened(&self, within: &[Range<usize>], is_meant: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
        // Both are in the order of their beginnings.
        let mut waiting = within.iter().peekable();
        let mut end = 0;
        let mut opened = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            while let Some(block) = waiting.next_if(|block| block.start <= at) {
                end = end.max(block.end);
            }
            if at < end && is_meant(line.trim()) {
                opened.push(at..self.ends[at].min(end));
            }
        }
        opened
    }
}

/// Returns the indentation of a line and its first word.
fn beginning(line: &str) -> (usize, &str) {
    let text = line.trim_start();
    let end = text.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(text.len());
    (line.len() - text.len(), &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// The same, line by line.
    fn end_of_block(lines: &[String], at: usize) -> usize {
        let opening = beginning(&lines[at]);
        let mut below = (at + 1..lines.len()).filter(|below| !lines[*below].trim().is_empty());
        match below.next() {
            Some(first) if beginning(&lines[first]).0 > opening.0 => {
                below.find(|below| beginning(&lines[*below]) == opening).unwrap_or(lines.len())
            }
            _ => lines.len(),
        }
    }

    #[test]
    fn ends_of_blocks_are_found_in_one_pass() {
        let text = "class A\n  def f\n    x\n\n  def g\n    y\nclass B\n  def f\n    z\nend\n";
        let lines = lines(text);
        let blocks = Blocks::new(&lines);
        for at in 0..lines.len() {
            assert_eq!(blocks.ends[at], end_of_block(&lines, at), "{at}");
        }
        let whole = 0..lines.len();
        let in_class = blocks.below(std::slice::from_ref(&whole), "class B");
        assert_eq!(in_class, std::slice::from_ref(&(6..10)));
        assert_eq!(blocks.below(&in_class, "def f"), std::slice::from_ref(&(7..10)));
        assert_eq!(blocks.below(std::slice::from_ref(&whole), "def"), [1..4, 4..7, 7..10]);
    }
}
