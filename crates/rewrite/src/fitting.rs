//! Replacements that do not stand where their match stood: as one value, as a part of the same node, and apart from what is beside it.
//!
//! The tree of the result decides. So it does not matter why something would go wrong: an operator that binds tighter, a comment that goes
//! on to the end of the line, a line break that ends a statement.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::operands::is_body;
use crate::parentheses::{binds, in_parentheses, is_loose, is_operator, is_postfix};
use crate::places::{Frame, Place, places, trimmed};
use crate::source::indent_at;
use crate::{Language, matching::Edit, newline};

/// Where matches stand, in their order, before something takes their place.
pub(crate) struct Standing<'t> {
    language: Language,
    text: &'t str,
    places: Vec<Place>,
}

/// Texts with the edits that made one of the other.
struct Change<'t> {
    tree: &'t Tree,
    text: &'t str,
    /// What is replaced in the text before, in ascending order.
    old: &'t [Range<usize>],
    /// The same ranges in the text.
    new: &'t [Range<usize>],
}

impl<'t> Standing<'t> {
    pub(crate) fn new(language: Language, (tree, text): (&Tree, &'t str), edits: &[Edit]) -> Self {
        let ranges = edits.iter().map(|edit| edit.range.clone());
        Self { language, text, places: places(tree.root_node(), text, ranges) }
    }

    /// Returns the edits that do not fit, by their positions, with what they can put in instead, given the tree, the text and the ranges in
    /// it that the edits became.
    pub(crate) fn misfits(
        &self,
        (tree, text): (&Tree, &str),
        edits: &[Edit],
        put_in: &[Range<usize>],
    ) -> Vec<(usize, Option<String>)> {
        let old: Vec<_> = edits.iter().map(|edit| edit.range.clone()).collect();
        let change = Change { tree, text, old: &old, new: put_in };
        let cores: Vec<_> = put_in.iter().map(|range| change.core(range)).collect();
        let places = places(tree.root_node(), text, cores.iter().cloned());
        let fits = |at: &usize| {
            let (before, now, core) = (&self.places[*at], &places[*at], &cores[*at]);
            let frames = [before, now].map(|place| place.frame.as_ref());
            let is_known = frames.into_iter().flatten().all(|frame| !frame.is_text() && !frame.has_error);
            let is_same = || change.is_framed(before, now, core) && self.is_whole(before, now, text, core);
            !is_known || !change.flows_on(core, &put_in[*at]) && (core.is_empty() || is_same())
        };
        let misfits = (0..edits.len()).filter(|at| !fits(at));
        misfits.map(|at| (at, self.alternative(at, &edits[at]))).collect()
    }

    /// Returns whether the core of an edit stands as what it replaces did: one value for another, which nothing beside it takes a part of.
    fn is_whole(&self, before: &Place, now: &Place, text: &str, core: &Range<usize>) -> bool {
        let Some(kind) = now.node.as_deref() else {
            let has_operator =
                || in_parentheses(self.language, &text[core.clone()]).is_some_and(|held| held.is_operator);
            return now.is_aligned && !(before.is_operand && has_operator());
        };
        // It may have become a statement of its own; and the grammars take more than the languages do.
        let is_first = |frame: &Frame| frame.range.start == core.start;
        let is_bound = now.frame.as_ref().is_some_and(|frame| {
            is_body(&frame.kind)
                || is_loose(kind) && binds(&frame.kind)
                || is_operator(kind)
                    && (frame.kind == "list_splat" || is_first(frame) && is_postfix(&frame.kind))
        });
        let is_generic = || kind == "type_cast_expression" && text[core.end..].trim_start().starts_with('<');
        !(before.is_operand && (is_bound || is_generic()))
    }

    /// Returns where what an edit is a part of ends.
    pub(crate) fn end_of_frame(&self, at: usize) -> usize {
        let frame = self.places.get(at).and_then(|place| place.frame.as_ref());
        frame.map_or(self.text.len(), |frame| frame.range.end)
    }

    /// Returns the text that an edit may have in place of one that does not fit: in parentheses, or with the rest of the line below.
    pub(crate) fn alternative(&self, at: usize, edit: &Edit) -> Option<String> {
        let place = self.places.get(at).filter(|_| !edit.has_changed)?;
        let is_type = place.node.as_ref().is_some_and(|kind| kind.contains("type"))
            && matches!(self.language, Language::TypeScript | Language::Tsx);
        if place.is_operand || is_type {
            return in_parentheses(self.language, &edit.text).map(|held| held.text);
        }
        let last = edit.text.rsplit('\n').next().unwrap_or_default();
        let has_comment = last.contains(if self.language == Language::Python { "#" } else { "//" });
        let rest = self.text[edit.range.end..].trim_start_matches([' ', '\t']);
        if self.language == Language::Python && rest.starts_with(';') {
            return in_parentheses(self.language, &edit.text).map(|held| held.text);
        }
        has_comment
            .then(|| format!("{}{}{}", edit.text, newline(self.text), indent_at(self.text, edit.range.start)))
    }
}

impl Change<'_> {
    /// Returns a range without the comments at its ends.
    fn core(&self, range: &Range<usize>) -> Range<usize> {
        let mut core = trimmed(self.text, range.clone());
        if !["//", "/*", "#"].iter().any(|sign| self.text[range.clone()].contains(sign)) {
            return core;
        }
        while let Some(comment) = self.comment_at(core.start).filter(|_| !core.is_empty()) {
            core = trimmed(self.text, comment.end.min(core.end)..core.end);
        }
        while let Some(comment) = core.end.checked_sub(1).and_then(|last| self.comment_at(last)) {
            if comment.start < core.start || core.is_empty() {
                break;
            }
            core = trimmed(self.text, core.start..comment.start);
        }
        core
    }

    fn comment_at(&self, byte: usize) -> Option<Range<usize>> {
        let leaf = self.tree.root_node().descendant_for_byte_range(byte, byte + 1);
        let comment = std::iter::successors(leaf, Node::parent).find(|node| node.kind().contains("comment"));
        comment.map(|comment| trimmed(self.text, comment.byte_range()))
    }

    /// Returns whether a token goes on beyond an end of a range.
    fn flows_on(&self, core: &Range<usize>, range: &Range<usize>) -> bool {
        let own = trimmed(self.text, range.clone());
        let ends = [(own.start, false), (own.end, core.end < own.end || core.is_empty())];
        ends.into_iter().filter(|_| !own.is_empty()).any(|(at, has_comment)| {
            if has_comment {
                let last = self.comment_at(at - 1);
                return last.is_some_and(|comment| comment.end > at);
            }
            let before = self.text[..at].chars().next_back().filter(|sign| can_join(*sign));
            let behind = self.text[at..].chars().next().filter(|sign| can_join(*sign));
            before.zip(behind).is_some_and(|(before, behind)| {
                let around = (at - before.len_utf8(), at + behind.len_utf8());
                let token = self.tree.root_node().descendant_for_byte_range(around.0, around.1);
                token.is_some_and(|token| token.child_count() == 0)
            })
        })
    }

    /// Returns whether a place is a part of the node that it was a part of.
    fn is_framed(&self, before: &Place, now: &Place, core: &Range<usize>) -> bool {
        let (Some(before), Some(now)) = (&before.frame, &now.frame) else { return true };
        if before.is_root || now.is_root {
            return before.is_root && now.is_root;
        }
        self.starts(before, now, core) && self.ends(before, now, core)
    }

    fn starts(&self, before: &Frame, now: &Frame, core: &Range<usize>) -> bool {
        let next = self.old.partition_point(|old| old.end <= before.range.start);
        match self.old.get(next).zip(self.new.get(next)) {
            Some((old, new)) if old.start <= before.range.start => {
                (new.start..=core.start).contains(&now.range.start)
            }
            _ => self.moved(next, before.range.start) == now.range.start,
        }
    }

    fn ends(&self, before: &Frame, now: &Frame, core: &Range<usize>) -> bool {
        let next = self.old.partition_point(|old| old.end < before.range.end);
        match self.old.get(next).zip(self.new.get(next)) {
            Some((old, new)) if old.start < before.range.end => (core.end..=new.end).contains(&now.range.end),
            _ => self.moved(next, before.range.end) == now.range.end,
        }
    }

    /// Returns where a byte of the text before is that is behind a number of edits.
    fn moved(&self, edits: usize, at: usize) -> usize {
        let last = edits.checked_sub(1).and_then(|last| self.old.get(last).zip(self.new.get(last)));
        last.map_or(at, |(old, new)| new.end + at - old.end)
    }
}

/// Returns whether a sign may be in one token with another.
fn can_join(sign: char) -> bool {
    !sign.is_whitespace() && !"()[]{},;\"'`".contains(sign)
}
