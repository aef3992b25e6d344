//! Edits of a text that are made together, as far as they fit.

use std::ops::Range;

use crate::faults::errors;
use crate::parsed::Parsed;
use crate::placement::{Misfit, Placements};
use crate::{Language, RewriteError};

/// Number of times that the edits of a text are made anew because some do not fit.
const MAX_PASSES: usize = 20;

/// Number of edits that are made alone to find those that do not fit.
const MAX_ALONE: usize = 200;

/// Change that a match asks for.
#[derive(Clone)]
pub(crate) struct Edit {
    /// The match.
    pub(crate) found: Range<usize>,
    /// What is replaced, which may be more.
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
    /// Whether it has been changed to fit.
    pub(crate) has_changed: bool,
}

impl Edit {
    /// Returns a text with this edit alone.
    pub(crate) fn made_in(&self, text: &str) -> String {
        [&text[..self.range.start], &self.text, &text[self.range.end..]].concat()
    }
}

/// Text with edits made.
pub(crate) struct Made {
    pub(crate) text: String,
    /// The ranges of it that were put in so far.
    pub(crate) put_in: Vec<Range<usize>>,
    pub(crate) edits: Vec<Edit>,
}

/// Edits of a text, by their starts, those that contain others first, and what became of them.
pub(crate) struct EditSet<'t> {
    pub(crate) language: Language,
    pub(crate) text: &'t str,
    pub(crate) edits: Vec<Edit>,
    /// The starts of matches that stay.
    pub(crate) left: Vec<usize>,
    /// The text with the first edit that has a syntax error alone.
    pub(crate) broken: Option<String>,
}

impl EditSet<'_> {
    /// Makes the edits that contain no others and fit where they are; `None` if there are none, or nobody waits any longer. Notes them in the
    /// tree. The starts of matches that stay are those in the result then.
    pub(crate) fn make(
        &mut self,
        ours: &[Range<usize>],
        parsed: &mut Parsed,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Made>, RewriteError> {
        let mut alone = 0;
        for pass in 0.. {
            let innermost = innermost(&self.edits);
            if innermost.is_empty() || stop() {
                break;
            }
            let own: Vec<Edit> = innermost.iter().map(|at| self.edits[*at].clone()).collect();
            let before = parsed.tree(self.text)?;
            let known = errors(before);
            let placements = Placements::new(self.language, (before, self.text), &own);
            let applied = apply(self.text, &own, ours, parsed);
            let tree = parsed.tree(&applied.text)?;
            let is_broken = errors(tree) > known;
            let misfits = if is_broken {
                Vec::new()
            } else {
                placements.misfits((tree, &applied.text), &own, &applied.own)
            };
            let is_done = !is_broken && misfits.is_empty() || alone >= MAX_ALONE && is_broken;
            if is_done {
                for start in &mut self.left {
                    *start = applied.moved(*start, &own);
                }
                return Ok(Some(Made { text: applied.text, put_in: applied.put_in, edits: own }));
            }
            let wrong = if pass < MAX_PASSES {
                self.guilty(&placements, &own, (misfits, is_broken), &mut alone, stop)
            } else {
                misfits
            };
            if wrong.is_empty() {
                alone = MAX_ALONE;
            }
            for (index, alternative) in wrong.into_iter().rev() {
                let at = innermost[index];
                match alternative {
                    Some((range, text)) => {
                        self.edits[at] = Edit { range, text, has_changed: true, ..self.edits[at].clone() };
                    }
                    None => self.left.push(self.edits.remove(at).found.start),
                }
            }
            *parsed = Parsed::new(self.language, self.text)?;
        }
        Ok(None)
    }

    /// Returns the edits that are to be changed, or left: those that fit with a change, and others only if they do not fit alone either.
    fn guilty(
        &mut self,
        placements: &Placements<'_>,
        own: &[Edit],
        (misfits, is_broken): (Vec<Misfit>, bool),
        alone: &mut usize,
        stop: &dyn Fn() -> bool,
    ) -> Vec<Misfit> {
        let candidates: Vec<Misfit> =
            if is_broken { (0..own.len()).map(|at| (at, None)).collect() } else { misfits };
        if !is_broken && candidates.len() == 1 {
            return candidates;
        }
        let mut found = Vec::new();
        let mut untried = Vec::new();
        for (at, alternative) in candidates {
            if alternative.is_some() {
                found.push((at, alternative));
            } else if *alone >= MAX_ALONE || stop() {
                untried.push((at, alternative));
            } else {
                *alone += 1;
                if let Some((misfit, is_broken)) = placements.misfit_alone(at, &own[at]) {
                    if is_broken && misfit.1.is_none() && self.broken.is_none() {
                        self.broken = Some(own[at].made_in(self.text));
                    }
                    found.push(misfit);
                }
            }
        }
        if is_broken && !found.is_empty() && found.len() + untried.len() == own.len() {
            let untried = untried.drain(..).map(|(at, _)| (at, placements.in_parentheses(at, &own[at])));
            found.extend(untried.filter(|(_, alternative)| alternative.is_some()));
            found.sort_unstable_by_key(|(at, _)| *at);
        }
        // Those that cannot be tried are no better than the others.
        if found.is_empty() || found.iter().all(|(_, alternative)| alternative.is_none()) {
            found.extend(untried.into_iter().filter(|_| !is_broken));
        }
        found
    }
}

/// Returns the positions of the edits that contain no others. One that expands over another waits for its turn.
fn innermost(edits: &[Edit]) -> Vec<usize> {
    let mut end = 0;
    let mut are_apart = |edit: &Edit| {
        let is_apart = edit.range.start >= end;
        end = if is_apart { edit.range.end } else { end };
        is_apart
    };
    (0..edits.len())
        .filter(|at| edits.get(at + 1).is_none_or(|next| next.range.start >= edits[*at].range.end))
        .filter(|at| are_apart(&edits[*at]))
        .collect()
}

/// Text with edits, and ranges of it.
struct Applied {
    text: String,
    /// What was put in so far.
    put_in: Vec<Range<usize>>,
    /// What these edits have put in.
    own: Vec<Range<usize>>,
}

impl Applied {
    /// Returns where a byte of the text is that the edits were made in: at the start of what it was replaced with, if it was.
    fn moved(&self, byte: usize, edits: &[Edit]) -> usize {
        let before = edits.partition_point(|edit| edit.range.end <= byte);
        if let Some((_, own)) =
            edits.get(before).zip(self.own.get(before)).filter(|(edit, _)| edit.range.start < byte)
        {
            return own.start;
        }
        let last = before.checked_sub(1).and_then(|last| edits.get(last).zip(self.own.get(last)));
        last.map_or(byte, |(edit, own)| own.end + byte - edit.range.end)
    }
}

/// Applies edits that do not overlap, in ascending order, and notes them in the tree.
fn apply(text: &str, edits: &[Edit], ours: &[Range<usize>], parsed: &mut Parsed) -> Applied {
    let mut result = String::with_capacity(text.len());
    let (mut put_in, mut own) =
        (Vec::with_capacity(ours.len() + edits.len()), Vec::with_capacity(edits.len()));
    let mut end = 0;
    let mut older = ours.iter().peekable();
    let mut keep = |result: &mut String, put_in: &mut Vec<Range<usize>>, piece: Range<usize>| {
        let start = result.len();
        result.push_str(&text[piece.clone()]);
        while let Some(own) = older.next_if(|own| own.start < piece.end) {
            if own.start >= piece.start && own.end <= piece.end {
                put_in.push(start + own.start - piece.start..start + own.end - piece.start);
            }
        }
    };
    for Edit { range, text, .. } in edits {
        keep(&mut result, &mut put_in, end..range.start);
        own.push(result.len()..result.len() + text.len());
        put_in.extend(own.last().cloned());
        result.push_str(text);
        end = range.end;
    }
    keep(&mut result, &mut put_in, end..text.len());
    parsed.note(text, edits.iter().map(|edit| (edit.range.clone(), edit.text.as_str())));
    Applied { text: result, put_in, own }
}
