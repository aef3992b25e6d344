//! Surroundings of a match that ask something of what takes its place.
//!
//! `if (a) old();` has a statement that is a whole body, without braces: with none or several in its place, the next one would be in the
//! body, or some would no longer be. And before version 3.12, the quotes of an f-string of Python may not be within it.

use std::ops::Range;

use tree_sitter::Node;

use crate::{Language, MAX_TIME};

/// What stands around a match.
#[derive(Clone, Default)]
pub(crate) struct Surroundings<'t> {
    /// Statement that is a body without braces, if no block within it is around the match.
    body: Option<Node<'t>>,
    /// Strings of Python within whose braces it stands.
    strings: Vec<Node<'t>>,
}

/// Returns what stands around some nodes, given by their identities and ranges in the order of the tree.
pub(crate) fn around<'t>(
    root: Node<'t>,
    language: Language,
    nodes: &[(usize, Range<usize>)],
) -> Vec<Surroundings<'t>> {
    let mut found = Vec::with_capacity(nodes.len());
    // The nodes above the current one, with what is around their children.
    let mut above: Vec<(Node<'t>, Surroundings<'t>)> = Vec::new();
    let mut cursor = root.walk();
    while let Some((id, range)) = nodes.get(found.len()) {
        let node = cursor.node();
        if node.start_byte() <= range.start && range.end <= node.end_byte() {
            let (parent, mut own) = match above.last().cloned() {
                Some((parent, own)) => (Some(parent), own),
                None => (None, Surroundings::default()),
            };
            if parent.is_some_and(|parent| is_lone_body(language, parent, node, cursor.field_name())) {
                own.body = Some(node);
            }
            if *id == node.id() {
                found.push(own.clone());
            }
            own.body = own.body.filter(|_| !has_braces(node));
            let is_in_string = language == Language::Python && node.kind() == "interpolation";
            own.strings.extend(parent.filter(|_| is_in_string));
            if cursor.goto_first_child() {
                above.push((node, own));
                continue;
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                found.resize(nodes.len(), Surroundings::default());
                return found;
            }
            above.pop();
        }
    }
    found
}

fn has_braces(node: Node<'_>) -> bool {
    node.child(0).is_some_and(|first| first.kind() == "{")
}

fn is_lone_body(language: Language, parent: Node<'_>, node: Node<'_>, field: Option<&str>) -> bool {
    let is_statement = node.kind().ends_with("_statement") || node.kind().ends_with("_declaration");
    match language {
        Language::Go | Language::Rust => false,
        Language::Python => {
            let colon = parent.prev_sibling().filter(|_| parent.kind() == "block" && is_statement);
            colon.is_some_and(|colon| colon.end_position().row == parent.start_position().row)
        }
        Language::Java | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_last = || node.end_byte() == parent.end_byte();
            is_statement
                && !has_braces(node)
                && (matches!(field, Some("consequence" | "alternative" | "body"))
                    || matches!(parent.kind(), "else_clause" | "labeled_statement" | "switch_rule")
                        && is_last())
        }
    }
}

impl Surroundings<'_> {
    /// Returns what takes the place of a range, given what is to: in braces where a body needs them. Returns `None` if it must not.
    pub(crate) fn fitted(
        &self,
        language: Language,
        text: &str,
        (range, new): (&Range<usize>, String),
    ) -> Option<String> {
        let old = text.get(range.clone()).unwrap_or_default();
        let is_refused = |string: &Node<'_>| {
            let start = string.child(0).and_then(|start| text.get(start.byte_range())).unwrap_or_default();
            let quote = start.trim_start_matches(|sign: char| sign.is_alphabetic());
            [quote, "\\", "\n"]
                .iter()
                .any(|sign| new.contains(sign) && !old.contains(sign) && !(*sign == "\n" && quote.len() == 3))
        };
        if self.strings.iter().any(is_refused) {
            return None;
        }
        match self.body {
            Some(body) => in_body(language, body, range, new),
            None => Some(new),
        }
    }
}

fn in_body(language: Language, body: Node<'_>, range: &Range<usize>, new: String) -> Option<String> {
    let tree = grammar::parse(&new, &language.grammar(), MAX_TIME)?;
    let root = tree.root_node();
    let mut cursor = root.walk();
    let statements: Vec<Node<'_>> =
        root.named_children(&mut cursor).filter(|statement| !statement.is_extra()).collect();
    // What is no code by itself is up to the check of the whole file.
    if root.has_error() {
        return Some(new);
    }
    if language == Language::Python {
        return (statements.len() <= 1 || !new.contains('\n')).then_some(new);
    }
    let semicolon = body.children(&mut body.walk()).last().filter(|last| last.kind() == ";");
    let keeps_semicolon = semicolon.is_some_and(|semicolon| range.end <= semicolon.start_byte());
    let is_replaced = range.start <= body.start_byte() && (keeps_semicolon || body.end_byte() <= range.end);
    match statements.as_slice() {
        [only] if !is_replaced || !needs_braces(*only, body) => Some(new),
        // An empty statement stays.
        [] if !is_replaced || keeps_semicolon => Some(new),
        [] if new.trim().is_empty() => Some("{}".to_owned()),
        _ if !is_replaced || keeps_semicolon => None,
        _ => Some(format!("{{ {} }}", new.trim())),
    }
}

/// Returns whether a statement cannot be a body without braces: it declares something, or an `else` behind the body would become its own.
fn needs_braces(statement: Node<'_>, body: Node<'_>) -> bool {
    let is_declaration =
        statement.kind().ends_with("_declaration") && statement.kind() != "variable_declaration";
    let has_else = || {
        std::iter::successors(Some(body), Node::parent)
            .take_while(|node| node.end_byte() == body.end_byte())
            .any(|node| node.next_sibling().is_some_and(|next| matches!(next.kind(), "else" | "else_clause")))
    };
    let can_take_else = matches!(
        statement.kind(),
        "if_statement"
            | "for_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "while_statement"
            | "labeled_statement"
            | "with_statement"
    );
    is_declaration || can_take_else && has_else()
}
