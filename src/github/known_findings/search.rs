//! The search for the lines of findings: in their own files, through what has changed since, and in others, to which they may have
//! moved.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use workspace::LineMap;

use super::{FileContent, Line, Place, Version};
use crate::event::{Finding, Severity};
use crate::github::finding_mark::FindingMark;

/// Fewest letters and digits of a line that is recognized in another file, although its own file is still there.
const MIN_SIGNS: usize = 8;

/// Most bytes of a file whose versions are compared.
const MAX_COMPARED: usize = 2 * 1024 * 1024;

/// The search for the places of findings.
pub(super) struct Search<'a, F> {
    content: F,
    /// Those of the head that have been read.
    head: HashMap<String, Rc<Lines>>,
    changed: &'a [String],
    /// Lines at which findings with these words, so severe, have been found: two findings that say the same are on two lines.
    taken: HashSet<(String, u32, String, Severity)>,
}

impl<'a, F: Fn(Version<'_>, &str) -> FileContent> Search<'a, F> {
    pub(super) fn new(content: F, changed: &'a [String]) -> Self {
        Self { content, head: HashMap::new(), changed, taken: HashSet::new() }
    }

    /// Looks for a finding in the file that it was in.
    pub(super) fn own_place(&mut self, mark: &FindingMark) -> Place {
        let Some(path) = &mark.path else { return Place::Nowhere };
        match &*self.lines(path) {
            Lines::Unknown => Place::Unknown,
            Lines::Known(lines) => {
                let is_possible = self.line_map(mark, path);
                self.place_in(path, lines, mark, is_possible).unwrap_or(Place::Gone)
            }
            Lines::Absent => Place::Gone,
        }
    }

    /// Looks for a finding in the other files that the pull request changes: to one of them, its line may have moved.
    pub(super) fn other_place(&mut self, mark: &FindingMark) -> Place {
        let Some(text) = &mark.text else { return Place::Gone };
        let own = mark.path.as_deref().unwrap_or_default();
        let least = if matches!(*self.lines(own), Lines::Absent) { 1 } else { MIN_SIGNS };
        let mut place = Place::Gone;
        for other in self.changed.iter().filter(|other| *other != own) {
            match &*self.lines(other) {
                Lines::Known(lines) => {
                    let is_meant = |line: &HashedLine| {
                        let signs = line.text.chars().filter(|sign| sign.is_alphanumeric());
                        line.hash.as_ref() == Some(text) && signs.count() >= least
                    };
                    // What stood there before has not moved there.
                    if !lines.iter().any(is_meant) || self.had(other, text, mark) {
                        continue;
                    }
                    let is_possible = self.line_map(mark, other);
                    if let Some(found) = self.place_in(other, lines, mark, is_possible) {
                        return found;
                    }
                }
                Lines::Absent => {}
                Lines::Unknown => place = Place::Unknown,
            }
        }
        place
    }

    /// Returns whether a file had a line before the pull request, or when the finding was posted.
    fn had(&self, path: &str, text: &str, mark: &FindingMark) -> bool {
        let has = |line: &HashedLine| line.hash.as_deref() == Some(text);
        let had = |version| {
            let content = (self.content)(version, path);
            matches!(content, FileContent::Bytes(bytes) if hashed(&bytes).iter().any(has))
        };
        had(Version::Base) || mark.commit.as_deref().is_some_and(|commit| had(Version::At(commit)))
    }

    /// Returns which lines of a file can be that of a finding: the one that it has become since, or if it has been removed, a new
    /// one. Where nobody can say what the finding's file was, all can.
    fn line_map(&self, mark: &FindingMark, path: &str) -> impl Fn(u32) -> bool + use<F> {
        let version = |version, path: &str| match (self.content)(version, path) {
            FileContent::Bytes(bytes) if bytes.len() <= MAX_COMPARED => Some(bytes),
            _ => None,
        };
        let was = mark.commit.as_deref().zip(mark.path.as_deref());
        let line = mark.line.saturating_sub(1);
        // People can edit the line and the commit.
        let is_right =
            |bytes: &Vec<u8>| hashed(bytes).get(line as usize).is_some_and(|found| found.hash == mark.text);
        let before = was.and_then(|(commit, path)| version(Version::At(commit), path)).filter(is_right);
        let map =
            before.zip(version(Version::Head, path)).map(|(before, after)| LineMap::of(&before, &after));
        move |number| match &map {
            None => true,
            Some(map) => match map.kept(line) {
                Some(kept) => kept + 1 == number,
                None => map.is_new(number - 1),
            },
        }
    }

    /// Returns the place of a finding within a file: of the lines that are possible, the nearest to where it was.
    fn place_in(
        &mut self,
        path: &str,
        lines: &[HashedLine],
        mark: &FindingMark,
        is_possible: impl Fn(u32) -> bool,
    ) -> Option<Place> {
        let at = |number: u32, text: &str| {
            Place::At(Line { path: path.to_owned(), number, text: text.to_owned() })
        };
        if mark.text.is_none() {
            // It is about the file as a whole.
            let number = mark.line.min(u32::try_from(lines.len()).unwrap_or(u32::MAX)).max(1);
            let text = lines.get(number as usize - 1).map_or("", |line| &line.text);
            return Some(at(number, text));
        }
        let key = |number: u32| (path.to_owned(), number, mark.words.clone(), mark.severity);
        let free = (1..).zip(lines).filter(|(number, line)| {
            line.hash == mark.text && is_possible(*number) && !self.taken.contains(&key(*number))
        });
        let (number, line) = free.min_by_key(|(number, _)| mark.line.abs_diff(*number))?;
        self.taken.insert(key(number));
        Some(at(number, &line.text))
    }

    fn lines(&mut self, path: &str) -> Rc<Lines> {
        if let Some(lines) = self.head.get(path) {
            return Rc::clone(lines);
        }
        let lines = Rc::new(match (self.content)(Version::Head, path) {
            FileContent::Absent => Lines::Absent,
            FileContent::Unknown => Lines::Unknown,
            // A finding about it stays as long as it is there.
            FileContent::NoFile => Lines::Known(Vec::new()),
            FileContent::Bytes(bytes) => Lines::Known(hashed(&bytes)),
        });
        self.head.insert(path.to_owned(), Rc::clone(&lines));
        lines
    }
}

fn hashed(bytes: &[u8]) -> Vec<HashedLine> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(Finding::place_of);
    lines.map(|text| HashedLine { hash: FindingMark::text_of(&text), text }).collect()
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
