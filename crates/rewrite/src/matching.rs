//! Matching and replacing in one text.

use std::ops::Range;

use ast_grep_config::{Fixer, RuleConfig};
use ast_grep_core::matcher::{Matcher as _, MatcherExt as _, NodeMatch};
use ast_grep_core::replacer::Replacer as _;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node};
use grammar::{broken_blocks, errs_in_brackets_alone};

use crate::language::PatternLanguage;
use crate::layout::{Source, Template};
use crate::marks::behind_marks;
use crate::parsed::Parsed;
use crate::surroundings::around;
use crate::whole::WholePatterns;
use crate::{Language, MAX_DEPTH, MAX_TIME, RewriteError};

/// Number of syntax errors among which one is looked for that a text did not have before.
const MAX_FAULTS: usize = 100;

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
    let mut done = Rewritten { text: text.to_owned(), matches: Vec::new(), has_syntax_error: false };
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
    let mut allowed = usize::MAX;
    while done.matches.len() < allowed {
        let (tree, has_error) = document(language, &done.text, &mut parsed)?;
        let source = Source::new(&done.text, parsed.moved());
        let edits = edits(rule, replacement, &tree, (&source, &ours), stop);
        // A tree that is held twice is copied as it is edited.
        drop(tree);
        if stop() {
            return Err(RewriteError::Stopped);
        }
        if allowed == usize::MAX {
            allowed = edits.len();
            done.has_syntax_error = has_error;
        }
        let innermost: Vec<&Edit> = edits
            .iter()
            .enumerate()
            .filter(|(at, edit)| edits.get(at + 1).is_none_or(|next| next.range.start >= edit.range.end))
            .map(|(_, edit)| edit)
            .collect();
        if innermost.is_empty() {
            break;
        }
        let mut lines = LineCounter::new(&done.text);
        done.matches
            .extend(innermost.iter().map(|edit| lines.found(edit.found.clone(), Some(edit.text.clone()))));
        let text;
        (text, ours) = apply(&done.text, &innermost, &ours, &mut parsed);
        done.text = text;
    }
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
struct Edit {
    /// The match.
    found: Range<usize>,
    /// What is replaced, which may be more.
    range: Range<usize>,
    text: String,
}

/// Returns the edits outside of what was put in, by their starts, those that contain others first.
fn edits(
    rule: &RuleConfig<PatternLanguage>,
    Replacement { fixer, template, whole }: &Replacement,
    tree: &AstGrep<Document>,
    (source, ours): (&Source<'_>, &[Range<usize>]),
    stop: &dyn Fn() -> bool,
) -> Vec<Edit> {
    let is_ours = |range: &Range<usize>| {
        let next = ours.partition_point(|own| own.end < range.end);
        ours.get(next).is_some_and(|own| own.start <= range.start && !range.is_empty())
    };
    let (mut edits, mut nodes) = (Vec::new(), Vec::new());
    let root = tree.root();
    let language = root.lang().0;
    for found in found(rule, &root, stop) {
        if is_ours(&found.range()) || whole.match_part_of(&found) {
            continue;
        }
        let text = template.filled(&found, source);
        let range = fixer.get_replaced_range(&found, &rule.matcher);
        let range = if whole.has_marks() {
            Some(range)
        } else {
            behind_marks((language, tree.source()), found.get_inner_node(), range, &text)
        };
        let Some(range) = range else { continue };
        nodes.push((found.node_id(), found.range()));
        edits.push(Edit { found: found.range(), range, text });
    }
    let around = around(root.get_inner_node(), (language, tree.source()), &nodes);
    let fitting = edits.into_iter().zip(around).filter_map(|(Edit { found, range, text }, around)| {
        let (range, text) = around.fitted((language, tree.source()), (&found, range), text)?;
        Some(Edit { found, range, text })
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
    edits
}

/// Returns the text with edits that do not overlap, and the ranges of it that were put in so far. Notes the edits in the tree.
fn apply(
    text: &str,
    edits: &[&Edit],
    ours: &[Range<usize>],
    parsed: &mut Parsed,
) -> (String, Vec<Range<usize>>) {
    let mut made = Vec::with_capacity(edits.len());
    let mut result = String::with_capacity(text.len());
    let mut put_in = Vec::with_capacity(ours.len() + edits.len());
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
        // One that expands over another waits for its turn.
        if range.start < end {
            continue;
        }
        made.push((range.clone(), text.as_str()));
        keep(&mut result, &mut put_in, end..range.start);
        put_in.push(result.len()..result.len() + text.len());
        result.push_str(text);
        end = range.end;
    }
    keep(&mut result, &mut put_in, end..text.len());
    parsed.note(text, made);
    (result, put_in)
}

/// Fails if a text has a syntax error more than the text `before`, which it was made from.
pub(crate) fn check(
    parsed: &mut Parsed,
    language: Language,
    before: &str,
    text: &str,
) -> Result<(), RewriteError> {
    let found = faults(parsed.tree(text)?, language, text)?;
    if found.is_empty() {
        return Ok(());
    }
    let known = faults(Parsed::new(language, before)?.moved(), language, before)?;
    if found.len() <= known.len() {
        return Ok(());
    }
    let line_of = |text: &str, at: usize| {
        let line = text[..at].matches('\n').count();
        (line + 1, text.lines().nth(line).unwrap_or_default().trim().chars().take(200).collect::<String>())
    };
    let known: Vec<String> = known.iter().take(MAX_FAULTS).map(|at| line_of(before, *at).1).collect();
    let mut lines = found.iter().take(MAX_FAULTS).map(|at| line_of(text, *at));
    let first = || line_of(text, found.first().copied().unwrap_or_default());
    let (line, text) = lines.find(|(_, line)| !known.contains(line)).unwrap_or_else(first);
    Err(RewriteError::Broken { line, text })
}

/// Returns the bytes at which a text has syntax errors. Python takes lines in brackets that its grammar does not.
fn faults(tree: &tree_sitter::Tree, language: Language, text: &str) -> Result<Vec<usize>, RewriteError> {
    let mut faults = survey(tree)?;
    if language == Language::Python {
        if errs_in_brackets_alone(tree, text, MAX_TIME) {
            return Ok(Vec::new());
        }
        faults.extend(broken_blocks(tree, text));
        faults.sort_unstable();
    }
    Ok(faults)
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

/// Walks a tree without recursion. Returns the bytes at which syntax errors begin; fails if the tree is too deep.
fn survey(tree: &tree_sitter::Tree) -> Result<Vec<usize>, RewriteError> {
    let root = tree.root_node();
    // No node is deeper than there are nodes.
    if !root.has_error() && root.descendant_count() <= MAX_DEPTH {
        return Ok(Vec::new());
    }
    let mut cursor = tree.walk();
    let (mut depth, mut errors) = (0, Vec::new());
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            errors.push(node.start_byte());
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(RewriteError::TooDeep);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(errors);
            }
            depth -= 1;
        }
    }
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
