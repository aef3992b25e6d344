//! Places of new import statements.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::Edit;
use super::statements::{Statement, kinds};
use crate::{Language, newline};

/// Words of comments that are about a file and not about what follows them.
const HEAD_WORDS: [&str; 20] = [
    "copyright",
    "license",
    "licence",
    "spdx",
    "(c)",
    "author",
    "all rights",
    "coding:",
    "coding=",
    "#!",
    "pylint:",
    "flake8:",
    "mypy:",
    "ruff:",
    "eslint-disable ",
    "@flow",
    "@ts-",
    "@jsx",
    "-environment",
    "<reference",
];

/// Returns the edit that puts a statement with the first imports of a file, or where those would be.
pub(super) fn insertion(
    tree: &Tree,
    text: &str,
    language: Language,
    found: &[Statement<'_>],
    new: &str,
) -> Edit {
    let first = first_statements(tree, language);
    let in_place = |statement: &&Statement<'_>| {
        !statement.is_nested && first.is_none_or(|end| statement.node.end_byte() <= end)
    };
    let Some(last) = found.iter().rfind(in_place) else { return at_head(tree, text, new) };
    let line = newline(text);
    match last.node.parent() {
        Some(parent) if language == Language::Go && parent.kind() == "import_spec_list" => {
            let spec = new.trim_start_matches("import").trim();
            let end = last.node.end_byte();
            let rest = line_rest(text, end);
            if rest.trim_start().is_empty() || is_comment(rest) {
                let end = end + rest.len();
                return Edit(end..end, format!("{line}\t{spec}"));
            }
            Edit(end..end, format!("; {spec}"))
        }
        Some(parent) if language == Language::Go => behind(text, parent.end_byte(), new),
        _ => behind(text, last.node.end_byte(), new),
    }
}

/// Returns the edit that puts a statement in front of all others of a file.
pub(super) fn at_head(tree: &Tree, text: &str, new: &str) -> Edit {
    match head(tree, text) {
        0 => {
            let at = mark_length(text);
            Edit(at..at, format!("{new}{}", newline(text)))
        }
        end => behind(text, end, new),
    }
}

/// Returns the end of the imports that Python has before anything else, if it has to have them there.
fn first_statements(tree: &Tree, language: Language) -> Option<usize> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut others = root
        .named_children(&mut cursor)
        .filter(|node| !is_head(*node) && !kinds(language).contains(&node.kind()));
    (language == Language::Python).then(|| others.next().map_or(usize::MAX, |other| other.start_byte()))
}

/// Returns the edit that puts a statement on a line of its own behind a byte, and behind a comment that follows.
fn behind(text: &str, end: usize, new: &str) -> Edit {
    let line = newline(text);
    if text[..end].ends_with('\n') {
        return Edit(end..end, format!("{new}{line}"));
    }
    let rest = line_rest(text, end);
    if rest.trim_start_matches([' ', '\t', ';']).is_empty() || is_comment(rest) {
        let end = end + rest.len();
        let has_end = text[end..].starts_with(['\r', '\n']);
        return Edit(end..end, if has_end { format!("{line}{new}") } else { format!("{line}{new}{line}") });
    }
    let code = rest.trim_start_matches([' ', '\t', ';']);
    Edit(end..end + rest.len() - code.len(), format!("{line}{new}{line}"))
}

/// Returns what follows a byte on its line, without the end of the line.
pub(super) fn line_rest(text: &str, at: usize) -> &str {
    let rest = text[at..].split('\n').next().unwrap_or_default();
    rest.strip_suffix('\r').unwrap_or(rest)
}

/// Returns whether nothing but a comment to the end of the line follows, maybe behind a semicolon.
pub(super) fn is_comment(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', ';']);
    rest.starts_with("//")
        || rest.starts_with('#')
        || rest.starts_with("/*") && rest.trim_end().ends_with("*/")
}

/// Returns the length of the byte order mark that a text begins with; 0 without one.
pub(super) fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Returns the end of a file's first comments, its documentation and its package; 0 without any of them.
fn head(tree: &Tree, text: &str) -> usize {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut end = 0;
    // Comments that may belong to what follows them.
    let mut waiting: Vec<Range<usize>> = Vec::new();
    for node in root.children(&mut cursor).filter(|node| node.kind() != "\n") {
        let range = trimmed(node, text);
        let is_next = |before: &Range<usize>| {
            text.get(before.end..range.start).unwrap_or_default().matches('\n').count() <= 1
        };
        if !waiting.last().is_some_and(is_next) {
            end = waiting.last().map_or(end, |last| last.end);
            waiting.clear();
        }
        if !is_head(node) {
            let is_about_file = |comment: &Range<usize>| {
                let comment = text[comment.clone()].to_lowercase();
                let is_inner = comment.starts_with("//!") || comment.starts_with("/*!");
                is_inner || HEAD_WORDS.iter().any(|word| comment.contains(word))
            };
            return waiting.iter().rfind(|comment| is_about_file(comment)).map_or(end, |comment| comment.end);
        }
        if node.kind().contains("comment") {
            waiting.push(range);
        } else {
            end = range.end;
            waiting.clear();
        }
    }
    waiting.last().map_or(end, |last| last.end)
}

fn trimmed(node: Node<'_>, text: &str) -> Range<usize> {
    let range = node.byte_range();
    range.start..range.start + text.get(range).unwrap_or_default().trim_end().len()
}

/// Returns whether a node at the top of a file goes before its imports.
fn is_head(node: Node<'_>) -> bool {
    let is_directive = node.kind() == "expression_statement"
        && node.named_child_count() == 1
        && node.named_child(0).is_some_and(|child| matches!(child.kind(), "string" | "concatenated_string"));
    is_directive
        || node.kind().contains("comment")
        || matches!(
            node.kind(),
            "hash_bang_line"
                | "shebang"
                | "package_clause"
                | "package_declaration"
                | "inner_attribute_item"
                | "\n"
                | ";"
        )
}
