//! Removal of names that nothing uses any more.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::clash::{is_same_thing, local};
use super::items::Item;
use super::kept::{is_marked, is_unclear, may_be_shared};
use super::place::{is_comment, line_rest, mark_length};
use super::statements::{Statement, statements};
use super::usage::is_used;
use super::{Edit, Import};
use crate::{Language, Match};

/// Returns the edit that removes a name of an import, or `None` if none of them is there and may go: those that nothing uses, and those
/// in whose place one of the imports `add` has the name. `matches` are what was replaced.
pub(super) fn removal(
    tree: &Tree,
    text: &str,
    language: Language,
    (import, add): (&Import, &[Import]),
    (matches, file): (&[Match], &str),
) -> Option<Edit> {
    let found = statements(tree, text, language);
    let found = found.iter().filter(|statement| !statement.is_nested && !is_export(statement.node));
    let is_exchanged = |item: &Item| {
        let name = local(item, language);
        let mut new = add.iter().flat_map(|import| &import.items);
        name.is_some() && new.any(|new| local(new, language) == name && !is_same_thing(item, new, language))
    };
    for statement in found {
        if import.items.is_empty() && statement.items.is_empty() && statement.module == import.module {
            return Some(Edit(with_line(text, whole(statement.node, language)), String::new()));
        }
        for item in &statement.items {
            // Nobody knows what a name stands for that a file has from a module's whole list.
            let can_go = import.items.iter().any(|wanted| item.is_same(wanted))
                && !item.locals.is_empty()
                && !is_exported(item, language);
            let is_needed = || {
                may_be_shared(tree, file, language)
                    || is_marked(statement, text)
                    || is_unclear(item, language, matches)
                    || is_used(tree, text, language, &item.locals)
            };
            if can_go && (is_exchanged(item) || !is_needed()) {
                let range = match statement.items.len() {
                    1 => {
                        with_semicolon(text, with_line(text, whole(statement.node, language)), statement.node)
                    }
                    _ => in_list(listed(statement, item)?, text),
                };
                return Some(Edit(range, String::new()));
            }
        }
    }
    None
}

/// Returns whether other files of Rust may have a name from an import: `pub use`.
fn is_export(node: Node<'_>) -> bool {
    node.named_child(0).is_some_and(|child| child.kind() == "visibility_modifier")
}

/// Returns whether a name of Python is one for other files as well, which `import name as name` says.
fn is_exported(item: &Item, language: Language) -> bool {
    language == Language::Python && item.has_alias && item.locals.first() == Some(&item.name)
}

/// Returns the range of a statement with what it cannot be without.
fn whole(node: Node<'_>, language: Language) -> Range<usize> {
    let node = match node.parent() {
        Some(parent) if language == Language::Go && parent.kind() == "import_declaration" => parent,
        _ => node,
    };
    let attributes = std::iter::successors(node.prev_sibling(), Node::prev_sibling);
    let first = attributes.take_while(|before| before.kind() == "attribute_item").last();
    first.map_or(node.start_byte(), |first| first.start_byte())..node.end_byte()
}

/// Returns the range with its line and a comment behind it, where nothing else stands on it.
fn with_line(text: &str, range: Range<usize>) -> Range<usize> {
    let start = line_start(text, range.start);
    let rest = line_rest(text, range.end);
    let is_alone = text[start..range.start].trim().is_empty()
        && (rest.trim_matches([';', ' ', '\t']).is_empty() || is_comment(rest));
    if is_alone { start..line_end(text, range.end) } else { range }
}

/// Returns the range with the semicolon that parts it from another on its line.
fn with_semicolon(text: &str, range: Range<usize>, node: Node<'_>) -> Range<usize> {
    if text[range.clone()].ends_with('\n') {
        return range;
    }
    if node.parent().is_none_or(|parent| parent.kind() != "import_spec_list") {
        let rest = text[range.end..].trim_start_matches([';', ' ', '\t']);
        return range.start..text.len() - rest.len();
    }
    let rest = text[range.end..].trim_start_matches([' ', '\t']);
    match rest.strip_prefix(';') {
        Some(rest) => range.start..text.len() - rest.trim_start_matches([' ', '\t']).len(),
        None => text[..range.start].trim_end_matches([' ', '\t', ';']).len()..range.end,
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(mark_length(text), |newline| newline + 1).min(at)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the range of one of several names, with its comma and its own comment, but not with those of others.
fn in_list<'t>(node: Node<'t>, text: &str) -> Range<usize> {
    let beside = |next: fn(&Node<'t>) -> Option<Node<'t>>| {
        std::iter::successors(next(&node), next).find(|other| !other.is_extra())
    };
    let own = node.byte_range();
    let has_comma = text[own.end..].trim_start().starts_with(',');
    let comma = if has_comma { text.len() - text[own.end..].trim_start().len() + 1 } else { own.end };
    let (start, rest) = (line_start(text, own.start), line_rest(text, comma));
    let is_alone = text[start..own.start].trim().is_empty() && (rest.trim().is_empty() || is_comment(rest));
    // A line that a backslash has continued needs its own.
    if is_alone && !text[..start].trim_end().ends_with('\\') {
        return start..line_end(text, comma);
    }
    let is_plain = |between: &str| !between.contains(['#', '/']);
    match (beside(Node::next_named_sibling), beside(Node::prev_named_sibling)) {
        (Some(next), _) if is_plain(&text[own.end..next.start_byte()]) => own.start..next.start_byte(),
        (None, Some(before)) if is_plain(&text[before.end_byte()..own.start]) => before.end_byte()..own.end,
        _ => own.start..comma + text[comma..].len() - text[comma..].trim_start_matches([' ', '\t']).len(),
    }
}

/// Returns the node of a name of a statement, or of the list that has nothing else.
fn listed<'t>(statement: &Statement<'t>, item: &Item) -> Option<Node<'t>> {
    let mut node = statement.node.named_descendant_for_byte_range(item.range.start, item.range.end)?;
    while let Some(parent) = node.parent().filter(|parent| *parent != statement.node) {
        let others = parent.named_children(&mut parent.walk()).filter(|other| !other.is_extra()).count();
        let is_path = parent.child_by_field_name("list") == Some(node);
        if parent.byte_range() != node.byte_range() && others > 1 && !is_path {
            break;
        }
        node = parent;
    }
    Some(node)
}
