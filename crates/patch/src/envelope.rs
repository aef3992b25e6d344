//! The `*** Begin Patch` format: files named by marks, hunks found by their lines.

use super::header::{Existence, Header, Name};
use super::hunk::{Hunk, HunkPosition, Line};
use super::parse::{ParseError, Section};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const UPDATE: &str = "*** Update File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";
/// Names the machine that a patch is for, where a model works on several.
const ENVIRONMENT: &str = "*** Environment ID:";

/// Returns whether a text is in this format.
pub(super) fn is_envelope(text: &str) -> bool {
    let marks = [BEGIN, ADD, UPDATE, DELETE];
    text.lines().take(5).any(|line| marks.iter().any(|mark| line.trim_start().starts_with(mark)))
}

/// Parses one patch or several. What precedes the first mark and follows the last, as in a shell's here-document, is ignored
/// unless it may be part of a patch.
pub(super) fn parse(text: &str) -> Result<Vec<Section>, ParseError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut file: Option<File> = None;
    let has_end = text.lines().any(|line| line.trim_end() == END);
    for (index, line) in text.lines().enumerate() {
        let mark = line.trim_end();
        let starts = |mark: &str| line.strip_prefix(mark).map(|name| name.trim().to_owned());
        let named = |name: String| Some(Name::File(name));
        let next = if let Some(name) = starts(ADD) {
            Some(Header { old: Some(Name::Nothing), new: named(name), ..Header::default() })
        } else if let Some(name) = starts(DELETE) {
            let existence = Some(Existence::Discarded);
            Some(Header { old: named(name), new: Some(Name::Nothing), existence, ..Header::default() })
        } else {
            starts(UPDATE).map(|name| Header {
                old: named(name.clone()),
                new: named(name),
                ..Header::default()
            })
        };
        if let Some(header) = next {
            sections.extend(file.take().map(File::finished).transpose()?);
            file = Some(File { header, hunks: Vec::new(), is_marked: None });
        } else if mark == END {
            sections.extend(file.take().map(File::finished).transpose()?);
        } else if let Some(last) = mark.strip_suffix(END).filter(|_| !has_end) {
            // The mark behind the last line.
            let read = file.take().map(|mut file| file.line(last).map(|()| file.finished()));
            let read = read.transpose().map_err(|()| stray(index, line))?;
            sections.extend(read.transpose()?);
        } else {
            let read = match &mut file {
                Some(file) => file.line(line),
                None if is_outside(mark) => Ok(()),
                None => Err(()),
            };
            read.map_err(|()| stray(index, line))?;
        }
    }
    sections.extend(file.map(File::finished).transpose()?);
    if sections.is_empty() { Err(ParseError::NoHunk) } else { Ok(sections) }
}

fn stray(index: usize, line: &str) -> ParseError {
    ParseError::Stray { line: index + 1, text: line.to_owned() }
}

/// Returns `true` if a line outside of the files' parts is none of a patch.
fn is_outside(line: &str) -> bool {
    let of_patch = ["***", "@@", "diff ", "--- ", "+++ "];
    line == BEGIN || line.starts_with(ENVIRONMENT) || !of_patch.iter().any(|start| line.starts_with(start))
}

struct File {
    header: Header,
    hunks: Vec<Hunk>,
    /// Whether the lines of a new file have a `+` before them, which some models leave out.
    is_marked: Option<bool>,
}

impl File {
    /// Reads a line of the file's part. Fails if it belongs to nothing.
    fn line(&mut self, line: &str) -> Result<(), ()> {
        if let Some(name) = line.strip_prefix(MOVE) {
            // Only a file that is changed can be moved, and only once.
            return match (&self.header.old, &self.header.new, &self.header.renamed) {
                (Some(Name::File(old)), Some(Name::File(_)), None) => {
                    let to = name.trim().to_owned();
                    self.header.renamed = Some((old.clone(), to.clone()));
                    self.header.new = Some(Name::File(to));
                    Ok(())
                }
                _ => Err(()),
            };
        }
        if line.trim_end() == END_OF_FILE {
            if let Some(Hunk { place: HunkPosition::Anchored { at_end, .. }, .. }) = self.hunks.last_mut() {
                *at_end = true;
            }
            return Ok(());
        }
        if let Some(anchor) = line.strip_prefix("@@").filter(|_| self.is_marked != Some(false)) {
            let anchor = anchor.trim().trim_end_matches("@@").trim().to_owned();
            self.anchor(anchor);
            return Ok(());
        }
        let line = match line.chars().next() {
            Some(first) if self.is_new() && first != '\\' => {
                let is_marked = first == '+';
                if *self.is_marked.get_or_insert(is_marked) != is_marked {
                    return Err(());
                }
                Line::Added(line.strip_prefix('+').unwrap_or(line).to_owned())
            }
            Some('+') => Line::Added(line[1..].to_owned()),
            Some('-') => Line::Removed(line[1..].to_owned()),
            Some(' ') => Line::Context(line[1..].to_owned()),
            None => Line::Context(String::new()),
            Some('\\') => return Ok(()),
            Some(_) => return Err(()),
        };
        if self.hunks.is_empty() {
            self.anchor(String::new());
        }
        if let Some(hunk) = self.hunks.last_mut() {
            hunk.lines.push(line);
        }
        Ok(())
    }

    fn is_new(&self) -> bool {
        self.header.old == Some(Name::Nothing)
    }

    /// Begins a hunk below an anchor. Anchors that follow each other are of one hunk.
    fn anchor(&mut self, anchor: String) {
        if self.hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
            let place = HunkPosition::Anchored { below: Vec::new(), at_end: false };
            self.hunks.push(Hunk { place, lines: Vec::new(), no_newline: (false, false) });
        }
        if let Some(Hunk { place: HunkPosition::Anchored { below, .. }, .. }) = self.hunks.last_mut()
            && !anchor.is_empty()
        {
            below.push(anchor);
        }
    }

    /// Ends the file's part. Blank lines at the end of a hunk separate it from what follows.
    fn finished(mut self) -> Result<Section, ParseError> {
        for hunk in &mut self.hunks {
            while matches!(hunk.lines.last(), Some(Line::Context(text)) if text.is_empty()) {
                hunk.lines.pop();
            }
        }
        self.hunks.retain(|hunk| !hunk.lines.is_empty());
        if self.is_new() {
            // The whole file, whatever hunks it is written in.
            let lines = self.hunks.into_iter().flat_map(|hunk| hunk.lines).map(|line| match line {
                // A blank line between others.
                Line::Context(text) => Line::Added(text),
                line => line,
            });
            let lines: Vec<Line> = lines.collect();
            let place = HunkPosition::Anchored { below: Vec::new(), at_end: true };
            let whole = Hunk { place, lines, no_newline: (false, false) };
            self.hunks = if whole.lines.is_empty() { Vec::new() } else { vec![whole] };
        }
        let is_update = self.header.old.is_some() && self.header.old == self.header.new;
        if is_update && self.hunks.is_empty() && self.header.renamed.is_none() {
            return Err(ParseError::EmptyHunk(1));
        }
        Section::new(self.header, self.hunks)
    }
}
