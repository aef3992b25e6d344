//! Imports: statements that are added once to a file, or removed when nothing uses their names any more.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::parsed::Parsed;
use crate::{Language, MAX_TIME, RewriteError, newline};

/// Number of nodes above a string within which its annotation is looked for.
const MAX_ANNOTATION: usize = 12;

/// Import statement of a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The statement, as it is written into a file.
    text: String,
    /// The statement without what makes no difference: white space and a final semicolon.
    key: String,
    /// Module and name of Python's `from module import name`.
    from: Option<(String, String)>,
}

/// Import statement of a file.
struct Found<'t> {
    node: Node<'t>,
    key: String,
}

impl Import {
    /// Parses one statement, such as `from datetime import UTC`, `use std::fmt;` or `"errors"` in Go.
    pub(crate) fn parse(text: &str, language: Language) -> Result<Self, RewriteError> {
        let wrong = || RewriteError::NoImport(text.to_owned(), language);
        let mut statement = text.trim().to_owned();
        if language == Language::Go && !statement.starts_with("import") {
            statement = format!("import {statement}");
        }
        if matches!(language, Language::Rust | Language::Java) && !statement.ends_with(';') {
            statement.push(';');
        }
        let tree = grammar::parse(&statement, &language.grammar(), MAX_TIME).ok_or_else(wrong)?;
        let found = imports(&tree, &statement, language);
        let [Found { node, key }] = found.as_slice() else { return Err(wrong()) };
        if tree.root_node().has_error() || tree.root_node().named_child_count() != 1 {
            return Err(wrong());
        }
        let from = from_one(*node, &statement);
        Ok(Self { key: key.clone(), from, text: statement })
    }
}

/// Adds imports to a text, and removes others. `put_in` are the texts that it was given since it was parsed.
pub(crate) fn edit<'t>(
    text: &mut String,
    parsed: &mut Parsed,
    language: Language,
    (add, remove): (&[Import], &[Import]),
    mut put_in: impl Iterator<Item = &'t str>,
) -> Result<(), RewriteError> {
    // The text need not be parsed to find its imports, if they are the ones that it had before.
    let mut are_kept = !add.is_empty()
        && are_untouched(parsed.moved(), text, language)
        && !put_in.any(|new| new.contains(if language == Language::Rust { "use" } else { "import" }));
    // First what is new: what goes still shows where imports are.
    let all = add.iter().map(|import| (import, true)).chain(remove.iter().map(|import| (import, false)));
    for (import, is_new) in all {
        let tree = if is_new && are_kept { parsed.moved() } else { parsed.tree(text)? };
        let edit = if is_new {
            addition(tree, text, language, import)
        } else {
            removal(tree, text, language, import)
        };
        if let Some(Edit(range, new)) = edit {
            parsed.note(text, [(range.clone(), new.as_str())]);
            text.replace_range(range, &new);
            are_kept = false;
        }
    }
    Ok(())
}

/// Returns whether a tree without errors has imports, and no edit has touched one of them.
fn are_untouched(tree: &Tree, text: &str, language: Language) -> bool {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let is_import =
        |node: &Node<'_>| kinds(language).contains(&node.kind()) || node.kind() == "import_declaration";
    let is_touched = root.named_children(&mut cursor).filter(is_import).any(|node| node.has_changes());
    !root.has_error() && !is_touched && !imports(tree, text, language).is_empty()
}

/// Text that takes the place of a range.
struct Edit(Range<usize>, String);

/// Returns the kinds of nodes that import something.
fn kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["import_statement", "import_from_statement", "future_import_statement"],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &["import_statement"],
        Language::Rust => &["use_declaration"],
        Language::Go => &["import_spec"],
        Language::Java => &["import_declaration"],
    }
}

/// Returns the import statements at the top level of a file.
fn imports<'t>(tree: &'t Tree, text: &str, language: Language) -> Vec<Found<'t>> {
    let mut found = Vec::new();
    let root = tree.root_node();
    let mut cursor = root.walk();
    for node in root.named_children(&mut cursor) {
        if kinds(language).contains(&node.kind()) {
            found.push(Found { node, key: key(&text[node.byte_range()]) });
        } else if node.kind() == "import_declaration" {
            // Go's declaration holds one specification, or a list of them in parentheses.
            let mut below = node.walk();
            for child in node.named_children(&mut below) {
                let mut specs = child.walk();
                let all: Vec<Node<'t>> = match child.kind() {
                    "import_spec_list" => child.named_children(&mut specs).collect(),
                    _ => vec![child],
                };
                let specs = all.into_iter().filter(|spec| spec.kind() == "import_spec");
                found.extend(specs.map(|node| Found { node, key: key(&text[node.byte_range()]) }));
            }
        }
    }
    found
}

fn key(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    words.join(" ").trim_end_matches(';').trim_end().to_owned()
}

/// Returns module and name of a Python import of one name, if it is one.
fn from_one(node: Node<'_>, text: &str) -> Option<(String, String)> {
    let names = names_of(node);
    let [name] = names.as_slice() else { return None };
    Some((module_of(node, text)?, key(&text[name.byte_range()])))
}

/// Returns the module of Python's `from module import …`.
fn module_of(node: Node<'_>, text: &str) -> Option<String> {
    let module = node.child_by_field_name("module_name")?;
    (node.kind() == "import_from_statement").then(|| text[module.byte_range()].to_owned())
}

/// Returns the names that Python's `from module import …` lists.
fn names_of(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children_by_field_name("name", &mut cursor).collect()
}

/// Returns the edit that adds an import, or `None` if it is there.
fn addition(tree: &Tree, text: &str, language: Language, import: &Import) -> Option<Edit> {
    let found = imports(tree, text, language);
    if found.iter().any(|found| found.key == import.key) {
        return None;
    }
    if let Some((module, name)) = &import.from {
        let same = found.iter().filter(|found| module_of(found.node, text).as_ref() == Some(module));
        for Found { node, .. } in same {
            let names = names_of(*node);
            if names.iter().any(|other| key(&text[other.byte_range()]) == *name) {
                return None;
            }
            // `from module import *` lists no names, so that there is nothing to add to.
            if let Some(last) = names.last() {
                return Some(Edit(last.end_byte()..last.end_byte(), format!(", {name}")));
            }
        }
    }
    if let Some(last) = found.last() {
        let after = match last.node.parent() {
            Some(parent) if language == Language::Go && parent.kind() == "import_spec_list" => {
                let indent = "\n\t";
                let spec = import.text.trim_start_matches("import").trim();
                return Some(Edit(last.node.end_byte()..last.node.end_byte(), format!("{indent}{spec}")));
            }
            Some(parent) if language == Language::Go => parent.end_byte(),
            _ => last.node.end_byte(),
        };
        // A comment may follow on the same line.
        let rest = text[after..].lines().next().unwrap_or_default();
        let end = after + rest.len();
        return Some(Edit(end..end, format!("{}{}", newline(text), import.text)));
    }
    let at = first_place(tree, text).max(mark_length(text));
    let line = newline(text);
    let gap = if at > mark_length(text) && !text[..at].ends_with('\n') { line } else { "" };
    Some(Edit(at..at, format!("{gap}{}{line}", import.text)))
}

/// Returns the length of the byte order mark that a text begins with; 0 without one.
fn mark_length(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Returns where the first import of a file goes: behind its first comments, its documentation and its package.
fn first_place(tree: &Tree, text: &str) -> usize {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut at = 0;
    for node in root.children(&mut cursor).take_while(|node| is_head(*node)) {
        // A comment right above a definition belongs to it.
        let below =
            node.next_sibling().filter(|next| next.start_position().row <= node.end_position().row + 1);
        if at > 0 && node.kind().contains("comment") && below.is_some_and(|next| !is_head(next)) {
            break;
        }
        let end = node.end_byte();
        let rest =
            if text[..end].ends_with('\n') { Some(0) } else { text[end..].find('\n').map(|at| at + 1) };
        at = rest.map_or(text.len(), |rest| end + rest);
    }
    at
}

/// Returns whether a node at the top of a file goes before its imports.
fn is_head(node: Node<'_>) -> bool {
    let is_documentation = node.kind() == "expression_statement"
        && node.named_child_count() == 1
        && node.named_child(0).is_some_and(|child| child.kind() == "string");
    is_documentation
        || node.kind().contains("comment")
        || matches!(
            node.kind(),
            "hash_bang_line"
                | "shebang"
                | "package_clause"
                | "package_declaration"
                | "inner_attribute_item"
                | "\n"
        )
}

/// Returns the edit that removes an import, or `None` if it is not there or its names are still used.
fn removal(tree: &Tree, text: &str, language: Language, import: &Import) -> Option<Edit> {
    let found = imports(tree, text, language);
    if let Some(Found { node, .. }) = found.iter().find(|found| found.key == import.key) {
        let bound = bound_names(*node, text, language);
        if is_used(tree, text, language, &bound) {
            return None;
        }
        let whole = match node.parent() {
            Some(parent) if language == Language::Go && parent.kind() == "import_declaration" => parent,
            _ => *node,
        };
        return Some(Edit(line_of(text, whole.byte_range()), String::new()));
    }
    let (module, name) = import.from.as_ref()?;
    let (index, names) = found.iter().find_map(|Found { node, .. }| {
        let names = names_of(*node);
        let index = names.iter().position(|other| key(&text[other.byte_range()]) == *name)?;
        (module_of(*node, text).as_ref() == Some(module)).then_some((index, names))
    })?;
    let bound = name.rsplit(' ').next().unwrap_or(name).to_owned();
    if is_used(tree, text, language, &BTreeSet::from([bound])) {
        return None;
    }
    let own = names[index].byte_range();
    // The comma goes with the name.
    let range = match (names.get(index + 1), index.checked_sub(1).and_then(|before| names.get(before))) {
        (Some(next), _) => own.start..next.start_byte(),
        (None, Some(before)) => before.end_byte()..own.end,
        (None, None) => own,
    };
    Some(Edit(range, String::new()))
}

/// Returns the range with its line, where nothing else stands on it.
fn line_of(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(mark_length(text), |at| at + 1);
    let start = start.min(range.start);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    let is_alone = text[start..range.start].trim().is_empty()
        && text[range.end..end].trim_matches([';', ' ', '\t', '\r', '\n']).is_empty();
    if is_alone { start..end } else { range }
}

/// Returns the names that an import makes known in its file.
fn bound_names(node: Node<'_>, text: &str, language: Language) -> BTreeSet<String> {
    let statement = &text[node.byte_range()];
    let last = |text: &str, separators: &[char]| {
        text.trim_matches([' ', ';', '"', '`', '\''])
            .rsplit(separators)
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    match language {
        Language::Java => BTreeSet::from([last(statement, &['.', ' '])]),
        Language::Go => {
            let alias = node.child_by_field_name("name").map(|name| text[name.byte_range()].to_owned());
            BTreeSet::from([alias.unwrap_or_else(|| last(statement, &['/', ' ']))])
        }
        Language::Python if module_of(node, text).is_some() => {
            names_of(node).iter().map(|name| last(&text[name.byte_range()], &[' '])).collect()
        }
        Language::Python => names_of(node)
            .iter()
            .map(|name| {
                let name = &text[name.byte_range()];
                match name.rsplit_once(" as ") {
                    Some((_, alias)) => alias.trim().to_owned(),
                    None => name.split('.').next().unwrap_or(name).to_owned(),
                }
            })
            .collect(),
        // Keywords do no harm: no identifier has their name.
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            let names = statement.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
            let source =
                node.child_by_field_name("source").map(|source| text[source.byte_range()].to_owned());
            let in_source = |name: &str| source.as_ref().is_some_and(|source| source.contains(name));
            let names: BTreeSet<String> =
                names.filter(|name| !name.is_empty() && !in_source(name)).map(str::to_owned).collect();
            if language == Language::Rust { rust_names(statement, names) } else { names }
        }
    }
}

/// Returns the names that Rust's `use` makes known: the last segments, without the path to them.
fn rust_names(statement: &str, all: BTreeSet<String>) -> BTreeSet<String> {
    let path = |name: &String| {
        statement.contains(&format!("{name}::")) || statement.contains(&format!("{name} as "))
    };
    all.into_iter().filter(|name| !path(name) && name != "use" && name != "pub").collect()
}

/// Returns whether a string or a comment of Python names a type: `x: "requests.Session"`, `cast("requests.Session", x)`,
/// `# type: requests.Session`, `__all__ = ["requests"]`.
fn names_type(node: Node<'_>, text: &str) -> bool {
    if node.kind() == "comment" {
        return text[node.byte_range()].trim_start_matches('#').trim_start().starts_with("type:");
    }
    let part = |node: Node<'_>, field: &str| {
        node.child_by_field_name(field).map_or("", |child| &text[child.byte_range()])
    };
    let above = std::iter::successors(node.parent(), Node::parent);
    node.kind() == "string_content"
        && above.take(MAX_ANNOTATION).any(|above| match above.kind() {
            "type" => true,
            "assignment" | "augmented_assignment" => part(above, "left") == "__all__",
            "call" => {
                let function = part(above, "function");
                let name = function.rsplit('.').next().unwrap_or(function);
                matches!(name, "cast" | "TypeVar" | "NewType" | "ForwardRef")
            }
            _ => false,
        })
}

/// Returns whether an identifier outside of imports has one of the names.
fn is_used(tree: &Tree, text: &str, language: Language, names: &BTreeSet<String>) -> bool {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let is_import = kinds(language).contains(&node.kind()) || node.kind() == "import_declaration";
        let own = &text[node.byte_range()];
        if !is_import && node.child_count() == 0 && names.contains(own) {
            return true;
        }
        let has_name = || {
            let mut words = own.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            words.any(|word| names.contains(word))
        };
        if language == Language::Python && names_type(node, text) && has_name() {
            return true;
        }
        if !is_import && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}
