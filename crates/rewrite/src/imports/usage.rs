//! Names that a file uses.

use tree_sitter::{Node, Tree};

use super::clash::words;
use super::statements::kinds;
use super::walk::Walk;
use crate::Language;

/// Number of nodes above a string within which its annotation is looked for.
const MAX_ANNOTATION: usize = 12;

/// Returns whether a string or a comment of Python names a type: `x: "requests.Session"`, `cast("requests.Session", x)`,
/// `# type: requests.Session`, `__all__ = ["requests"]`.
fn names_type(walk: &Walk<'_>, text: &str) -> bool {
    let node = walk.node();
    if node.kind() == "comment" {
        return text[node.byte_range()].trim_start_matches('#').trim_start().starts_with("type:");
    }
    let part = |node: Node<'_>, field: &str| {
        node.child_by_field_name(field).map_or("", |child| &text[child.byte_range()])
    };
    node.kind() == "string_content"
        && walk.above().take(MAX_ANNOTATION).any(|above| match above.kind() {
            "type" | "subscript" => true,
            "assignment" | "augmented_assignment" => part(above, "left") == "__all__",
            "call" => {
                let function = part(above, "function");
                let name = function.rsplit('.').next().unwrap_or(function);
                matches!(name, "cast" | "TypeVar" | "NewType" | "ForwardRef" | "NamedTuple" | "TypedDict")
                    || function.starts_with("__all__.")
            }
            _ => false,
        })
}

/// Returns whether a node of a script stands for a use of a name without it: elements are made by React, or by what a comment names
/// (`@jsx h`).
fn makes_elements(node: Node<'_>, text: &str, names: &[String]) -> bool {
    match node.kind() {
        "jsx_element" | "jsx_self_closing_element" => names.iter().any(|name| name == "React"),
        "comment" => {
            let words: Vec<&str> = text[node.byte_range()].split_whitespace().collect();
            let is_factory = |name: &str| names.iter().any(|own| name.split('.').next() == Some(own));
            words.windows(2).any(|pair| matches!(pair[0], "@jsx" | "@jsxFrag") && is_factory(pair[1]))
        }
        _ => false,
    }
}

/// Returns whether a string of Rust has one of the names in braces, as formats do.
fn formats(node: Node<'_>, own: &str, names: &[String]) -> bool {
    let mut braces = own.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    node.kind() == "string_content"
        && braces.any(|(inside, _)| names.iter().any(|name| words(inside, name) > 0))
}

/// Returns whether an import of Rust may take something from what is imported beside it, `use name::other`, or around its module,
/// `use super::name`.
fn begins_here(walk: &Walk<'_>, own: &str, names: &[String]) -> bool {
    let path = own.split_once("use ").map_or("", |(_, path)| path.trim_start());
    let begins = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.starts_with("::"));
    let is_within = || walk.parent_kind() != "source_file";
    walk.node().kind() == "use_declaration"
        && (names.iter().any(|name| begins(name)) || ["self", "super"].into_iter().any(begins) && is_within())
}

/// Returns whether a name is one of a part of something, which no import has anything to do with.
fn is_part(walk: &Walk<'_>, language: Language) -> bool {
    let (node, parent, field) = (walk.node(), walk.parent_kind(), walk.field());
    match language {
        Language::Python => {
            (parent, field) == ("attribute", Some("attribute"))
                || (parent, field) == ("keyword_argument", Some("name"))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            matches!(node.kind(), "property_identifier" | "statement_identifier" | "string_fragment")
        }
        Language::Rust => {
            matches!(node.kind(), "field_identifier" | "string_content")
                || matches!(parent, "lifetime" | "label")
        }
        // A package is only named in front of what it has.
        Language::Go => {
            parent != "qualified_type" && (parent, field) != ("selector_expression", Some("operand"))
        }
        Language::Java => node.kind() == "string_fragment" || walk.before() == ".",
    }
}

/// Returns whether an identifier outside of imports has one of the names, or something stands for a use of it.
pub(super) fn is_used(tree: &Tree, text: &str, language: Language, names: &[String]) -> bool {
    let is_name = |word: &str| names.iter().any(|name| name == word);
    let mut walk = Walk::new(tree);
    loop {
        let node = walk.node();
        let is_import = kinds(language).contains(&node.kind()) || node.kind() == "import_declaration";
        let own = &text[node.byte_range()];
        let is_part = || !tree.root_node().has_error() && is_part(&walk, language);
        if !is_import && node.child_count() == 0 && is_name(own) && !is_part() {
            return true;
        }
        let is_script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
        if is_script && makes_elements(node, text, names) {
            return true;
        }
        let has_name = || {
            let mut words = own.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            words.any(is_name)
        };
        if language == Language::Python && names_type(&walk, text) && has_name() {
            return true;
        }
        let is_beside = || begins_here(&walk, own, names) && has_name();
        if language == Language::Rust && (formats(node, own, names) || is_beside()) {
            return true;
        }
        if !walk.advance(!is_import) {
            return false;
        }
    }
}
