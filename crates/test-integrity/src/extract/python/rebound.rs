//! Tests of Python that the same file takes away again: defined twice, deleted, or given another value.

use std::collections::BTreeMap;

use crate::extract::Skip;
use crate::syntax::At;
use crate::syntax::imports::identifiers;

/// Longest statement that is looked at, in bytes.
const MAX_STATEMENT: usize = 1_000;

/// Returns the lines of tests that are not there when the file has run, and what takes them away.
pub(super) fn taken_away(root: At<'_>) -> BTreeMap<usize, Skip> {
    let mut found = BTreeMap::new();
    let mut blocks = vec![root];
    while let Some(block) = blocks.pop() {
        // By name, where a test of this block stands.
        let mut tests: BTreeMap<&str, usize> = BTreeMap::new();
        for statement in block.children() {
            let definition = match statement.kind() {
                "decorated_definition" => statement.field("definition").unwrap_or(statement),
                _ => statement,
            };
            let name = definition.field("name").map_or("", At::text);
            let skip = || Skip { line: statement.line(), is_conditional: false, text: first_line(statement) };
            match definition.kind() {
                "class_definition" => blocks.extend(definition.field("body")),
                "function_definition" if name.starts_with("test") => {
                    if let Some(line) = tests.insert(name, definition.line()) {
                        found.insert(line, skip());
                    }
                }
                "expression_statement" | "delete_statement" => {
                    if statement.text().len() > MAX_STATEMENT {
                        continue;
                    }
                    let text = statement.normal();
                    let gone: Vec<&str> = identifiers(&text)
                        .filter(|name| tests.contains_key(name) && takes_away(&text, name))
                        .collect();
                    for test in gone {
                        found.extend(tests.remove(test).map(|line| (line, skip())));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns whether a statement, as its tokens, takes a test of this name out of what the runner collects.
fn takes_away(text: &str, test: &str) -> bool {
    let is_quoted = text.contains(&format!("\"{test}\"")) || text.contains(&format!("'{test}'"));
    if let Some(names) = text.strip_prefix("del ") {
        return names.split(' ').any(|name| name == test) || is_quoted;
    }
    if let Some((left, right)) = text.split_once(" = ") {
        return left == test && !right.split(' ').any(|word| word == test)
            || left == format!("{test} . __test__") && right == "False"
            || left == format!("{test} . pytestmark") && right.contains("skip")
            || left.starts_with("globals ( ) [") && is_quoted;
    }
    let removes =
        ["globals ( ) . pop (", "globals ( ) . __delitem__ (", "vars ( ) . pop (", "delattr (", "setattr ("];
    removes.iter().any(|start| text.starts_with(start)) && is_quoted
        || text.starts_with(&format!("setattr ( {test} , \"__test__\""))
}

fn first_line(at: At<'_>) -> String {
    at.text().lines().next().unwrap_or_default().to_owned()
}
