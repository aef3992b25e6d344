//! Import statements of a file.

use tree_sitter::{Node, Tree};

use super::guards::{add_guarded, always_bound, is_guard};
use super::items::{Item, items};
use crate::Language;

/// Import statement of a file.
pub(super) struct Statement<'t> {
    pub(super) node: Node<'t>,
    pub(super) module: String,
    pub(super) items: Vec<Item>,
    /// Whether it stands in a block that may not be carried out.
    pub(super) is_nested: bool,
    /// Whether only some builds or runs have it.
    pub(super) is_conditional: bool,
}

impl Statement<'_> {
    /// Returns whether the program is made to do without what it imports: only some builds have it, or it is only tried.
    pub(super) fn is_optional(&self) -> bool {
        let mut above = std::iter::successors(self.node.parent(), Node::parent);
        self.is_conditional && (!self.is_nested || above.any(|node| node.kind() == "try_statement"))
    }
}

/// Returns the kinds of nodes that import something.
pub(super) fn kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["import_statement", "import_from_statement", "future_import_statement"],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &["import_statement"],
        Language::Rust => &["use_declaration"],
        Language::Go => &["import_spec"],
        Language::Java => &["import_declaration"],
    }
}

/// Returns the import statements of a file: those at its top level, and Python's that stand there under a condition.
pub(super) fn statements<'t>(tree: &'t Tree, text: &str, language: Language) -> Vec<Statement<'t>> {
    let mut found = Vec::new();
    let root = tree.root_node();
    for node in root.named_children(&mut root.walk()) {
        if kinds(language).contains(&node.kind()) {
            found.push(statement(node, text, language, false));
        } else if language == Language::Go && node.kind() == "import_declaration" {
            // It holds one specification, or a list of them in parentheses.
            for child in node.named_children(&mut node.walk()) {
                let mut specs = child.walk();
                let all: Vec<Node<'t>> = match child.kind() {
                    "import_spec_list" => child.named_children(&mut specs).collect(),
                    _ => vec![child],
                };
                let all = all.into_iter().filter(|node| kinds(language).contains(&node.kind()));
                found.extend(all.map(|node| statement(node, text, language, false)));
            }
        } else if language == Language::Python && is_guard(node) {
            let mut guarded = Vec::new();
            add_guarded(node, &mut guarded);
            let bound = (!guarded.is_empty()).then(|| always_bound(node, text)).flatten().unwrap_or_default();
            found.extend(guarded.into_iter().map(|node| {
                let mut statement = statement(node, text, language, true);
                let mut locals = statement.items.iter().filter_map(|item| item.locals.first());
                statement.is_conditional = !locals.all(|name| bound.contains(name));
                statement
            }));
        }
    }
    found
}

fn statement<'t>(node: Node<'t>, text: &str, language: Language, is_nested: bool) -> Statement<'t> {
    let (module, items) = items(node, text, language);
    let is_conditional = language == Language::Rust && conditions(node, text).next().is_some();
    Statement { node, module, items, is_nested, is_conditional }
}

/// Returns the attributes that say which builds have an item of Rust.
pub(super) fn conditions<'t>(node: Node<'t>, text: &str) -> impl Iterator<Item = Node<'t>> {
    let before = std::iter::successors(node.prev_sibling(), Node::prev_sibling);
    before
        .take_while(|before| before.kind() == "attribute_item" || before.is_extra())
        .filter(|before| before.kind() == "attribute_item")
        .filter(|before| {
            let attribute = before.named_child(0).and_then(|attribute| attribute.named_child(0));
            attribute.is_some_and(|name| text.get(name.byte_range()) == Some("cfg"))
        })
}
