//! Names that an added import would give a second meaning, and files that take no such import.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::Import;
use super::declared::declared_by;
use super::items::Item;
use super::scopes::{Hidden, Lookup, Name};
use super::statements::{Statement, statements};
use crate::{Language, Match, RewriteError};

/// Checks that the names of imports that a file is to have mean nothing else where they were put in; and of those that were added to
/// it, that it binds them no other way, and that it is a module that has imports.
pub(super) fn check(
    tree: &Tree,
    text: &str,
    language: Language,
    (add, added): (&[Import], &[&Import]),
    (matches, places): (&[Match], &[Range<usize>]),
) -> Result<(), RewriteError> {
    let found = statements(tree, text, language);
    let new: Vec<&str> = places.iter().filter_map(|place| text.get(place.clone())).collect();
    let of_file = found.iter().filter(|statement| is_at_top_level(statement.node));
    let imports = of_file.filter_map(|statement| text.get(statement.node.byte_range()));
    let known: Vec<&str> = new.iter().copied().chain(imports).collect();
    for import in add {
        let mut names: Vec<Name<'_>> =
            import.items.iter().filter_map(|item| Name::new(item, language, &new)).collect();
        if language == Language::Rust {
            names.retain(|name| !is_derived(text, name.text, matches));
        }
        if language == Language::Java
            && let Some((name, row)) = method_of(tree, text, import)
        {
            let (name, import) = (name.to_owned(), import.text.clone());
            return Err(RewriteError::NameTaken { name, import, line: row + 1 });
        }
        let is_added = added.contains(&import);
        let other = if is_added { imported(&found, language, &names) } else { None };
        let in_file = other.or_else(|| declared(tree, text, language, (&names, is_added)));
        let in_scope = || {
            // Of a name that stands nowhere else, no scope knows another meaning. A module of Rust may know none.
            let may_be_hidden = language == Language::Rust && text.contains("mod")
                || names.iter().any(|name| stands_elsewhere(name.text, text, &known));
            may_be_hidden.then(|| Lookup { text, language, names: &names, places }.hidden(tree)).flatten()
        };
        let import = import.text.clone();
        match in_file.map(|(name, row)| Hidden::By(name, row)).or_else(in_scope) {
            Some(Hidden::By(name, row)) => {
                return Err(RewriteError::NameTaken { name: name.to_owned(), import, line: row + 1 });
            }
            Some(Hidden::ByModule(row)) => return Err(RewriteError::NotInModule { import, line: row + 1 }),
            None => {}
        }
    }
    let has_others = found.iter().any(|it| added.iter().all(|import| import.module != it.module));
    match added.first() {
        Some(import) if language == Language::JavaScript && !has_others && is_common_js(tree, text) => {
            Err(RewriteError::CommonJs(import.text.clone()))
        }
        _ => Ok(()),
    }
}

/// Returns the name of a method that a class of the file has and that hides all of a static import of Java, with its row.
fn method_of<'t>(tree: &Tree, text: &'t str, import: &Import) -> Option<(&'t str, usize)> {
    let is_static = |item: &&Item| item.module == "static";
    let hides = |name: &str| {
        import.items.iter().filter(is_static).any(|item| item.locals.iter().any(|it| it == name))
    };
    if !import.items.iter().any(|item| is_static(&item)) {
        return None;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let name = node.child_by_field_name("name").filter(|_| node.kind() == "method_declaration");
        let name = name.and_then(|name| text.get(name.byte_range())).filter(|name| hides(name));
        if let Some(name) = name {
            return Some((name, node.start_position().row));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

fn is_at_top_level(node: Node<'_>) -> bool {
    node.parent().is_none_or(|parent| parent.parent().is_none())
}

/// Returns whether a text has a name outside of some parts of it.
fn stands_elsewhere(name: &str, text: &str, parts: &[&str]) -> bool {
    let count = |text: &str| text.matches(name).count();
    count(text) > parts.iter().map(|part| count(part)).sum()
}

/// Returns the first of some names that another import has as well, with its row.
fn imported<'n>(found: &[Statement<'_>], language: Language, names: &[Name<'n>]) -> Option<(&'n str, usize)> {
    found.iter().find_map(|statement| {
        let is_other = |wanted: &&Name<'_>| {
            let is_same =
                |item: &Item| is_same_thing(item, wanted.item, language) && !statement.is_optional();
            let has = |item: &Item| local(item, language) == Some(wanted.text) && !is_same(item);
            statement.items.iter().any(has)
        };
        let name = names.iter().find(is_other)?.text;
        Some((name, statement.node.start_position().row))
    })
}

/// Returns the first of some names that a statement at the top level declares, with its row. What is imported already may have been given
/// another meaning since, but for what a condition puts in its place.
fn declared<'n>(
    tree: &Tree,
    text: &str,
    language: Language,
    (names, are_added): (&[Name<'n>], bool),
) -> Option<(&'n str, usize)> {
    let mut cursor = tree.walk();
    tree.root_node().named_children(&mut cursor).find_map(|node| {
        if !are_added && matches!(node.kind(), "try_statement" | "if_statement") {
            return None;
        }
        let mut declared = Vec::new();
        declared_by(node, text, language, &mut declared);
        let name = names.iter().find(|name| name.is_bound_by(node, &declared))?.text;
        Some((name, node.start_position().row))
    })
}

/// Returns the name that an item has in the file, as far as that is known.
pub(super) fn local(item: &Item, language: Language) -> Option<&str> {
    let mut locals = item.locals.iter().map(String::as_str);
    match language {
        // Overloads of Java have one name.
        Language::Java if item.module == "static" => None,
        _ => locals.next().filter(|name| *name != "_"),
    }
}

/// Returns whether two imports of one name are about the same thing: `import os` and `import os.path`, or a type and its values.
pub(super) fn is_same_thing(item: &Item, other: &Item, language: Language) -> bool {
    let is_package = language == Language::Python && item.module.is_empty() && other.module.is_empty();
    let is_unaliased = |item: &Item| !item.has_alias || item.locals.first() == Some(&item.name);
    item.is_same(other) || is_package && is_unaliased(item) && is_unaliased(other)
}

/// Returns whether what was put into a file of Rust has a name in `#[derive(…)]` alone: macros have names of their own.
fn is_derived(text: &str, name: &str, matches: &[Match]) -> bool {
    // In `derive`, and elsewhere.
    let counts = |text: &str| {
        let mut derives = text.split("derive(");
        let mut others = words(derives.next().unwrap_or_default(), name);
        let mut derived = 0;
        for part in derives {
            let (list, rest) = part.split_once(')').unwrap_or((part, ""));
            derived += words(list, name);
            others += words(rest, name);
        }
        (derived, others)
    };
    let is_elsewhere = |found: &Match| {
        let new = found.replacement.as_deref().unwrap_or_default();
        counts(new).1 > counts(&found.text).1
    };
    counts(text).0 > 0 && !matches.iter().any(is_elsewhere)
}

/// Returns how often a text has a word.
pub(super) fn words(text: &str, word: &str) -> usize {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|other| *other == word).count()
}

/// Returns whether a script that exports nothing in ECMAScript's way gives its exports in CommonJS's. One that only requires modules may
/// be translated before it runs.
fn is_common_js(tree: &Tree, text: &str) -> bool {
    let mut cursor = tree.walk();
    let mut statements = tree.root_node().named_children(&mut cursor);
    let is_assignment = |node: Node<'_>| {
        let assignment = node.named_child(0).filter(|child| child.kind() == "assignment_expression");
        let left = assignment.and_then(|assignment| assignment.child_by_field_name("left"));
        let name = left.and_then(|left| text.get(left.byte_range())).unwrap_or_default();
        node.kind() == "expression_statement"
            && (name.starts_with("module.exports") || name.starts_with("exports."))
    };
    let has_exports =
        tree.root_node().named_children(&mut tree.walk()).any(|node| node.kind() == "export_statement");
    !has_exports && statements.any(is_assignment)
}
