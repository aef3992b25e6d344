//! Names that the statements at the top level of a file declare.

use tree_sitter::Node;

use super::guards::is_guard;
use crate::Language;

/// Adds the names that a statement at the top level of a file declares. Functions of Rust may have the name of a module.
pub(super) fn declared_by<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    let is_python = language == Language::Python;
    match (language, node.kind()) {
        (
            Language::JavaScript | Language::TypeScript | Language::Tsx,
            "function_declaration"
            | "function_signature"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration"
            | "enum_declaration"
            | "internal_module",
        )
        | (Language::Python, "function_definition" | "class_definition")
        | (
            Language::Rust,
            "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item" | "mod_item",
        )
        | (Language::Go, "function_declaration" | "type_spec" | "type_alias")
        | (
            Language::Java,
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration",
        ) => {
            put(node.child_by_field_name("name"), text, names);
        }
        (Language::Rust, "extern_crate_declaration") => {
            let name = node.child_by_field_name("alias").or(node.child_by_field_name("name"));
            put(name, text, names);
        }
        (Language::Go, "const_spec" | "var_spec") => {
            let mut cursor = node.walk();
            node.children_by_field_name("name", &mut cursor).for_each(|name| put(Some(name), text, names));
        }
        // `import name = require("module")` and `import name = other.name`.
        (Language::TypeScript | Language::Tsx, "import_require_clause" | "import_alias") => {
            put(node.named_child(0), text, names);
        }
        (_, "variable_declarator") => bound_by(node.child_by_field_name("name"), text, names),
        (Language::Python, "assignment") => {
            bound_by(node.child_by_field_name("left"), text, names);
            if let Some(right) = node.child_by_field_name("right").filter(|it| it.kind() == "assignment") {
                declared_by(right, text, language, names);
            }
        }
        (Language::Python, "for_statement") => {
            bound_by(node.child_by_field_name("left"), text, names);
            below(node, text, language, names);
        }
        (Language::Python, "except_clause") => {
            bound_by(node.child_by_field_name("alias"), text, names);
            below(node, text, language, names);
        }
        (Language::Python, "as_pattern") => bound_by(node.child_by_field_name("alias"), text, names),
        // A single name is bound, and others are compared.
        (Language::Python, "case_pattern") => {
            let name = node.named_child(0).filter(|name| name.kind() == "dotted_name");
            put(name, text, names);
            below(node, text, language, names);
        }
        (
            _,
            "export_statement"
            | "import_statement"
            | "ambient_declaration"
            | "decorated_definition"
            | "type_declaration"
            | "var_declaration"
            | "var_spec_list"
            | "const_declaration"
            | "lexical_declaration"
            | "variable_declaration"
            | "expression_statement",
        )
        | (
            Language::Python,
            "while_statement" | "with_statement" | "with_clause" | "with_item" | "match_statement" | "block",
        ) => below(node, text, language, names),
        (_, kind) if is_python && (is_guard(node) || kind.ends_with("_clause")) => {
            below(node, text, language, names);
        }
        _ => {}
    }
}

fn below<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    for child in node.named_children(&mut node.walk()) {
        declared_by(child, text, language, names);
    }
}

fn put<'t>(name: Option<Node<'_>>, text: &'t str, names: &mut Vec<&'t str>) {
    names.extend(name.and_then(|name| text.get(name.byte_range())));
}

/// Adds the names that the left side of an assignment binds, which may take a value apart.
fn bound_by<'t>(target: Option<Node<'_>>, text: &'t str, names: &mut Vec<&'t str>) {
    let mut waiting: Vec<Node<'_>> = target.into_iter().collect();
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => put(Some(node), text, names),
            "pair_pattern" => waiting.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left"));
            }
            "object_pattern" | "array_pattern" | "rest_pattern" | "pattern_list" | "tuple_pattern"
            | "list_pattern" | "list_splat_pattern" | "as_pattern_target" => {
                waiting.extend(node.named_children(&mut node.walk()));
            }
            _ => {}
        }
    }
}
