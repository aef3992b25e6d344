//! Replacements that do not stand where their match stood: as one value, as a part of the same node, and apart from what is beside it.
//!
//! The tree of the result decides. So it does not matter why something would go wrong: an operator that binds tighter, a comment that goes
//! on to the end of the line, a line break that ends a statement.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::edits::Edit;
use crate::expressions::{
    Class, Expression, Frame, Part, Place, holds_items, in_parentheses, is_body, is_delimited, is_token,
    places, takes_list, trimmed,
};
use crate::faults::errors;
use crate::source::indent_at;
use crate::{Language, MAX_TIME, newline};

/// Where matches stand, in their order, before something takes their place.
pub(crate) struct Placements<'t> {
    language: Language,
    text: &'t str,
    places: Vec<Place>,
    /// Number of syntax errors.
    errors: usize,
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

/// Edit that does not fit, by its position, and what can be put in instead: a range and its text.
pub(crate) type Misfit = (usize, Option<(Range<usize>, String)>);

impl<'t> Placements<'t> {
    pub(crate) fn new(language: Language, (tree, text): (&Tree, &'t str), edits: &[Edit]) -> Self {
        let ranges = edits.iter().map(|edit| (edit.range.clone(), edit.range.clone()));
        Self { language, text, places: places(tree.root_node(), text, ranges), errors: errors(tree) }
    }

    /// Returns the edits that do not fit, given the tree, the text and the ranges in it that the edits became.
    pub(crate) fn misfits(
        &self,
        (tree, text): (&Tree, &str),
        edits: &[Edit],
        put_in: &[Range<usize>],
    ) -> Vec<Misfit> {
        let old: Vec<_> = edits.iter().map(|edit| edit.range.clone()).collect();
        let change = Change { tree, text, old: &old, new: put_in };
        self.misfits_of(&change, &self.places, edits)
    }

    fn misfits_of(&self, change: &Change<'_>, before: &[Place], edits: &[Edit]) -> Vec<Misfit> {
        let (tree, text, put_in) = (change.tree, change.text, change.new);
        let cores: Vec<_> = put_in.iter().map(|range| change.core(range)).collect();
        let places = places(tree.root_node(), text, cores.iter().cloned().zip(put_in.iter().cloned()));
        let fits = |at: &usize| {
            let (before, now, core, range) = (&before[*at], &places[*at], &cores[*at], &put_in[*at]);
            let frames = [before, now].map(|place| place.frame.as_ref());
            if frames.into_iter().flatten().any(Frame::is_text) {
                return !self.is_text_of_element(before, &text[range.clone()]);
            }
            // In Go, the line break in a comment ends the statement.
            if before.is_operand
                && self.language == Language::Go
                && text[core.end..range.end.max(core.end)].contains('\n')
            {
                return false;
            }
            let had_error = before.frame.as_ref().is_some_and(|frame| frame.has_error);
            let has_error = now.frame.as_ref().is_some_and(|frame| frame.has_error);
            let is_same = || {
                has_error && !had_error
                    || (had_error || change.is_framed(before, now, core))
                        && self.is_whole(before, now, text, core)
            };
            !change.flows_on(core, range)
                && (core.is_empty()
                    || !ends_statement(before, now, &text[range.start..core.start]) && is_same())
        };
        let misfits = (0..edits.len()).filter(|at| !fits(at));
        misfits
            .map(|at| {
                (at, self.alternative(&before[at], &edits[at], code_before_comment(&cores[at], &put_in[at])))
            })
            .collect()
    }

    /// Returns how an edit that is made alone does not fit: it breaks the file, or it does not stand where its match stood. Returns `None` if
    /// it fits.
    pub(crate) fn misfit_alone(&self, at: usize, edit: &Edit) -> Option<(Misfit, bool)> {
        let text = edit.made_in(self.text);
        let tree = grammar::parse(&text, &self.language.grammar(), MAX_TIME)?;
        let own = edit.range.start..edit.range.start + edit.text.len();
        let (old, new) = ([edit.range.clone()], [own]);
        let change = Change { tree: &tree, text: &text, old: &old, new: &new };
        if errors(&tree) > self.errors {
            let code = code_before_comment(&change.core(&new[0]), &new[0]);
            return Some(((at, self.alternative(&self.places[at], edit, code)), true));
        }
        let misfits =
            self.misfits_of(&change, std::slice::from_ref(&self.places[at]), std::slice::from_ref(edit));
        misfits.into_iter().next().map(|(_, alternative)| ((at, alternative), false))
    }

    /// Returns whether the core of an edit stands as what it replaces did: one value for another, which nothing beside it takes a part of.
    fn is_whole(&self, before: &Place, now: &Place, text: &str, core: &Range<usize>) -> bool {
        let frame = now.frame.as_ref().filter(|frame| frame.slot.value.kind != "ERROR");
        let around = (&text[..core.start], &text[core.end..]);
        let Some(value) = &now.value else {
            let is_placed = !before.is_operand || self.are_placed(before, frame, &text[core.clone()], around);
            return now.is_aligned && is_placed;
        };
        let is_module_item = matches!(value.kind.as_str(), "export_statement" | "import_statement");
        if is_module_item
            && self.language == Language::JavaScript
            && frame.is_some_and(|frame| !frame.is_root)
        {
            return false;
        }
        // It may have become a statement of its own.
        let is_bound = frame.is_some_and(|frame| {
            is_body(&frame.slot.value.kind) || !value.stands(self.language, &frame.slot, around)
        });
        !(before.takes_parentheses(self.language) && is_bound)
    }

    /// Returns whether a text that is no node where it stands is what may stand there: several values, or a part of something. What a class is
    /// called by may get a `new` in front.
    fn are_placed(&self, before: &Place, frame: Option<&Frame>, new: &str, around: (&str, &str)) -> bool {
        let Some(held) = in_parentheses(self.language, new) else { return true };
        let is_name = before.value.as_ref().is_some_and(|value| value.kind == "identifier");
        let takes_several =
            |kind: &str, is_first: bool| holds_items(kind) || takes_list(self.language, kind, is_first);
        frame.is_some_and(|frame| {
            let (kind, is_first) = (frame.slot.value.kind.as_str(), frame.slot.part == Part::First);
            let is_delimited = kind == "token_tree" && is_delimited(around.0, around.1);
            match held.value {
                Some(value) => is_delimited || is_name && value.class == Class::Bare,
                None => takes_several(kind, is_first),
            }
        })
    }

    /// Returns whether a value in place of an element of JSX would be text.
    fn is_text_of_element(&self, before: &Place, new: &str) -> bool {
        let is_element = before.value.as_ref().is_some_and(|value| value.kind.starts_with("jsx_"));
        let is_child = before
            .frame
            .as_ref()
            .is_some_and(|frame| matches!(frame.slot.value.kind.as_str(), "jsx_element" | "jsx_fragment"));
        is_element
            && is_child
            && !new.trim_start().starts_with(['<', '{'])
            && in_parentheses(self.language, new)
                .and_then(|held| held.value)
                .is_some_and(|value| value.kind != "identifier")
    }

    /// Returns the range and the text that an edit may have in place of those that do not fit: in parentheses, in braces, or with the rest of
    /// the line in front of its comment or below. `code` is where the comment at its end begins.
    fn alternative(&self, place: &Place, edit: &Edit, code: usize) -> Option<(Range<usize>, String)> {
        // In Go, a line break behind a value ends its statement, in parentheses as well.
        let has_lines = edit.text.get(code..).is_some_and(|rest| rest.trim_end().contains('\n'));
        if edit.has_changed || self.language == Language::Go && place.is_operand && has_lines {
            return None;
        }
        let frame = place.frame.as_ref();
        let is_in_braces = frame.is_some_and(|frame| frame.slot.value.kind == "interpolation");
        let alternative = if self.is_text_of_element(place, &edit.text) {
            (edit.range.clone(), format!("{{{}}}", edit.text))
        } else if place.takes_parentheses(self.language) {
            let held = in_parentheses(self.language, &edit.text)?;
            (edit.range.clone(), held.text)
        } else {
            self.with_rest_of_line(edit, code)?
        };
        let is_new = self.text[alternative.0.clone()] != alternative.1;
        (is_new && !(is_in_braces && alternative.1.contains('\n'))).then_some(alternative)
    }

    /// Returns the range and the text of an edit in parentheses, if it may have some.
    pub(crate) fn in_parentheses(&self, at: usize, edit: &Edit) -> Option<(Range<usize>, String)> {
        self.alternative(&self.places[at], edit, edit.text.len())
    }

    fn with_rest_of_line(&self, edit: &Edit, code: usize) -> Option<(Range<usize>, String)> {
        let (code, comment) = edit.text.split_at_checked(code)?;
        let (code, blank) = code.split_at(code.trim_end().len());
        if comment.trim().is_empty() {
            return None;
        }
        let is_blank = |sign: char| sign == ' ' || sign == '\t';
        let rest = self.text[edit.range.end..].trim_start_matches(is_blank);
        let (semicolon, rest) = match rest.strip_prefix(';') {
            Some(rest) if code.is_empty() || self.language == Language::Python => ("", rest),
            Some(rest) => (";", rest),
            None => ("", rest),
        };
        let rest = rest.trim_start_matches(is_blank);
        let is_last = rest.is_empty() || rest.starts_with(['\n', '\r']);
        let end = if is_last {
            String::new()
        } else {
            format!("{}{}", newline(self.text), indent_at(self.text, edit.range.start))
        };
        let range = edit.range.start..self.text.len() - rest.len();
        Some((range, format!("{code}{semicolon}{blank}{}{end}", comment.trim_end())))
    }
}

/// Returns the length of what was put in up to the comment at its end.
fn code_before_comment(core: &Range<usize>, put_in: &Range<usize>) -> usize {
    if core.is_empty() { 0 } else { core.end.clamp(put_in.start, put_in.end) - put_in.start }
}

impl Place {
    /// Returns whether parentheses around it would not change it.
    fn takes_parentheses(&self, language: Language) -> bool {
        let has_types =
            matches!(language, Language::TypeScript | Language::Tsx | Language::Go | Language::Rust);
        let is_type = |value: &Expression| value.kind.contains("type");
        self.is_operand || has_types && self.value.as_ref().is_some_and(is_type)
    }
}

/// Returns whether what stands in front of a value would end its statement: the line break behind a comment.
fn ends_statement(before: &Place, now: &Place, lead: &str) -> bool {
    let is_bracketed = now.frame.as_ref().is_some_and(|frame| frame.slot.is_bracketed);
    before.is_operand && lead.contains('\n') && !is_bracketed
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
        comment.map(|comment| {
            let range = comment.byte_range();
            range.start..range.start + self.text[range].trim_end().len()
        })
    }

    /// Returns whether a token goes on beyond an end of a range.
    fn flows_on(&self, core: &Range<usize>, range: &Range<usize>) -> bool {
        let own = &self.text[range.clone()];
        let own = range.end - own.trim_start().len()..range.start + own.trim_end().len();
        if own.start >= own.end {
            return false;
        }
        let has_comment = core.end < own.end || core.is_empty();
        if has_comment && self.comment_at(own.end - 1).is_some_and(|comment| comment.end > own.end) {
            return true;
        }
        let joins = |at: usize| {
            let before = self.text[..at].chars().next_back().filter(|sign| can_join(*sign));
            let behind = self.text[at..].chars().next().filter(|sign| can_join(*sign));
            before.zip(behind).is_some_and(|(before, behind)| {
                let around = (at - before.len_utf8(), at + behind.len_utf8());
                let token = self.tree.root_node().descendant_for_byte_range(around.0, around.1);
                is_token(before, behind) || token.is_some_and(|token| token.child_count() == 0)
            })
        };
        joins(own.start) || !has_comment && joins(own.end)
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
