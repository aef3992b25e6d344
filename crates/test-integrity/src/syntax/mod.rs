//! Text as syntax, for all other rooms: trees of grammars, bindings, imports, and texts of tokens. It uses nothing of the crate but
//! which languages there are ([`crate::files`]).

pub(crate) mod bindings;
mod code;
pub(crate) mod free_names;
pub(crate) mod imports;
mod literals;
pub(crate) mod tokens;
mod words;

use std::time::Duration;

use tree_sitter::{Node, Tree};

use crate::files::Language;
use bindings::Given;
pub(crate) use code::code_of;
pub(crate) use literals::{is_empty, is_pure, literals, without_strings};
pub(crate) use words::words;

/// Time limit of parsing one text; broken text can keep a grammar busy. On a busy machine, honest text takes seconds, too, and what
/// is not parsed is not judged.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Parses a text; errors become nodes of the tree. Returns `None` if it takes too long.
pub(crate) fn parse(text: &str, language: Language) -> Option<Tree> {
    grammar::parse(text, &language.grammar(), MAX_TIME)
}

/// Source text with the node of it that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) source: &'a str,
    /// The values of names, where they were read.
    pub(crate) given: Option<&'a Given<'a>>,
}

impl<'a> At<'a> {
    /// Returns the root of a tree.
    pub(crate) fn root(tree: &'a Tree, source: &'a str) -> Self {
        Self { node: tree.root_node(), source, given: None }
    }

    /// Returns the same source with another node.
    pub(crate) fn with(self, node: Node<'a>) -> Self {
        Self { node, ..self }
    }

    /// Returns what the grammar calls the node.
    pub(crate) fn kind(self) -> &'a str {
        self.node.kind()
    }

    /// Returns the text of the node.
    pub(crate) fn text(self) -> &'a str {
        self.source.get(self.node.byte_range()).unwrap_or_default()
    }

    /// Returns the first line of the node, from 1.
    pub(crate) fn line(self) -> usize {
        self.node.start_position().row + 1
    }

    /// Returns the child of a field's name.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        self.node.child_by_field_name(name).map(|node| self.with(node))
    }

    /// Returns the named children, without comments.
    pub(crate) fn children(self) -> Vec<Self> {
        let mut cursor = self.node.walk();
        let children: Vec<Node<'a>> = self.node.named_children(&mut cursor).collect();
        children.into_iter().map(|node| self.with(node)).filter(|child| !child.is_comment()).collect()
    }

    /// Returns whether the node is a comment.
    pub(crate) fn is_comment(self) -> bool {
        self.kind().ends_with("comment")
    }

    /// Returns this node and all below it, in the order of the text.
    pub(crate) fn descendants(self) -> Vec<Self> {
        let mut found = Vec::new();
        self.walk(|at| {
            let is_one = at.node == self.node || at.node.is_named() && !at.is_comment();
            if is_one {
                found.push(at);
            }
            is_one
        });
        found
    }

    /// Returns the tokens of the node without comments. A string is one token.
    pub(crate) fn words(self) -> Vec<&'a str> {
        let mut words = Vec::new();
        self.walk(|at| {
            let is_token = at.node.child_count() == 0 || is_string(at.kind());
            if at.is_comment() {
                return false;
            }
            let is_layout = || at.kind() == "," && is_behind_last(at.node);
            words.extend(Some(at.text().trim()).filter(|text| is_token && !text.is_empty() && !is_layout()));
            !is_token
        });
        words
    }

    /// Goes through this node and those below it, in the order of the text, and into those of which `enters` is true.
    fn walk(self, mut enters: impl FnMut(Self) -> bool) {
        let mut cursor = self.node.walk();
        loop {
            if enters(self.with(cursor.node())) && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Returns the tokens joined by blanks: the same text for whatever layout.
    pub(crate) fn normal(self) -> String {
        self.words().join(" ")
    }
}

/// Returns whether a comma stands behind the last argument of a call or the last item of a list, where formatters set and remove it.
fn is_behind_last(comma: Node<'_>) -> bool {
    const KINDS: &[&str] = &["arguments", "argument_list", "array", "list", "object", "dictionary"];
    let is_end = |next: Node<'_>| matches!(next.kind(), ")" | "]" | "}");
    comma.parent().is_some_and(|parent| KINDS.contains(&parent.kind()))
        && comma.next_sibling().is_some_and(is_end)
}

/// Returns whether a kind of node is that of a whole string.
pub(crate) fn is_string(kind: &str) -> bool {
    matches!(
        kind,
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "template_string"
            | "char_literal"
    )
}
