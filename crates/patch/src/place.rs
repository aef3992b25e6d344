//! Placement of hunks: where in a file each belongs. What Git would accept lands where Git puts it; beyond that, a hunk
//! is taken only if there is one place for it.

use super::block;
use super::parse::{Hunk, HunkPosition, Line, Side};

/// File as it is while hunks are put into it.
pub(super) struct Image {
    lines: Vec<String>,
    /// Whether a line is the result of an earlier hunk.
    patched: Vec<bool>,
    ends_in_newline: bool,
    /// Index of the line behind the last hunk.
    cursor: usize,
    /// Whether an earlier hunk was found elsewhere than it said.
    drifted: bool,
}

/// Reason why a hunk has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Its lines are not there.
    Missing,
    /// There are so many places for it.
    Ambiguous(usize),
    /// It only adds lines, and nothing says where.
    Uncertain,
}

/// How closely lines have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// To the letter.
    Exact,
    /// But for trailing blanks and a uniform indentation.
    Loose,
    /// To the letter, but for [`FUZZ`] lines of context at either end.
    Fuzzy,
}

/// Maximum number of outer lines of context that may differ at either end of a hunk, as for the program `patch`.
const FUZZ: usize = 2;

impl Image {
    pub(super) fn new(content: &str) -> Self {
        let ends_in_newline = content.is_empty() || content.ends_with('\n');
        let text = content.strip_suffix('\n').unwrap_or(content);
        let lines: Vec<String> =
            if content.is_empty() { Vec::new() } else { text.split('\n').map(str::to_owned).collect() };
        Self { patched: vec![false; lines.len()], lines, ends_in_newline, cursor: 0, drifted: false }
    }

    /// Returns `true` if a hunk was found elsewhere than it said, so that numbers alone are no place.
    pub(super) fn has_drifted(&self) -> bool {
        self.drifted
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if self.ends_in_newline && !self.lines.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Puts a hunk where it belongs.
    pub(super) fn put(&mut self, hunk: &Hunk, agreement: Agreement) -> Result<(), Misplaced> {
        if agreement == Agreement::Fuzzy {
            return self.put(hunk, Agreement::Exact).or_else(|why| self.put_fuzzily(hunk, why));
        }
        let old = hunk.side(Side::Old);
        let at = match &hunk.place {
            HunkPosition::Numbered { old_start, new_start, inserts } => {
                let from = new_start.saturating_sub(1);
                let found = self.numbered(hunk, &old, (*old_start, from), *inserts, agreement)?;
                // A deletion without context names the line before it.
                self.drifted |= found != from && !(found == from + 1 && hunk.side(Side::New).is_empty());
                found
            }
            HunkPosition::Anchored { below, at_end } => self.anchored(&old, below, *at_end, agreement)?,
        };
        self.replace(at, hunk, old.len());
        Ok(())
    }

    /// Puts a hunk that is nowhere (`why`) to the only place that it has with the least fuzz.
    fn put_fuzzily(&mut self, hunk: &Hunk, why: Misplaced) -> Result<(), Misplaced> {
        if why != Misplaced::Missing {
            return Err(why);
        }
        for fuzz in 1..=FUZZ {
            let Some(inner) = hunk.without_outer_context(fuzz) else { break };
            let old = inner.side(Side::Old);
            match self.only(&self.places(&old, Agreement::Exact)) {
                Ok(at) => {
                    self.drifted = true;
                    self.replace(at, &inner, old.len());
                    return Ok(());
                }
                Err(Misplaced::Missing) => {}
                Err(why) => return Err(why),
            }
        }
        Err(Misplaced::Missing)
    }

    fn numbered(
        &self,
        hunk: &Hunk,
        old: &[&str],
        (old_start, from): (usize, usize),
        inserts: bool,
        agreement: Agreement,
    ) -> Result<usize, Misplaced> {
        if old.is_empty() {
            let is_certain = self.lines.is_empty() || (inserts && from <= self.lines.len() && !self.drifted);
            // A line without a newline can only be the last.
            let fits = !hunk.no_newline.1 || from >= self.lines.len();
            return if is_certain && fits {
                Ok(from.min(self.lines.len()))
            } else {
                Err(Misplaced::Uncertain)
            };
        }
        if agreement == Agreement::Exact {
            let has_context = hunk.has_context();
            let trailing = matches!(hunk.lines.last(), Some(Line::Context(_)));
            let at_start = old_start == 0 || (old_start == 1 && has_context);
            let at_end = (has_context && !trailing) || hunk.no_newline.1;
            let found = self.nearest(old, from, (at_start, at_end), hunk.no_newline.0);
            // Without context, only the line that is stated is certain.
            if let Some(found) = found.filter(|found| has_context || *found == from || *found == from + 1) {
                return Ok(found);
            }
        }
        self.only(&self.places(old, agreement))
    }

    /// Returns the place nearest to a line, as Git looks for it: forwards and backwards by turns. `ends` says whether it
    /// has to be at the start and at the end of the file.
    fn nearest(&self, old: &[&str], from: usize, ends: (bool, bool), no_newline: bool) -> Option<usize> {
        let total = self.lines.len();
        let last = total.checked_sub(old.len())?;
        let fits = |at: usize| {
            let reaches_end = at + old.len() == total;
            at <= last
                && (!ends.0 || at == 0)
                && (!ends.1 || reaches_end)
                && (no_newline == (reaches_end && !self.ends_in_newline))
                && (at..at + old.len()).all(|line| !self.patched[line])
                && self.lines[at..at + old.len()].iter().eq(old.iter())
        };
        let from = if ends.0 {
            0
        } else if ends.1 {
            last
        } else {
            from.min(total)
        };
        (0..=total).find_map(|distance| {
            let forwards = Some(from + distance).filter(|at| fits(*at));
            forwards.or_else(|| from.checked_sub(distance).filter(|at| fits(*at)))
        })
    }

    /// Returns all places where lines stand.
    fn places(&self, old: &[&str], agreement: Agreement) -> Vec<usize> {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        match agreement {
            _ if old.is_empty() || old.len() > lines.len() => Vec::new(),
            Agreement::Exact | Agreement::Fuzzy => {
                let windows = lines.windows(old.len()).enumerate();
                let is_new = |at: usize| self.patched[at..at + old.len()].iter().any(|patched| *patched);
                let fits = windows.filter(|(at, window)| *window == old && !is_new(*at));
                fits.map(|(at, _)| at).collect()
            }
            Agreement::Loose => block::places(&lines, old).into_iter().map(|place| place.at).collect(),
        }
    }

    /// Returns the only place, or the only one behind the last hunk.
    fn only(&self, places: &[usize]) -> Result<usize, Misplaced> {
        let after: Vec<usize> = places.iter().copied().filter(|at| *at >= self.cursor).collect();
        match (places, after.as_slice()) {
            ([at], _) | (_, [at]) => Ok(*at),
            ([], _) => Err(Misplaced::Missing),
            (several, _) => Err(Misplaced::Ambiguous(several.len())),
        }
    }

    fn anchored(
        &self,
        old: &[&str],
        below: &[String],
        at_end: bool,
        agreement: Agreement,
    ) -> Result<usize, Misplaced> {
        if old.is_empty() {
            return if at_end || self.lines.is_empty() {
                Ok(self.lines.len())
            } else {
                Err(Misplaced::Uncertain)
            };
        }
        let mut places = self.places(old, agreement);
        if at_end {
            places.retain(|at| at + old.len() == self.lines.len());
        }
        let only = self.only(&places);
        if !matches!(only, Err(Misplaced::Ambiguous(_))) {
            return only;
        }
        // The anchors decide, if they lead to one place only.
        let starts = below.iter().fold(vec![0], |starts, anchor| self.behind(&starts, anchor));
        let mut first: Vec<usize> = starts
            .iter()
            .filter_map(|start| places.iter().copied().find(|at| at + old.len() > *start))
            .collect();
        first.sort_unstable();
        first.dedup();
        match first.as_slice() {
            [at] if !below.is_empty() => Ok(*at),
            _ => only,
        }
    }

    /// Returns the lines that contain an anchor, from any of the lines `starts` on.
    fn behind(&self, starts: &[usize], anchor: &str) -> Vec<usize> {
        let Some(start) = starts.iter().min() else { return Vec::new() };
        let lines = self.lines.iter().enumerate().skip(*start);
        let equal: Vec<usize> =
            lines.clone().filter(|(_, line)| line.trim() == anchor.trim()).map(|(at, _)| at).collect();
        if equal.is_empty() {
            lines.filter(|(_, line)| line.contains(anchor.trim())).map(|(at, _)| at).collect()
        } else {
            equal
        }
    }

    /// Replaces lines by the new side of a hunk. Lines that stay keep what the file has.
    fn replace(&mut self, at: usize, hunk: &Hunk, length: usize) {
        let reaches_end = at + length == self.lines.len();
        let wanted = hunk.side(Side::Old);
        let own: Vec<&str> = self.lines[at..at + length].iter().map(String::as_str).collect();
        let shift = block::places(&own, &wanted).into_iter().next().map(|place| place.shift);
        let mut from = at;
        let mut new = Vec::new();
        for line in &hunk.lines {
            match line {
                Line::Context(_) => {
                    new.push(self.lines[from].clone());
                    from += 1;
                }
                Line::Removed(_) => from += 1,
                Line::Added(text) => {
                    let indented = shift.as_ref().and_then(|shift| shift.apply_to(text));
                    new.push(indented.unwrap_or_else(|| text.clone()));
                }
            }
        }
        if reaches_end {
            self.ends_in_newline = match hunk.no_newline {
                (_, true) => false,
                (true, false) => true,
                (false, false) => self.ends_in_newline || new.is_empty(),
            };
        }
        let added = new.len();
        self.lines.splice(at..at + length, new);
        // Lines that stay may be the context of the next hunk as well.
        let is_new = hunk.lines.iter().filter(|line| !matches!(line, Line::Removed(_)));
        let is_new: Vec<bool> = is_new.map(|line| matches!(line, Line::Added(_))).collect();
        self.patched.splice(at..at + length, is_new);
        self.cursor = at + added;
    }
}
