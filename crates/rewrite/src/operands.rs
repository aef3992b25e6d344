//! Expressions that are replaced: what is done with their value, and what another would begin in their place.

use std::ops::Range;

use tree_sitter::Node;

use crate::parentheses::in_parentheses;
use crate::values::Class;
use crate::{Language, MAX_TIME};

/// Returns whether a text has nothing that is carried out.
pub(crate) fn is_blank(language: Language, new: &str) -> bool {
    let new = new.trim();
    let has_comment = || {
        let tree = grammar::parse(new, &language.grammar(), MAX_TIME);
        tree.is_some_and(|tree| {
            let root = tree.root_node();
            !root.has_error() && root.children(&mut root.walk()).all(|child| child.is_extra())
        })
    };
    new.is_empty() || new.starts_with(['#', '/']) && has_comment()
}

/// Returns whether something is done with the value of a node, which cannot go without another in its place.
pub(crate) fn is_operand(parent: Node<'_>, node: Node<'_>) -> bool {
    let is_alone = match parent.kind() {
        "expression_statement" => {
            parent.named_children(&mut parent.walk()).filter(|child| !child.is_extra()).count() == 1
        }
        "array" => return true,
        parent => is_body(parent),
    };
    !is_alone && is_expression(node.kind())
}

/// Returns whether a node of a kind holds what has no value for it.
pub(crate) fn is_body(kind: &str) -> bool {
    matches!(
        kind,
        "block" | "declaration_list" | "source_file" | "module" | "program" | "jsx_element" | "jsx_fragment"
    )
}

fn is_expression(kind: &str) -> bool {
    ["_expression", "_operator", "_literal", "_invocation", "_comprehension", "_access"]
        .iter()
        .any(|end| kind.ends_with(end))
        || matches!(
            kind,
            "call"
                | "await"
                | "attribute"
                | "subscript"
                | "identifier"
                | "lambda"
                | "string"
                | "template_string"
                | "number"
                | "integer"
                | "float"
                | "list"
                | "tuple"
                | "set"
                | "dictionary"
                | "array"
                | "object"
                | "class"
                | "arrow_function"
                | "jsx_element"
                | "jsx_self_closing_element"
        )
}

/// Returns whether Python takes a text for a call, as its grammar does, whose argument is that of a `with`: `f(open(x) as y)`.
pub(crate) fn takes_as_element(language: Language, new: &str) -> bool {
    if language != Language::Python || !new.contains(" as ") {
        return false;
    }
    let Some(tree) = grammar::parse(new, &language.grammar(), MAX_TIME) else { return false };
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if matches!(node.kind(), "argument_list" | "list")
            && node.named_children(&mut node.walk()).any(|child| child.kind() == "as_pattern")
        {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// Braces of an f-string of Python, whose quotes may not be within them before version 3.12.
#[derive(Clone)]
pub(crate) struct Field<'t> {
    pub(crate) string: Node<'t>,
    pub(crate) braces: Node<'t>,
}

impl Field<'_> {
    /// Returns whether the braces cannot hold a text in place of an old one: it has signs that they may not have, and the old one has not.
    pub(crate) fn refuses(&self, text: &str, old: &str, new: &str) -> bool {
        let start = self.string.child(0).and_then(|start| text.get(start.byte_range())).unwrap_or_default();
        let quote = start.trim_start_matches(|sign: char| sign.is_alphabetic());
        refuses_in_quotes(quote, new) && !refuses_in_quotes(quote, old)
    }

    /// Returns a text as the braces take it: a second brace would be one of the string, and a colon outside of brackets begins a format.
    pub(crate) fn fitted(&self, text: &str, start: usize, new: String) -> String {
        let mut depth = 0_usize;
        let mut has_colon = false;
        for sign in new.chars() {
            match sign {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ':' => has_colon |= depth == 0,
                _ => {}
            }
        }
        let is_first = text.get(self.braces.start_byte()..start) == Some("{");
        if has_colon {
            format!("({new})")
        } else if is_first && new.starts_with('{') {
            format!(" {new}")
        } else {
            new
        }
    }
}

/// Returns whether the braces of a string with such quotes may not hold a text, in all versions of Python.
pub(crate) fn refuses_in_quotes(quote: &str, new: &str) -> bool {
    [quote, "\\", "\n"].iter().any(|sign| new.contains(sign) && !(*sign == "\n" && quote.len() == 3))
}

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
