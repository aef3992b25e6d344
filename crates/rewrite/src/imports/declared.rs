//! Names that a node of a file binds: a declaration, an assignment, a clause.

use tree_sitter::Node;

use super::blocks::is_scope;
use crate::Language;

/// Adds the names that a statement at the top level of a file declares there.
pub(super) fn declared_by<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    // `for (const name of all)` has its name for itself.
    let kind = node.child_by_field_name("kind").filter(|_| node.kind() == "for_in_statement");
    if kind.is_none_or(|kind| kind.kind() == "var") {
        bound_at(node, text, language, names);
    }
    let is_passed = match language {
        // Its blocks have no names of their own.
        Language::Python => !is_scope(node, language),
        _ => matches!(
            node.kind(),
            "export_statement"
                | "import_statement"
                | "ambient_declaration"
                | "type_declaration"
                | "var_declaration"
                | "var_spec_list"
                | "const_declaration"
                | "lexical_declaration"
                | "variable_declaration"
                | "expression_statement"
                | "foreign_mod_item"
                | "declaration_list"
        ),
    };
    if is_passed {
        for child in node.named_children(&mut node.walk()) {
            declared_by(child, text, language, names);
        }
    } else if matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
        hoisted_by(node, text, language, names);
    }
}

/// Adds the names of `var` within a statement of a script, which are known around it.
fn hoisted_by<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    if is_scope(node, language) {
        return;
    }
    let kind = node.child_by_field_name("kind").filter(|_| node.kind() == "for_in_statement");
    if kind.is_some_and(|kind| kind.kind() == "var") {
        bound_at(node, text, language, names);
    }
    let is_declaration = node.kind() == "variable_declaration";
    for child in node.named_children(&mut node.walk()) {
        if is_declaration {
            bound_at(child, text, language, names);
        }
        hoisted_by(child, text, language, names);
    }
}

/// Adds the names that a node itself binds in the scope around it, but for imports.
pub(super) fn bound_at<'t>(node: Node<'_>, text: &'t str, language: Language, names: &mut Vec<&'t str>) {
    let mut bind = |field: &str| bound_by(node.child_by_field_name(field), text, names);
    match (language, node.kind()) {
        (
            Language::JavaScript | Language::TypeScript | Language::Tsx,
            "function_declaration"
            | "function_signature"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration"
            | "interface_declaration"
            | "type_alias_declaration"
            | "enum_declaration"
            | "internal_module"
            | "type_parameter",
        )
        | (Language::Python, "function_definition" | "class_definition")
        | (
            Language::Rust,
            "struct_item"
            | "enum_item"
            | "union_item"
            | "trait_item"
            | "type_item"
            | "mod_item"
            | "const_item"
            | "static_item"
            | "function_item"
            | "function_signature_item"
            | "type_parameter"
            | "const_parameter",
        )
        | (Language::Go, "function_declaration" | "type_spec" | "type_alias")
        | (
            Language::Java,
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration",
        ) => put(node.child_by_field_name("name"), text, names),
        (Language::Rust, "extern_crate_declaration") => {
            let name = node.child_by_field_name("alias").or(node.child_by_field_name("name"));
            put(name, text, names);
        }
        (Language::Go, "const_spec" | "var_spec" | "type_parameter_declaration") => {
            let mut cursor = node.walk();
            node.children_by_field_name("name", &mut cursor).for_each(|name| put(Some(name), text, names));
        }
        // `import name = require("module")` and `import name = other.name`.
        (
            Language::TypeScript | Language::Tsx,
            "import_require_clause" | "import_alias" | "infer_type" | "mapped_type_clause",
        )
        | (Language::Java, "type_parameter") => put(node.named_child(0), text, names),
        (_, "variable_declarator")
        | (Language::Python, "named_expression")
        | (
            Language::Java,
            "enhanced_for_statement" | "catch_formal_parameter" | "resource" | "instanceof_expression",
        ) => {
            bind("name");
        }
        (
            Language::Python,
            "assignment"
            | "augmented_assignment"
            | "for_statement"
            | "for_in_clause"
            | "type_alias_statement",
        )
        | (Language::JavaScript | Language::TypeScript | Language::Tsx, "for_in_statement")
        | (Language::Go, "short_var_declaration" | "range_clause" | "receive_statement") => bind("left"),
        (
            Language::Python,
            "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression",
        ) => bound_around(node, text, names),
        (Language::Python, "except_clause") | (Language::Go, "type_switch_statement") => bind("alias"),
        (Language::Python, "as_pattern") => {
            bind("alias");
            put(last_child(node), text, names);
        }
        (Language::Python, "splat_pattern" | "keyword_pattern") => put(last_child(node), text, names),
        // A single name is bound, and others are compared.
        (Language::Python, "case_pattern") => {
            put(node.named_child(0).filter(|name| name.kind() == "dotted_name"), text, names);
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "catch_clause") => bind("parameter"),
        (Language::Rust, "let_declaration" | "let_condition" | "for_expression" | "match_arm") => {
            bind("pattern");
        }
        _ => {}
    }
}

/// Adds the names that a comprehension of Python binds in the scope around it: those of `:=`.
fn bound_around<'t>(node: Node<'_>, text: &'t str, names: &mut Vec<&'t str>) {
    let mut waiting: Vec<Node<'_>> = vec![node];
    while let Some(node) = waiting.pop() {
        if node.kind() == "named_expression" {
            put(node.child_by_field_name("name"), text, names);
        }
        waiting.extend(node.named_children(&mut node.walk()).filter(|child| child.kind() != "lambda"));
    }
}

/// Returns the last named child: the name that a part of a pattern gets.
fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    node.named_children(&mut node.walk()).last()
}

fn put<'t>(name: Option<Node<'_>>, text: &'t str, names: &mut Vec<&'t str>) {
    names.extend(name.and_then(|name| text.get(name.byte_range())));
}

/// Adds the names that the left side of an assignment binds, or a list of parameters: it may take a value apart.
pub(super) fn bound_by<'t>(target: Option<Node<'_>>, text: &'t str, names: &mut Vec<&'t str>) {
    let mut waiting: Vec<Node<'_>> = target.into_iter().collect();
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" | "shorthand_field_identifier" => {
                put(Some(node), text, names);
            }
            // They only read what they name.
            "attribute"
            | "subscript"
            | "member_expression"
            | "subscript_expression"
            | "computed_property_name"
            | "selector_expression"
            | "index_expression"
            | "scoped_identifier"
            | "type_annotation" => {}
            "pair_pattern" => waiting.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left"));
            }
            "required_parameter" | "optional_parameter" | "parameter" => {
                waiting.extend(node.child_by_field_name("pattern"));
            }
            "typed_parameter" => waiting.extend(node.named_child(0)),
            "default_parameter"
            | "typed_default_parameter"
            | "formal_parameter"
            | "variable_declarator"
            | "parameter_declaration"
            | "variadic_parameter_declaration" => {
                waiting.extend(node.children_by_field_name("name", &mut node.walk()));
            }
            _ => {
                let kind = node.child_by_field_name("type");
                waiting.extend(node.named_children(&mut node.walk()).filter(|child| Some(*child) != kind));
            }
        }
    }
}
