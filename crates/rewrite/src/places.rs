//! Places of ranges in a syntax tree: what is a node of its own, and what it is a part of.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use crate::operands::is_operand;

/// Where a range stands in a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The kind of the largest node that is all of it.
    pub(crate) node: Option<String>,
    /// Whether it is some children of one node, from the start of the first to the end of the last.
    pub(crate) is_aligned: bool,
    /// Whether something is done with its value.
    pub(crate) is_operand: bool,
    /// The smallest node that has something besides.
    pub(crate) frame: Option<Frame>,
}

/// Node around a range.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: String,
    /// Its range, without blanks and semicolons at its ends.
    pub(crate) range: Range<usize>,
    /// Whether it is the whole file.
    pub(crate) is_root: bool,
    pub(crate) has_error: bool,
}

/// A range without the blanks and semicolons at its ends, and with those around it: the one or the other may belong to a node.
struct Bounds {
    inner: Range<usize>,
    outer: Range<usize>,
}

fn is_filling(sign: char) -> bool {
    sign.is_whitespace() || sign == ';'
}

/// Returns a range without the blanks and semicolons at its ends.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let own = &text[range.clone()];
    let start = range.end - own.trim_start_matches(is_filling).len();
    start..start.max(range.start + own.trim_end_matches(is_filling).len())
}

impl Bounds {
    fn new(text: &str, range: Range<usize>) -> Self {
        let inner = trimmed(text, range);
        let start = text[..inner.start].trim_end_matches(is_filling).len();
        let end = text.len() - text[inner.end..].trim_start_matches(is_filling).len();
        Self { inner, outer: start..end }
    }

    fn are_within(&self, node: Node<'_>) -> bool {
        node.start_byte() <= self.inner.start && self.inner.end <= node.end_byte()
    }

    fn are_all_of(&self, node: Node<'_>) -> bool {
        self.outer.start <= node.start_byte() && node.end_byte() <= self.outer.end
    }
}

/// Returns the places of some ranges that come in ascending order and do not overlap.
pub(crate) fn places(
    root: Node<'_>,
    text: &str,
    ranges: impl IntoIterator<Item = Range<usize>>,
) -> Vec<Place> {
    let mut cursor = root.walk();
    // Nodes from the root to the current one.
    let mut above = vec![root];
    let of_range = |range| {
        let bounds = Bounds::new(text, range);
        let is_aligned = go_to(&mut cursor, &mut above, &bounds);
        place(&above, text, &bounds, is_aligned)
    };
    ranges.into_iter().map(of_range).collect()
}

/// Goes on to the smallest node around a range. Returns whether the range is some of its children.
fn go_to<'t>(cursor: &mut TreeCursor<'t>, above: &mut Vec<Node<'t>>, bounds: &Bounds) -> bool {
    // Onwards along the siblings, so that none is passed twice.
    while !bounds.are_within(cursor.node()) {
        let is_before = cursor.node().end_byte() <= bounds.inner.start;
        if is_before && cursor.goto_next_sibling() {
            above.pop();
            above.push(cursor.node());
        } else if cursor.goto_parent() {
            above.pop();
        } else {
            return false;
        }
    }
    while cursor.goto_first_child() {
        while cursor.node().end_byte() <= bounds.inner.start && cursor.goto_next_sibling() {}
        if bounds.are_within(cursor.node()) {
            above.push(cursor.node());
            continue;
        }
        let is_start = bounds.outer.start <= cursor.node().start_byte();
        while cursor.node().end_byte() < bounds.inner.end && cursor.goto_next_sibling() {}
        let is_end = (bounds.inner.end..=bounds.outer.end).contains(&cursor.node().end_byte());
        cursor.goto_parent();
        return is_start && is_end;
    }
    false
}

fn place(above: &[Node<'_>], text: &str, bounds: &Bounds, is_aligned: bool) -> Place {
    let own = above.iter().rposition(|node| !bounds.are_all_of(*node)).map_or(0, |frame| frame + 1);
    let frame = own.checked_sub(1).and_then(|at| above.get(at));
    let node = above.get(own);
    Place {
        node: node.map(|node| node.kind().to_owned()),
        is_aligned: is_aligned || node.is_some(),
        is_operand: node.zip(frame).is_some_and(|(node, frame)| is_operand(*frame, *node)),
        frame: frame.map(|frame| Frame {
            kind: frame.kind().to_owned(),
            range: trimmed(text, frame.byte_range()),
            is_root: own == 1,
            has_error: frame.has_error(),
        }),
    }
}

impl Frame {
    /// Returns whether it is text, in which what is no syntax flows together.
    pub(crate) fn is_text(&self) -> bool {
        self.kind.contains("string") || self.kind.starts_with("jsx_") || self.kind == "interpolation"
    }
}
