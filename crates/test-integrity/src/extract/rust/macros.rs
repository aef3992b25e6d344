//! Rust's macros that assert, which the grammar takes for tokens.

use crate::assertion::Assertion;
use crate::extract::{Body, TestFile};
use crate::syntax::At;

/// Adds the macros of a file, as functions.
pub(in crate::extract) fn read(root: At<'_>, file: &mut TestFile) {
    for definition in root.descendants().into_iter().filter(|at| at.kind() == "macro_definition") {
        let Some(name) = definition.field("name").map(At::text) else { continue };
        let below = definition.descendants().into_iter();
        let assertions: Vec<Assertion> = below.filter_map(assertion).collect();
        let calls =
            definition.words().windows(2).filter(|two| two[1] == "(").map(|two| two[0].to_owned()).collect();
        let words = definition.words().into_iter().map(str::to_owned).collect();
        let body = Body { assertions, calls, words, ..Body::default() };
        // The sign tells it from a function: what a test calls by a macro's name is an assertion of the test already.
        let bodies = if body.assertions.is_empty() { &mut file.plain } else { &mut file.helpers };
        bodies.insert(format!("{name}!"), body);
    }
}

/// Returns the assertion whose arguments a tree of tokens is.
fn assertion(tokens: At<'_>) -> Option<Assertion> {
    let sign =
        tokens.node.prev_sibling().filter(|node| tokens.kind() == "token_tree" && node.kind() == "!")?;
    let name = tokens.with(sign.prev_sibling()?);
    if !name.text().starts_with("assert") && name.text() != "panic" {
        return None;
    }
    let words = [vec![name.text(), "!"], tokens.words()].concat();
    let given = super::arguments(tokens);
    Some(match (name.text(), given.first()) {
        ("assert", Some(condition)) => Assertion::of_condition(condition, name.line(), &words),
        (name_of, _) => Assertion::of_call(name_of, &given, name.line(), &words),
    })
}
