//! Patch parser: reads the hunks and headers of a unified diff for one file.

use super::fence::unfenced;
use super::header::{Header, Named, extended, is_header, name};
use super::hunk::{Hunk, HunkPosition, Line};
use workspace::WorkspacePath;

/// What a patch does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes what is in it, or moves it.
    Change,
    /// Creates it.
    Create,
    /// Deletes it, and says what is in it.
    Delete,
    /// Deletes a link, and says where it leads.
    DeleteLink,
    /// Deletes it, whatever it is.
    Discard,
}

impl Effect {
    /// Returns `true` if there is no file afterwards.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteLink | Self::Discard)
    }
}

/// The changes that a patch makes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// What becomes of the file.
    pub effect: Effect,
    /// The hunks in the order of the patch; empty only if a file is moved or discarded, or if it is empty.
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
    /// Headers for one file that name two, without saying that it is renamed.
    #[error("the patch names two files, {0} and {1}; to move a file, it needs `rename from` and `rename to`")]
    TwoNames(String, String),
    /// Headers for one file that do not agree with each other; holds what is wrong.
    #[error("the headers of the patch contradict each other: {0}")]
    Contradiction(&'static str),
    /// A header that says that a file is created or deleted, but not for certain which.
    #[error("the patch creates or deletes a file, but which is not certain; add the lines `--- ` and `+++ `")]
    Unnamed,
    /// Headers of a file without any change to it.
    #[error("the patch names {0}, but does not say what to change in it")]
    Unchanged(String),
    /// A hunk without lines, by its number from 1.
    #[error("hunk {0} has no lines; if the patch was cut off, send all of it again")]
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
    /// Creates a section from its parts. Fails if its headers contradict each other, or if it does nothing.
    pub(super) fn new(header: Header, mut hunks: Vec<Hunk>) -> Result<Self, ParseError> {
        let (header, effect) = header.completed()?;
        for hunk in &mut hunks {
            if let HunkPosition::Anchored { below, .. } = &mut hunk.place {
                below.retain(|anchor| is_anchor(anchor, header.file()));
            }
        }
        // An empty file is created or deleted without any hunk, and a file is renamed without one.
        if hunks.is_empty() && effect == Effect::Change && header.renamed.is_none() {
            let named = header.file().map(str::to_owned).or(header.git);
            return Err(named.map_or(ParseError::NoHunk, ParseError::Unchanged));
        }
        Ok(Self { header, patch: Patch { effect, hunks } })
    }

    /// Returns the file that is meant; `None` if there is no header. `exists` returns whether there is a file of a name, or a folder of one
    /// with `/` at its end.
    pub fn paths(&self, exists: &dyn Fn(&str) -> bool) -> Result<Option<Named>, ParseError> {
        self.header.paths(exists)
    }

    /// Returns the name of the file that the section makes, whether new or by renaming another; `None` if the name may have a prefix.
    pub fn makes(&self) -> Option<&str> {
        let is_new = self.patch.effect == Effect::Create && self.header.is_of_marks;
        let created = self.header.file().filter(|_| is_new);
        self.moved_to().or(created)
    }

    /// Returns the new name of a file that is renamed.
    pub fn moved_to(&self) -> Option<&str> {
        self.header.renamed.as_ref().map(|(_, to)| to.as_str())
    }

    /// Checks that the section is for the file at `path`. `exists` returns whether there is a file of a name.
    pub fn check(&self, path: &WorkspacePath, exists: &dyn Fn(&str) -> bool) -> Result<(), ParseError> {
        self.header.check(path, exists)
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
        section.check(path, &|_| false)?;
        Ok(section.patch)
    }
}

/// Parses a patch of any number of files: a unified diff, or the `*** Begin Patch` format. Returns at least one section.
pub fn sections(text: &str) -> Result<Vec<Section>, ParseError> {
    let text = &*unfenced(text);
    if super::envelope::is_envelope(text) {
        return super::envelope::parse(text);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    // A text that ends in a newline has one more, empty, piece.
    let lines = lines.strip_suffix(&[""]).unwrap_or(&lines);
    if is_hunk_alone(lines) {
        let (hunk, _) = hunk(&[&[""], lines].concat(), 0, 1)?;
        return Ok(vec![Section::new(Header::default(), vec![hunk])?]);
    }
    let mut done: Vec<Section> = Vec::new();
    let (mut header, mut hunks): (Header, Vec<Hunk>) = Default::default();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_end_matches('\r');
        if line.starts_with("@@@") {
            return Err(ParseError::Unsupported("is a combined diff"));
        }
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
            done.push(Section::new(std::mem::take(&mut header), std::mem::take(&mut hunks))?);
        }
        if let Some((old, new)) = pair {
            header.old = Some(name(old));
            header.new = Some(name(new.trim_end_matches('\r')));
            at += 2;
            // Models leave out the `@@` of the only hunk.
            if lines
                .get(at)
                .is_some_and(|line| line.starts_with([' ', '+', '-']) && !line.starts_with("--- "))
            {
                let (hunk, next) = hunk(lines, at - 1, 1)?;
                hunks.push(hunk);
                at = next;
            }
            continue;
        }
        if let Some(new) = line.strip_prefix("+++ ").filter(|_| header.new.is_none()) {
            header.new = Some(name(new));
            at += 1;
            continue;
        }
        // Before the first header, there may be words on the patch.
        let is_within = !hunks.is_empty() || !header.is_empty();
        if is_within && !line.trim().is_empty() && !is_header(line) {
            return Err(ParseError::Stray { line: at + 1, text: line.to_owned() });
        }
        extended(line, &mut header)?;
        at += 1;
    }
    if done.is_empty() || !header.is_empty() || !hunks.is_empty() {
        done.push(Section::new(header, hunks)?);
    }
    Ok(done)
}

/// Returns `true` if a text is nothing but the lines of one hunk, with the sign of each before it.
fn is_hunk_alone(lines: &[&str]) -> bool {
    let is_line =
        |line: &&str| line.trim_end_matches('\r').is_empty() || line.starts_with([' ', '+', '-', '\\']);
    let names_file = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
    lines.iter().all(is_line)
        && !lines.iter().any(names_file)
        && lines.iter().any(|line| line.starts_with(['+', '-']))
}

/// Parses the hunk whose `@@` line has the index `header`. Returns it with the index of the line after it.
/// `number`, from 1, is for errors.
fn hunk(lines: &[&str], header: usize, number: usize) -> Result<(Hunk, usize), ParseError> {
    let range = Range::parse(lines[header]);
    let mut hunk = Hunk { place: place(lines[header]), lines: Vec::new(), no_newline: (false, false) };
    let mut at = header + 1;
    // Lines of the two sides so far, counted here because to ask the hunk for each line takes time that grows with the square.
    let (mut old, mut new) = (0, 0);
    while let Some(&line) = lines.get(at) {
        // Models get the counts wrong, so they decide only where the lines themselves are ambiguous.
        let full = range.is_none_or(|range| old >= range.old && new >= range.new);
        let known = hunk.lines.len();
        let next_file =
            line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "));
        // With a count that is too large, what follows still tells a file from a line that begins like its header.
        let is_last = range.is_some_and(|range| (old + 1, new + 1) == (range.old, range.new));
        let next_file =
            next_file && (full || !is_last && lines.get(at + 2).is_some_and(|line| line.starts_with("@@ -")));
        if line.starts_with("@@") || line.starts_with("diff --git ") || next_file {
            break;
        }
        if range.is_some() && full && is_signature(&lines[at..]) {
            at = lines.len();
            break;
        }
        match line.trim_end_matches('\r').chars().next() {
            // What follows a complete hunk is not part of it.
            None if range.is_some() && full && !goes_on(&lines[at..]) => {}
            // Of a file that is not there yet, there is no context.
            None if range.is_some_and(|range| range.old == 0) => {
                hunk.lines.push(Line::Added(line.to_owned()));
            }
            // Editors and models drop the space of an empty context line.
            None => hunk.lines.push(Line::Context(line.to_owned())),
            Some(' ') => hunk.lines.push(Line::Context(line[1..].to_owned())),
            Some('+') => hunk.lines.push(Line::Added(line[1..].to_owned())),
            Some('-') => hunk.lines.push(Line::Removed(line[1..].to_owned())),
            Some('\\') if is_end_remark(line) => match hunk.lines.last() {
                Some(Line::Added(_)) => hunk.no_newline.1 = true,
                Some(Line::Removed(_)) => hunk.no_newline.0 = true,
                _ => hunk.no_newline = (true, true),
            },
            // Models drop the space of other context lines, too.
            Some(_) if range.is_some() && !full => hunk.lines.push(Line::Bare(line.to_owned())),
            Some(_) => return Err(ParseError::Stray { line: at + 1, text: line.to_owned() }),
        }
        if let Some(line) = hunk.lines.get(known) {
            old += usize::from(!matches!(line, Line::Added(_)));
            new += usize::from(!matches!(line, Line::Removed(_)));
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

/// Returns whether lines of a hunk follow empty ones.
fn goes_on(rest: &[&str]) -> bool {
    const MOST: usize = 16;
    let next = rest.iter().take(MOST).find(|line| !line.trim_end_matches('\r').is_empty());
    next.is_some_and(|line| {
        line.starts_with(['+', '-', ' ']) && !line.starts_with("-- ") && !line.starts_with("--- ")
    })
}

/// Returns whether a line is the remark that the one before it has no newline, which is no line of the file.
pub(super) fn is_end_remark(line: &str) -> bool {
    line.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("\\ no newline"))
}

/// Returns `true` if nothing is left of a patch but the signature that `git format-patch` puts below it.
fn is_signature(rest: &[&str]) -> bool {
    let version = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
    let mut below = rest.iter().skip(1).map(|line| line.trim()).filter(|line| !line.is_empty());
    rest.first().is_some_and(|line| line.trim_end_matches('\r') == "-- ")
        && below.next().is_none_or(version)
        && below.next().is_none()
}

/// Returns where a hunk belongs by the numbers in its header; `None` if it has none.
pub(super) fn numbered(header: &str) -> Option<HunkPosition> {
    let Range { start, old, new_start, new } = Range::parse(header)?;
    Some(HunkPosition::Numbered { old_start: start, new_start, counts: (old, new) })
}

/// Returns where a hunk says that it belongs; without a header of its own, nowhere.
fn place(header: &str) -> HunkPosition {
    if let Some(place) = numbered(header) {
        return place;
    }
    let below = header.strip_prefix("@@").unwrap_or_default().trim_matches(['@', ' ', '\r', '\t']);
    HunkPosition::Anchored {
        below: if below.is_empty() { Vec::new() } else { vec![below.to_owned()] },
        at_end: false,
    }
}

/// Returns whether the text of a hunk's header is a line of the file, and not what some models write in place of numbers: dots, letters
/// such as `-X,Y +X,Y`, or the name of the file.
fn is_anchor(text: &str, file: Option<&str>) -> bool {
    let stands_for_numbers = text
        .split_once(' ')
        .is_some_and(|(old, new)| old.starts_with('-') && new.starts_with('+') && !new.contains(' '));
    let is_file = file.is_some_and(|file| file == text || file.ends_with(&format!("/{text}")));
    text.contains(char::is_alphanumeric) && !stands_for_numbers && !is_file
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
}
