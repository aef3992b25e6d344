//! Marks that stand outside of what they belong to: attributes of Rust, decorators, `export`, directives of Go. With what is removed they
//! go as well; on anything else they would be about what follows. They stay on what takes the place of one thing by one of its kind.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use crate::operands::{goes_on, is_open};
use crate::{Language, MAX_TIME};

/// Outermost node that is nothing but a match, maybe with a semicolon.
#[derive(Clone)]
pub(crate) struct Unit<'t> {
    node: Node<'t>,
    parent: Node<'t>,
    marks: Option<Marks>,
    /// Whole declaration that this is the main part of.
    holder: Option<Node<'t>>,
    /// Siblings.
    before: Option<Node<'t>>,
    behind: Option<Node<'t>>,
}

/// Marks in front of something.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    start: usize,
    /// Whether they do something: documentation does not.
    are_effective: bool,
}

impl Marks {
    /// Returns a mark of what follows it with those before it; `None` if a node is none.
    pub(crate) fn with(before: Option<Self>, language: Language, text: &str, node: Node<'_>) -> Option<Self> {
        let start = before.map_or(node.start_byte(), |before| before.start);
        let is_effective = node.kind() != "line_comment" && node.kind() != "block_comment";
        let are_effective = is_effective || before.is_some_and(|before| before.are_effective);
        is_mark(language, text, node).then_some(Self { start, are_effective })
    }
}

/// Returns whether a node is a mark of what follows it.
pub(crate) fn is_mark(language: Language, text: &str, node: Node<'_>) -> bool {
    let has_start = |starts: &[&str]| {
        let own = text.get(node.byte_range()).unwrap_or_default();
        starts.iter().any(|start| own.starts_with(start))
    };
    match (language, node.kind()) {
        (Language::Rust, "line_comment" | "block_comment") => {
            node.named_child(0).is_some_and(|child| child.kind() == "outer_doc_comment_marker")
        }
        (Language::Go, "comment") => has_start(&["//go:", "//export "]),
        (_, kind) => matches!(kind, "attribute_item" | "decorator"),
    }
}

fn is_declaration(kind: &str) -> bool {
    kind.ends_with("_declaration") || kind.ends_with("_definition") || kind == "function_signature"
}

impl<'t> Unit<'t> {
    /// Returns the unit of a node with the unit around it.
    pub(crate) fn new(
        node: Node<'t>,
        around: Option<&Self>,
        (parent, before, marks): (Node<'t>, Option<Node<'t>>, Option<Marks>),
        cursor: &TreeCursor<'t>,
    ) -> Self {
        let is_held =
            matches!(parent.kind(), "decorated_definition" | "export_statement" | "ambient_declaration")
                && is_declaration(node.kind());
        let holder = is_held.then(|| around.and_then(|around| around.holder).unwrap_or(parent));
        let mut behind = cursor.clone();
        let behind = std::iter::from_fn(|| behind.goto_next_sibling().then(|| behind.node()));
        let behind = behind.filter(Node::is_named).find(|node| !node.is_extra());
        Self { node, parent, marks, holder, before, behind }
    }

    /// Returns whether a node within this is all of it.
    pub(crate) fn is_all_of(&self, node: Node<'_>, text: &str) -> bool {
        let rest = text.get(node.end_byte()..self.node.end_byte());
        self.node.start_byte() == node.start_byte()
            && rest.is_some_and(|rest| matches!(rest.trim(), "" | ";"))
            && !matches!(self.node.kind(), "block" | "statement_list")
    }

    /// Returns the range that a text takes the place of; `None` if something beside it would have another meaning then.
    pub(crate) fn range(
        &self,
        language: Language,
        text: &str,
        range: Range<usize>,
        (new, is_blank): (&str, bool),
    ) -> Option<Range<usize>> {
        if range.start > self.node.start_byte() {
            return Some(range);
        }
        let rest = text.get(range.end..self.node.end_byte()).unwrap_or_default();
        if language == Language::Python && self.shares_line() && has_block(new) {
            return None;
        }
        let behind = self.behind.and_then(|behind| text.get(behind.byte_range()));
        // The statements around it would become one.
        if is_blank
            && text.get(range.clone()).is_some_and(|old| old.trim_end().ends_with(';'))
            && self.before.is_some_and(|before| is_open(before, text))
            && behind.is_some_and(goes_on)
        {
            return None;
        }
        let marks = self.marks.filter(|marks| is_blank || marks.are_effective);
        let start = self.holder.map(|holder| holder.start_byte()).or(marks.map(|marks| marks.start));
        let is_statement = matches!(self.parent.kind(), "block" | "module");
        let rest_of_line = text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let range = match rest_of_line.strip_prefix(';') {
            Some(next) if is_blank && is_statement && language == Language::Python => {
                range.start..text.len() - next.trim_start_matches([' ', '\t']).len()
            }
            _ => range,
        };
        let Some(start) = start.filter(|start| *start < range.start) else { return Some(range) };
        if is_blank {
            let end = self.holder.map_or(range.end, |holder| holder.end_byte().max(range.end));
            return Some(start..end);
        }
        let is_plain_export = || {
            let head = self.holder.and_then(|holder| text.get(holder.start_byte()..self.node.start_byte()));
            head.is_some_and(|head| head.trim() == "export")
        };
        let piece = format!("{new}{rest}");
        let is_wanted = |kind: &str| kind == self.node.kind() || is_plain_export() && is_declaration(kind);
        is_single(language, piece.trim(), is_wanted).then_some(range)
    }

    /// Returns whether a statement of Python has another one on its line.
    fn shares_line(&self) -> bool {
        let (start, end) = (self.node.start_position().row, self.node.end_position().row);
        matches!(self.parent.kind(), "block" | "module")
            && (self.before.is_some_and(|before| before.end_position().row == start)
                || self.behind.is_some_and(|behind| behind.start_position().row == end))
    }
}

/// Returns whether some code of Python has a statement with a block.
fn has_block(new: &str) -> bool {
    let tree = grammar::parse(new, &Language::Python.grammar(), MAX_TIME);
    tree.is_some_and(|tree| {
        let root = tree.root_node();
        root.named_children(&mut root.walk()).any(|statement| {
            let field = |name| statement.child_by_field_name(name).is_some();
            field("body") || field("consequence") || field("definition")
        })
    })
}

/// Returns whether a text is a single node, of a kind that is wanted.
fn is_single(language: Language, text: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    let contexts: &[(&str, &str)] = match language {
        Language::Rust => &[("fn f() { ", " }"), ("struct A { ", " }"), ("enum A { ", " }")],
        Language::Python | Language::Go => &[("", "")],
        _ => &[("", ""), ("class A { ", " }")],
    };
    contexts.iter().any(|(before, behind)| {
        let code = format!("{before}{text}{behind}");
        let Some(tree) = grammar::parse(&code, &language.grammar(), MAX_TIME) else { return false };
        let root = tree.root_node();
        let (start, end) = (before.len(), before.len() + text.len());
        let first = root.named_descendant_for_byte_range(start, end).filter(|_| !root.has_error());
        std::iter::successors(first, Node::parent)
            .take_while(|node| node.byte_range() == (start..end) && *node != root)
            .any(|node| is_wanted(node.kind()))
    })
}
