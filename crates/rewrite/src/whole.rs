//! Patterns that match the beginning of a node: ast-grep takes `raise $A` for a match of `raise a from b`. Replaced, what follows
//! would be lost.

use ast_grep_core::matcher::{MatcherExt as _, NodeMatch};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{MatchStrictness, Pattern};
use serde_json::Value;

use crate::language::PatternLanguage;

/// Depth to which named rules that name others are followed.
const MAX_DEPTH: usize = 8;

/// Patterns of a rule that a match itself is matched by, not something around it or within it: as ast-grep takes them, and so that
/// nothing but comments and punctuation may follow their last node. The second form does not match either where a word such as
/// `async`, which would be lost as well, stands in front of a pattern's first one.
#[derive(Default)]
pub(crate) struct WholePatterns(Vec<(Pattern, Pattern)>);

impl WholePatterns {
    /// Collects the patterns of a rule in its form for ast-grep. Those that say themselves how strict they are stay as they are, and so
    /// do all if the replacement has metavariables that are none of theirs: they may stand for what follows.
    pub(crate) fn new(form: &Value, language: PatternLanguage, names: &[&str]) -> Self {
        let mut found = Vec::new();
        collect(&form["rule"], &form["utils"], language, MAX_DEPTH, &mut found);
        let is_own = |name: &&str| found.iter().any(|pattern| pattern.defined_vars().contains(name));
        if !names.iter().all(is_own) {
            return Self::default();
        }
        let strict = |pattern: Pattern| {
            let strict = pattern.clone().with_strictness(MatchStrictness::Relaxed);
            (pattern, strict)
        };
        Self(found.into_iter().map(strict).collect())
    }

    /// Returns whether all that the patterns match is the beginning of a match.
    pub(crate) fn match_beginning_of(&self, found: &NodeMatch<'_, StrDoc<PatternLanguage>>) -> bool {
        let node = || found.get_node().clone();
        let mut matching =
            self.0.iter().filter(|(pattern, _)| pattern.match_node(node()).is_some()).peekable();
        matching.peek().is_some() && !matching.any(|(_, strict)| strict.match_node(node()).is_some())
    }
}

fn collect(rule: &Value, utils: &Value, language: PatternLanguage, depth: usize, found: &mut Vec<Pattern>) {
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
    found.extend(pattern);
    let Some(depth) = depth.checked_sub(1) else { return };
    let lists = ["all", "any"].into_iter().filter_map(|name| rule[name].as_array());
    let named = rule["matches"].as_str().map(|name| &utils[name]);
    for rule in lists.flatten().chain(named) {
        collect(rule, utils, language, depth, found);
    }
}
