//! Names that an added import would give a second meaning, and files that take no such import.

use tree_sitter::{Node, Tree};

use super::Import;
use super::items::{Item, Statement, statements};
use crate::{Language, RewriteError};

/// Checks that a file binds the names of imports that were added to it no other way, and that it is a module that has imports.
pub(super) fn check(
    tree: &Tree,
    text: &str,
    language: Language,
    added: &[&Import],
) -> Result<(), RewriteError> {
    let found = statements(tree, text, language);
    for import in added {
        let names: Vec<(&Item, &str)> =
            import.items.iter().filter_map(|item| Some((item, local(item, language)?))).collect();
        let other = imported(&found, language, &names).or_else(|| declared(tree, text, language, &names));
        if let Some((name, row)) = other {
            let (name, import) = (name.to_owned(), import.text.clone());
            return Err(RewriteError::NameTaken { name, import, line: row + 1 });
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

/// Returns the first of some names that another import has as well, with its row.
fn imported<'n>(
    found: &[Statement<'_>],
    language: Language,
    names: &[(&Item, &'n str)],
) -> Option<(&'n str, usize)> {
    found.iter().filter(|statement| !statement.is_nested).find_map(|statement| {
        let is_other = |(wanted, name): &&(&Item, &str)| {
            let has =
                |item: &Item| local(item, language) == Some(*name) && !is_same_thing(item, wanted, language);
            statement.items.iter().any(has)
        };
        let (_, name) = names.iter().find(is_other)?;
        Some((*name, statement.node.start_position().row))
    })
}

/// Returns the first of some names that a statement at the top level declares, with its row.
fn declared<'n>(
    tree: &Tree,
    text: &str,
    language: Language,
    names: &[(&Item, &'n str)],
) -> Option<(&'n str, usize)> {
    let mut cursor = tree.walk();
    tree.root_node().named_children(&mut cursor).find_map(|node| {
        let mut declared = Vec::new();
        declared_by(node, text, language, &mut declared);
        let (_, name) = names.iter().find(|(_, name)| declared.contains(name))?;
        Some((*name, node.start_position().row))
    })
}

/// Returns the name that an item has in the file, as far as that is known.
fn local(item: &Item, language: Language) -> Option<&str> {
    let is_version = |name: &str| name.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    let mut locals = item.locals.iter().map(String::as_str);
    match language {
        Language::Go => locals.find(|name| !is_version(name)),
        // Overloads of Java have one name.
        Language::Java if item.module == "static" => None,
        _ => locals.next().filter(|name| *name != "_"),
    }
}

/// Returns whether two imports of one name are about the same thing: `import os` and `import os.path`, or a type and its values.
fn is_same_thing(item: &Item, other: &Item, language: Language) -> bool {
    let is_package = language == Language::Python && item.module.is_empty() && other.module.is_empty();
    let is_unaliased = |item: &Item| item.locals.first().map(String::as_str) == item.name.split('.').next();
    item.is_same(other) || is_package && is_unaliased(item) && is_unaliased(other)
}

/// Adds the names that a statement at the top level of a file declares. Functions of Rust may have the name of a module.
fn declared_by<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    let mut put = |node: Option<Node<'_>>| names.extend(node.and_then(|name| text.get(name.byte_range())));
    match (language, node.kind()) {
        (
            Language::JavaScript | Language::TypeScript | Language::Tsx,
            "function_declaration"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration"
            | "enum_declaration",
        )
        | (Language::Python, "function_definition" | "class_definition")
        | (Language::Rust, "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item")
        | (Language::Go, "function_declaration")
        | (
            Language::Java,
            "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration",
        ) => {
            put(node.child_by_field_name("name"));
        }
        (
            _,
            "export_statement"
            | "decorated_definition"
            | "type_declaration"
            | "var_declaration"
            | "const_declaration",
        )
        | (_, "lexical_declaration" | "variable_declaration" | "expression_statement") => {
            for child in node.named_children(&mut node.walk()) {
                declared_by(child, text, language, names);
            }
        }
        (_, "variable_declarator")
        | (Language::Go, "type_spec" | "type_alias" | "const_spec" | "var_spec") => {
            put(node.child_by_field_name("name"));
        }
        (Language::Python, "assignment") => put(node.child_by_field_name("left")),
        _ => {}
    }
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
