//! Patch parser: reads the hunks and headers of a unified diff for one file.

use super::header::{Header, Name, extended, is_header, name, unquoted};
use workspace::WorkspacePath;

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

/// Where a hunk says that it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkPosition {
    /// At a line, from 1.
    Numbered {
        /// First line in the old file; for a pure insertion, the line before it.
        old_start: usize,
        /// First line in the new file; for a pure deletion, the line before it.
        new_start: usize,
        /// Whether the header says that no line of the old file is concerned.
        inserts: bool,
    },
    /// Where its lines are.
    Anchored {
        /// Lines that come somewhere before it, the outermost first.
        below: Vec<String>,
        /// Whether it is at the end of the file.
        at_end: bool,
    },
}

/// A contiguous change to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Where it belongs.
    pub place: HunkPosition,
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

    /// Returns the hunk without so many lines of context at its start and its end, as far as it begins and ends with context;
    /// `None` if nothing else of the old side would be left, or if the end of the file is among them.
    pub(super) fn without_outer_context(&self, lines: usize) -> Option<Self> {
        let is_context = |line: &&Line| matches!(line, Line::Context(_));
        let leading = self.lines.iter().take(lines).take_while(is_context).count();
        let inner = &self.lines[leading..];
        let trailing = inner.iter().rev().take(lines).take_while(is_context).count();
        if trailing > 0 && (self.no_newline.0 || self.no_newline.1) {
            return None;
        }
        let place = match &self.place {
            HunkPosition::Numbered { old_start, new_start, inserts } => HunkPosition::Numbered {
                old_start: old_start + leading,
                new_start: new_start + leading,
                inserts: *inserts,
            },
            anchored @ HunkPosition::Anchored { .. } => anchored.clone(),
        };
        let inner = inner[..inner.len() - trailing].to_vec();
        let hunk = Self { place, lines: inner, no_newline: self.no_newline };
        (leading + trailing > 0 && !hunk.side(Side::Old).is_empty()).then_some(hunk)
    }

    /// Returns whether the hunk has lines that stay.
    pub(super) fn has_context(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, Line::Context(_)))
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
    #[error(
        "the patch has no hunks; write a unified diff with lines such as `@@ -10,3 +10,4 @@`, or `*** Begin Patch` with \
         `*** Update File: PATH`"
    )]
    NoHunk,
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
    Path(#[from] workspace::PathError),
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

/// Part of a patch that is about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    header: Header,
    /// The changes.
    pub patch: Patch,
}

impl Section {
    /// Creates a section from its parts.
    pub(super) fn new(header: Header, hunks: Vec<Hunk>) -> Self {
        let creates = header.old == Some(Name::Nothing);
        let deletes = header.new == Some(Name::Nothing);
        Self { header, patch: Patch { creates, deletes, hunks } }
    }

    /// Returns the file and, if it is renamed, its new name, as they are written; `None` if there is no header.
    /// `exists` returns whether there is a file of a name.
    pub fn paths(&self, exists: &dyn Fn(&str) -> bool) -> Option<(String, Option<String>)> {
        self.header.paths(exists)
    }

    /// Checks that the section is for the file at `path`.
    pub fn check(&self, path: &WorkspacePath) -> Result<(), ParseError> {
        self.header.check(path)
    }

    fn is_empty(&self) -> bool {
        // An empty file is created or deleted without any hunk, and a file is renamed without one.
        let does_something = self.patch.creates || self.patch.deletes || self.header.renamed.1.is_some();
        self.patch.hunks.is_empty() && !does_something
    }
}

impl Patch {
    /// Parses a patch for the file at `path`, which every name in its headers has to match.
    pub fn parse(text: &str, path: &WorkspacePath) -> Result<Self, ParseError> {
        let mut sections = sections(text)?;
        if let [first, second, ..] = sections.as_slice() {
            let name = |section: &Section| section.header.file().unwrap_or_default().to_owned();
            return Err(ParseError::SeveralFiles(name(first), name(second)));
        }
        let section = sections.pop().ok_or(ParseError::NoHunk)?;
        section.check(path)?;
        Ok(section.patch)
    }
}

/// Parses a patch of any number of files: a unified diff, or the `*** Begin Patch` format. Returns at least one section.
pub fn sections(text: &str) -> Result<Vec<Section>, ParseError> {
    let text = unfenced(text);
    if super::envelope::is_envelope(text) {
        return super::envelope::parse(text);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    // A text that ends in a newline has one more, empty, piece.
    let lines = lines.strip_suffix(&[""]).unwrap_or(&lines);
    let mut done: Vec<Section> = Vec::new();
    let (mut header, mut hunks): (Header, Vec<Hunk>) = Default::default();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_end_matches('\r');
        if line.starts_with("@@") {
            let (hunk, next) = hunk(lines, at, hunks.len() + 1)?;
            hunks.push(hunk);
            at = next;
            continue;
        }
        let pair =
            line.strip_prefix("--- ").zip(lines.get(at + 1).and_then(|line| line.strip_prefix("+++ ")));
        let begins_file = line.starts_with("diff --git ") || (pair.is_some() && !hunks.is_empty());
        if begins_file && (!hunks.is_empty() || !header.is_empty()) {
            done.push(Section::new(std::mem::take(&mut header), std::mem::take(&mut hunks)));
        }
        if let Some((old, new)) = pair {
            header.old = Some(name(old));
            header.new = Some(name(new.trim_end_matches('\r')));
            at += 2;
            continue;
        }
        if let Some(from) = line.strip_prefix("rename from ") {
            header.renamed.0 = Some(unquoted_if_quoted(from));
        } else if let Some(to) = line.strip_prefix("rename to ") {
            header.renamed.1 = Some(unquoted_if_quoted(to));
        } else {
            extended(line)?;
            without_hunks(line, lines.get(at.wrapping_sub(1)), &mut header);
        }
        if !hunks.is_empty() && !line.trim().is_empty() && !is_header(line) {
            return Err(ParseError::Stray { line: at + 1, text: line.to_owned() });
        }
        at += 1;
    }
    done.push(Section::new(header, hunks));
    let is_only = done.len() == 1;
    done.retain(|section| !section.is_empty() || is_only);
    if done.iter().any(Section::is_empty) { Err(ParseError::NoHunk) } else { Ok(done) }
}

/// Notes that an empty file is created or deleted, which Git writes without `---` and `+++` lines.
fn without_hunks(line: &str, before: Option<&&str>, header: &mut Header) {
    let git = before.and_then(|before| before.strip_prefix("diff --git "));
    let named =
        git.and_then(|names| names.rsplit_once(" b/")).map(|(_, name)| format!("b/{}", name.trim_end()));
    let Some(named) = named else { return };
    if line.starts_with("new file mode ") {
        (header.old, header.new) = (Some(Name::Nothing), Some(Name::File(named)));
    } else if line.starts_with("deleted file mode ") {
        (header.old, header.new) = (Some(Name::File(named.replacen("b/", "a/", 1))), Some(Name::Nothing));
    }
}

fn unquoted_if_quoted(name: &str) -> String {
    if name.starts_with('"') { unquoted(name) } else { name.to_owned() }
}

/// Parses the hunk whose `@@` line has the index `header`. Returns it with the index of the line after it.
/// `number`, from 1, is for errors.
fn hunk(lines: &[&str], header: usize, number: usize) -> Result<(Hunk, usize), ParseError> {
    let range = Range::parse(lines[header]);
    let mut hunk = Hunk { place: place(lines[header], range), lines: Vec::new(), no_newline: (false, false) };
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

/// Returns where a hunk says that it belongs.
fn place(header: &str, range: Option<Range>) -> HunkPosition {
    if let Some(Range { start, old, new_start, .. }) = range {
        return HunkPosition::Numbered { old_start: start, new_start, inserts: old == 0 };
    }
    let below = header.trim_matches(['@', ' ', '\r', '\t']);
    HunkPosition::Anchored {
        below: if below.is_empty() { Vec::new() } else { vec![below.to_owned()] },
        at_end: false,
    }
}

/// The numbers of a header such as `@@ -10,3 +10,4 @@`.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    old: usize,
    new_start: usize,
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
        let ((start, old), (new_start, new)) = (pair(old)?, pair(new)?);
        Some(Self { start, old, new_start, new })
    }

    fn is_reached(self, hunk: &Hunk) -> bool {
        hunk.side(Side::Old).len() >= self.old && hunk.side(Side::New).len() >= self.new
    }
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
