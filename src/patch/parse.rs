//! From text to hunks.

use crate::workspace::WorkspacePath;

/// A line of a hunk, without its line end (but with the CR of a Windows one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Stays.
    Context(String),
    /// Goes.
    Removed(String),
    /// Comes.
    Added(String),
}

impl Line {
    fn text(&self) -> &str {
        let (Self::Context(text) | Self::Removed(text) | Self::Added(text)) = self;
        text
    }
}

/// Which state of the file is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the patch.
    Old,
    /// After it.
    New,
}

/// One place of a file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The first line in the old file, from 1; `None` where the header gives no number.
    pub start: Option<usize>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Whether the last line of each side lacks its line end.
    pub no_newline: (bool, bool),
}

impl Hunk {
    /// The hunk with plain line ends.
    pub(super) fn without_cr(&self) -> Self {
        let plain = |text: &String| text.trim_end_matches('\r').to_owned();
        let lines = self.lines.iter().map(|line| match line {
            Line::Context(text) => Line::Context(plain(text)),
            Line::Removed(text) => Line::Removed(plain(text)),
            Line::Added(text) => Line::Added(plain(text)),
        });
        Self { lines: lines.collect(), ..self.clone() }
    }

    /// The lines of one side.
    pub fn side(&self, side: Side) -> Vec<&str> {
        let other = |line: &Line| match side {
            Side::Old => matches!(line, Line::Added(_)),
            Side::New => matches!(line, Line::Removed(_)),
        };
        self.lines.iter().filter(|line| !other(line)).map(Line::text).collect()
    }
}

/// What a patch wants of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Whether the file comes into being.
    pub creates: bool,
    /// Whether the file goes.
    pub deletes: bool,
    /// The hunks, in order.
    pub hunks: Vec<Hunk>,
}

/// Why a text is no patch for a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No hunk in it.
    #[error("the patch has no hunks; use a unified diff with lines such as `@@ -10,3 +10,4 @@`")]
    NoHunk,
    /// Another format.
    #[error("this is not a unified diff; use `@@` lines instead of `*** Begin Patch`")]
    OtherFormat,
    /// Several files.
    #[error("the patch changes several files ({0}, {1}); make one call for each file")]
    SeveralFiles(String, String),
    /// A header names another file.
    #[error("the patch is for {named}, but `path` is {path}")]
    OtherFile {
        /// The file in the header.
        named: String,
        /// The file of the call.
        path: String,
    },
    /// A header names a file outside.
    #[error(transparent)]
    Path(#[from] crate::workspace::PathError),
    /// More than content changes.
    #[error("the patch {0}, which apply_patch does not support; it only changes content")]
    Unsupported(&'static str),
    /// A hunk without lines.
    #[error("hunk {0} has no lines")]
    EmptyHunk(usize),
    /// A line that belongs to nothing.
    #[error("line {line} of the patch does not start with a space, `+`, `-` or `@@`: {text:?}")]
    Stray {
        /// The line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
}

/// Where the header of a file is understood.
#[derive(Default)]
struct Header {
    old: Option<Name>,
    new: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Nothing,
    File(String),
}

impl Patch {
    /// Reads a patch for the file at `path`.
    pub fn parse(text: &str, path: &WorkspacePath) -> Result<Self, ParseError> {
        let text = unfenced(text);
        if text.trim_start().starts_with("*** Begin Patch") {
            return Err(ParseError::OtherFormat);
        }
        let lines: Vec<&str> = text.split('\n').collect();
        // A text that ends in a line end has one more, empty, piece.
        let lines = lines.strip_suffix(&[""]).unwrap_or(&lines);
        let mut header = Header::default();
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at].trim_end_matches('\r');
            if line.starts_with("@@") {
                let (hunk, next) = hunk(lines, at, hunks.len() + 1)?;
                hunks.push(hunk);
                at = next;
                continue;
            }
            if let (Some(old), Some(new)) =
                (line.strip_prefix("--- "), lines.get(at + 1).and_then(|line| line.strip_prefix("+++ ")))
            {
                header.names(name(old), name(new), &hunks)?;
                at += 2;
                continue;
            }
            extended(line)?;
            if !hunks.is_empty() && !line.trim().is_empty() && !is_header(line) {
                return Err(ParseError::Stray { line: at + 1, text: line.to_owned() });
            }
            at += 1;
        }
        header.check(path)?;
        let patch = Self {
            creates: header.old == Some(Name::Nothing),
            deletes: header.new == Some(Name::Nothing),
            hunks,
        };
        // An empty file is created without any hunk.
        if patch.hunks.is_empty() && !patch.creates && !patch.deletes {
            Err(ParseError::NoHunk)
        } else {
            Ok(patch)
        }
    }
}

impl Header {
    fn names(&mut self, old: Name, new: Name, hunks: &[Hunk]) -> Result<(), ParseError> {
        if let (false, Some(before)) = (hunks.is_empty(), self.file()) {
            let now = Self { old: Some(old.clone()), new: Some(new.clone()) };
            return Err(ParseError::SeveralFiles(before, now.file().unwrap_or_default()));
        }
        self.old = Some(old);
        self.new = Some(new);
        Ok(())
    }

    fn file(&self) -> Option<String> {
        [&self.new, &self.old].into_iter().find_map(|name| match name {
            Some(Name::File(file)) => Some(file.clone()),
            _ => None,
        })
    }

    /// Every name in the header has to be the file of the call, with or without a folder like `a/`.
    fn check(&self, path: &WorkspacePath) -> Result<(), ParseError> {
        for name in [&self.old, &self.new] {
            let Some(Name::File(named)) = name else { continue };
            let whole = WorkspacePath::parse(named)?;
            let below = named.split_once('/').and_then(|(_, below)| WorkspacePath::parse(below).ok());
            if whole != *path && below.as_ref() != Some(path) {
                return Err(ParseError::OtherFile { named: named.clone(), path: path.to_string() });
            }
        }
        Ok(())
    }
}

/// Lines of Git's between files that say nothing we need.
fn is_header(line: &str) -> bool {
    ["diff ", "index ", "new file mode", "deleted file mode", "similarity ", "Binary files", "\\ "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Git's extended headers that ask for more than content.
fn extended(line: &str) -> Result<(), ParseError> {
    let unsupported = [
        ("rename ", "renames a file"),
        ("copy ", "copies a file"),
        ("old mode ", "changes a mode"),
        ("new file mode 100755", "creates an executable file"),
        ("new file mode 120000", "creates a link"),
        ("GIT binary patch", "is binary"),
        ("Binary files ", "is binary"),
    ];
    match unsupported.iter().find(|(start, _)| line.starts_with(start)) {
        Some((_, what)) => Err(ParseError::Unsupported(what)),
        None => Ok(()),
    }
}

/// The lines of one hunk, and where it ends.
fn hunk(lines: &[&str], header: usize, number: usize) -> Result<(Hunk, usize), ParseError> {
    let range = Range::parse(lines[header]);
    let mut hunk =
        Hunk { start: range.map(|range| range.start), lines: Vec::new(), no_newline: (false, false) };
    let mut at = header + 1;
    while let Some(&line) = lines.get(at) {
        // Counts decide only where the lines themselves could mean two things; models get them wrong.
        let full = range.is_none_or(|range| range.is_reached(&hunk));
        let next_file =
            line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "));
        if line.starts_with("@@") || line.starts_with("diff --git ") || (next_file && full) {
            break;
        }
        match line.trim_end_matches('\r').chars().next() {
            // What follows a hunk that is complete is no part of it.
            None if range.is_some() && full => {}
            // Editors and models drop the blank of an empty line.
            None => hunk.lines.push(Line::Context(line.to_owned())),
            Some(' ') => hunk.lines.push(Line::Context(line[1..].to_owned())),
            Some('+') => hunk.lines.push(Line::Added(line[1..].to_owned())),
            Some('-') => hunk.lines.push(Line::Removed(line[1..].to_owned())),
            Some('\\') => match hunk.lines.last() {
                Some(Line::Added(_)) => hunk.no_newline.1 = true,
                Some(Line::Removed(_)) => hunk.no_newline.0 = true,
                _ => hunk.no_newline = (true, true),
            },
            Some(_) => return Err(ParseError::Stray { line: at + 1, text: line.to_owned() }),
        }
        at += 1;
    }
    if range.is_none() {
        while hunk
            .lines
            .last()
            .is_some_and(|line| matches!(line, Line::Context(text) if text.trim().is_empty()))
        {
            hunk.lines.pop();
        }
    }
    if hunk.lines.is_empty() {
        return Err(ParseError::EmptyHunk(number));
    }
    Ok((hunk, at))
}

/// The numbers of `@@ -10,3 +10,4 @@`.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    old: usize,
    new: usize,
}

impl Range {
    /// `None` for a header without numbers, as models write them.
    fn parse(header: &str) -> Option<Self> {
        let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
        let new = rest.split(' ').next()?;
        let pair = |text: &str| -> Option<(usize, usize)> {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        Some(Self { start: pair(old)?.0, old: pair(old)?.1, new: pair(new)?.1 })
    }

    fn is_reached(self, hunk: &Hunk) -> bool {
        hunk.side(Side::Old).len() >= self.old && hunk.side(Side::New).len() >= self.new
    }
}

/// A name after `--- ` or `+++ `: without its date, unquoted.
fn name(text: &str) -> Name {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    let name = if text.starts_with('"') { unquoted(text) } else { text.to_owned() };
    if name == "/dev/null" { Name::Nothing } else { Name::File(name) }
}

/// A name in Git's C-like quotes.
fn unquoted(text: &str) -> String {
    let inner = text.trim_matches('"').as_bytes();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        let escaped = inner.get(at + 1).filter(|_| inner[at] == b'\\');
        let Some(escaped) = escaped else {
            bytes.push(inner[at]);
            at += 1;
            continue;
        };
        let octal = inner.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match (escaped, octal.and_then(|digits| u8::from_str_radix(digits, 8).ok())) {
            (b'0'..=b'7', Some(byte)) => {
                bytes.push(byte);
                at += 4;
                continue;
            }
            (b'n', _) => bytes.push(b'\n'),
            (b't', _) => bytes.push(b'\t'),
            (b'r', _) => bytes.push(b'\r'),
            (other, _) => bytes.push(*other),
        }
        at += 2;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text without a Markdown fence around it.
fn unfenced(text: &str) -> &str {
    let trimmed = text.trim_start_matches(['\n', '\r']);
    let inner = trimmed.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    match inner.and_then(|(_, body)| body.trim_end().strip_suffix("```")) {
        Some(body) => body,
        None => text,
    }
}
