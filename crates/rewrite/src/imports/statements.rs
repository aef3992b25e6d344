//! Import statements of a file.

use tree_sitter::{Node, Tree};

use super::items::{Item, items};
use crate::Language;

/// Parts of conditions about what a program runs on: a name that is imported under such a one is known wherever it can be.
const PLATFORM_WORDS: [&str; 5] = ["version", "platform", "os.name", "PY2", "PY3"];

/// Import statement of a file.
pub(super) struct Statement<'t> {
    pub(super) node: Node<'t>,
    pub(super) module: String,
    pub(super) items: Vec<Item>,
    /// Whether it stands in a block that may not be carried out.
    pub(super) is_nested: bool,
    /// Whether only some builds have it.
    pub(super) is_conditional: bool,
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
            add_guarded(node, text, &mut found);
        }
    }
    found
}

/// Returns whether a statement of Python may hold imports that are carried out under a condition.
pub(super) fn is_guard(node: Node<'_>) -> bool {
    matches!(node.kind(), "try_statement" | "if_statement")
}

/// Adds the imports in the blocks of a statement of Python. What is known to the type checker alone is not known.
fn add_guarded<'t>(node: Node<'t>, text: &str, found: &mut Vec<Statement<'t>>) {
    let condition = node.child_by_field_name("condition").filter(|_| node.kind() == "if_statement");
    let condition = condition.and_then(|condition| text.get(condition.byte_range()));
    let is_met_once = condition.is_some_and(|condition| {
        node.child_by_field_name("alternative").is_none()
            && !PLATFORM_WORDS.iter().any(|word| condition.contains(word))
    });
    if is_met_once {
        return;
    }
    let is_for_types = condition
        .is_some_and(|condition| condition.ends_with("TYPE_CHECKING") && !condition.starts_with("not "));
    let skipped = node.child_by_field_name("consequence").filter(|_| is_for_types);
    for child in node.named_children(&mut node.walk()).filter(|child| Some(*child) != skipped) {
        let is_block = child.kind() == "block" || child.kind().ends_with("_clause");
        if kinds(Language::Python).contains(&child.kind()) {
            found.push(statement(child, text, Language::Python, true));
        } else if is_block || is_guard(child) {
            add_guarded(child, text, found);
        }
    }
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
