//! Patch application: turns hunks into new content, exactly where possible, otherwise with a little fuzz; otherwise explains
//! why they do not apply.

use super::block::{self, Shift};
use super::hunk::{Hunk, HunkPosition, Side};
use super::image::Image;
use super::parse::Patch;
use super::place::{Agreement, Misplaced};

/// Maximum number of lines shown of what was expected and of what was found.
const SHOWN: usize = 12;

/// Reasons why a patch does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The first hunk that does not match the file.
    #[error("hunk {hunk} of {hunks} does not apply{place}; expected:\n{expected}found:\n{found}")]
    Hunk {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The number of hunks in the patch.
        hunks: usize,
        /// A phrase on where it was looked for; empty if the hunk has no line number.
        place: String,
        /// The lines that the patch expects to find.
        expected: String,
        /// The numbered lines of the file at the most likely place.
        found: String,
    },
    /// A hunk whose lines occur several times in the file, none of them where it says.
    #[error(
        "hunk {hunk} matches in {times} places, at lines {lines}; add lines of context, or correct line numbers"
    )]
    Ambiguous {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// How often its lines occur.
        times: usize,
        /// The first ones of these places, from 1, with commas between them.
        lines: String,
    },
    /// A hunk that only adds lines, and does not say for certain where.
    #[error(
        "hunk {hunk} only adds lines, and their place is not certain; add a line of context before or after them"
    )]
    Uncertain {
        /// The number of the hunk, from 1.
        hunk: usize,
    },
    /// A hunk that adds indented lines beside lines without indentation, in a patch that is indented otherwise than the file.
    #[error(
        "hunk {shifted} is indented otherwise than the file, and hunk {hunk} does not say how its own lines are to be indented; write hunk \
         {shifted} as the file is indented"
    )]
    Unindented {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The number of the one that is indented otherwise.
        shifted: usize,
    },
    /// A hunk in a file that repeats itself so much, or a patch of so many hunks, that the search for it was given up.
    #[error(
        "the search for the place of hunk {hunk} takes too long in this file; make several smaller patches, or use write_file"
    )]
    TooCostly {
        /// The number of the hunk, from 1.
        hunk: usize,
    },
    /// A patch that deletes the file but does not remove all of its lines.
    #[error(
        "the patch deletes the file but leaves lines in it; remove all of them, or use `*** Delete File`"
    )]
    Leftover,
}

/// What a patch makes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new content.
    pub content: String,
    /// How the lines of the patch had to be indented to be those of the file, if they had to.
    pub shift: Option<Shift>,
}

/// Returns the content with the patch applied, or why it does not apply. Lines are compared literally first, then
/// regardless of line ends, then regardless of trailing blanks and a uniform indentation, and at last without the outermost
/// lines of context, where that leaves one place for each hunk.
pub fn apply(content: &str, patch: &Patch) -> Result<Applied, ApplyError> {
    // A patch without any CR says nothing of line ends; neither does one for a file without any, if all of its lines have one.
    let has_lf_alone = content.contains('\n') && !content.contains('\r');
    let says_ends = |hunk: &Hunk| hunk.has_cr() && (!has_lf_alone || hunk.has_lf());
    let as_it_is = patch
        .hunks
        .iter()
        .any(says_ends)
        .then(|| apply_hunks(|| Image::with_line_ends(content), &patch.hunks, Agreement::Exact));
    let applied = match as_it_is {
        Some(Ok(applied)) => applied,
        _ => without_cr(content, &patch.hunks)?,
    };
    if patch.effect.deletes() && !applied.content.is_empty() {
        return Err(ApplyError::Leftover);
    }
    Ok(applied)
}

/// Returns whether a text has lines, and each of them ends in CRLF.
pub fn has_crlf_alone(content: &str) -> bool {
    content.contains('\n')
        && content.match_indices('\n').all(|(at, _)| at > 0 && content.as_bytes().get(at - 1) == Some(&b'\r'))
}

/// Applies hunks regardless of line ends: each line of the file keeps its own.
fn without_cr(content: &str, hunks: &[Hunk]) -> Result<Applied, ApplyError> {
    let hunks: Vec<Hunk> = hunks.iter().map(Hunk::without_cr).collect();
    let by = |agreement: Agreement| apply_hunks(|| Image::new(content), &hunks, agreement);
    // What is said is why the lines are not there as they are written, unless blanks alone keep them from a place.
    let is_telling = |why: &Misplaced| !matches!(why, Misplaced::Missing);
    by(Agreement::Exact)
        .or_else(|failed| by(Agreement::Loose).map_err(|why| if is_telling(&why.why) { why } else { failed }))
        .or_else(|failed| by(Agreement::Fuzzy).map_err(|_| failed))
        .map_err(|unplaced| unplaced.explained(hunks.len()))
}

/// A hunk that has no place.
struct Unplaced<'a> {
    index: usize,
    hunk: &'a Hunk,
    why: Misplaced,
    /// The file with the hunks before it.
    image: Box<Image>,
}

/// Applies hunks one after the other. The error is the first that has no place.
fn apply_hunks(
    image: impl FnOnce() -> Image,
    hunks: &[Hunk],
    agreement: Agreement,
) -> Result<Applied, Unplaced<'_>> {
    let mut image = Box::new(image());
    let (mut flush, mut shifted) = (None, None);
    for (index, hunk) in hunks.iter().enumerate() {
        if let Err(why) = image.put(hunk, agreement) {
            return Err(Unplaced { index, hunk, why, image });
        }
        if std::mem::take(&mut image.is_flush) {
            flush.get_or_insert((index, hunk));
        }
        if image.shift.is_some() {
            shifted.get_or_insert(index);
        }
    }
    if let (Some((index, hunk)), Some(shifted)) = (flush, shifted) {
        return Err(Unplaced { index, hunk, why: Misplaced::Unindented { shifted }, image });
    }
    let by_number = |hunk: &Hunk| stated(hunk).is_some() && hunk.side(Side::Old).is_empty();
    match hunks.iter().enumerate().find(|(_, hunk)| by_number(hunk)) {
        // Nothing says how far its lines have to move, or how they have to be indented.
        Some((index, hunk)) if image.has_drifted() || image.shift.is_some() => {
            Err(Unplaced { index, hunk, why: Misplaced::Uncertain, image })
        }
        _ => Ok(Applied { content: image.text(), shift: image.shift }),
    }
}

/// Returns the line at which a hunk says that it begins.
fn stated(hunk: &Hunk) -> Option<usize> {
    match hunk.place {
        HunkPosition::Numbered { old_start, .. } => Some(old_start),
        HunkPosition::Anchored { .. } => None,
    }
}

impl Unplaced<'_> {
    /// Returns the error for the hunk, with the lines that are most like its own.
    fn explained(self, hunks: usize) -> ApplyError {
        let hunk = self.hunk;
        let number = self.index + 1;
        match self.why {
            Misplaced::Missing => {}
            Misplaced::Ambiguous(places) => {
                let mut lines: Vec<String> =
                    places.iter().take(SHOWN).map(|at| (at + 1).to_string()).collect();
                if places.len() > SHOWN {
                    lines.push("…".to_owned());
                }
                return ApplyError::Ambiguous { hunk: number, times: places.len(), lines: lines.join(", ") };
            }
            Misplaced::Unindented { shifted } => {
                return ApplyError::Unindented { hunk: number, shifted: shifted + 1 };
            }
            Misplaced::Uncertain => return ApplyError::Uncertain { hunk: number },
            Misplaced::TooCostly => return ApplyError::TooCostly { hunk: number },
        }
        let lines: Vec<&str> = self.image.lines.iter().map(String::as_str).collect();
        let wanted = hunk.side(Side::Old);
        // The position of the lines themselves, otherwise of the first that is not blank, otherwise what is most like them, otherwise
        // the header's number.
        let telling = wanted.iter().find(|line| !line.trim().is_empty());
        let first = || telling.and_then(|line| lines.iter().position(|have| have.trim() == line.trim()));
        let whole = block::places(&lines, &wanted).first().map(|place| place.at);
        let near = whole.or_else(first).or_else(|| block::nearest(&lines, &wanted).map(|(at, _)| at));
        let start = near.or(stated(hunk).map(|start| start.saturating_sub(1))).unwrap_or(0);
        let end = (start + wanted.len().min(SHOWN)).min(lines.len());
        let found: String = (lines.get(start..end).unwrap_or_default().iter().enumerate())
            .map(|(index, line)| format!("{:>5} {line}\n", start + index + 1))
            .collect();
        ApplyError::Hunk {
            hunk: number,
            hunks,
            place: self.reason(whole),
            expected: wanted.iter().take(SHOWN).map(|line| format!("      {line}\n")).collect(),
            found: if found.is_empty() {
                format!("      (the file has {} lines)\n", lines.len())
            } else {
                found
            },
        }
    }

    /// Returns a phrase on where a hunk was looked for, or why it is not taken where its lines stand (`whole`).
    fn reason(&self, whole: Option<usize>) -> String {
        let hunk = self.hunk;
        let length = hunk.side(Side::Old).len();
        let is_made =
            |at: usize| self.image.patched.get(at..at + length).is_some_and(|made| made.contains(&true));
        match &hunk.place {
            _ if whole.is_some_and(is_made) => {
                " where an earlier hunk has made its lines; each hunk has the lines that the file had before"
                    .to_owned()
            }
            HunkPosition::Anchored { at_end: true, .. } if whole.is_some() => {
                " at the end of the file: the file goes on behind its lines, so leave out `*** End of File`"
                    .to_owned()
            }
            HunkPosition::Anchored { .. } => String::new(),
            HunkPosition::Numbered { old_start, .. } => format!(" at line {old_start} or anywhere near"),
        }
    }
}
