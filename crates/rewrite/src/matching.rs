//! Matching and replacing in one text.

use std::ops::Range;

use ast_grep_config::{Fixer, RuleConfig};
use ast_grep_core::matcher::{Matcher as _, MatcherExt as _, NodeMatch};
use ast_grep_core::replacer::Replacer as _;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node};

use crate::faults::survey;
use crate::fitting::Standing;
use crate::language::PatternLanguage;
use crate::layout::Template;
use crate::marks::behind_marks;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::surroundings::around;
use crate::whole::WholePatterns;
use crate::{Language, RewriteError};

/// A place that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Line of its start, from 1.
    pub line: usize,
    /// Column of its start, from 1, in characters.
    pub column: usize,
    /// Its text.
    pub text: String,
    /// What stands in its place; `None` if the rule only finds.
    pub replacement: Option<String>,
}

/// What a rule made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The text with all matches replaced.
    pub text: String,
    /// The matches, in their order, inner ones before those that contain them. Their places are those of the text as
    /// it was when they were replaced.
    pub matches: Vec<Match>,
    /// Lines of the matches, from 1, that stay as they are: a pattern describes only a part of them, or what is around them would have
    /// another meaning after the replacement.
    pub left: Vec<usize>,
    /// Whether the text had a syntax error before, so that matches around it may be missed.
    pub has_syntax_error: bool,
}

/// Number of edits that are tried alone for one that breaks the file.
const MAX_ALONE: usize = 100;

/// Number of times that the edits of a file are made anew because some do not fit, with as many of the others as there may be.
const MAX_PASSES: usize = 8;

type Document = StrDoc<PatternLanguage>;

/// What stands in place of a match.
pub(crate) struct Replacement {
    pub(crate) fixer: Fixer,
    /// The fixer's template.
    pub(crate) template: Template,
    /// What a match must not be a mere part of.
    pub(crate) whole: WholePatterns,
}

/// Replaces all matches of a rule, without a look at whether the result still parses: those that contain no other first, then
/// those around them. What was put in is not looked into again, so a rule whose result matches again is applied once to each
/// match. Returns the tree of the result as well, and the ranges of it that were put in.
pub(crate) fn rewrite(
    rule: &RuleConfig<PatternLanguage>,
    replacement: Option<&Replacement>,
    (language, text): (Language, &str),
    stop: &dyn Fn() -> bool,
) -> Result<(Rewritten, Parsed, Vec<Range<usize>>), RewriteError> {
    let mut parsed = Parsed::new(language, text)?;
    let mut done =
        Rewritten { text: text.to_owned(), matches: Vec::new(), left: Vec::new(), has_syntax_error: false };
    let Some(replacement) = replacement else {
        let (tree, has_error) = document(language, text, &mut parsed)?;
        done.has_syntax_error = has_error;
        let mut lines = LineCounter::new(text);
        let root = tree.root();
        let found = found(rule, &root, stop).map(|found| found.range()).collect::<Vec<_>>();
        if stop() {
            return Err(RewriteError::Stopped);
        }
        done.matches = found.into_iter().map(|range| lines.found(range, None)).collect();
        return Ok((done, parsed, Vec::new()));
    };
    // Ranges that were put in, in their order.
    let mut ours: Vec<Range<usize>> = Vec::new();
    // Starts of matches that stay.
    let mut left = Vec::new();
    let mut allowed = usize::MAX;
    while done.matches.len() < allowed {
        let (tree, has_error) = document(language, &done.text, &mut parsed)?;
        let source = Source::new(&done.text, parsed.moved());
        let edits;
        (edits, left) = self::edits(rule, replacement, &tree, (&source, &ours), stop);
        // A tree that is held twice is copied as it is edited.
        drop(tree);
        if stop() {
            return Err(RewriteError::Stopped);
        }
        if allowed == usize::MAX {
            allowed = edits.len();
            done.has_syntax_error = has_error;
        }
        let made = make((edits, &mut left), (language, &done.text), &ours, &mut parsed)?;
        let Some(Made { text, put_in, edits }) = made else { break };
        let mut lines = LineCounter::new(&done.text);
        done.matches.extend(edits.into_iter().map(|edit| lines.found(edit.found, Some(edit.text))));
        (done.text, ours) = (text, put_in);
    }
    let mut lines = LineCounter::new(&done.text);
    done.left = left.into_iter().map(|start| lines.position(start).0).collect();
    Ok((done, parsed, ours))
}

/// Returns the matches below a node, in their order, until it is stopped.
fn found<'a, 't>(
    rule: &'a RuleConfig<PatternLanguage>,
    root: &'a Node<'t, Document>,
    stop: &'a dyn Fn() -> bool,
) -> impl Iterator<Item = NodeMatch<'t, Document>> + 'a {
    let kinds = rule.matcher.potential_kinds();
    let can_match = move |node: &Node<'t, Document>| {
        kinds.as_ref().is_none_or(|kinds| kinds.contains(node.kind_id().into()))
    };
    // Threads share what is asked, so it is asked where matching begins, not at every node that is passed.
    let nodes = root.dfs().filter(can_match).take_while(move |_| !stop());
    nodes.filter_map(move |node| rule.matcher.match_node(node))
}

/// Change that a match asks for.
#[derive(Clone)]
pub(crate) struct Edit {
    /// The match.
    found: Range<usize>,
    /// What is replaced, which may be more.
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
    /// Whether the text has been changed to fit.
    pub(crate) has_changed: bool,
}

/// Returns the edits outside of what was put in, by their starts, those that contain others first; and the starts of matches that stay.
fn edits(
    rule: &RuleConfig<PatternLanguage>,
    Replacement { fixer, template, whole }: &Replacement,
    tree: &AstGrep<Document>,
    (source, ours): (&Source<'_>, &[Range<usize>]),
    stop: &dyn Fn() -> bool,
) -> (Vec<Edit>, Vec<usize>) {
    let is_ours = |range: &Range<usize>| {
        let next = ours.partition_point(|own| own.end < range.end);
        ours.get(next).is_some_and(|own| own.start <= range.start && !range.is_empty())
    };
    let (mut edits, mut nodes, mut left) = (Vec::new(), Vec::new(), Vec::new());
    let root = tree.root();
    let language = root.lang().0;
    for found in found(rule, &root, stop) {
        if is_ours(&found.range()) {
            continue;
        }
        if whole.match_part_of(&found) {
            left.push(found.range().start);
            continue;
        }
        let text = template.filled(&found, source);
        let range = fixer.get_replaced_range(&found, &rule.matcher);
        let range = if whole.has_marks() {
            Some(range)
        } else {
            behind_marks((language, tree.source()), found.get_inner_node(), range, &text)
        };
        let Some(range) = range else {
            left.push(found.range().start);
            continue;
        };
        nodes.push((found.node_id(), found.range()));
        edits.push(Edit { found: found.range(), range, text, has_changed: false });
    }
    let around = around(root.get_inner_node(), (language, tree.source()), &nodes);
    let fitting = edits.into_iter().zip(around).filter_map(|(edit, around)| {
        let fitted = around.fitted((language, tree.source()), (&edit.found, edit.range), edit.text);
        if fitted.is_none() {
            left.push(edit.found.start);
        }
        fitted.map(|(range, text)| Edit { found: edit.found, range, text, has_changed: false })
    });
    let mut edits: Vec<Edit> = fitting.collect();
    // What goes with its marks may begin before what stands in them, which is little.
    for last in 1..edits.len() {
        for at in (1..=last).rev() {
            let (one, next) = (&edits[at - 1].range, &edits[at].range);
            if (one.start, next.end) <= (next.start, one.end) {
                break;
            }
            edits.swap(at - 1, at);
        }
    }
    (edits, left)
}

/// Text with edits made.
struct Made {
    text: String,
    /// The ranges of it that were put in so far.
    put_in: Vec<Range<usize>>,
    edits: Vec<Edit>,
}

/// Makes the edits that contain no others and fit where they are; `None` if there are none. Notes them in the tree. The starts of matches that
/// stay are those in the result.
fn make(
    (mut edits, left): (Vec<Edit>, &mut Vec<usize>),
    (language, text): (Language, &str),
    ours: &[Range<usize>],
    parsed: &mut Parsed,
) -> Result<Option<Made>, RewriteError> {
    let mut passes = 0;
    loop {
        let innermost = innermost(&edits);
        if innermost.is_empty() {
            left.sort_unstable();
            left.dedup();
            return Ok(None);
        }
        let own: Vec<Edit> = innermost.iter().map(|at| edits[*at].clone()).collect();
        let before = parsed.tree(text)?;
        let had_error = before.root_node().has_error();
        let standing = Standing::new(language, (before, text), &own);
        let applied = apply(text, &own, ours, parsed);
        let tree = parsed.tree(&applied.text)?;
        let misfits = if tree.root_node().has_error() && !had_error {
            breaking(&standing, &own, (language, text))?
        } else {
            standing.misfits((tree, &applied.text), &own, &applied.own)
        };
        if misfits.is_empty() {
            left.sort_unstable();
            left.dedup();
            for start in left {
                *start = applied.moved(*start, &own);
            }
            return Ok(Some(Made { text: applied.text, put_in: applied.put_in, edits: own }));
        }
        passes += 1;
        let mut dropped = Vec::new();
        let mut end = 0;
        for (index, alternative) in misfits {
            let at = innermost[index];
            if let Some(text) = alternative {
                edits[at] = Edit { text, has_changed: true, ..edits[at].clone() };
            } else if passes > MAX_PASSES || own[index].range.start >= end {
                // Those in the same frame may fit without this one.
                end = standing.end_of_frame(index);
                dropped.push(at);
            }
        }
        for at in dropped.into_iter().rev() {
            left.push(edits.remove(at).found.start);
        }
        *parsed = Parsed::new(language, text)?;
    }
}

/// Returns the edits after which alone a text has a syntax error, by their positions, with what they can put in instead. Without that, the
/// error is told.
fn breaking(
    standing: &Standing<'_>,
    edits: &[Edit],
    (language, text): (Language, &str),
) -> Result<Vec<(usize, Option<String>)>, RewriteError> {
    let mut found = Vec::new();
    for (at, edit) in edits.iter().enumerate().take(MAX_ALONE) {
        let Some(alternative) = standing.alternative(at, edit) else { continue };
        let alone = apply(text, std::slice::from_ref(edit), &[], &mut Parsed::new(language, text)?);
        if Parsed::new(language, &alone.text)?.moved().root_node().has_error() {
            found.push((at, Some(alternative)));
        }
    }
    Ok(found)
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

/// Returns a text as ast-grep has it, and whether it has a syntax error.
fn document(
    language: Language,
    text: &str,
    parsed: &mut Parsed,
) -> Result<(AstGrep<Document>, bool), RewriteError> {
    let tree = parsed.tree(text)?.clone();
    let errors = survey(&tree)?;
    let document = StrDoc { src: text.to_owned(), lang: PatternLanguage(language), tree };
    Ok((AstGrep::doc(document), !errors.is_empty()))
}

/// Lines and columns of bytes that come in ascending order, so that a text is gone through once.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    fn found(&mut self, range: Range<usize>, replacement: Option<String>) -> Match {
        let (line, column) = self.position(range.start);
        Match { line, column, text: self.text[range].to_owned(), replacement }
    }

    fn position(&mut self, byte: usize) -> (usize, usize) {
        if byte < self.at {
            *self = Self::new(self.text);
        }
        for (offset, _) in self.text[self.at..byte].match_indices('\n') {
            self.line += 1;
            self.line_start = self.at + offset + 1;
        }
        self.at = byte;
        (self.line, self.text[self.line_start..byte].chars().count() + 1)
    }
}
