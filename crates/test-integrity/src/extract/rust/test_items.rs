//! Tests of Rust among the code that they are about: what of a file only tests have.

use std::ops::RangeInclusive;

use tree_sitter::Node;

use crate::extract::{Test, tests};
use crate::files::Language;
use crate::syntax::{At, parse};

/// Returns the lines of the items that only tests have; none if they cannot be told from the code.
pub(crate) fn lines_of_tests(text: &str) -> Vec<RangeInclusive<usize>> {
    TestItems::of(text).map_or_else(Vec::new, |items| items.lines)
}

/// Returns the old text of a Rust file with the tests of its new text in place of its own, or `None` if they cannot be
/// told from the code.
///
/// Tests can be distinguished if all of them stand in items of the file's top level that only tests have: those with
/// `#[cfg(test)]` or `#[test]`.
pub fn with_tests_of(before: &str, after: &str) -> Option<String> {
    let (old, new) = (TestItems::of(before)?, TestItems::of(after)?);
    let mut text = old.rest;
    for item in new.items {
        text += "\n";
        text += &item;
        text += "\n";
    }
    Some(text)
}

/// Items of a Rust file that only tests have.
pub(crate) struct TestItems {
    items: Vec<String>,
    lines: Vec<RangeInclusive<usize>>,
    /// The text without them.
    pub(crate) rest: String,
}

impl TestItems {
    /// Reads a file; `None` if it has tests that do not stand apart.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let tree = parse(text, Language::Rust)?;
        let root = At::root(&tree, text);
        let mut items = Vec::new();
        let mut rest = String::with_capacity(text.len());
        let mut copied = 0;
        let mut lines = Vec::new();
        for at in root.children() {
            if at.kind() == "attribute_item" || !is_for_tests(at) {
                continue;
            }
            let from = with_attributes(at).start_byte();
            let to = at.node.end_byte();
            rest += text.get(copied..from)?;
            items.push(text.get(from..to)?.to_owned());
            lines.push(at.node.start_position().row + 1..=at.node.end_position().row + 1);
            copied = to;
        }
        rest += text.get(copied..)?;
        let is_apart =
            |test: &Test| lines.iter().any(|lines: &RangeInclusive<usize>| lines.contains(&test.line));
        tests("lib.rs", text).tests.iter().all(is_apart).then_some(Self { items, lines, rest })
    }
}

/// Returns whether the attributes of an item keep it to tests.
fn is_for_tests(item: At<'_>) -> bool {
    let mut before = item.node.prev_named_sibling();
    while let Some(node) = before.filter(|node| is_above(*node)) {
        let text: String = item.with(node).words().concat();
        if matches!(text.as_str(), "#[cfg(test)]" | "#[test]")
            || text.ends_with("::test]")
            || text.starts_with("#[cfg(all(test,")
        {
            return true;
        }
        before = node.prev_named_sibling();
    }
    false
}

/// Returns whether a node belongs to the item behind it.
pub(crate) fn is_above(node: Node<'_>) -> bool {
    node.kind() == "attribute_item" || node.kind().ends_with("comment")
}

/// Returns the first attribute of an item, or the item.
fn with_attributes(item: At<'_>) -> Node<'_> {
    let mut first = item.node;
    let mut before = item.node.prev_named_sibling();
    while let Some(node) = before.filter(|node| is_above(*node)) {
        if node.kind() == "attribute_item" {
            first = node;
        }
        before = node.prev_named_sibling();
    }
    first
}
