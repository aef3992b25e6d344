//! Surroundings of a match that ask something of what takes its place.
//!
//! A statement may be a whole body, an expression what another needs, and both may have marks in front of them, such as attributes. Where it
//! is not certain that all of that keeps its meaning, the match stays.

mod directives;
mod lead;
mod lone_body;
mod marks;

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use crate::Language;
use crate::expressions::{Field, is_blank, is_operand, takes_as_element};

use lead::Lead;
use lone_body::{has_braces, in_body, is_lone_body};
use marks::{Marks, Unit, is_mark};

pub(crate) use marks::behind_marks;

/// What stands around a match.
#[derive(Clone, Default)]
pub(crate) struct Surroundings<'t> {
    /// Statement that is a body without braces, if no block within it is around the match.
    body: Option<Node<'t>>,
    /// Strings of Python within whose braces it stands.
    fields: Vec<Field<'t>>,
    /// The outermost node that is nothing but the match.
    unit: Option<Unit<'t>>,
    /// What the match begins, and some texts must not.
    lead: Option<Lead<'t>>,
    /// Whether something is done with the value of the match.
    is_operand: bool,
}

/// Node above the current one, and what comes before that.
struct Level<'t> {
    node: Node<'t>,
    own: Surroundings<'t>,
    /// The sibling in front, but for comments and marks.
    before: Option<Node<'t>>,
    /// Marks right in front.
    marks: Option<Marks>,
}

impl<'t> Level<'t> {
    /// Returns what is around a child.
    fn around(&self, language: Language, text: &str, cursor: &TreeCursor<'t>) -> Surroundings<'t> {
        let (node, mut own) = (cursor.node(), self.own.clone());
        if is_lone_body(language, self.node, node, cursor.field_name()) {
            own.body = Some(node);
        }
        if language == Language::Python && node.kind() == "interpolation" {
            own.fields.push(Field { string: self.node, braces: node });
        }
        if !own.unit.as_ref().is_some_and(|unit| unit.is_all_of(node, text)) {
            // Of several marks, each may go alone.
            let is_marked = !node.is_extra() && !is_mark(language, text, node);
            let beside = (self.node, self.before, self.marks.filter(|_| is_marked));
            own.unit = Some(Unit::new(node, own.unit.as_ref(), beside, cursor));
        }
        own.lead = own.lead.filter(|lead| lead.begins_with(node));
        if let Some(lead) = Lead::new(language, (self.node, node), self.before, cursor.field_name()) {
            own.lead = Some(lead);
        }
        own.is_operand = is_operand(self.node, node);
        own
    }

    /// Notes a child that comes before others.
    fn pass(&mut self, language: Language, text: &str, node: Node<'t>) {
        if let Some(marks) = Marks::with(self.marks, language, text, node) {
            self.marks = Some(marks);
        } else if !node.is_extra() {
            self.marks = None;
            self.before = Some(node).filter(Node::is_named).or(self.before);
        }
    }
}

/// Returns what stands around some nodes, given by their identities and ranges in the order of the tree.
pub(crate) fn around<'t>(
    root: Node<'t>,
    (language, text): (Language, &str),
    nodes: &[(usize, Range<usize>)],
) -> Vec<Surroundings<'t>> {
    let mut found = Vec::with_capacity(nodes.len());
    let mut above: Vec<Level<'t>> = Vec::new();
    let mut cursor = root.walk();
    while let Some((id, range)) = nodes.get(found.len()) {
        let node = cursor.node();
        if node.start_byte() <= range.start && range.end <= node.end_byte() {
            let level = above.last();
            let mut own =
                level.map_or_else(Surroundings::default, |level| level.around(language, text, &cursor));
            if *id == node.id() {
                found.push(own.clone());
            }
            own.body = own.body.filter(|_| !has_braces(node));
            if cursor.goto_first_child() {
                // Comments in front of the first statement of a block stand in front of the block.
                let is_list =
                    node.kind() == "statement_list" || language == Language::Python && node.kind() == "block";
                let marks = above.last().and_then(|level| level.marks).filter(|_| is_list);
                above.push(Level { node, own, before: None, marks });
                continue;
            }
        }
        loop {
            if let Some(level) = above.last_mut() {
                level.pass(language, text, cursor.node());
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                found.resize(nodes.len(), Surroundings::default());
                return found;
            }
            above.pop();
        }
    }
    found
}

impl Surroundings<'_> {
    /// Returns what is replaced, and by what, given the match, the range that a rule replaces, and the text that it puts there. Returns
    /// `None` if it must not.
    pub(crate) fn fitted(
        &self,
        (language, text): (Language, &str),
        (found, range): (&Range<usize>, Range<usize>),
        new: String,
    ) -> Option<(Range<usize>, String)> {
        let old = text.get(range.clone()).unwrap_or_default();
        if self.fields.iter().any(|field| field.refuses(text, old, &new)) {
            return None;
        }
        let is_blank = is_blank(language, &new);
        let is_needed = self.is_operand && *found == range;
        if is_needed && is_blank || takes_as_element(language, &new) {
            return None;
        }
        let new = match self.fields.last() {
            Some(field) => field.fitted(text, range.start, new),
            None => new,
        };
        let new = match &self.lead {
            Some(lead) => lead.fitted(language, (text, &range), new)?,
            None => new,
        };
        let range = match &self.unit {
            Some(unit) => unit.range(language, text, range, (&new, is_blank))?,
            None => range,
        };
        match self.body {
            Some(body) => in_body(language, body, &range, new).map(|new| (range, new)),
            None => Some((range, new)),
        }
    }
}
