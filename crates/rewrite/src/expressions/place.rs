//! Places of ranges in a syntax tree: what is a node of its own, and what it is a part of.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::operand::is_operand;
use super::precedence::{Expression, Part, Position};

/// Where a range stands in a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// What it is, if a node is all of it.
    pub(crate) value: Option<Expression>,
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
    pub(crate) slot: Position,
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
    fn new(text: &str, core: Range<usize>, whole: &Range<usize>) -> Self {
        let inner = trimmed(text, core);
        let start = text[..inner.start.min(whole.start)].trim_end_matches(is_filling).len();
        let end = text.len() - text[inner.end.max(whole.end)..].trim_start_matches(is_filling).len();
        Self { inner, outer: start..end }
    }

    fn are_within(&self, node: Node<'_>) -> bool {
        node.start_byte() <= self.inner.start && self.inner.end <= node.end_byte()
    }

    fn are_all_of(&self, node: Node<'_>) -> bool {
        self.outer.start <= node.start_byte() && node.end_byte() <= self.outer.end
    }
}

/// Returns the places of some ranges that come in ascending order and do not overlap, each with the range that may belong to it, such as
/// comments around it.
pub(crate) fn places(
    root: Node<'_>,
    text: &str,
    ranges: impl IntoIterator<Item = (Range<usize>, Range<usize>)>,
) -> Vec<Place> {
    let mut cursor = root.walk();
    // Nodes from the root to the current one.
    let mut above = vec![root];
    let of_range = |(core, whole): (Range<usize>, Range<usize>)| {
        let bounds = Bounds::new(text, core, &whole);
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
    let value = above[own.min(above.len())..].iter().rfind(|node| node.is_named());
    let is_operand = |at: usize| at > 0 && is_operand(above[at - 1], above[at]);
    Place {
        value: value.map(|node| Expression::new(*node, text)),
        is_aligned: is_aligned || value.is_some(),
        is_operand: (own..above.len()).any(is_operand),
        frame: frame.map(|frame| Frame {
            slot: slot(&above[..own], *frame, bounds, text),
            range: trimmed(text, frame.byte_range()),
            is_root: own == 1,
            has_error: frame.has_error(),
        }),
    }
}

fn slot(above: &[Node<'_>], frame: Node<'_>, bounds: &Bounds, text: &str) -> Position {
    let start = trimmed(text, frame.byte_range()).start;
    let kinds = above.iter().rev().map(Node::kind);
    let in_brackets = |kind: &str| {
        matches!(
            kind,
            "argument_list"
                | "arguments"
                | "parenthesized_expression"
                | "list"
                | "tuple"
                | "set"
                | "dictionary"
                | "array"
                | "subscript"
                | "generator_expression"
                | "literal_value"
                | "index_expression"
                | "array_expression"
                | "tuple_expression"
        ) || kind.ends_with("_comprehension")
    };
    let is_end = |kind: &str| kind.contains("block") || kind.ends_with("_statement") || kind == "lambda";
    let mut nearest = kinds.clone().take_while(|kind| in_brackets(kind) || !is_end(kind));
    let header = kinds.clone().find(|kind| {
        in_brackets(kind) || kind.contains("block") || kind.ends_with("_case") || is_header(kind)
    });
    let at = |field: &str| frame.child_by_field_name(field).map(|node| node.start_byte());
    let part = match frame.kind() {
        "new_expression" if at("constructor") == Some(bounds.inner.start) => Part::Constructor,
        "let_declaration" if at("alternative").is_some() => Part::BeforeElse,
        _ if start == bounds.inner.start => Part::First,
        _ => Part::Other,
    };
    Position {
        value: Expression::new(frame, text),
        part,
        is_bracketed: nearest.any(in_brackets),
        is_in_header: header.is_some_and(is_header),
        is_argument: kinds.clone().nth(1) == Some("argument_list"),
    }
}

/// Returns whether a kind of node has a header that a brace ends, in Go and Rust.
fn is_header(kind: &str) -> bool {
    matches!(
        kind,
        "if_statement"
            | "for_statement"
            | "expression_switch_statement"
            | "type_switch_statement"
            | "if_expression"
            | "while_expression"
            | "for_expression"
            | "match_expression"
    )
}

impl Frame {
    /// Returns whether it is text, in which what is no syntax flows together.
    pub(crate) fn is_text(&self) -> bool {
        let kind = self.slot.value.kind.as_str();
        kind.contains("string") || kind.starts_with("jsx_") || kind == "interpolation"
    }
}
