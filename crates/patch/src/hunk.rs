//! Hunks: the contiguous changes that a patch makes to a file, and where they say that they belong.

/// A line of a hunk, without its LF but with the CR of a CRLF ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line on both sides.
    Context(String),
    /// A line on both sides that stands in the patch without the sign before it.
    Bare(String),
    /// A line of the old side only.
    Removed(String),
    /// A line of the new side only.
    Added(String),
}

impl Line {
    pub(super) fn text(&self) -> &str {
        let (Self::Context(text) | Self::Bare(text) | Self::Removed(text) | Self::Added(text)) = self;
        text
    }

    pub(super) fn is_context(&self) -> bool {
        matches!(self, Self::Context(_) | Self::Bare(_))
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
        /// Number of lines of the old and of the new file that the header says it has.
        counts: (usize, usize),
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
    /// Returns whether a line of it ends in CR.
    pub(super) fn has_cr(&self) -> bool {
        self.lines.iter().any(|line| line.text().ends_with('\r'))
    }

    /// Returns whether a line of it does not end in CR.
    pub(super) fn has_lf(&self) -> bool {
        self.lines.iter().any(|line| !line.text().ends_with('\r'))
    }

    /// Returns whether a line of its context says something, as braces and blank lines do not.
    pub(super) fn has_telling_context(&self) -> bool {
        self.lines.iter().any(|line| line.is_context() && line.text().contains(char::is_alphanumeric))
    }

    /// Returns the hunk as it is meant if none of its lines of context has its sign: the first blank of their indentation was taken for
    /// it.
    pub(super) fn with_bare_context(&self) -> Self {
        let lines = self.lines.iter().map(|line| match line {
            Line::Context(text) if !text.is_empty() => Line::Bare(format!(" {text}")),
            line => line.clone(),
        });
        Self { place: self.place.clone(), lines: lines.collect(), ..*self }
    }

    /// Returns the hunk with the CR of CRLF endings removed.
    pub(super) fn without_cr(&self) -> Self {
        self.with_lines(&|text| text.trim_end_matches('\r'))
    }

    /// Returns the hunk with a part of the text of each line.
    #[must_use]
    pub fn with_lines(&self, part: &dyn Fn(&str) -> &str) -> Self {
        let lines = self.lines.iter().map(|line| match line {
            Line::Context(text) => Line::Context(part(text).to_owned()),
            Line::Bare(text) => Line::Bare(part(text).to_owned()),
            Line::Removed(text) => Line::Removed(part(text).to_owned()),
            Line::Added(text) => Line::Added(part(text).to_owned()),
        });
        Self { lines: lines.collect(), ..self.clone() }
    }

    /// Returns the hunk without so many lines of context at its start and its end, as far as it begins and ends with context, and how
    /// many are gone at its start; `None` if nothing else of the old side would be left, or if the end of the file is among them.
    pub(super) fn without_outer_context(&self, lines: usize) -> Option<(Self, usize)> {
        let is_context = |line: &&Line| line.is_context();
        let leading = self.lines.iter().take(lines).take_while(is_context).count();
        let inner = &self.lines[leading..];
        let trailing = inner.iter().rev().take(lines).take_while(is_context).count();
        if trailing > 0 && (self.no_newline.0 || self.no_newline.1) {
            return None;
        }
        let place = match &self.place {
            HunkPosition::Numbered { old_start, new_start, counts } => HunkPosition::Numbered {
                old_start: old_start + leading,
                new_start: new_start + leading,
                counts: *counts,
            },
            anchored @ HunkPosition::Anchored { .. } => anchored.clone(),
        };
        let inner = inner[..inner.len() - trailing].to_vec();
        let hunk = Self { place, lines: inner, no_newline: self.no_newline };
        (leading + trailing > 0 && !hunk.side(Side::Old).is_empty()).then_some((hunk, leading))
    }

    /// Returns whether the hunk removes nothing.
    pub(super) fn only_adds(&self) -> bool {
        !self.lines.iter().any(|line| matches!(line, Line::Removed(_)))
    }

    /// Returns whether the hunk has lines that stay.
    pub(super) fn has_context(&self) -> bool {
        self.lines.iter().any(Line::is_context)
    }

    /// Returns `true` if there are more lines than the header says.
    pub fn exceeds_counts(&self) -> bool {
        match self.place {
            HunkPosition::Numbered { counts: (old, new), .. } => {
                self.side(Side::Old).len() > old || self.side(Side::New).len() > new
            }
            HunkPosition::Anchored { .. } => false,
        }
    }

    /// Returns `true` if the hunk ends with lines that it removes, and more lines of the new side are missing than of the old one: those
    /// of the context would be missing on both. If the text is open, it ends within the last line; one that is added may be in the
    /// midst of others, and be the last that is not context.
    pub fn lacks_added_lines(&self, is_open: bool) -> bool {
        let HunkPosition::Numbered { counts: (old, new), .. } = self.place else { return false };
        let missing = |count: usize, side: Side| count.saturating_sub(self.side(side).len());
        let (old, new) = (missing(old, Side::Old), missing(new, Side::New));
        match self.lines.last() {
            Some(Line::Removed(_)) => new > old,
            Some(Line::Added(_)) => is_open && new > 0 && new >= old,
            _ => false,
        }
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
