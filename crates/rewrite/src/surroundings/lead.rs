//! Starts of scripts' nodes, at which an expression would be read as a block, a declaration, or the rest of the line above.

use std::ops::Range;

use tree_sitter::Node;

use crate::expressions::{Class, in_parentheses};
use crate::{Language, MAX_TIME};

/// Node of a script that may not begin with everything: braces would be a block there, and `function` or `class` a declaration.
#[derive(Clone)]
pub(crate) struct Lead<'t> {
    node: Node<'t>,
    /// The statement in front of it, if it is a statement.
    before: Option<Node<'t>>,
    kind: LeadKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadKind {
    /// The body of an arrow function.
    Body,
    /// What a module exports by default.
    Exported,
    Statement,
}

impl<'t> Lead<'t> {
    pub(crate) fn new(
        language: Language,
        (parent, node): (Node<'t>, Node<'t>),
        before: Option<Node<'t>>,
        field: Option<&str>,
    ) -> Option<Self> {
        if !matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
            return None;
        }
        let kind = match (parent.kind(), field) {
            ("arrow_function", Some("body")) if node.kind() != "statement_block" => LeadKind::Body,
            ("export_statement", Some("value")) => LeadKind::Exported,
            _ if node.kind() == "expression_statement" => LeadKind::Statement,
            _ => return None,
        };
        Some(Self { node, before, kind })
    }

    pub(crate) fn begins_with(&self, node: Node<'_>) -> bool {
        self.node.start_byte() == node.start_byte()
    }

    /// Returns a text as it may begin the node: in parentheses where it would be read as something else. Returns `None` if the line above
    /// would go on with it.
    pub(crate) fn fitted(
        &self,
        language: Language,
        (text, range): (&str, &Range<usize>),
        new: String,
    ) -> Option<String> {
        if range.start != self.node.start_byte() {
            return Some(new);
        }
        let new = if self.is_misread(language, range, &new) {
            in_parentheses(language, &new).map_or(new, |held| held.text)
        } else {
            new
        };
        let goes_on_above = goes_on(behind_comments(&new))
            && !goes_on(text.get(range.clone()).unwrap_or_default())
            && self.before.is_some_and(|before| is_open(before, text));
        (!goes_on_above).then_some(new)
    }

    /// Returns whether a value would be read as a block or a declaration.
    fn is_misread(&self, language: Language, range: &Range<usize>, new: &str) -> bool {
        let first = behind_comments(new);
        let is_object = first.starts_with('{');
        let is_declared = ["function", "class", "async function"].iter().any(|word| {
            let rest = first.strip_prefix(word);
            rest.is_some_and(|rest| {
                !rest.starts_with(|sign: char| sign.is_alphanumeric() || "_$".contains(sign))
            })
        });
        let is_all = self.node.end_byte() <= range.end + 1;
        match self.kind {
            LeadKind::Body => is_object,
            LeadKind::Exported => is_declared && !(is_all && is_declared_value(language, new)),
            LeadKind::Statement => (is_object || is_declared) && !(is_all && begins_statement(language, new)),
        }
    }
}

/// Returns whether a script is a function or a class and nothing else.
fn is_declared_value(language: Language, new: &str) -> bool {
    let value = in_parentheses(language, new).and_then(|held| held.value);
    value.is_some_and(|value| value.class == Class::Declared && value.kind != "object")
}

/// Returns what follows the comments at the start of a script.
fn behind_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let rest = match text.get(..2) {
            Some("//") => text.split_once('\n'),
            Some("/*") => text.split_once("*/"),
            _ => None,
        };
        let Some((_, rest)) = rest else { return text };
        text = rest;
    }
}

/// Returns whether a script begins with a block or a declaration. The grammar takes a function without a name for a value as well.
fn begins_statement(language: Language, new: &str) -> bool {
    let tree = grammar::parse(new, &language.grammar(), MAX_TIME);
    tree.is_some_and(|tree| {
        let root = tree.root_node();
        let first = root.named_children(&mut root.walk()).find(|child| !child.is_extra());
        !root.has_error() && first.is_some_and(|first| first.kind() != "expression_statement")
    })
}

/// Returns whether a script goes on with the statement above at the start of a text.
pub(crate) fn goes_on(text: &str) -> bool {
    text.starts_with(['(', '[', '`', '+', '-', '/', '*', '.', ','])
}

/// Returns whether a statement of a script has no semicolon, so that the next line could go on with it.
pub(crate) fn is_open(statement: Node<'_>, text: &str) -> bool {
    let can_go_on = matches!(
        statement.kind(),
        "expression_statement"
            | "lexical_declaration"
            | "variable_declaration"
            | "return_statement"
            | "throw_statement"
            | "import_statement"
            | "export_statement"
    );
    can_go_on && !text.get(statement.byte_range()).unwrap_or_default().ends_with(';')
}
