//! Tool `read_file`.

use std::io::{BufRead, BufReader};

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, FileState, Kind, LastLink, MAX_FILE, ResolvedPath, WorkspacePath};

use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::text::grouped;

/// Maximum number of characters shown of one line.
const MAX_LINE: usize = 500;

/// Tool that reads a text file.
pub(super) struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File, relative to the workspace
    path: String,
    /// First line, from 1
    #[serde(default)]
    start_line: Option<usize>,
    /// Last line
    #[serde(default)]
    end_line: Option<usize>,
}

impl FileTool for ReadFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "read_file",
            description: "Read a UTF-8 text file, whole or a range of lines. Each line comes after its number and a tab.",
            sensitive: false,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let range = Range { start: args.start_line.unwrap_or(1), end: args.end_line };
        let is_large =
            cx.workspace.stat(&path)?.is_some_and(|stat| stat.kind == Kind::File && stat.size > MAX_FILE);
        let view = if is_large && (args.start_line.is_some() || args.end_line.is_some()) {
            let file = BufReader::new(cx.workspace.open(&path)?);
            View::read(file, &range, cx.read_limit())
                .map_err(|error| FileError::Io { path: (*path).clone(), error })?
        } else {
            let state = cx.workspace.read(&path)?;
            let text = text(&path, &state)?;
            cx.seen.note(&path, &state);
            // Reading from memory does not fail.
            View::read(text.as_bytes(), &range, cx.read_limit()).unwrap_or_default()
        };
        view.render(&path, &range).map(ToolResult::done)
    }
}

/// Lines that are requested, numbered from 1.
struct Range {
    start: usize,
    end: Option<usize>,
}

/// Numbered lines of a file, cut at the end.
#[derive(Default)]
struct View {
    text: String,
    /// Last line shown; 0 if none is.
    last: usize,
    /// Number of lines of the whole file.
    total: usize,
    /// Whether every line that was read ended in CRLF.
    is_crlf: bool,
    ends_in_newline: bool,
}

impl View {
    /// Numbers the lines of a range, as many as fit into `limit` bytes; at least one.
    fn read(mut from: impl BufRead, range: &Range, limit: usize) -> std::io::Result<Self> {
        let mut view = Self { is_crlf: true, ends_in_newline: true, ..Self::default() };
        let mut full = false;
        let mut line = Vec::new();
        loop {
            let length = read_line(&mut from, &mut line)?;
            if length == 0 {
                view.is_crlf &= view.total > 0;
                return Ok(view);
            }
            view.total += 1;
            view.ends_in_newline = line.ends_with(b"\n");
            // The last line says nothing if it has no end, unless it is the only one.
            view.is_crlf &= line.ends_with(b"\r\n") || !view.ends_in_newline && view.total > 1;
            if full || view.total < range.start || range.end.is_some_and(|end| view.total > end) {
                continue;
            }
            let numbered = format!("{}\t{}\n", view.total, clipped(&line, length));
            full = view.last > 0 && view.text.len() + numbered.len() > limit;
            if !full {
                view.text += &numbered;
                view.last = view.total;
            }
        }
    }

    /// Returns the lines with a note on what is not shown, or an error if the file does not have them.
    fn render(self, path: &WorkspacePath, range: &Range) -> Result<String, ToolError> {
        let Self { mut text, last, total, is_crlf, ends_in_newline } = self;
        if total == 0 {
            return Ok(format!("({path} is empty)\n"));
        }
        if last == 0 || range.start == 0 {
            let end = range.end.map_or_else(String::new, |end| format!(" to {}", grouped(end)));
            return Err(ToolError::Refused(format!(
                "line {}{end} is not in {path}, which has {} lines; lines are numbered from 1",
                grouped(range.start),
                grouped(total),
            )));
        }
        let mut notes = Vec::new();
        let wanted = range.end.unwrap_or(total).min(total);
        let shown = format!("lines {}–{} of {}", grouped(range.start), grouped(last), grouped(total));
        if last < wanted {
            notes.push(format!("{shown}; continue with start_line={}", last + 1));
        } else if range.start > 1 || last < total {
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

/// Reads a line of any length, and returns its length in bytes. Of a very long line only the beginning and the line end
/// are kept.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    const KEPT: usize = MAX_LINE * 8;
    line.clear();
    let mut length = 0;
    loop {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Ok(length);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if line.len() + part.len() <= KEPT {
            line.extend_from_slice(part);
        } else {
            let room = KEPT.saturating_sub(line.len());
            line.extend_from_slice(&part[..room.min(part.len())]);
            if end.is_some() {
                line.push(b'\n');
            }
        }
        length += part.len();
        let used = part.len();
        from.consume(used);
        if end.is_some() {
            return Ok(length);
        }
    }
}

/// Returns a line without its end, and with a mark in place of what is beyond [`MAX_LINE`] characters.
fn clipped(line: &[u8], length: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.char_indices().nth(MAX_LINE) {
        Some((cut, _)) => format!("{}… [{} more bytes in this line]", &text[..cut], grouped(length - cut)),
        None => text.to_owned(),
    }
}

/// Parses a path and resolves it, with links followed.
pub(super) fn resolve(path: &str, cx: &Context) -> Result<ResolvedPath, ToolError> {
    Ok(cx.workspace.resolve(&cx.workspace.parse(path)?, LastLink::Follow)?)
}

/// Returns a file's content as text, or an error if it is binary or not UTF-8.
pub(super) fn text<'a>(path: &WorkspacePath, state: &'a FileState) -> Result<&'a str, ToolError> {
    if state.content.contains(&0) {
        let size = state.content.len();
        return Err(ToolError::Refused(format!("{path} is a binary file ({size} bytes), not text")));
    }
    std::str::from_utf8(&state.content).map_err(|error| {
        ToolError::Refused(format!("{path} is not UTF-8 text (byte {} is invalid)", error.valid_up_to()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str, start: usize, end: Option<usize>, limit: usize) -> Result<String, String> {
        let range = Range { start, end };
        let path = WorkspacePath::parse("a").expect("a path");
        let view = View::read(text.as_bytes(), &range, limit).expect("memory can be read");
        view.render(&path, &range).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_are_numbered_and_cut_at_the_end() {
        let lines: String = (1..=12_000).map(|n| format!("line {n}\n")).collect();
        let cut = view(&lines, 1, None, 40_000).expect("lines");
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
            view(&lines, next, None, 40_000).expect("lines").starts_with(&format!("{next}\tline {next}\n"))
        );
    }

    #[test]
    fn long_lines_are_clipped_with_a_mark() {
        let text = format!("short\n{}\nend", "ü".repeat(9_000));
        let shown = view(&text, 1, None, 40_000).expect("lines");
        let clipped = format!("2\t{}… [17,001 more bytes in this line]\n", "ü".repeat(500));
        assert_eq!(shown, format!("1\tshort\n{clipped}3\tend\n[no newline at the end]\n"));
    }

    #[test]
    fn one_line_is_always_shown() {
        assert_eq!(
            view("abc\ndef\n", 1, None, 1).as_deref(),
            Ok("1\tabc\n[lines 1–1 of 2; continue with start_line=2]\n")
        );
        assert_eq!(view("a", 1, None, 100).as_deref(), Ok("1\ta\n[no newline at the end]\n"));
        assert_eq!(view("a\r\nb\r\n", 1, None, 100).as_deref(), Ok("1\ta\n2\tb\n[line endings are CRLF]\n"));
    }
}
