//! Addition of names that a file does not have yet.

use tree_sitter::{Node, Tree};

use super::items::{Item, type_word};
use super::place::{at_head, insertion, is_comment, line_rest};
use super::statements::{Statement, conditions, statements};
use super::{Edit, Import};
use crate::{Language, newline};

/// Returns the edit that adds an import, or `None` if it is there.
pub(super) fn addition(tree: &Tree, text: &str, language: Language, import: &Import) -> Option<Edit> {
    let found = statements(tree, text, language);
    if import.items.is_empty() {
        let is_there = found.iter().any(|statement| statement.module == import.module);
        return (!is_there).then(|| insertion(tree, text, language, &found, &import.text));
    }
    let is_in_time = |statement: &Statement<'_>, name: &Item| {
        language != Language::Python || !is_used_before(tree, text, statement, &name.locals)
    };
    let has = |wanted: &Item| {
        let mut items =
            found.iter().flat_map(|statement| statement.items.iter().map(move |item| (statement, item)));
        items.any(|(statement, item)| {
            let is_there = item.serves(wanted) || item.has_on_demand(wanted) && !is_ambiguous(&found, wanted);
            is_there && is_in_time(statement, item) && is_for_all(&found, text, (statement, item))
        })
    };
    let missing: Vec<&Item> = import.items.iter().filter(|wanted| !has(wanted)).collect();
    let first = missing.first()?;
    // What is known to the type checker becomes known to all.
    for statement in &found {
        if let Some(index) =
            statement.items.iter().position(|item| item.is_same(first) && item.is_type && !first.is_type)
        {
            return for_values(statement, index, text);
        }
    }
    let is_all = missing.len() == import.items.len();
    let in_lists = found.iter().filter(|statement| !statement.is_nested && statement.module == import.module);
    for statement in in_lists.filter(|statement| missing.iter().all(|name| is_in_time(statement, name))) {
        let edit = match language {
            Language::Python => in_list(statement, &missing, text),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                in_braces(statement, &missing, text)
            }
            _ => None,
        };
        if edit.is_some() {
            return edit;
        }
    }
    let new = if is_all { import.text.clone() } else { text_of(&missing, import, language, newline(text)) };
    if import.is_of_future() {
        return Some(at_head(tree, text, &new));
    }
    Some(insertion(tree, text, language, &found, &new))
}

/// Returns whether all builds have a name that a statement imports: without a condition, or with a statement that imports it where this
/// one does not.
fn is_for_all(found: &[Statement<'_>], text: &str, (statement, item): (&Statement<'_>, &Item)) -> bool {
    let condition = |node: Node<'_>| {
        let condition = conditions(node, text).next()?.named_child(0)?.child_by_field_name("arguments")?;
        Some(text.get(condition.byte_range())?.split_whitespace().collect::<String>())
    };
    let is_elsewhere = |other: &&Statement<'_>| {
        let has_name = other.items.iter().any(|other| other.locals.first() == item.locals.first());
        let both = condition(statement.node).zip(condition(other.node)).filter(|_| has_name);
        both.is_some_and(|(one, other)| one == format!("(not{other})") || other == format!("(not{one})"))
    };
    !statement.is_conditional || !statement.is_nested && found.iter().any(|other| is_elsewhere(&other))
}

/// Returns whether several imports on demand of Java could have a name.
fn is_ambiguous(found: &[Statement<'_>], wanted: &Item) -> bool {
    let items = found.iter().flat_map(|statement| &statement.items);
    items.filter(|item| item.module == wanted.module && item.name.ends_with(".*")).count() > 1
}

/// Returns whether a statement of Python above an import names one of its names, which the import is too late for.
fn is_used_before(tree: &Tree, text: &str, statement: &Statement<'_>, names: &[String]) -> bool {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let end = statement.node.start_byte();
    let mut above = root.named_children(&mut cursor).take_while(|node| node.end_byte() <= end);
    above.any(|node| {
        let is_other = !node.kind().contains("comment")
            && !node.kind().contains("import")
            && !matches!(node.kind(), "function_definition" | "class_definition");
        is_other && names_one_of(node, text, names)
    })
}

/// Returns whether an identifier within a node is one of some names. Text of strings and comments is none, where the tree is still that
/// of the text.
fn names_one_of(node: Node<'_>, text: &str, names: &[String]) -> bool {
    if node.has_changes() {
        let own = text.get(node.byte_range()).unwrap_or_default();
        let mut words = own.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        return words.any(|word| names.iter().any(|name| name == word));
    }
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        let own = text.get(node.byte_range()).unwrap_or_default();
        if node.kind() == "identifier" && names.iter().any(|name| name == own) {
            return true;
        }
        waiting.extend(node.named_children(&mut node.walk()));
    }
    false
}

/// Returns the edit after which a name that was imported for the type checker is imported for all.
fn for_values(statement: &Statement<'_>, index: usize, text: &str) -> Option<Edit> {
    let Some(word) = type_word(statement.node) else {
        let item = &statement.items[index];
        let name = text[item.range.clone()].trim_start_matches("type").trim_start();
        return Some(Edit(item.range.clone(), name.to_owned()));
    };
    // Others stay what they are.
    let end = statement.items.last()?.range.end;
    let mut new = String::new();
    let mut at = word.end_byte() + 1;
    for (_, other) in statement.items.iter().enumerate().filter(|(other, _)| *other != index) {
        if other.name == "default" || other.name == "*" {
            return None;
        }
        new += text.get(at..other.range.start)?;
        new += "type ";
        at = other.range.start;
    }
    new += text.get(at..end)?;
    Some(Edit(word.start_byte()..end, new))
}

fn listed(names: &[&Item]) -> String {
    names.iter().map(|name| name.listed()).collect::<Vec<_>>().join(", ")
}

/// Returns the edit that adds names to a list, if there is one.
fn in_list(statement: &Statement<'_>, missing: &[&Item], text: &str) -> Option<Edit> {
    // `from module import *` lists no names, and `import module` none of another module.
    let last = statement.items.last().filter(|last| last.name != "*" && !last.module.is_empty())?;
    let end = last.range.end;
    let start = text[..last.range.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &text[start..last.range.start];
    let rest = line_rest(text, end);
    let behind = rest.trim_start().trim_start_matches(',');
    let is_alone = indent.trim().is_empty() && (behind.trim().is_empty() || is_comment(behind));
    if !is_alone
        || behind.len() == rest.len() && !text[end + rest.len()..].trim_start().starts_with([')', '}'])
    {
        return Some(Edit(end..end, format!(", {}", listed(missing))));
    }
    let comma = if rest.trim_start().starts_with(',') { "" } else { "," };
    let line = newline(text);
    let names: String = missing.iter().map(|name| format!("{line}{indent}{},", name.listed())).collect();
    Some(Edit(end..end + rest.len(), format!("{comma}{rest}{names}")))
}

/// Returns the edit that adds names to the braces of a script's import, or adds such braces.
fn in_braces(statement: &Statement<'_>, missing: &[&Item], text: &str) -> Option<Edit> {
    let can_be_listed = |name: &&Item| !matches!(name.name.as_str(), "default" | "*") && !name.is_type;
    let last = statement.items.last()?;
    if type_word(statement.node).is_some() || !missing.iter().all(can_be_listed) || last.name == "*" {
        return None;
    }
    let braces = braces(statement.node);
    match (braces, last.name.as_str()) {
        (None, "default") => {
            Some(Edit(last.range.end..last.range.end, format!(", {{ {} }}", listed(missing))))
        }
        (Some(_), _) => in_list(statement, missing, text),
        _ => None,
    }
}

fn braces(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let clause = node.named_children(&mut cursor).find(|child| child.kind() == "import_clause")?;
    let mut cursor = clause.walk();
    clause.named_children(&mut cursor).find(|child| child.kind() == "named_imports")
}

/// Returns a statement that imports some of the names of another.
fn text_of(missing: &[&Item], import: &Import, language: Language, line: &str) -> String {
    let each =
        |form: &dyn Fn(&Item) -> String| missing.iter().map(|name| form(name)).collect::<Vec<_>>().join(line);
    match language {
        Language::Python if import.module.is_empty() => each(&|name| {
            let is_plain =
                name.locals.first().is_some_and(|local| name.name.split('.').next() == Some(local));
            format!("import {}", if is_plain { name.name.clone() } else { name.listed() })
        }),
        Language::Python => format!("from {} import {}", import.module, listed(missing)),
        Language::Rust => each(&|name| {
            let is_plain =
                name.locals.first().is_none_or(|local| name.name.rsplit("::").next() == Some(local));
            format!("use {};", if is_plain { name.name.clone() } else { name.listed() })
        }),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let local = |name: &Item| name.locals.first().cloned().unwrap_or_default();
            let (named, whole): (Vec<&Item>, Vec<&Item>) =
                missing.iter().partition(|name| !matches!(name.name.as_str(), "default" | "*"));
            let mut parts: Vec<String> = whole
                .iter()
                .map(|name| if name.name == "*" { format!("* as {}", local(name)) } else { local(name) })
                .collect();
            if !named.is_empty() {
                parts.push(format!("{{ {} }}", listed(&named)));
            }
            let word = if missing.iter().all(|name| name.is_type) { "import type" } else { "import" };
            // The module with its quotes, and a semicolon if there is one.
            let source = import.text.rfind(" from").map_or("", |at| &import.text[at..]);
            format!("{word} {}{source}", parts.join(", "))
        }
        Language::Go | Language::Java => import.text.clone(),
    }
}
