//! Marks that stand outside of what they belong to: attributes of Rust, decorators, `export`, directives of Go. With what is removed they
//! go as well; on anything else they would be about what follows. They stay on what takes the place of one thing by one of its kind, and
//! those that say no more than when it is there, on whatever one thing takes its place.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::directives::{is_about_next, is_directive, own_start};
use super::lead::{goes_on, is_open};
use crate::expressions::is_blank;
use crate::{Language, MAX_TIME};

/// Outermost node that is nothing but a match, maybe with a semicolon.
#[derive(Clone)]
pub(crate) struct Unit<'t> {
    node: Node<'t>,
    parent: Node<'t>,
    marks: Option<Marks>,
    /// Whole declaration that this is the main part of.
    holder: Option<Node<'t>>,
    /// Siblings.
    before: Option<Node<'t>>,
    behind: Option<Node<'t>>,
}

/// Marks in front of something.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    start: usize,
    force: Force,
    /// Whether they are about no more than the line below their last.
    are_about_next: bool,
    last_row: usize,
}

/// What marks do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Force {
    /// They are documentation, or tell tools something.
    None,
    /// They say in which builds something is there, or which warnings it has: of one thing, whatever it is.
    Presence,
    /// They are about something of its kind.
    Kind,
}

impl Marks {
    /// Returns a mark of what follows it with those before it; `None` if a node is none.
    pub(crate) fn with(before: Option<Self>, language: Language, text: &str, node: Node<'_>) -> Option<Self> {
        if !is_mark(language, text, node) {
            return None;
        }
        let before = before.filter(|before| before.reach(node));
        let own = force(text, node);
        let is_comment = node.kind().contains("comment");
        let is_about_next = is_comment && is_about_next(text.get(node.byte_range()).unwrap_or_default());
        Some(Self {
            start: before.map_or(node.start_byte(), |before| before.start),
            force: before.map_or(own, |before| before.force.max(own)),
            are_about_next: is_about_next && before.is_none_or(|before| before.are_about_next),
            last_row: node.end_position().row,
        })
    }

    /// Returns whether they may be about a node that follows them.
    fn reach(self, node: Node<'_>) -> bool {
        !self.are_about_next || node.start_position().row <= self.last_row + 1
    }
}

fn force(text: &str, node: Node<'_>) -> Force {
    match node.kind() {
        "line_comment" | "block_comment" => Force::None,
        "attribute_item" => {
            let name = node.named_child(0).and_then(|attribute| attribute.named_child(0));
            let name = name.and_then(|name| text.get(name.byte_range())).unwrap_or_default();
            let is_of_presence =
                matches!(name, "cfg" | "allow" | "expect" | "warn" | "deny" | "forbid" | "doc");
            if is_of_presence { Force::Presence } else { Force::Kind }
        }
        "comment" if is_about_next(text.get(node.byte_range()).unwrap_or_default()) => Force::None,
        _ => Force::Kind,
    }
}

/// Returns whether a node is a mark of what follows it.
pub(crate) fn is_mark(language: Language, text: &str, node: Node<'_>) -> bool {
    let own = || text.get(node.byte_range()).unwrap_or_default();
    match (language, node.kind()) {
        (Language::Rust, "line_comment" | "block_comment") => {
            node.named_child(0).is_some_and(|child| child.kind() == "outer_doc_comment_marker")
        }
        (Language::Go, "comment") => is_directive(own()) || is_about_next(own()),
        (_, "comment" | "line_comment" | "block_comment") => is_about_next(own()),
        (_, kind) => matches!(kind, "attribute_item" | "decorator"),
    }
}

/// Returns whether a declaration is all that another node holds but for marks, given its field there.
fn is_held(parent: Node<'_>, node: Node<'_>, field: Option<&str>) -> bool {
    let can_hold = match parent.kind() {
        // Other fields have values.
        "export_statement" => field == Some("declaration") || node.kind() == "export_clause",
        kind => matches!(kind, "decorated_definition" | "ambient_declaration"),
    };
    let is_part = |child: &Node<'_>| !child.is_extra() && child.kind() != "decorator";
    can_hold && parent.named_children(&mut parent.walk()).filter(is_part).eq([node])
}

/// Returns whether what stands right in a node is of several kinds, of which a mark is about one.
fn holds_several_kinds(parent: Node<'_>) -> bool {
    let kinds = ["block", "declaration_list", "source_file", "class_body", "program", "module"];
    kinds.contains(&parent.kind())
        || matches!(parent.kind(), "export_statement" | "ambient_declaration" | "decorated_definition")
}

impl<'t> Unit<'t> {
    /// Returns the unit of a node with the unit around it.
    pub(crate) fn new(
        node: Node<'t>,
        around: Option<&Self>,
        (parent, before, marks): (Node<'t>, Option<Node<'t>>, Option<Marks>),
        cursor: &TreeCursor<'t>,
    ) -> Self {
        let is_held = is_held(parent, node, cursor.field_name());
        let holder = is_held.then(|| around.and_then(|around| around.holder).unwrap_or(parent));
        let around = around.filter(|_| is_held).and_then(|around| around.marks);
        let marks = match (marks.filter(|marks| marks.reach(node)), around) {
            (Some(own), Some(around)) => Some(Marks { start: around.start.min(own.start), ..own }),
            (own, around) => own.or(around),
        };
        let mut behind = cursor.clone();
        let behind = std::iter::from_fn(|| behind.goto_next_sibling().then(|| behind.node()));
        let behind = behind.filter(Node::is_named).find(|node| !node.is_extra());
        Self { node, parent, marks, holder, before, behind }
    }

    /// Returns whether a node within this is all of it.
    pub(crate) fn is_all_of(&self, node: Node<'_>, text: &str) -> bool {
        let rest = text.get(node.end_byte()..self.node.end_byte());
        self.node.start_byte() == node.start_byte()
            && rest.is_some_and(|rest| matches!(rest.trim(), "" | ";"))
            && !matches!(self.node.kind(), "block" | "statement_list")
    }

    /// Returns the range that a text takes the place of; `None` if something beside it would have another meaning then.
    pub(crate) fn range(
        &self,
        language: Language,
        text: &str,
        range: Range<usize>,
        (new, is_blank): (&str, bool),
    ) -> Option<Range<usize>> {
        if range.start > self.node.start_byte() {
            return Some(range);
        }
        let rest = text.get(range.end..self.node.end_byte()).unwrap_or_default();
        if language == Language::Python && self.shares_line() && has_block(new) {
            return None;
        }
        let behind = self.behind.and_then(|behind| text.get(behind.byte_range()));
        // The statements around it would become one.
        if is_blank
            && text.get(range.clone()).is_some_and(|old| old.trim_end().ends_with(';'))
            && self.before.is_some_and(|before| is_open(before, text))
            && behind.is_some_and(goes_on)
        {
            return None;
        }
        let ends_line = || {
            let rest = text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t', ';']);
            rest.is_empty() || rest.starts_with(['\n', '\r', '#', '/'])
        };
        let mut marks = self.marks.filter(|marks| is_blank || marks.force > Force::None);
        marks = marks.filter(|marks| !marks.are_about_next || ends_line());
        if let Some(own) = marks.filter(|_| language == Language::Go) {
            let comments = text.get(own.start..self.node.start_byte()).unwrap_or_default();
            let declaration = text.get(self.node.byte_range()).unwrap_or_default();
            marks = own_start(comments, declaration)?.map(|at| Marks { start: own.start + at, ..own });
        }
        let starts = [self.holder.map(|holder| holder.start_byte()), marks.map(|marks| marks.start)];
        let start = starts.into_iter().flatten().min();
        let is_statement = matches!(self.parent.kind(), "block" | "module");
        let rest_of_line = text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let range = match rest_of_line.strip_prefix(';') {
            Some(next) if is_blank && is_statement && language == Language::Python => {
                range.start..text.len() - next.trim_start_matches([' ', '\t']).len()
            }
            _ => range,
        };
        let Some(start) = start.filter(|start| *start < range.start) else { return Some(range) };
        if is_blank {
            let end = self.holder.map_or(range.end, |holder| holder.end_byte().max(range.end));
            // `declare module "name";` has its semicolon outside.
            let has_more = self.holder.is_some() && text.get(end..).is_some_and(|rest| rest.starts_with(';'));
            return Some(start..end + usize::from(has_more));
        }
        let head = self.holder.and_then(|holder| text.get(holder.start_byte()..self.node.start_byte()));
        let is_of_any_kind = head.map_or_else(
            || marks.is_some_and(|marks| marks.force == Force::Presence) || !holds_several_kinds(self.parent),
            |head| head.trim() == "export",
        );
        // The lines of Python have another indentation by themselves.
        let head = head.filter(|_| language != Language::Python).unwrap_or_default();
        let piece = format!("{new}{rest}");
        let is_wanted = |kind: &str| is_of_any_kind || general(kind) == general(self.node.kind());
        is_single(language, (head, piece.trim()), is_wanted).then_some(range)
    }

    /// Returns whether a statement of Python has another one on its line.
    fn shares_line(&self) -> bool {
        let (start, end) = (self.node.start_position().row, self.node.end_position().row);
        matches!(self.parent.kind(), "block" | "module")
            && (self.before.is_some_and(|before| before.end_position().row == start)
                || self.behind.is_some_and(|behind| behind.start_position().row == end))
    }
}

/// Returns whether some code of Python has a statement with a block.
fn has_block(new: &str) -> bool {
    let tree = grammar::parse(new, &Language::Python.grammar(), MAX_TIME);
    tree.is_some_and(|tree| {
        let root = tree.root_node();
        root.named_children(&mut root.walk()).any(|statement| {
            let field = |name| statement.child_by_field_name(name).is_some();
            field("body") || field("consequence") || field("definition")
        })
    })
}

/// Returns the range that a text takes the place of, without the marks that a node begins with; `None` if these would be about something
/// else then.
pub(crate) fn behind_marks(
    (language, text): (Language, &str),
    node: Node<'_>,
    range: Range<usize>,
    new: &str,
) -> Option<Range<usize>> {
    let mut cursor = node.walk();
    let own =
        node.children(&mut cursor).take_while(|child| child.is_extra() || is_mark(language, text, *child));
    let marks = own.filter(|child| is_mark(language, text, *child));
    let Some((force, end)) = marks
        .map(|mark| (force(text, mark), mark.end_byte()))
        .reduce(|(one, _), (next, end)| (one.max(next), end))
    else {
        return Some(range);
    };
    let has_marks = new.trim_start().starts_with(['#', '@']) || node.kind() == "decorated_definition";
    if range.start != node.start_byte() || has_marks || is_blank(language, new) {
        return Some(range);
    }
    let rest = text.get(range.end..node.end_byte()).unwrap_or_default();
    let piece = format!("{new}{rest}");
    let is_of_any_kind =
        force <= Force::Presence || node.parent().is_some_and(|parent| !holds_several_kinds(parent));
    let is_wanted = |kind: &str| is_of_any_kind || general(kind) == general(node.kind());
    let behind = text.get(end..).unwrap_or_default();
    let start = end + behind.len() - behind.trim_start().len();
    is_single(language, ("", piece.trim()), is_wanted).then_some(start..range.end)
}

/// Returns the kind of which another is but a form.
fn general(kind: &str) -> &str {
    match kind {
        "abstract_class_declaration" => "class_declaration",
        "generator_function_declaration" => "function_declaration",
        kind => kind,
    }
}

/// Returns whether a text is a single node behind its head, of a kind that is wanted.
fn is_single(language: Language, (head, text): (&str, &str), is_wanted: impl Fn(&str) -> bool) -> bool {
    let contexts: &[(&str, &str)] = match language {
        _ if !head.is_empty() => &[("", "")],
        Language::Rust => &[
            ("fn f() { ", " }"),
            ("struct A { ", " }"),
            ("struct A(", ");"),
            ("enum A { ", " }"),
            ("trait A { ", " }"),
            ("fn f(", ") {}"),
            ("fn f<", ">() {}"),
            ("fn f() { match a { ", " } }"),
            ("fn f() { A { ", " } }"),
            ("fn f() { let A { ", " } = a; }"),
            ("fn f() { g(", ") }"),
        ],
        Language::Go => &[("", "\n"), ("var (\n", "\n)\n"), ("const (\n", "\n)\n"), ("type (\n", "\n)\n")],
        Language::Python => &[("", "")],
        _ => &[("", ""), ("class A { ", " }"), ("class A { f(", ") {} }"), ("a = ", "")],
    };
    contexts.iter().any(|(before, behind)| {
        let code = format!("{before}{head}{text}{behind}");
        let Some(tree) = grammar::parse(&code, &language.grammar(), MAX_TIME) else { return false };
        let root = tree.root_node();
        let start = before.len() + head.len();
        let end = start + text.len();
        let has = |start: usize| {
            let first = root.named_descendant_for_byte_range(start, end).filter(|_| !root.has_error());
            std::iter::successors(first, Node::parent)
                .take_while(|node| node.byte_range() == (start..end) && *node != root)
                .any(|node| is_wanted(node.kind()))
        };
        has(start) || behind_first_marks(language, &code, (root, start)).is_some_and(has)
    })
}

/// Returns the byte at which what some marks and comments are about begins, if a text has such at a byte.
fn behind_first_marks(language: Language, text: &str, (root, start): (Node<'_>, usize)) -> Option<usize> {
    let first = root.descendant_for_byte_range(start, start + 1);
    let mark = std::iter::successors(first, Node::parent)
        .take_while(|node| node.start_byte() == start)
        .find(|node| node.is_extra() || is_mark(language, text, *node));
    let mut next = std::iter::successors(mark?.next_named_sibling(), Node::next_named_sibling);
    next.find(|next| !next.is_extra() && !is_mark(language, text, *next)).map(|next| next.start_byte())
}
