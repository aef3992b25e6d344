//! Findings of earlier reviews, each with the place where it is now: lines move, and files get other names.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::earlier_findings::EarlierFinding;
use super::finding_mark::FindingMark;
use crate::event::Finding;
use crate::git::Repository;

/// Fewest letters and digits of a line that is recognized in another file, although its own file is still there.
const MIN_SIGNS: usize = 8;

/// What stands in a file at the head of the pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadContent {
    /// This; what is no text has no lines that a finding was on.
    Bytes(Vec<u8>),
    /// There is no such file.
    Absent,
    /// Nobody can say.
    Unknown,
}

impl HeadContent {
    /// Reads a file of a commit; the path leads from the repository's root.
    pub fn of(repository: &Repository, commit: &str, path: &str) -> Self {
        match repository.read_at(commit, path) {
            Ok(Some(content)) => Self::Bytes(content),
            // A submodule is there as well.
            Ok(None) if matches!(repository.entry_at(commit, path), Ok(None)) => Self::Absent,
            _ => Self::Unknown,
        }
    }
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is about no file.
    Nowhere,
    /// On this line.
    At(Line),
    /// Nobody can say.
    Unknown,
    /// Nowhere any more: its line is no longer there.
    Gone,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The path from the repository's root.
    pub path: String,
    /// From 1.
    pub number: u32,
    /// What it says, as [`Finding::place_of`] gives it.
    pub text: String,
}

/// A finding of an earlier review, unless we have taken it back.
pub struct KnownFinding {
    /// What was posted.
    pub posted: EarlierFinding,
    /// Where it is now.
    pub place: Place,
}

/// All findings of earlier reviews that we have not taken back.
pub struct KnownFindings {
    /// In the order in which they were posted.
    pub findings: Vec<KnownFinding>,
}

impl KnownFindings {
    /// Finds the places of findings. `changed` are the files that the pull request changes, from the repository's root; `content`
    /// returns what a file contains.
    pub fn locate(
        posted: Vec<EarlierFinding>,
        changed: &[String],
        content: impl Fn(&str) -> HeadContent,
    ) -> Self {
        let mut search = Search { content, files: HashMap::new(), changed, taken: HashSet::new() };
        let known = |posted: EarlierFinding| KnownFinding { place: search.place_of(&posted.mark), posted };
        Self { findings: posted.into_iter().filter(EarlierFinding::counts).map(known).collect() }
    }

    /// Returns whether a finding is a known one, word for word, at the place where that is now.
    pub fn has(&self, mark: &FindingMark) -> bool {
        let is_same = |known: &KnownFinding| {
            let earlier = &known.posted.mark;
            let has_same_line = (&earlier.path, &earlier.text) == (&mark.path, &mark.text);
            match &known.place {
                Place::Nowhere => mark.path.is_none(),
                Place::At(line) => {
                    let is_of_file = earlier.text.is_none() && mark.text.is_none();
                    Some(&line.path) == mark.path.as_ref() && (line.number == mark.line || is_of_file)
                }
                Place::Unknown => has_same_line,
                // A thread will be resolved, so that the finding has to be posted again.
                Place::Gone => known.posted.is_listed() && has_same_line,
            }
        };
        self.findings.iter().any(|known| known.posted.mark.words == mark.words && is_same(known))
    }
}

/// Returns the line of a file that says `text` and is the nearest to a number, with its number.
pub(super) fn nearest(content: &str, text: &str, number: u32) -> Option<u32> {
    let of = |line: &str| FindingMark::text_of(&Finding::place_of(line));
    let text = FindingMark::text_of(text)?;
    let lines = (1..).zip(content.lines()).filter(|(_, line)| of(line).as_ref() == Some(&text));
    lines.map(|(line, _)| line).min_by_key(|line| number.abs_diff(*line))
}

struct Search<'a, F> {
    content: F,
    /// Those that have been read.
    files: HashMap<String, Rc<Lines>>,
    changed: &'a [String],
    /// Lines at which findings with these words have been found: two findings that say the same are on two lines.
    taken: HashSet<(String, u32, String)>,
}

impl<F: Fn(&str) -> HeadContent> Search<'_, F> {
    fn place_of(&mut self, mark: &FindingMark) -> Place {
        let Some(path) = &mark.path else { return Place::Nowhere };
        let own = self.lines(path);
        let least = match &*own {
            Lines::Unknown => return Place::Unknown,
            Lines::Known(lines) => {
                if let Some(place) = self.place_in(path, lines, mark) {
                    return place;
                }
                MIN_SIGNS
            }
            Lines::Absent => 1,
        };
        let mut is_certain = true;
        for other in self.changed.iter().filter(|other| *other != path) {
            match &*self.lines(other) {
                Lines::Known(lines) => {
                    let is_meant = |line: &HashedLine| {
                        line.hash == mark.text
                            && line.text.chars().filter(|sign| sign.is_alphanumeric()).count() >= least
                    };
                    let is_there = mark.text.is_some() && lines.iter().any(is_meant);
                    if let Some(place) = is_there.then(|| self.place_in(other, lines, mark)).flatten() {
                        return place;
                    }
                }
                Lines::Absent => {}
                Lines::Unknown => is_certain = false,
            }
        }
        if is_certain { Place::Gone } else { Place::Unknown }
    }

    /// Returns the place of a finding within a file, the nearest to where it was.
    fn place_in(&mut self, path: &str, lines: &[HashedLine], mark: &FindingMark) -> Option<Place> {
        let at = |number: u32, text: &str| {
            Place::At(Line { path: path.to_owned(), number, text: text.to_owned() })
        };
        if mark.text.is_none() {
            // It is about the file as a whole.
            let number = mark.line.min(u32::try_from(lines.len()).unwrap_or(u32::MAX)).max(1);
            let text = lines.get(number as usize - 1).map_or("", |line| &line.text);
            return Some(at(number, text));
        }
        let key = |number: u32| (path.to_owned(), number, mark.words.clone());
        let free = (1..)
            .zip(lines)
            .filter(|(number, line)| line.hash == mark.text && !self.taken.contains(&key(*number)));
        let (number, line) = free.min_by_key(|(number, _)| mark.line.abs_diff(*number))?;
        self.taken.insert(key(number));
        Some(at(number, &line.text))
    }

    fn lines(&mut self, path: &str) -> Rc<Lines> {
        if let Some(lines) = self.files.get(path) {
            return Rc::clone(lines);
        }
        let lines = Rc::new(match (self.content)(path) {
            HeadContent::Absent => Lines::Absent,
            HeadContent::Unknown => Lines::Unknown,
            HeadContent::Bytes(bytes) => {
                let texts = String::from_utf8_lossy(&bytes);
                let texts = texts.lines().map(Finding::place_of);
                Lines::Known(
                    texts.map(|text| HashedLine { hash: FindingMark::text_of(&text), text }).collect(),
                )
            }
        });
        self.files.insert(path.to_owned(), Rc::clone(&lines));
        lines
    }
}

enum Lines {
    Known(Vec<HashedLine>),
    Absent,
    Unknown,
}

struct HashedLine {
    text: String,
    hash: Option<String>,
}

#[cfg(test)]
mod tests;
