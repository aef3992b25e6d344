//! The `*** Begin Patch` format: files named by marks, hunks found by their lines.

use super::header::{Existence, Header, Name};
use super::hunk::{Hunk, HunkPosition, Line};
use super::parse::{ParseError, Section, is_end_remark, numbered};

const END: &str = "*** End Patch";

/// Line of the format itself, between the lines of files.
enum Mark {
    Begin,
    End,
    EndOfFile,
    /// Names the machine that a patch is for, where a model works on several.
    Environment,
    Add(String),
    Update(String),
    Delete(String),
    MoveTo(String),
}

impl Mark {
    /// Reads a mark, whose words and asterisks some models vary.
    fn read(line: &str) -> Option<Self> {
        let text = line.strip_prefix("***").or_else(|| line.strip_prefix("** "))?;
        let text = text.trim().trim_end_matches("***").trim_end();
        match text.to_ascii_lowercase().as_str() {
            "begin patch" => return Some(Self::Begin),
            "end patch" => return Some(Self::End),
            "end of file" => return Some(Self::EndOfFile),
            _ => {}
        }
        let (words, name) = text.split_once(':')?;
        let name = name.trim().to_owned();
        match words.trim_end().to_ascii_lowercase().as_str() {
            "environment id" => Some(Self::Environment),
            "move to" | "rename to" => Some(Self::MoveTo(name)),
            "add file" | "create file" | "new file" => Some(Self::Add(name)),
            "update file" | "modify file" | "edit file" | "change file" => Some(Self::Update(name)),
            "delete file" | "remove file" => Some(Self::Delete(name)),
            _ => None,
        }
    }
}

/// Returns whether a text is in this format.
pub(super) fn is_envelope(text: &str) -> bool {
    let begins = |mark: Mark| matches!(mark, Mark::Begin | Mark::Add(_) | Mark::Update(_) | Mark::Delete(_));
    let is_diff = |line: &&str| ["--- ", "+++ ", "diff "].iter().any(|start| line.starts_with(start));
    let mut first = text.lines().take(5).take_while(|line| !is_diff(line));
    first.any(|line| Mark::read(line.trim_start()).is_some_and(begins))
}

/// Returns whether the last patch of a text in this format has the mark of its beginning and none of its end.
pub fn lacks_end(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let last = |is_meant: &dyn Fn(&str) -> bool| lines.iter().rposition(|line| is_meant(line));
    let begin = last(&|line| matches!(Mark::read(line), Some(Mark::Begin)));
    let end = last(&|line| matches!(Mark::read(line), Some(Mark::End)) || line.trim_end().ends_with(END));
    begin.is_some() && begin > end
}

/// Parses one patch or several. What precedes the first mark and follows the last, as in a shell's here-document, is ignored
/// unless it may be part of a patch.
pub(super) fn parse(text: &str) -> Result<Vec<Section>, ParseError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut file: Option<File> = None;
    let lines: Vec<&str> = text.split('\n').collect();
    // A text that ends in a newline has one more, empty, piece.
    let lines = lines.strip_suffix(&[""]).unwrap_or(&lines);
    // Where the marks have it as well, it is of the transport.
    let is_crlf = lines.iter().all(|line| line.ends_with('\r') || *line == END);
    let lines: Vec<&str> =
        lines.iter().map(|line| if is_crlf { line.trim_end_matches('\r') } else { line }).collect();
    let has_end = lines.iter().any(|line| matches!(Mark::read(line), Some(Mark::End)));
    for (index, line) in lines.iter().copied().enumerate() {
        // Among lines that have no sign before them, a mark has to be written by rule.
        let is_text = file.as_ref().is_some_and(|file| file.is_marked == Some(false));
        let read = Mark::read(line).filter(|_| !is_text || line.starts_with("*** "));
        let named = |name: &str| Some(Name::File(name.to_owned()));
        let of_marks = || Header { is_of_marks: true, ..Header::default() };
        let next = match &read {
            Some(Mark::Add(name)) => {
                Some(Header { old: Some(Name::Nothing), new: named(name), ..of_marks() })
            }
            Some(Mark::Delete(name)) => {
                let existence = Some(Existence::Discarded);
                Some(Header { old: named(name), new: Some(Name::Nothing), existence, ..of_marks() })
            }
            Some(Mark::Update(name)) => Some(Header { old: named(name), new: named(name), ..of_marks() }),
            _ => None,
        };
        if let Some(header) = next {
            sections.extend(file.take().map(File::finished).transpose()?);
            file = Some(File { header, hunks: Vec::new(), is_marked: None, empty: 0 });
        } else if matches!(read, Some(Mark::End)) {
            if let Some(next) = text_before_end(&lines[index + 1..]) {
                let next = index + 1 + next;
                return Err(stray(next, lines[next]));
            }
            sections.extend(file.take().map(File::finished).transpose()?);
        } else if let Some(last) = line.trim_end().strip_suffix(END).filter(|_| !has_end) {
            // The mark behind the last line.
            let read = file.take().map(|mut file| file.line(last, None).map(|()| file.finished()));
            let read = read.transpose().map_err(|()| stray(index, line))?;
            sections.extend(read.transpose()?);
        } else {
            let read = match &mut file {
                Some(file) => file.line(line, read.as_ref()),
                None if is_outside(line, read.as_ref()) => Ok(()),
                None => Err(()),
            };
            read.map_err(|()| stray(index, line))?;
        }
    }
    sections.extend(file.map(File::finished).transpose()?);
    if sections.is_empty() { Err(ParseError::NoHunk) } else { Ok(sections) }
}

/// Returns the index of the first of the lines behind a patch that is neither empty nor a mark, if the next mark is the end of a patch
/// again: one of the two ends was meant as text.
fn text_before_end(behind: &[&str]) -> Option<usize> {
    let next = behind.iter().position(|line| Mark::read(line).is_some())?;
    let is_end = matches!(Mark::read(behind[next]), Some(Mark::End));
    behind[..next].iter().position(|line| !line.trim().is_empty()).filter(|_| is_end)
}

fn stray(index: usize, line: &str) -> ParseError {
    ParseError::Stray { line: index + 1, text: line.to_owned() }
}

/// Returns `true` if a line outside of the files' parts is none of a patch.
fn is_outside(line: &str, mark: Option<&Mark>) -> bool {
    let of_patch = ["***", "@@", "diff ", "--- ", "+++ "];
    matches!(mark, Some(Mark::Begin | Mark::Environment))
        || !of_patch.iter().any(|start| line.starts_with(start))
}

struct File {
    header: Header,
    hunks: Vec<Hunk>,
    /// Whether the lines of a new file have a `+` before them, which some models leave out.
    is_marked: Option<bool>,
    /// Number of empty lines, without even the blank of a context line, that have been read behind the last line of the hunk.
    empty: usize,
}

impl File {
    /// Reads a line of the file's part. Fails if it belongs to nothing.
    fn line(&mut self, line: &str, mark: Option<&Mark>) -> Result<(), ()> {
        if let Some(Mark::MoveTo(name)) = mark {
            // Only a file that is changed can be moved, and only once.
            return match (&self.header.old, &self.header.new, &self.header.renamed) {
                (Some(Name::File(old)), Some(Name::File(_)), None) => {
                    self.header.renamed = Some((old.clone(), name.clone()));
                    self.header.new = Some(Name::File(name.clone()));
                    Ok(())
                }
                _ => Err(()),
            };
        }
        if matches!(mark, Some(Mark::EndOfFile)) {
            if let Some(Hunk { place: HunkPosition::Anchored { at_end, .. }, .. }) = self.hunks.last_mut() {
                *at_end = true;
            }
            return Ok(());
        }
        if let Some(anchor) = line.strip_prefix("@@").filter(|_| self.is_marked != Some(false)) {
            if let Some(place) = numbered(line).filter(|_| !self.is_new()) {
                self.hunks.retain(|hunk| !hunk.lines.is_empty());
                self.empty = 0;
                self.hunks.push(Hunk { place, lines: Vec::new(), no_newline: (false, false) });
                return Ok(());
            }
            let anchor = anchor.trim().trim_end_matches("@@").trim().to_owned();
            self.anchor(anchor);
            return Ok(());
        }
        let line = match line.trim_end_matches('\r').chars().next() {
            Some('\\') if is_end_remark(line) => return Ok(()),
            Some(first) if self.is_new() => {
                let is_marked = first == '+';
                // What looks like the header of a hunk may be the first line of the text.
                if !is_marked && self.is_marked.is_none() && !self.hunks.is_empty() {
                    return Err(());
                }
                if *self.is_marked.get_or_insert(is_marked) != is_marked {
                    return Err(());
                }
                Line::Added(line.strip_prefix('+').unwrap_or(line).to_owned())
            }
            Some('+') => Line::Added(line[1..].to_owned()),
            Some('-') => Line::Removed(line[1..].to_owned()),
            Some(' ') => Line::Context(line[1..].to_owned()),
            Some('\t') => Line::Bare(line.to_owned()),
            None => {
                self.empty += 1;
                return Ok(());
            }
            Some(_) => return Err(()),
        };
        if self.hunks.is_empty() {
            self.anchor(String::new());
        }
        if let Some(hunk) = self.hunks.last_mut() {
            hunk.lines.extend(std::iter::repeat_n(Line::Context(String::new()), self.empty));
            hunk.lines.push(line);
        }
        self.empty = 0;
        Ok(())
    }

    fn is_new(&self) -> bool {
        self.header.old == Some(Name::Nothing)
    }

    /// Begins a hunk below an anchor. Anchors that follow each other are of one hunk.
    fn anchor(&mut self, anchor: String) {
        self.empty = 0;
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

    /// Ends the file's part. Empty lines at the end of a hunk separate it from what follows.
    fn finished(mut self) -> Result<Section, ParseError> {
        let says_something = |line: &Line| !matches!(line, Line::Context(text) if text.is_empty());
        self.hunks.retain(|hunk| hunk.lines.iter().any(says_something));
        if self.is_new() {
            // The whole file, whatever hunks it is written in.
            let lines = self.hunks.into_iter().flat_map(|hunk| hunk.lines).map(|line| match line {
                // A blank line between others.
                Line::Context(text) | Line::Bare(text) => Line::Added(text),
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
