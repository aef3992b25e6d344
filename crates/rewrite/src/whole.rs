//! Patterns that match a part of a node: ast-grep takes `raise $A` for a match of `raise a from b`, and `def f(): $$$B` for one of
//! `async def f(): …`. Replaced, the rest would be lost.

use std::ops::Range;

use ast_grep_core::matcher::{MatcherExt as _, NodeMatch, PatternNode};
use ast_grep_core::meta_var::{MetaVarEnv, MetaVariable};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{Node, Pattern};
use serde_json::Value;

use crate::language::PatternLanguage;

/// Depth to which named rules that name others are followed.
const MAX_DEPTH: usize = 8;

type Document = StrDoc<PatternLanguage>;

/// Patterns of a rule whose match is replaced, as opposed to something around it.
#[derive(Default)]
pub(crate) struct WholePatterns {
    /// Those that a match itself is matched by.
    outer: Vec<WholePattern>,
    /// Those that something within it is matched by (`has`), and whose metavariables the replacement has.
    inner: Vec<WholePattern>,
    /// Whether the rule says itself what becomes of the attributes and decorators within a match.
    has_marks: bool,
}

/// Pattern that tells what it leaves out of a node.
struct WholePattern {
    /// The pattern, with a number in place of each metavariable's name: what the fifth stands for is `4`.
    pattern: Pattern,
    /// The names, by their numbers; none for `$_` and `$$$`.
    names: Vec<Option<String>>,
    /// Kinds of its words and signs.
    signs: Vec<u16>,
    /// Whether the replacement has metavariables of other parts of the rule, which may stand for what follows.
    may_go_on: bool,
    /// Whether comments are lost with all else.
    is_removed: bool,
}

impl WholePatterns {
    /// Collects the patterns of a rule in its form for ast-grep, but for those that say themselves how strict they are. `names` are the
    /// metavariables of the replacement, which may be nothing.
    pub(crate) fn new(form: &Value, language: PatternLanguage, (names, is_removed): (&[&str], bool)) -> Self {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        collect(&form["rule"], &form["utils"], language, MAX_DEPTH, (&mut outer, &mut inner));
        inner.retain(|pattern| pattern.defined_vars().iter().any(|name| names.contains(name)));
        let may_go_on = |patterns: &[Pattern]| {
            !names.iter().all(|name| patterns.iter().any(|pattern| pattern.defined_vars().contains(name)))
        };
        let goes_on = may_go_on(&outer);
        let outer: Vec<WholePattern> = outer
            .into_iter()
            .map(|pattern| WholePattern::new(pattern, language, (goes_on, is_removed)))
            .collect();
        let inner = inner.into_iter().map(|pattern| {
            let goes_on = may_go_on(std::slice::from_ref(&pattern));
            WholePattern::new(pattern, language, (goes_on, is_removed))
        });
        let has_marks = !outer.is_empty() || form["rule"].get("pattern").is_some() || names_marks(form);
        Self { outer, inner: inner.collect(), has_marks }
    }

    /// Returns whether the rule says itself what becomes of the attributes and decorators within a match.
    pub(crate) fn has_marks(&self) -> bool {
        self.has_marks
    }

    /// Returns whether all that the patterns match is a part of a match, or of a node within it that is taken apart.
    pub(crate) fn match_part_of(&self, found: &NodeMatch<'_, Document>) -> bool {
        let outer = self.outer.iter().filter_map(|pattern| pattern.is_whole(found.get_node(), None));
        let is_inner_part = |node: Node<'_, Document>| {
            are_parts(self.inner.iter().filter_map(|pattern| pattern.is_whole(&node, Some(found.get_env()))))
        };
        are_parts(outer) || !self.inner.is_empty() && found.get_node().dfs().any(is_inner_part)
    }
}

fn names_marks(form: &Value) -> bool {
    let rule = format!("{}{}", form["rule"], form["utils"]);
    ["decorat", "attribute", "@", "#["].iter().any(|mark| rule.contains(mark))
}

/// Returns whether some patterns match, and none of them the whole node.
fn are_parts(mut are_whole: impl Iterator<Item = bool>) -> bool {
    are_whole.next().is_some_and(|first| !first) && !are_whole.any(|is_whole| is_whole)
}

impl WholePattern {
    fn new(mut pattern: Pattern, language: PatternLanguage, (may_go_on, is_removed): (bool, bool)) -> Self {
        let (mut names, mut signs) = (Vec::new(), Vec::new());
        let grammar = language.0.grammar();
        let is_sign = |kind: u16| grammar.node_kind_for_id(kind).is_some_and(is_sign);
        take_apart(&mut pattern.node, &is_sign, (&mut names, &mut signs));
        Self { pattern, names, signs, may_go_on, is_removed }
    }

    /// Returns whether a node has no other words, signs and comments than the pattern and what its metavariables stand for; `None` if it
    /// does not match, or not with what the names of a rule stand for.
    fn is_whole(&self, node: &Node<'_, Document>, env: Option<&MetaVarEnv<'_, Document>>) -> Option<bool> {
        let matched = self.pattern.match_node(node.clone())?;
        let ranges: Vec<_> =
            (0..self.names.len()).map(|at| range_of(matched.get_env(), &at.to_string())).collect();
        let is_same = |(name, range): (&Option<String>, &Option<Range<usize>>)| {
            let known = env.zip(name.as_ref()).and_then(|(env, name)| range_of(env, name));
            known.is_none_or(|known| Some(known) == *range)
        };
        if !self.names.iter().zip(&ranges).all(is_same) {
            return None;
        }
        let ranges: Vec<_> = ranges.into_iter().flatten().collect();
        let signs = signs(node.get_inner_node(), &ranges, !self.is_removed);
        Some(if self.may_go_on { signs.starts_with(&self.signs) } else { signs == self.signs })
    }
}

/// Returns the range of what a metavariable stands for, if it is not nothing.
fn range_of(env: &MetaVarEnv<'_, Document>, name: &str) -> Option<Range<usize>> {
    let nodes = env.get_multiple_matches(name);
    let several = nodes.first().zip(nodes.last());
    let several = several.map(|(first, last)| first.range().start..last.range().end);
    env.get_match(name).map(Node::range).or(several)
}

/// Returns whether leaves of a kind have a meaning of their own: not what parts or encloses others.
fn is_sign(kind: &str) -> bool {
    !matches!(kind, "" | "," | ";" | "(" | ")" | "\n") && !kind.contains("comment")
}

/// Numbers the metavariables of a pattern, and collects their names and the kinds of all other leaves.
fn take_apart(
    node: &mut PatternNode,
    is_sign: &dyn Fn(u16) -> bool,
    (names, signs): (&mut Vec<Option<String>>, &mut Vec<u16>),
) {
    match node {
        PatternNode::MetaVar { meta_var } => {
            let number = names.len().to_string();
            let (numbered, name) = match std::mem::replace(meta_var, MetaVariable::Multiple) {
                MetaVariable::Capture(name, is_named) => {
                    (MetaVariable::Capture(number, is_named), Some(name))
                }
                MetaVariable::Dropped(is_named) => (MetaVariable::Capture(number, is_named), None),
                MetaVariable::MultiCapture(name) => (MetaVariable::MultiCapture(number), Some(name)),
                MetaVariable::Multiple => (MetaVariable::MultiCapture(number), None),
            };
            *meta_var = numbered;
            names.push(name);
        }
        PatternNode::Terminal { text, kind_id, .. } => {
            signs.extend((!text.is_empty() && is_sign(*kind_id)).then_some(*kind_id));
        }
        PatternNode::Internal { children, .. } => {
            for child in children {
                take_apart(child, is_sign, (names, signs));
            }
        }
    }
}

/// Returns the kinds of the leaves of a node that stand outside of some ranges, and of its comments if these count.
fn signs(root: tree_sitter::Node<'_>, known: &[Range<usize>], has_comments: bool) -> Vec<u16> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let range = node.byte_range();
        let is_within = known.iter().any(|known| known.start <= range.start && range.end <= known.end);
        // What the grammar does not know has a meaning as well.
        let is_lost = node.is_error() || has_comments && node.is_extra() && node.kind().contains("comment");
        if is_lost && !is_within {
            found.push(node.kind_id());
        }
        let is_known = node.is_extra() || range.is_empty() || is_within;
        if !is_known && cursor.goto_first_child() {
            continue;
        }
        // `a[0,]` of Python has a tuple.
        let is_tuple = node.kind() == ","
            && node.next_sibling().is_some_and(|next| next.kind() == "]")
            && node.parent().is_some_and(|parent| parent.kind() == "subscript");
        if !is_known && (is_sign(node.kind()) || is_tuple) {
            found.push(node.kind_id());
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

fn collect(
    rule: &Value,
    utils: &Value,
    language: PatternLanguage,
    depth: usize,
    (outer, inner): (&mut Vec<Pattern>, &mut Vec<Pattern>),
) {
    let pattern = match &rule["pattern"] {
        Value::String(pattern) => Pattern::try_new(pattern, language).ok(),
        Value::Object(form) if !form.contains_key("strictness") => {
            let part = |name: &str| form.get(name).and_then(Value::as_str);
            match (part("context"), part("selector")) {
                (Some(context), Some(kind)) => Pattern::contextual(context, kind, language).ok(),
                (Some(context), None) => Pattern::try_new(context, language).ok(),
                _ => None,
            }
        }
        _ => None,
    };
    outer.extend(pattern);
    let Some(depth) = depth.checked_sub(1) else { return };
    let lists = ["all", "any"].into_iter().filter_map(|name| rule[name].as_array());
    let named = rule["matches"].as_str().map(|name| &utils[name]);
    for rule in lists.flatten().chain(named) {
        collect(rule, utils, language, depth, (outer, inner));
    }
    if rule["has"].is_object() {
        let mut within = Vec::new();
        collect(&rule["has"], utils, language, depth, (&mut within, inner));
        inner.append(&mut within);
    }
}
