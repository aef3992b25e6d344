//! Names that an added import would give a second meaning, and files that take no such import.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::Import;
use super::common_js::is_common_js;
use super::declared::declared_by;
use super::items::Item;
use super::scopes::{Hidden, Lookup, Name};
use super::statements::{Statement, statements};
use crate::{Language, MAX_TIME, Match, RewriteError};

/// Checks that the names of imports that a file is to have mean nothing else where they were put in; and of those that were added to
/// it, that it binds them no other way, and that it is a module that has imports. `before` are the names of the imports that it had
/// anyway, and `has_imports` says whether it had any.
pub(super) fn check(
    tree: &Tree,
    text: &str,
    (language, file): (Language, &str),
    (add, added): (&[Import], &[&Import]),
    (before, has_imports): (&[String], bool),
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
            && let Some((name, row)) = hidden_static(tree, text, (import, &new))
        {
            let (name, import) = (name.to_owned(), import.text.clone());
            return Err(RewriteError::NameTaken { name, import, line: row + 1 });
        }
        let is_added = added.contains(&import);
        let other = if is_added { imported(&found, language, &names) } else { None };
        let in_file = other.or_else(|| declared(tree, text, language, (&names, is_added)));
        let in_scope = || {
            // Of a name that stands nowhere else, no scope knows another meaning. A module of Rust may know none.
            let is_elsewhere = names.iter().any(|name| stands_elsewhere(name.text, text, &known));
            let may_be_hidden = language == Language::Rust && text.contains("mod") || is_elsewhere;
            let lookup = Lookup { text, language, names: &names, places };
            let hidden = may_be_hidden.then(|| lookup.hidden(tree)).flatten();
            hidden.or_else(|| {
                let is_new = |name: &Name<'_>| {
                    !before.iter().any(|known| known == name.text)
                        && !comes_with_all(&found, name.item, language)
                };
                let may_be_taken = is_added && is_elsewhere && !import.is_known_anyway(language);
                let free = may_be_taken.then(|| lookup.free(tree, is_new)).flatten();
                let (name, row) = free.filter(|(name, _)| !was_bound(name, language, matches))?;
                Some(Hidden::By(name, row))
            })
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
    match added.first() {
        Some(import) if !has_imports && is_common_js(tree, text, (language, file)) => {
            Err(RewriteError::CommonJs(import.text.clone()))
        }
        _ => Ok(()),
    }
}

/// Returns the name of a method of the file that hides all of a static import of Java, or of a variable that hides the imported constant,
/// with its row.
fn hidden_static<'t>(
    tree: &Tree,
    text: &'t str,
    (import, new): (&Import, &[&str]),
) -> Option<(&'t str, usize)> {
    let is_static = |item: &&Item| item.module == "static";
    let names = import.items.iter().filter(is_static).flat_map(|item| &item.locals);
    let is_constant = |name: &str| {
        new.iter().any(|new| {
            new.match_indices(name).any(|(at, _)| !new[at + name.len()..].trim_start().starts_with('('))
        })
    };
    let names: Vec<(&String, bool)> = names.map(|name| (name, is_constant(name))).collect();
    if names.is_empty() {
        return None;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let (is_method, name) = match node.kind() {
            "method_declaration" => (true, node.child_by_field_name("name")),
            "variable_declarator"
            | "formal_parameter"
            | "catch_formal_parameter"
            | "resource"
            | "enum_constant"
            | "enhanced_for_statement"
            | "instanceof_expression" => (false, node.child_by_field_name("name")),
            "lambda_expression" => (false, node.child_by_field_name("parameters")),
            "identifier" => (false, Some(node).filter(|_| is_pattern(node.parent()))),
            _ => (false, None),
        };
        let name = name.and_then(|name| Some((name, text.get(name.byte_range())?)));
        let is_hiding =
            |own: &str| names.iter().any(|(name, is_constant)| *name == own && (is_method || *is_constant));
        if let Some((name, own)) = name.filter(|(_, own)| is_hiding(own)) {
            return Some((own, name.start_position().row));
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

/// Returns whether identifiers right in a node of Java are variables.
fn is_pattern(parent: Option<Node<'_>>) -> bool {
    parent.is_some_and(|parent| {
        matches!(parent.kind(), "inferred_parameters" | "type_pattern" | "record_pattern_component")
    })
}

/// Returns whether what was replaced bound a name, so that the file's uses of it are meant to be those of the import.
fn was_bound(name: &str, language: Language, matches: &[Match]) -> bool {
    matches.iter().filter(|found| words(&found.text, name) > 0).any(|found| {
        let Some(tree) = grammar::parse(&found.text, &language.grammar(), MAX_TIME) else { return false };
        let root = tree.root_node();
        let imported = statements(&tree, &found.text, language);
        let mut names: Vec<&str> = Vec::new();
        for node in root.named_children(&mut root.walk()) {
            declared_by(node, &found.text, language, &mut names);
        }
        let locals = imported.iter().flat_map(|statement| &statement.items).flat_map(|item| &item.locals);
        names.contains(&name) || locals.into_iter().any(|local| local == name)
    })
}

fn is_at_top_level(node: Node<'_>) -> bool {
    node.parent().is_none_or(|parent| parent.parent().is_none())
}

/// Returns whether an import of all names of a module has an item as well, so that the file's uses of its name are those of that item.
fn comes_with_all(found: &[Statement<'_>], item: &Item, language: Language) -> bool {
    let is_always = |statement: &&Statement<'_>| !statement.is_nested && !statement.is_conditional;
    let mut items = found.iter().filter(is_always).flat_map(|statement| &statement.items);
    match language {
        // Two of them that have a name do not have it for the compiler.
        Language::Rust => item
            .name
            .rsplit_once("::")
            .is_some_and(|(module, _)| items.any(|other| other.name.strip_suffix("::*") == Some(module))),
        // The last one that has a name has it, and others may.
        Language::Python => {
            let mut all = items.filter(|other| other.name == "*");
            all.next().is_some_and(|first| first.module == item.module) && all.next().is_none()
        }
        _ => false,
    }
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
pub(crate) fn words(text: &str, word: &str) -> usize {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|other| *other == word).count()
}
