//! Patch parser: reads the hunks and headers of a unified diff for one file.

use crate::workspace::WorkspacePath;

/// A line of a hunk, without its LF but with the CR of a CRLF ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line on both sides.
    Context(String),
    /// A line of the old side only.
    Removed(String),
    /// A line of the new side only.
    Added(String),
}

impl Line {
    fn text(&self) -> &str {
        let (Self::Context(text) | Self::Removed(text) | Self::Added(text)) = self;
        text
    }
}

/// One of the two states of a file in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The state before the patch.
    Old,
    /// The state after the patch.
    New,
}

/// A contiguous change to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The first line in the old file, from 1; `None` if the header has no numbers.
    pub start: Option<usize>,
    /// Context, removed, and added lines in the order of the patch.
    pub lines: Vec<Line>,
    /// Whether the last line of the old and of the new side lacks its newline.
    pub no_newline: (bool, bool),
}

impl Hunk {
    /// Returns the hunk with the CR of CRLF endings removed.
    pub(super) fn without_cr(&self) -> Self {
        let plain = |text: &String| text.trim_end_matches('\r').to_owned();
        let lines = self.lines.iter().map(|line| match line {
            Line::Context(text) => Line::Context(plain(text)),
            Line::Removed(text) => Line::Removed(plain(text)),
            Line::Added(text) => Line::Added(plain(text)),
        });
        Self { lines: lines.collect(), ..self.clone() }
    }

    /// Returns the text of the lines of one side.
    pub fn side(&self, side: Side) -> Vec<&str> {
        let other = |line: &Line| match side {
            Side::Old => matches!(line, Line::Added(_)),
            Side::New => matches!(line, Line::Removed(_)),
        };
        self.lines.iter().filter(|line| !other(line)).map(Line::text).collect()
    }
}

/// The changes that a patch makes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Whether the old name is `/dev/null`.
    pub creates: bool,
    /// Whether the new name is `/dev/null`.
    pub deletes: bool,
    /// The hunks in the order of the patch; empty only if an empty file is created or deleted.
    pub hunks: Vec<Hunk>,
}

/// Reasons why a text is not a patch for the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A text without any hunk.
    #[error("the patch has no hunks; use a unified diff with lines such as `@@ -10,3 +10,4 @@`")]
    NoHunk,
    /// The `*** Begin Patch` format.
    #[error("this is not a unified diff; use `@@` lines instead of `*** Begin Patch`")]
    OtherFormat,
    /// A patch for several files; holds the names of the first two.
    #[error("the patch changes several files ({0}, {1}); make one call for each file")]
    SeveralFiles(String, String),
    /// A header that names another file than the call does.
    #[error("the patch is for {named}, but `path` is {path}")]
    OtherFile {
        /// The name in the header.
        named: String,
        /// The path of the call.
        path: String,
    },
    /// A header that names a file outside of the workspace.
    #[error(transparent)]
    Path(#[from] crate::workspace::PathError),
    /// A change of more than content, such as a rename or a mode; holds a verb phrase for it.
    #[error("the patch {0}, which apply_patch does not support; it only changes content")]
    Unsupported(&'static str),
    /// A hunk without lines, by its number from 1.
    #[error("hunk {0} has no lines")]
    EmptyHunk(usize),
    /// A line after the first hunk that belongs neither to a hunk nor to a header.
    #[error("line {line} of the patch does not start with a space, `+`, `-` or `@@`: {text:?}")]
    Stray {
        /// The number of the line in the patch, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
}

/// The names in a file's `---` and `+++` lines.
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
    /// Parses a patch for the file at `path`, which every name in its headers has to match.
    pub fn parse(text: &str, path: &WorkspacePath) -> Result<Self, ParseError> {
        let text = unfenced(text);
        if text.trim_start().starts_with("*** Begin Patch") {
            return Err(ParseError::OtherFormat);
        }
        let lines: Vec<&str> = text.split('\n').collect();
        // A text that ends in a newline has one more, empty, piece.
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
        // An empty file is created or deleted without any hunk.
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

    /// Checks that every name in the header is the file of the call, with or without a leading folder such as
    /// `a/`.
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

/// Returns whether a line is one of Git's headers between files that carry nothing needed here.
fn is_header(line: &str) -> bool {
    ["diff ", "index ", "new file mode", "deleted file mode", "similarity ", "Binary files", "\\ "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Refuses Git's extended headers that ask for more than a change of content.
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

/// Parses the hunk whose `@@` line has the index `header`. Returns it with the index of the line after it.
/// `number`, from 1, is for errors.
fn hunk(lines: &[&str], header: usize, number: usize) -> Result<(Hunk, usize), ParseError> {
    let range = Range::parse(lines[header]);
    let mut hunk =
        Hunk { start: range.map(|range| range.start), lines: Vec::new(), no_newline: (false, false) };
    let mut at = header + 1;
    while let Some(&line) = lines.get(at) {
        // Models get the counts wrong, so they decide only where the lines themselves are ambiguous.
        let full = range.is_none_or(|range| range.is_reached(&hunk));
        let next_file =
            line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "));
        if line.starts_with("@@") || line.starts_with("diff --git ") || (next_file && full) {
            break;
        }
        match line.trim_end_matches('\r').chars().next() {
            // What follows a complete hunk is not part of it.
            None if range.is_some() && full => {}
            // Editors and models drop the space of an empty context line.
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

/// The numbers of a header such as `@@ -10,3 +10,4 @@`.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    old: usize,
    new: usize,
}

impl Range {
    /// Parses a hunk header. Returns `None` if it has no numbers; models often write such headers.
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

/// Parses the name after `--- ` or `+++ `, without the date behind a tab, and unquoted.
fn name(text: &str) -> Name {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    let name = if text.starts_with('"') { unquoted(text) } else { text.to_owned() };
    if name == "/dev/null" { Name::Nothing } else { Name::File(name) }
}

/// Decodes a name in Git's C-like quotes.
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

/// Returns the text without a Markdown code fence around it.
fn unfenced(text: &str) -> &str {
    let trimmed = text.trim_start_matches(['\n', '\r']);
    let inner = trimmed.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    match inner.and_then(|(_, body)| body.trim_end().strip_suffix("```")) {
        Some(body) => body,
        None => text,
    }
}
