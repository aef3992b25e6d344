//! Finds every error in a text, although deserializing it ends at the first: the node with the error is put aside, and the
//! rest is deserialized again.

use std::cell::{Cell, RefCell};
use std::ptr;

use serde::de::DeserializeOwned;
use serde_yaml::Error;

use super::{Cursor, Node, Value, with_tree};

/// Maximum number of errors to report; nobody reads more.
const MOST: usize = 50;

/// Nodes that are skipped because they have an error.
#[derive(Default)]
pub(super) struct SkippedNodes {
    nodes: RefCell<Vec<*const Node>>,
    /// The node with the last error.
    blamed: Cell<Option<*const Node>>,
}

impl SkippedNodes {
    /// Remembers the node with an error.
    pub(super) fn blame(&self, node: &Node) {
        self.blamed.set(Some(ptr::from_ref(node)));
    }

    /// Returns whether a node was put aside.
    pub(super) fn holds(&self, node: &Node) -> bool {
        self.nodes.borrow().contains(&ptr::from_ref(node))
    }

    /// Puts aside the node with the last error, and returns it; `None` if no more can be put aside.
    fn put_blamed<'t>(&self, root: &'t Node) -> Option<&'t Node> {
        let blamed = find(root, self.blamed.take()?)?;
        if ptr::eq(blamed, root) || self.holds(blamed) {
            return None;
        }
        self.nodes.borrow_mut().push(blamed);
        Some(blamed)
    }

    /// Returns whether a map has a key whose value was put aside.
    fn holds_value_of(&self, map: &Node, key: &str) -> bool {
        let Value::Map(entries) = &map.value else { return false };
        let is_key = |node: &Node| matches!(&node.value, Value::Text(text) if text == key);
        entries.iter().any(|(name, value)| is_key(name) && self.holds(value))
    }
}

fn find(node: &Node, wanted: *const Node) -> Option<&Node> {
    if ptr::eq(node, wanted) {
        return Some(node);
    }
    match &node.value {
        Value::List(list) => list.iter().find_map(|node| find(node, wanted)),
        Value::Map(map) => {
            map.iter().find_map(|(key, value)| find(key, wanted).or_else(|| find(value, wanted)))
        }
        _ => None,
    }
}

/// Returns every error that prevents a text from being deserialized into a type, in the order of the text.
pub(crate) fn faults<T: DeserializeOwned>(text: &str) -> Vec<Error> {
    let found = with_tree(text, |root| {
        let (aside, mut found) = (SkippedNodes::default(), Vec::new());
        while let Err(error) = T::deserialize(Cursor { node: root, text, aside: &aside }) {
            let blamed = aside.put_blamed(root);
            // The key is there, but its value was put aside.
            let is_there = match (&error, blamed) {
                (Error::SerdeMissingField { field, .. }, Some(map)) => aside.holds_value_of(map, field),
                _ => false,
            };
            if !is_there {
                found.push(error);
            }
            if blamed.is_none() || found.len() == MOST {
                break;
            }
        }
        Ok(found)
    });
    match found {
        // The parser adds the quotation to an error that is returned through it.
        Ok(found) => {
            found.into_iter().filter_map(|error| with_tree(text, |_| Err::<(), _>(error)).err()).collect()
        }
        Err(error) => vec![error],
    }
}
