//! Way through a tree that knows what is around a node: asked for it, a node would look from the root again.

use tree_sitter::{Node, Tree, TreeCursor};

/// Position in a tree.
pub(super) struct Walk<'t> {
    cursor: TreeCursor<'t>,
    /// Nodes around it, from the root.
    above: Vec<Node<'t>>,
    /// Kinds of the siblings in front of each of them and of itself, but for comments.
    before: Vec<&'t str>,
}

impl<'t> Walk<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { cursor: tree.walk(), above: Vec::new(), before: vec![""] }
    }

    pub(super) fn node(&self) -> Node<'t> {
        self.cursor.node()
    }

    pub(super) fn depth(&self) -> u32 {
        self.cursor.depth()
    }

    /// Returns the field of the node in its parent.
    pub(super) fn field(&self) -> Option<&'t str> {
        self.cursor.field_name()
    }

    /// Returns the nodes around the node, from its parent to the root.
    pub(super) fn above(&self) -> impl Iterator<Item = Node<'t>> + '_ {
        self.above.iter().rev().copied()
    }

    /// Returns the kind of the parent; an empty one at the root.
    pub(super) fn parent_kind(&self) -> &'t str {
        self.above.last().map_or("", Node::kind)
    }

    /// Returns the kind of the sibling in front, but for comments; an empty one if there is none.
    pub(super) fn before(&self) -> &'t str {
        self.before.last().copied().unwrap_or_default()
    }

    /// Returns the kind of the sibling behind; an empty one if there is none.
    pub(super) fn behind(&self) -> &'t str {
        let mut next = self.cursor.clone();
        if next.goto_next_sibling() { next.node().kind() } else { "" }
    }

    /// Goes on to the next node, into this one if wanted. Returns `false` at the end.
    pub(super) fn advance(&mut self, is_into: bool) -> bool {
        let node = self.node();
        if is_into && self.cursor.goto_first_child() {
            self.above.push(node);
            self.before.push("");
            return true;
        }
        loop {
            let node = self.node();
            if self.cursor.goto_next_sibling() {
                if let Some(before) = self.before.last_mut().filter(|_| !node.is_extra()) {
                    *before = node.kind();
                }
                return true;
            }
            if !self.cursor.goto_parent() {
                return false;
            }
            self.above.pop();
            self.before.pop();
        }
    }
}
