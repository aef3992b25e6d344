//! Blocks of Python, whose grammar takes more than Python does: a block without a statement, and lines of one block that begin
//! with different blanks.

use tree_sitter::{Node, Tree};

/// Returns the byte of the first block that Python would refuse.
pub(crate) fn broken(tree: &Tree, text: &str) -> Option<usize> {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if matches!(node.kind(), "block" | "module") {
            let broken = broken_in(node, text);
            if broken.is_some() {
                return broken;
            }
        }
        if node.named_child_count() > 0 && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

fn broken_in(block: Node<'_>, text: &str) -> Option<usize> {
    let mut cursor = block.walk();
    let mut statements: Vec<Node<'_>> =
        block.named_children(&mut cursor).filter(|node| !node.is_extra()).collect();
    if block.kind() == "block" && statements.is_empty() {
        return Some(block.parent().map_or(block.start_byte(), |header| header.start_byte()));
    }
    // Those behind a semicolon begin no line.
    statements.retain(|statement| indent_of(*statement, text).is_some());
    let outer = match block.parent().and_then(statement_of) {
        Some(header) => indent_of(header, text).unwrap_or_default(),
        None => "",
    };
    let own = indent_of(*statements.first()?, text)?;
    let is_inside = block.kind() == "module" && own.is_empty()
        || block.kind() == "block" && own.len() > outer.len() && own.starts_with(outer);
    let other = statements.iter().find(|statement| indent_of(**statement, text) != Some(own));
    if is_inside { other.map(Node::start_byte) } else { statements.first().map(Node::start_byte) }
}

/// Returns the statement that a clause such as `else` belongs to.
fn statement_of(node: Node<'_>) -> Option<Node<'_>> {
    let mut above = std::iter::successors(Some(node), Node::parent);
    above.find(|node| node.parent().is_some_and(|parent| matches!(parent.kind(), "block" | "module")))
}

/// Returns the blanks in front of a node, if it begins a line.
fn indent_of<'t>(node: Node<'_>, text: &'t str) -> Option<&'t str> {
    let before = text.get(..node.start_byte())?;
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start_matches(['\u{feff}', '\u{c}']);
    line.trim().is_empty().then_some(line)
}
