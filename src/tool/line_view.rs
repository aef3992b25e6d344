//! Numbered lines of a file, cut at the end; of a line that is very long, some of its columns.

use std::io::{self, BufRead};

use workspace::WorkspacePath;

use super::ToolError;
use crate::base::text::{counted, first_chars, grouped};

/// Maximum number of characters shown of a line, unless the line is what is asked for.
const MAX_LINE: usize = 500;

/// Lines that are requested, numbered from 1.
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) end: Option<usize>,
    /// Column, from 1, at which the first of them begins to be shown.
    pub(super) column: Option<usize>,
}

impl Range {
    /// Returns the last line: with a column and nothing else, the rest of that line is meant.
    fn end(&self) -> Option<usize> {
        self.end.or(self.column.map(|_| self.start))
    }

    /// Returns whether one line is asked for, which is then shown as far as there is room.
    fn is_one_line(&self) -> bool {
        self.end() == Some(self.start)
    }
}

/// Numbered lines of a file.
#[derive(Default)]
pub(super) struct LineView {
    text: String,
    /// Last line shown; 0 if none is.
    last: usize,
    /// Number of lines of the whole file.
    total: usize,
    /// Number of columns of the first line that is requested.
    columns: usize,
    /// Whether every line that was read ended in CRLF.
    is_crlf: bool,
    ends_in_newline: bool,
}

impl LineView {
    /// Numbers the lines of a range, as many as fit into `limit` bytes; at least one.
    pub(super) fn read(mut from: impl BufRead, range: &Range, limit: usize) -> io::Result<Self> {
        let mut view = Self { is_crlf: true, ends_in_newline: true, ..Self::default() };
        let mut full = false;
        loop {
            let number = view.total + 1;
            let column = range.column.filter(|_| number == range.start).unwrap_or(1).max(1);
            let most = if range.is_one_line() { limit } else { MAX_LINE * 4 };
            let Some(line) = LinePart::read(&mut from, column, most)? else {
                view.is_crlf &= view.total > 0;
                return Ok(view);
            };
            view.total = number;
            view.ends_in_newline = line.end != LineEnd::None;
            // The last line says nothing if it has no end, unless it is the only one.
            view.is_crlf &= line.end == LineEnd::CrLf || !view.ends_in_newline && number > 1;
            if number == range.start {
                view.columns = line.columns;
            }
            if full || number < range.start || range.end().is_some_and(|end| number > end) {
                continue;
            }
            let most = if range.is_one_line() { usize::MAX } else { MAX_LINE };
            let numbered = format!("{number}\t{}\n", line.shown(number, column, most));
            full = view.last > 0 && view.text.len() + numbered.len() > limit;
            if !full {
                view.text += &numbered;
                view.last = number;
            }
        }
    }

    /// Returns the lines with a note on what is not shown, or an error if the file does not have them.
    pub(super) fn render(self, path: &WorkspacePath, range: &Range) -> Result<String, ToolError> {
        let Self { mut text, last, total, columns, is_crlf, ends_in_newline } = self;
        let start = range.start;
        if let Some(end) = range.end.filter(|end| *end < start && *end > 0) {
            return Err(ToolError::Refused(format!(
                "end_line={end} comes before start_line={start}; for these lines: read_file(path=\"{path}\", start_line={end}, end_line={start})"
            )));
        }
        if total == 0 {
            return Ok(format!("({path} is empty)\n"));
        }
        if last == 0 || start == 0 {
            return Err(ToolError::Refused(format!(
                "line {} is not in {path}, which has {}; lines are numbered from 1",
                grouped(start),
                counted(total, "line", "s"),
            )));
        }
        if let Some(column) = range.column.filter(|column| *column > columns.max(1)) {
            return Err(ToolError::Refused(format!(
                "column {} is not in line {} of {path}, which has {}",
                grouped(column),
                grouped(start),
                counted(columns, "column", "s"),
            )));
        }
        let mut notes = Vec::new();
        let wanted = range.end().unwrap_or(total).min(total);
        let shown = format!("lines {}–{} of {}", grouped(start), grouped(last), grouped(total));
        if last < wanted {
            notes.push(format!("{shown}; continue with start_line={}", last + 1));
        } else if start > 1 || last < total {
            notes.push(shown);
        }
        if is_crlf {
            notes.push("line endings are CRLF".to_owned());
        }
        if last == total && !ends_in_newline {
            notes.push("no newline at the end".to_owned());
        }
        if !notes.is_empty() {
            text += &format!("[{}]\n", notes.join("; "));
        }
        Ok(text)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineEnd {
    #[default]
    None,
    Lf,
    CrLf,
}

/// Part of a line, which may be of any length.
#[derive(Default)]
struct LinePart {
    /// What is kept, without the line end.
    text: Vec<u8>,
    /// Number of characters of the whole line.
    columns: usize,
    end: LineEnd,
}

impl LinePart {
    /// Reads a line, and keeps at most so many bytes from a column on. Returns `None` at the end.
    fn read(from: &mut impl BufRead, column: usize, most: usize) -> io::Result<Option<Self>> {
        let mut line = Self::default();
        let (mut is_there, mut last) = (false, None);
        loop {
            let bytes = from.fill_buf()?;
            if bytes.is_empty() {
                return Ok(is_there.then_some(line));
            }
            is_there = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            line.add(piece, column, most);
            last = piece.last().copied().or(last);
            let used = piece.len() + usize::from(end.is_some());
            from.consume(used);
            if end.is_none() {
                continue;
            }
            line.end = LineEnd::Lf;
            if last == Some(b'\r') {
                line.end = LineEnd::CrLf;
                line.columns -= 1;
                line.text.pop_if(|byte| *byte == b'\r');
            }
            return Ok(Some(line));
        }
    }

    fn add(&mut self, piece: &[u8], column: usize, most: usize) {
        let begins = |byte: &u8| byte & 0xc0 != 0x80;
        let before = self.columns;
        self.columns += piece.iter().filter(|byte| begins(byte)).count();
        let from = if before >= column {
            Some(0)
        } else {
            let characters = piece.iter().enumerate().filter(|(_, byte)| begins(byte));
            characters.map(|(at, _)| at).nth(column - 1 - before)
        };
        if let Some(from) = from {
            let room = most.saturating_sub(self.text.len());
            self.text.extend(piece[from..].iter().take(room));
        }
    }

    /// Returns what is kept of the line with this number, at most so many characters, with marks in place of the rest.
    fn shown(&self, number: usize, column: usize, most: usize) -> String {
        let valid = self.text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let shown = first_chars(valid, most);
        let before = if column > 1 { "… " } else { "" };
        let last = column - 1 + shown.chars().count();
        if last >= self.columns {
            return format!("{before}{shown}");
        }
        // Columns are those of the first line that is asked for.
        let start_line = if number > 1 { format!("start_line={number}, ") } else { String::new() };
        format!(
            "{before}{shown}… [columns {}–{} of {}; continue with {start_line}start_column={}]",
            grouped(column),
            grouped(last),
            grouped(self.columns),
            last + 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str, range: &Range, limit: usize) -> Result<String, String> {
        let path = WorkspacePath::parse("a").expect("a path");
        let view = LineView::read(text.as_bytes(), range, limit).expect("memory can be read");
        view.render(&path, range).map_err(|error| error.to_string())
    }

    fn from(start: usize) -> Range {
        Range { start, end: None, column: None }
    }

    #[test]
    fn lines_are_numbered_and_cut_at_the_end() {
        let lines: String = (1..=12_000).map(|n| format!("line {n}\n")).collect();
        let cut = view(&lines, &from(1), 40_000).expect("lines");
        assert!(cut.starts_with("1\tline 1\n2\tline 2\n") && cut.len() < 40_100, "{}", cut.len());
        let note = cut.lines().last().expect("a note");
        let next: usize = note
            .split_once("start_line=")
            .expect("where to go on")
            .1
            .trim_end_matches(']')
            .parse()
            .expect("a number");
        assert!(
            note.starts_with("[lines 1–2,") && note.contains(" of 12,000; continue with start_line="),
            "{note}"
        );
        assert!(cut.contains(&format!("\n{}\tline {}\n[", next - 1, next - 1)), "{note}");
        assert!(
            view(&lines, &from(next), 40_000).expect("lines").starts_with(&format!("{next}\tline {next}\n"))
        );
    }

    #[test]
    fn long_lines_are_clipped_with_where_to_go_on() {
        let text = format!("short\n{}\r\nend", "ü".repeat(9_000));
        let shown = view(&text, &from(1), 40_000).expect("lines");
        let clipped = "… [columns 1–500 of 9,000; continue with start_line=2, start_column=501]";
        let expected =
            format!("1\tshort\n2\t{}{clipped}\n3\tend\n[no newline at the end]\n", "ü".repeat(500));
        assert_eq!(shown, expected);
        let rest = |column, limit| view(&text, &Range { column: Some(column), ..from(2) }, limit);
        let note = "[lines 2–2 of 3]\n";
        assert_eq!(
            rest(501, 101),
            Ok(format!(
                "2\t… {}… [columns 501–550 of 9,000; continue with start_line=2, start_column=551]\n{note}",
                "ü".repeat(50)
            ))
        );
        assert_eq!(rest(8_999, 40_000), Ok(format!("2\t… üü\n{note}")));
        assert_eq!(
            rest(9_001, 40_000),
            Err("column 9,001 is not in line 2 of a, which has 9,000 columns".to_owned())
        );
        // Who asks for one line gets it.
        let one = view(&text, &Range { end: Some(2), ..from(2) }, 40_000);
        assert_eq!(one, Ok(format!("2\t{}\n{note}", "ü".repeat(9_000))));
    }

    #[test]
    fn columns_are_found_across_the_pieces_of_a_reader() {
        let text = format!("{}ö{}\r\n", "ä€".repeat(2_000), "z".repeat(10));
        for size in [1, 2, 3, 7, 4_096] {
            let reader = io::BufReader::with_capacity(size, text.as_bytes());
            let range = Range { column: Some(4_001), ..from(1) };
            let view = LineView::read(reader, &range, 40_000).expect("memory can be read");
            assert_eq!((view.text.as_str(), view.columns), ("1\t… özzzzzzzzzz\n", 4_011), "{size}");
        }
    }

    #[test]
    fn one_line_is_always_shown() {
        let two = view("abc\ndef\n", &from(1), 1);
        assert_eq!(two.as_deref(), Ok("1\tabc\n[lines 1–1 of 2; continue with start_line=2]\n"));
        assert_eq!(view("a", &from(1), 100).as_deref(), Ok("1\ta\n[no newline at the end]\n"));
        assert_eq!(view("a\r\nb\r\n", &from(1), 100).as_deref(), Ok("1\ta\n2\tb\n[line endings are CRLF]\n"));
    }
}
