//! Matching and replacing in one text.

use std::ops::Range;

use ast_grep_config::{Fixer, RuleConfig};
use ast_grep_core::matcher::{Matcher as _, MatcherExt as _, NodeMatch};
use ast_grep_core::replacer::Replacer as _;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node};

use crate::edits::{Edit, EditSet, Made};
use crate::faults::{check, survey};
use crate::language::PatternLanguage;
use crate::layout::Template;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::surroundings::{around, behind_marks};
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
        let (edits, left_now) = edits(rule, replacement, &tree, (&source, &ours), stop);
        // A tree that is held twice is copied as it is edited.
        drop(tree);
        if stop() {
            return Err(RewriteError::Stopped);
        }
        if allowed == usize::MAX {
            allowed = edits.len();
            done.has_syntax_error = has_error;
        }
        let mut set = EditSet { language, text: &done.text, edits, left: left_now, broken: None };
        let made = set.make(&ours, &mut parsed, stop)?;
        left = set.left;
        // Where nothing can be made, it is told what would break.
        if let Some(broken) = set.broken.filter(|_| made.is_none() && done.matches.is_empty()) {
            check(&mut Parsed::new(language, &broken)?, language, text, &broken)?;
        }
        if stop() {
            return Err(RewriteError::Stopped);
        }
        let Some(Made { text, put_in, edits }) = made else { break };
        let mut lines = LineCounter::new(&done.text);
        done.matches.extend(edits.into_iter().map(|edit| lines.found(edit.found, Some(edit.text))));
        (done.text, ours) = (text, put_in);
    }
    left.sort_unstable();
    left.dedup();
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
        let Some(text) = template.filled(&found, source) else {
            left.push(found.range().start);
            continue;
        };
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
