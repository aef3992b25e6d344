//! Placement of hunks: where in a file each belongs. What Git would accept lands where Git puts it; beyond that, a hunk
//! is taken only if there is one place for it.

use super::anchors::Blocks;
use super::block::{self, Shift};
use super::hunk::{Hunk, HunkPosition, Line, Side};
use super::image::Image;
use super::line_search::occurrences;

/// Distance from the stated line up to which each line is tried before the whole file is searched.
const NEARBY: usize = 16;

/// Reason why a hunk has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Its lines are not there.
    Missing,
    /// There are several places for it: the indices of their first lines.
    Ambiguous(Vec<usize>),
    /// It only adds lines, and nothing says where.
    Uncertain,
    /// Its lines do not say how they are indented, and those of another hunk, by its index, are indented otherwise than in the file.
    Unindented { shifted: usize },
    /// The file and the patch repeat themselves so much that the search was given up.
    TooCostly,
}

/// How closely lines have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// To the letter.
    Exact,
    /// But for trailing blanks.
    Blanks,
    /// But for trailing blanks and a uniform indentation.
    Loose,
    /// To the letter, but for [`FUZZ`] lines of context at either end.
    Fuzzy,
}

/// Maximum number of outer lines of context that may differ at either end of a hunk, as for the program `patch`.
const FUZZ: usize = 2;

/// How many times farther from the stated line a second place has to be for the nearest one to be meant.
const RIVAL: usize = 3;

impl Image {
    /// Puts a hunk where it belongs.
    pub(super) fn put(&mut self, hunk: &Hunk, agreement: Agreement) -> Result<(), Misplaced> {
        let bare = hunk.with_bare_context();
        let exactly = (hunk, Agreement::Exact);
        let by_blanks = [(&bare, Agreement::Exact), (hunk, Agreement::Blanks), (&bare, Agreement::Blanks)];
        let ways = match agreement {
            Agreement::Exact | Agreement::Fuzzy => vec![exactly],
            Agreement::Blanks => [&[exactly], &by_blanks[..]].concat(),
            Agreement::Loose => [&[exactly], &by_blanks[..], &[(hunk, Agreement::Loose)]].concat(),
        };
        // Where its lines stand as they are written, nothing else decides.
        for (hunk, agreement) in ways {
            match self.put_by(hunk, agreement) {
                Err(Misplaced::Missing) => {}
                placed => return placed,
            }
        }
        if agreement == Agreement::Fuzzy { self.put_fuzzily(hunk) } else { Err(Misplaced::Missing) }
    }

    /// Puts a hunk where its lines agree with those of the file.
    fn put_by(&mut self, hunk: &Hunk, agreement: Agreement) -> Result<(), Misplaced> {
        let old = hunk.side(Side::Old);
        let at = match &hunk.place {
            HunkPosition::Numbered { old_start, new_start, counts } => {
                let from = new_start.saturating_sub(1);
                let found = self.numbered(hunk, &old, (*old_start, from), counts.0 == 0, agreement)?;
                // A deletion without context names the line before it.
                let is_stated = found == from || (found == from + 1 && hunk.side(Side::New).is_empty());
                self.offset = if is_stated { 0 } else { found.cast_signed() - from.cast_signed() };
                self.drifted |= !is_stated;
                found
            }
            HunkPosition::Anchored { below, at_end } => self.anchored(&old, below, *at_end, agreement)?,
        };
        self.replace(at, hunk, old.len())
    }

    /// Puts a hunk that is nowhere to the letter to the only place that it has with the least fuzz.
    fn put_fuzzily(&mut self, hunk: &Hunk) -> Result<(), Misplaced> {
        for fuzz in 1..=FUZZ {
            let Some((inner, leading)) = hunk.without_outer_context(fuzz) else { break };
            let old = inner.side(Side::Old);
            // What is left has to say where it is.
            if !inner.has_telling_context() || !old.iter().any(|line| line.contains(char::is_alphanumeric)) {
                break;
            }
            let found = match &inner.place {
                HunkPosition::Numbered { .. } => {
                    self.places(&old, Agreement::Exact).and_then(|places| self.only(&places))
                }
                HunkPosition::Anchored { below, at_end } => {
                    self.anchored(&old, below, *at_end, Agreement::Exact)
                }
            };
            match found {
                // What was left out may say that another place is meant.
                Ok(at) if self.is_elsewhere(hunk, at.saturating_sub(leading)) => {
                    return Err(Misplaced::Missing);
                }
                Ok(at) => {
                    self.drifted = true;
                    return self.replace(at, &inner, old.len());
                }
                Err(Misplaced::Missing) => {}
                Err(why) => return Err(why),
            }
        }
        Err(Misplaced::Missing)
    }

    /// Returns whether a telling line of a hunk does not stand where it would with the hunk at a place, but elsewhere in the file.
    fn is_elsewhere(&self, hunk: &Hunk, place: usize) -> bool {
        hunk.side(Side::Old).iter().enumerate().any(|(index, line)| {
            let stands = self.lines.get(place + index).is_some_and(|own| own == line);
            !stands && line.contains(char::is_alphanumeric) && self.lines.iter().any(|own| own == line)
        })
    }

    fn numbered(
        &self,
        hunk: &Hunk,
        old: &[&str],
        (old_start, from): (usize, usize),
        inserts: bool,
        agreement: Agreement,
    ) -> Result<usize, Misplaced> {
        // The line that the old number says, with what the hunks before it add and remove.
        let grown = self.lines.len().cast_signed() - self.original_length.cast_signed();
        let old_line = old_start.checked_add_signed(grown);
        if old.is_empty() {
            // Both numbers have to say the same.
            let agrees = old_line == Some(from);
            let is_certain =
                self.lines.is_empty() || (inserts && agrees && from <= self.lines.len() && !self.drifted);
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
            let trailing = hunk.lines.last().is_some_and(Line::is_context);
            let at_start = old_start == 0 || (old_start == 1 && has_context);
            let at_end = (has_context && !trailing) || hunk.no_newline.1;
            // A deletion states the line before it, if there is one.
            let deletes = hunk.side(Side::New).is_empty();
            let near = |line: usize| {
                let line = if deletes && old_line != Some(1) { line + 1 } else { line };
                self.nearest(old, line, (at_start, at_end), hunk.no_newline.0, hunk.only_adds())
            };
            let found = near(from)?;
            // Where an earlier hunk has moved, this one may have moved as far, and a place that is nearer to its number is a guess.
            if self.offset != 0 && found.is_some() && near(from.saturating_add_signed(self.offset))? != found
            {
                return Err(Misplaced::Ambiguous(self.places(old, Agreement::Exact)?));
            }
            // Git takes a hunk that ends without context for the end of the file; a model may only have left the context out.
            let is_elsewhere = found.is_some_and(|found| found != from) && at_end && !deletes;
            if is_elsewhere && self.stands_at(old, from) {
                return Err(Misplaced::Ambiguous(self.places(old, Agreement::Exact)?));
            }
            // Without context, only the line that is stated is certain.
            let is_stated = |found: &usize| *found == from || (deletes && *found == from + 1);
            if let Some(found) = found.filter(|found| has_context || is_stated(found)) {
                return Ok(found);
            }
        }
        let places = self.places(old, agreement)?;
        let is_stated = !self.drifted && hunk.has_context() && places.contains(&from);
        if agreement != Agreement::Exact && is_stated {
            return Ok(from);
        }
        self.only(&places)
    }

    /// Returns the place nearest to a line, as Git looks for it: forwards and backwards by turns. `ends` says whether it
    /// has to be at the start and at the end of the file. Of two that are as near, Git takes the later one; for a hunk that
    /// `only_adds` lines that would be a guess.
    fn nearest(
        &self,
        old: &[&str],
        from: usize,
        ends: (bool, bool),
        no_newline: bool,
        only_adds: bool,
    ) -> Result<Option<usize>, Misplaced> {
        let total = self.lines.len();
        let Some(last) = total.checked_sub(old.len()) else { return Ok(None) };
        let is_open = |at: usize| at + old.len() == total && !self.ends_in_newline;
        let may_stand = |at: usize| {
            let reaches_end = at + old.len() == total;
            at <= last && (!ends.0 || at == 0) && (!ends.1 || reaches_end) && (!no_newline || is_open(at))
        };
        let fits = |at: usize| may_stand(at) && self.stands_at(old, at);
        let from = if ends.0 {
            0
        } else if ends.1 {
            last
        } else {
            from.min(total)
        };
        for distance in 0..=total.min(NEARBY) {
            let forwards = Some(from + distance).filter(|at| fits(*at));
            let backwards = from.checked_sub(distance).filter(|at| fits(*at));
            if distance > 0 && only_adds && forwards.is_some() && backwards.is_some() {
                return Err(Misplaced::Ambiguous(self.places(old, Agreement::Exact)?));
            }
            if let Some(found) = forwards.or(backwards) {
                let farther = distance + 1..=distance.saturating_mul(RIVAL);
                let mut rivals = farther.flat_map(|far| [Some(from + far), from.checked_sub(far)]);
                if rivals.any(|at| at.is_some_and(&fits)) {
                    return Err(Misplaced::Ambiguous(self.places(old, Agreement::Exact)?));
                }
                // Git marks a last line without a newline, models do not: if it is not where it is stated, the place is uncertain.
                let is_certain = no_newline || distance == 0 || !is_open(found);
                return Ok(is_certain.then_some(found));
            }
        }
        let all = self.places(old, Agreement::Exact)?;
        let fitting = all.iter().copied().filter(|at| may_stand(*at) && (no_newline || !is_open(*at)));
        let nearest = fitting.clone().min_by_key(|at| (at.abs_diff(from), *at < from));
        let is_like = |at: usize| nearest.is_some_and(|near| near.abs_diff(from) == at.abs_diff(from));
        if only_adds && fitting.filter(|at| is_like(*at)).count() > 1 {
            return Err(Misplaced::Ambiguous(all));
        }
        Ok(nearest)
    }

    /// Returns whether lines stand at a place, none of them the result of a hunk.
    fn stands_at(&self, old: &[&str], at: usize) -> bool {
        let place = at..at.saturating_add(old.len());
        self.lines.get(place.clone()).is_some_and(|lines| lines.iter().eq(old.iter()))
            && !self.patched[place].contains(&true)
    }

    /// Returns all places where lines stand.
    fn places(&self, old: &[&str], agreement: Agreement) -> Result<Vec<usize>, Misplaced> {
        if old.is_empty() || old.len() > self.lines.len() {
            return Ok(Vec::new());
        }
        self.spend(self.lines.len() + old.len())?;
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        if matches!(agreement, Agreement::Blanks | Agreement::Loose) {
            let mut left = self.work.get();
            let mut places = block::places_within(&lines, old, &mut left).ok_or(Misplaced::TooCostly)?;
            self.work.set(left);
            places.retain(|place| agreement == Agreement::Loose || place.shift == Shift::None);
            return Ok(places.into_iter().map(|place| place.at).collect());
        }
        // For each line, the index of the last one up to there that is the result of a hunk.
        let mut last = None;
        let last_new: Vec<Option<usize>> = (self.patched.iter().enumerate())
            .map(|(at, patched)| {
                last = if *patched { Some(at) } else { last };
                last
            })
            .collect();
        let is_old = |at: &usize| last_new[at + old.len() - 1].is_none_or(|new| new < *at);
        Ok(occurrences(&lines, old).into_iter().filter(is_old).collect())
    }

    /// Returns the only place, or the only one behind the last hunk.
    fn only(&self, places: &[usize]) -> Result<usize, Misplaced> {
        let after: Vec<usize> = places.iter().copied().filter(|at| *at >= self.cursor).collect();
        match (places, after.as_slice()) {
            ([at], _) | (_, [at]) => Ok(*at),
            ([], _) => Err(Misplaced::Missing),
            (several, _) => Err(Misplaced::Ambiguous(several.to_vec())),
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
        let mut places = self.places(old, agreement)?;
        if at_end {
            places.retain(|at| at + old.len() == self.lines.len());
        }
        if below.is_empty() {
            return self.only(&places);
        }
        // Each anchor is looked for in all lines; long ones cost more.
        let cost = self.lines.iter().map(|line| 1 + line.len() / 256).sum::<usize>();
        self.spend(cost.saturating_mul(below.len()))?;
        let all = Blocks::new(&self.lines);
        let whole = 0..self.lines.len();
        let blocks = below.iter().fold(vec![whole], |blocks, anchor| all.below(&blocks, anchor));
        if blocks.is_empty() {
            return self.only(&places);
        }
        // In each block that the anchors lead to, the first place is meant. A hunk may also begin with what follows its block.
        let mut first: Vec<usize> = blocks
            .iter()
            .filter_map(|block| {
                let from = places.partition_point(|at| at + old.len() <= block.start);
                places.get(from).copied().filter(|at| *at <= block.end)
            })
            .collect();
        first.sort_unstable();
        first.dedup();
        self.only(&first)
    }
}
