//! CommonJS modules, which have no `import` statements.

use tree_sitter::{Node, Tree};

use super::clash::words;
use super::declared::declared_by;
use super::items::Item;
use super::scopes::{Lookup, Name};
use crate::Language;

/// Names that a CommonJS module has without a declaration.
const NAMES: [&str; 5] = ["module", "exports", "require", "__filename", "__dirname"];

/// Returns whether a file of a script without `import` statements of its own is a CommonJS module: its name says so, or it uses what only
/// such a module has, and exports nothing in ECMAScript's way.
pub(super) fn is_common_js(tree: &Tree, text: &str, (language, file): (Language, &str)) -> bool {
    if !matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx) {
        return false;
    }
    match file.rsplit('.').next() {
        Some("cjs") => return true,
        // The compiler makes calls of `require` of what `.cts` imports.
        Some("mjs" | "mts" | "cts") => return false,
        _ => {}
    }
    let root = tree.root_node();
    if root.named_children(&mut root.walk()).any(|node| node.kind() == "export_statement") {
        return false;
    }
    let mut declared = Vec::new();
    // `declare const module` says what there is, and makes nothing.
    for node in root.named_children(&mut root.walk()).filter(|node| node.kind() != "ambient_declaration") {
        declared_by(node, text, language, &mut declared);
    }
    let is_free = |name: &&str| !declared.contains(name) && words(text, name) > 0;
    let free: Vec<Item> = NAMES.into_iter().filter(is_free).map(Item::named).collect();
    let names: Vec<Name<'_>> = free.iter().filter_map(|item| Name::new(item, language, &[])).collect();
    let lookup = Lookup { text, language, names: &names, places: &[] };
    lookup.free(tree, |_| true).is_some() && !has_meta(tree, text)
}

/// Returns whether a script has an `import.meta`, which only ECMAScript's modules have.
fn has_meta(tree: &Tree, text: &str) -> bool {
    let mut waiting: Vec<Node<'_>> =
        if text.contains("import") { vec![tree.root_node()] } else { Vec::new() };
    while let Some(node) = waiting.pop() {
        if node.kind() == "meta_property" && node.child(0).is_some_and(|first| first.kind() == "import") {
            return true;
        }
        waiting.extend(node.named_children(&mut node.walk()));
    }
    false
}
