//! Findings of earlier reviews, each with the place where it is now: lines move, and files get other names.

mod search;

use self::search::Search;
use super::earlier_findings::EarlierFinding;
use super::finding_mark::FindingMark;
use crate::event::Finding;
use crate::git::{Repository, TreeEntry, TreeKind};

/// What stands in a file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// This; what is no text has no lines that a finding was on.
    Bytes(Vec<u8>),
    /// Something without lines: a folder, a submodule, or a link that leads out.
    NoFile,
    /// There is no such file.
    Absent,
    /// Nobody can say.
    Unknown,
}

/// A version of the files of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version<'a> {
    /// That of the commit from which it leads.
    Base,
    /// That of its last commit.
    Head,
    /// That of an earlier commit.
    At(&'a str),
}

impl FileContent {
    /// Reads a file of a commit; the path leads from the repository's root.
    pub fn of(repository: &Repository, commit: &str, path: &str) -> Self {
        let is_there =
            |entry: &TreeEntry| matches!(entry.kind, TreeKind::Folder | TreeKind::Submodule | TreeKind::Link);
        match repository.read_at(commit, path) {
            Ok(Some(content)) => Self::Bytes(content),
            _ => match repository.entry_at(commit, path) {
                Ok(entry) if entry.as_ref().is_some_and(is_there) => Self::NoFile,
                Ok(_) => Self::Absent,
                Err(_) => Self::Unknown,
            },
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
        content: impl Fn(Version<'_>, &str) -> FileContent,
    ) -> Self {
        let mut search = Search::new(content, changed);
        let unplaced = |posted| KnownFinding { posted, place: Place::Gone };
        let mut findings: Vec<KnownFinding> =
            posted.into_iter().filter(EarlierFinding::counts).map(unplaced).collect();
        // Those that are open come first to a line that two could mean, and to each its own file.
        let mut in_turn: Vec<&mut KnownFinding> = findings.iter_mut().collect();
        in_turn.sort_by_key(|known| known.posted.state);
        for known in &mut in_turn {
            known.place = search.own_place(&known.posted.mark);
        }
        for known in in_turn.into_iter().filter(|known| known.place == Place::Gone) {
            known.place = search.other_place(&known.posted.mark);
        }
        Self { findings }
    }

    /// Returns whether a finding is a known one, word for word, at the place where that is now, and no worse.
    pub fn has(&self, mark: &FindingMark) -> bool {
        let is_same = |known: &KnownFinding| {
            let earlier = &known.posted.mark;
            let has_same_line = (&earlier.path, &earlier.text) == (&mark.path, &mark.text);
            let has_no_text = earlier.text.is_none() && mark.text.is_none();
            match &known.place {
                Place::Nowhere => mark.path.is_none(),
                Place::At(line) => {
                    // One about the file as a whole keeps the number that it was given.
                    let is_of_file = has_no_text && earlier.line == mark.line;
                    Some(&line.path) == mark.path.as_ref() && (line.number == mark.line || is_of_file)
                }
                Place::Unknown => has_same_line,
                // What was at the head once is gone; what only a merge has, is not to be listed again.
                Place::Gone => known.posted.is_listed() && earlier.commit.is_none() && has_same_line,
            }
        };
        let says_it = |known: &KnownFinding| {
            let earlier = &known.posted.mark;
            earlier.words == mark.words && mark.severity <= earlier.severity
        };
        self.findings.iter().any(|known| says_it(known) && is_same(known))
    }
}

/// Returns the line of a file that says `text` and is the nearest to a number, with its number.
pub(super) fn nearest(content: &str, text: &str, number: u32) -> Option<u32> {
    let of = |line: &str| FindingMark::text_of(&Finding::place_of(line));
    let text = FindingMark::text_of(text)?;
    let lines = (1..).zip(content.lines()).filter(|(_, line)| of(line).as_ref() == Some(&text));
    lines.map(|(line, _)| line).min_by_key(|line| number.abs_diff(*line))
}

#[cfg(test)]
mod tests;
