//! Names in a file that stand for what an import of that name would be, as opposed to names of parts, keys, labels and declarations.

use tree_sitter::Node;

use super::scopes::Name;
use super::walk::Walk;
use crate::Language;

/// Returns whether a node that has a name of an import stands for what the file knows by it, and neither declares it nor is the name of a
/// part of something.
pub(super) fn is_use((language, text): (Language, &str), walk: &Walk<'_>, name: &Name<'_>) -> bool {
    let (node, field) = (walk.node(), walk.field());
    let Some(parent) = walk.above().next() else { return false };
    if !matches!(node.kind(), "identifier" | "type_identifier" | "shorthand_property_identifier") {
        return false;
    }
    let is_label = matches!(
        parent.kind(),
        "labeled_statement"
            | "break_statement"
            | "continue_statement"
            | "attribute"
            | "rest_pattern"
            | "namespace_export"
    );
    let is_declared = match field {
        Some("name") => {
            let is_used = parent.kind().starts_with("jsx_") || parent.kind().ends_with("annotation");
            !is_used && !matches!(parent.kind(), "generic_type" | "export_specifier")
        }
        Some("pattern" | "alias" | "key") => true,
        Some("macro") => name.is_module(),
        // A module begins a path.
        _ => {
            let begins_path = || walk.behind() == "::";
            let is_in_macro = parent.kind() == "token_tree";
            name.is_module() && node.kind() == "identifier" && !is_in_macro && !begins_path()
        }
    };
    let is_part = matches!(walk.before(), "." | "::" | "?.");
    let is_key = match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            is_plain_element(text, node, (parent, field)) || parent.kind() == "infer_type"
        }
        Language::Python => parent.kind() == "keyword_pattern" && parent.named_child(0) == Some(node),
        Language::Rust => match parent.kind() {
            "lifetime" | "label" => true,
            "token_tree" => is_token(text, walk, name),
            _ => false,
        },
        Language::Java => node.kind() == "identifier" && !can_be_type(node, (parent, field)),
        Language::Go => false,
    };
    let is_label = is_label && node.kind() == "identifier" && field != Some("object");
    !(is_declared || is_part || is_label || is_key)
}

/// Returns whether a node is the name of an element of a script that is written into the page: `<title>` is no `title`.
fn is_plain_element(text: &str, node: Node<'_>, (parent, field): (Node<'_>, Option<&str>)) -> bool {
    let own = text.get(node.byte_range()).unwrap_or_default();
    let is_element = field == Some("name") && parent.kind().starts_with("jsx_");
    is_element && own.starts_with(|first: char| first.is_lowercase()) || parent.kind() == "jsx_namespace_name"
}

/// Attributes of Rust that name nothing which could be imported.
const ATTRIBUTES: [&str; 9] = ["allow", "cfg", "cfg_attr", "deny", "doc", "expect", "forbid", "repr", "warn"];

/// Returns whether a name within a macro or an attribute of Rust is a key there, or one that an import does not change.
fn is_token(text: &str, walk: &Walk<'_>, name: &Name<'_>) -> bool {
    let next = walk.behind();
    let around = walk.above().find(|node| node.kind() != "token_tree");
    let attribute = around.filter(|around| around.kind() == "attribute");
    let own =
        attribute.and_then(|attribute| attribute.named_child(0)).and_then(|own| text.get(own.byte_range()));
    // What the standard library derives has the name of the trait, and comes with it.
    let is_of_std = ["std::", "core::", "alloc::"].iter().any(|start| name.item.name.starts_with(start));
    // A macro may have attributes within itself.
    let tokens = walk.above().next().map_or(0, |tokens| tokens.start_byte());
    let is_derived = own == Some("derive")
        || text.get(..tokens).is_some_and(|before| before.trim_end().ends_with("derive"));
    match own {
        _ if is_derived => is_of_std,
        Some(own) => ATTRIBUTES.contains(&own) || matches!(next, ":" | "="),
        None => matches!(next, ":" | "=") || name.is_module() && next != "::",
    }
}

/// Returns whether an identifier of Java can name a type: of something that belongs to it, or of an annotation.
fn can_be_type(node: Node<'_>, (parent, field): (Node<'_>, Option<&str>)) -> bool {
    match parent.kind() {
        "method_reference" | "record_pattern" => parent.named_child(0) == Some(node),
        "annotation" | "marker_annotation" => field == Some("name"),
        _ => matches!(field, Some("object" | "scope")),
    }
}
