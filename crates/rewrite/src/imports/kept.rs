//! Imports that may be needed although the file does not name them.

use tree_sitter::{Node, Tree};

use super::clash::words;
use super::items::Item;
use super::statements::Statement;
use crate::{Language, Match};

/// Words of comments and attributes by which linters let an import stay that seems to be unused.
const MARKS: [&str; 2] = ["noqa", "unused"];

/// Returns whether other files may have the imports of a file from there: Python's of a package, and in Rust those of a file to which
/// modules in other files belong, which may begin with `use super::*`.
pub(super) fn may_be_shared(tree: &Tree, file: &str, language: Language) -> bool {
    let root = tree.root_node();
    let is_outside = |node: Node<'_>| node.kind() == "mod_item" && node.child_by_field_name("body").is_none();
    match language {
        Language::Python => file.ends_with("__init__.py"),
        Language::Rust => root.named_children(&mut root.walk()).any(is_outside),
        _ => false,
    }
}

/// Words of comments about the line below, which would be about another one without it.
const MARKS_OF_NEXT: [&str; 3] = ["-next-line", "@ts-ignore", "@ts-expect-error"];

/// Returns whether a comment on the lines of an import, an attribute above it, or a comment there that is about the next line marks it as
/// one that stays.
pub(super) fn is_marked(statement: &Statement<'_>, text: &str) -> bool {
    let range = statement.node.byte_range();
    let end = range.end + text[range.end..].find('\n').unwrap_or(text.len() - range.end);
    let comments = text[range.start..end].lines().filter_map(|line| {
        let start = line.find('#').or_else(|| line.find("//"))?;
        line.get(start..)
    });
    let above = std::iter::successors(statement.node.prev_sibling(), Node::prev_sibling);
    let attributes = above
        .take_while(|node| node.kind() == "attribute_item" || node.is_extra())
        .filter(|node| node.kind() == "attribute_item");
    let mut texts = comments.chain(attributes.map(|node| &text[node.byte_range()]));
    let comment = statement.node.prev_sibling().filter(|before| {
        before.kind() == "comment" && before.end_position().row + 1 == statement.node.start_position().row
    });
    let comment = comment.map_or("", |comment| &text[comment.byte_range()]);
    texts.any(|text| MARKS.iter().any(|mark| text.contains(mark)))
        || MARKS_OF_NEXT.iter().any(|mark| comment.contains(mark))
}

/// Returns whether what was replaced does not show what an import is for: it may be a trait of Rust whose methods are called, or a package
/// of Go that has another name than its path.
pub(super) fn is_unclear(item: &Item, language: Language, matches: &[Match]) -> bool {
    let is_named = |name: &String| matches.iter().any(|found| words(&found.text, name) > 0);
    let may_be_trait = |name: &String| name == "_" || name.starts_with(char::is_uppercase);
    match language {
        Language::Rust => item.locals.iter().any(|name| may_be_trait(name) && !is_named(name)),
        Language::Go => {
            let is_in_path = |name: &String| item.name.split('/').any(|part| part == name) && name != "go";
            !item.locals.first().is_some_and(is_in_path) && !item.locals.iter().any(is_named)
        }
        _ => false,
    }
}
