//! A file while it is patched: its lines, and which of them are the result of a hunk.

use std::cell::Cell;
use std::collections::VecDeque;

use super::block::{self, Shift};
use super::hunk::{Hunk, Line, Side};
use super::place::Misplaced;

/// File as it is while hunks are put into it.
pub(super) struct Image {
    /// Without their ends.
    pub(super) lines: Vec<String>,
    /// Whether each line ends in CRLF.
    crlf: Vec<bool>,
    /// Whether a line is the result of an earlier hunk.
    pub(super) patched: Vec<bool>,
    pub(super) ends_in_newline: bool,
    /// Index of the line behind the last hunk.
    pub(super) cursor: usize,
    /// Whether an earlier hunk was found elsewhere than it said.
    pub(super) drifted: bool,
    /// How the lines of a hunk had to be indented, where they had to.
    pub(super) shift: Option<Shift>,
    /// Whether a hunk adds indented lines, and its own place does not say how these are indented in the file.
    pub(super) is_flush: bool,
    /// How many lines behind its stated place the last numbered hunk was found.
    pub(super) offset: isize,
    /// Number of lines that the file had before all hunks.
    pub(super) original_length: usize,
    /// Number of lines that may still be looked at.
    pub(super) work: Cell<u64>,
}

/// Maximum number of lines that are looked at for the places of a file's hunks: a second or so.
const MAX_WORK: u64 = 1 << 27;

/// Maximum size of the text of a hunk, in bytes, once it is indented as its place is.
const MAX_TEXT: usize = 16 << 20;

impl Image {
    /// Returns the image of a file whose lines are compared without their ends.
    pub(super) fn new(content: &str) -> Self {
        let mut image = Self::with_line_ends(content);
        let mut last = false;
        for (index, line) in image.lines.iter_mut().enumerate() {
            let is_open = index + 1 == image.crlf.len() && !image.ends_in_newline;
            // A line without an end would get that of the one before it.
            if !is_open {
                last = line.ends_with('\r');
                line.truncate(line.len() - usize::from(last));
            }
            image.crlf[index] = last;
        }
        image
    }

    /// Returns the image of a file in which the CR of a line end is part of the line.
    pub(super) fn with_line_ends(content: &str) -> Self {
        let ends_in_newline = content.is_empty() || content.ends_with('\n');
        let text = content.strip_suffix('\n').unwrap_or(content);
        let lines: Vec<String> =
            if content.is_empty() { Vec::new() } else { text.split('\n').map(str::to_owned).collect() };
        Self {
            patched: vec![false; lines.len()],
            crlf: vec![false; lines.len()],
            original_length: lines.len(),
            lines,
            ends_in_newline,
            cursor: 0,
            drifted: false,
            shift: None,
            is_flush: false,
            offset: 0,
            work: Cell::new(MAX_WORK),
        }
    }

    /// Returns `true` if a hunk was found elsewhere than it said, so that numbers alone are no place.
    pub(super) fn has_drifted(&self) -> bool {
        self.drifted
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            text += line;
            let is_open = index + 1 == self.lines.len() && !self.ends_in_newline;
            text += match self.crlf[index] {
                _ if is_open => "",
                true => "\r\n",
                false => "\n",
            };
        }
        text
    }

    /// Takes note of lines that are looked at.
    pub(super) fn spend(&self, lines: usize) -> Result<(), Misplaced> {
        let left = self.work.get().checked_sub(lines as u64).ok_or(Misplaced::TooCostly)?;
        self.work.set(left);
        Ok(())
    }

    /// Replaces lines by the new side of a hunk. Lines that stay keep what the file has.
    pub(super) fn replace(&mut self, at: usize, hunk: &Hunk, length: usize) -> Result<(), Misplaced> {
        let reaches_end = at + length == self.lines.len();
        let wanted = hunk.side(Side::Old);
        let own: Vec<&str> = self.lines[at..at + length].iter().map(String::as_str).collect();
        let shift = block::places(&own, &wanted).into_iter().next().map(|place| place.shift);
        let mut from = at;
        let (mut new, mut crlf) = (Vec::new(), Vec::new());
        let mut size = 0;
        let before = self.crlf[..at].last().or(self.crlf.first());
        let mut ends = OldEnds { removed: VecDeque::new(), last: before.is_some_and(|is_crlf| *is_crlf) };
        for line in &hunk.lines {
            match line {
                Line::Context(_) | Line::Bare(_) => {
                    ends.keep(self.crlf[from]);
                    crlf.push(self.crlf[from]);
                    new.push(self.lines[from].clone());
                    from += 1;
                }
                Line::Removed(_) => {
                    ends.remove(self.crlf[from]);
                    from += 1;
                }
                Line::Added(text) => {
                    let indented = shift.as_ref().and_then(|shift| shift.apply_to(text));
                    let text = indented.unwrap_or_else(|| text.clone());
                    crlf.push(ends.next_is_crlf());
                    size += text.len();
                    if size > MAX_TEXT {
                        return Err(Misplaced::TooCostly);
                    }
                    new.push(text);
                }
            }
        }
        let is_indented = |line: &str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        if let Some(shift) = shift.filter(|shift| *shift != Shift::None) {
            self.shift = Some(shift);
        } else {
            let mut added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(_)));
            self.is_flush |=
                added.any(|line| is_indented(line.text())) && !wanted.iter().any(|line| is_indented(line));
        }
        if reaches_end {
            self.ends_in_newline = match hunk.no_newline {
                (_, true) => false,
                (true, false) => true,
                (false, false) => self.ends_in_newline || new.is_empty(),
            };
        }
        let added = new.len();
        if added != length {
            // The lines behind it move.
            self.spend((self.lines.len() - at) / 16)?;
        }
        self.lines.splice(at..at + length, new);
        self.crlf.splice(at..at + length, crlf);
        // Lines that stay may be the context of the next hunk as well.
        let is_new = hunk.lines.iter().filter(|line| !matches!(line, Line::Removed(_)));
        let is_new: Vec<bool> = is_new.map(|line| matches!(line, Line::Added(_))).collect();
        self.patched.splice(at..at + length, is_new);
        self.cursor = at + added;
        Ok(())
    }
}

/// The ends of the lines that a hunk meets, for files in which some are CRLF and some are not: an added line gets that of the line in
/// whose place it comes, else of the one before it.
struct OldEnds {
    /// Whether each removed line that nothing has taken the place of yet ended in CRLF.
    removed: VecDeque<bool>,
    last: bool,
}

impl OldEnds {
    fn keep(&mut self, is_crlf: bool) {
        self.removed.clear();
        self.last = is_crlf;
    }

    fn remove(&mut self, is_crlf: bool) {
        self.removed.push_back(is_crlf);
    }

    fn next_is_crlf(&mut self) -> bool {
        self.last = self.removed.pop_front().unwrap_or(self.last);
        self.last
    }
}
