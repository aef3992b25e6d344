//! Code of a block that may be passed over: it stands behind a jump, or behind a condition under which the turn of a loop ends.

use super::reach::is_block;
use crate::syntax::At;

/// Longest function in which it is looked for where a failure comes from, in bytes.
const MAX_FUNCTION: usize = 20_000;
/// Most of the name of a call that is looked at, in bytes.
const MAX_HEAD: usize = 400;

/// Returns the place of the first statement of a block that may leave out those behind it: a condition under which the turn of a loop
/// ends, or a jump over them.
pub(in crate::extract) fn passed_over(parent: At<'_>, children: &[At<'_>], nested: bool) -> Option<usize> {
    if !is_block(parent.kind()) {
        return None;
    }
    children.iter().position(|at| {
        let inner = if at.kind() == "expression_statement" { at.children().first().copied() } else { None };
        let at = inner.unwrap_or(*at);
        let is_condition = matches!(at.kind(), "if_statement" | "if_expression");
        is_condition && !fails(at) && !is_of_failure(at) && leaves(at, nested)
    })
}

/// Returns whether a condition is about a failure: where there is one, nothing else is to be looked at. It has to be one of what the
/// test has done before: the failure that a row of a table expects is none.
fn is_of_failure(at: At<'_>) -> bool {
    let Some(condition) = at.field("condition") else { return false };
    let words = condition.words();
    if !words.iter().any(|word| names_failure(word)) {
        return false;
    }
    // Nobody reads so long a function for each of its conditions.
    let Some(function) = function_of(at).filter(|function| function.text().len() <= MAX_FUNCTION) else {
        return true;
    };
    let own: Vec<&str> = at.words().into_iter().take_while(|word| *word != "{").collect();
    let earlier = words_before(function, at);
    let rows = words_of_heads(at);
    (0..words.len()).any(|place| {
        let word = words[place];
        if !names_failure(word) {
            return false;
        }
        let is_field = place > 0 && matches!(words[place - 1], "." | "?.");
        let is_call = words.get(place + 1).is_some_and(|next| matches!(*next, "(" | "::"));
        if is_call && (is_field || word.starts_with(char::is_uppercase)) {
            return true;
        }
        let root = if is_field { root_of(&words[..place]) } else { word };
        let is_known = earlier.contains(&root) || own.iter().filter(|own| **own == root).count() > 1;
        is_known && !rows.contains(&root)
    })
}

/// Returns whether a word is the name of a failure, or of what tells that there is none: `err`, `isError`, `parse_failed`, `ok`.
fn names_failure(word: &str) -> bool {
    const PARTS: &[&str] = &[
        "err",
        "errs",
        "error",
        "errors",
        "fail",
        "failed",
        "failure",
        "failures",
        "ok",
        "exception",
        "exc",
    ];
    let mut parts = vec![String::new()];
    for letter in word.chars() {
        if !letter.is_alphabetic()
            || letter.is_uppercase() && parts.last().is_some_and(|last| !last.is_empty())
        {
            parts.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(last) = parts.last_mut()
        {
            last.extend(letter.to_lowercase());
        }
    }
    !word.starts_with(['"', '\'', '`']) && parts.iter().any(|part| PARTS.contains(&part.as_str()))
}

/// Returns the first name of a path that ends in a point: `res` of `res . body .`.
fn root_of<'a>(words: &[&'a str]) -> &'a str {
    let mut at = words.len() - 1;
    while at >= 2 && matches!(words[at - 2], "." | "?.") {
        at -= 2;
    }
    words.get(at.saturating_sub(1)).copied().unwrap_or_default()
}

/// Returns the function that a statement stands in, or the whole file.
fn function_of(at: At<'_>) -> Option<At<'_>> {
    let mut node = at.node.parent();
    while let Some(outer) =
        node.filter(|outer| !crate::extract::is_function(outer.kind()) && outer.parent().is_some())
    {
        node = outer.parent();
    }
    node.map(|node| at.with(node))
}

/// Returns the names in a function up to a statement. What a runner or a promise hands a failure to has it as an argument.
fn words_before<'a>(function: At<'a>, at: At<'a>) -> Vec<&'a str> {
    let end = at.node.start_byte();
    let nodes = function.descendants().into_iter().filter(|below| below.node.end_byte() <= end);
    nodes.filter(|below| below.kind().ends_with("identifier")).map(At::text).collect()
}

/// Returns whether a function is called for each row of a table: `rows.forEach((row) => …)`, `test.each(rows)("…", (row) => …)`.
fn is_given_rows(function: At<'_>) -> bool {
    let call = function.node.parent().and_then(|list| list.parent()).map(|call| function.with(call));
    let name =
        call.and_then(|call| call.field("function").or_else(|| call.field("name"))).map_or("", At::text);
    let name = name.get(..name.len().min(MAX_HEAD)).unwrap_or(name);
    [".each", ".forEach", ".for_each", ".map", ".for("].iter().any(|part| name.contains(part))
}

/// Returns the words of the heads of the loops that a node stands in, and of what a test gets of a table.
fn words_of_heads(at: At<'_>) -> Vec<&str> {
    let mut found = Vec::new();
    let mut node = at.node.parent();
    while let Some(outer) = node {
        let outer = at.with(outer);
        if (outer.kind().starts_with("for_") || outer.kind() == "enhanced_for_statement")
            && let Some(body) = outer.field("body")
        {
            let heads = outer
                .descendants()
                .into_iter()
                .filter(|below| below.node.end_byte() <= body.node.start_byte());
            found.extend(heads.filter(|below| below.kind().ends_with("identifier")).map(At::text));
        } else if outer.kind() == "function_definition"
            && let Some(given) = outer.field("parameters")
        {
            // Python's runners give rows and fixtures by name.
            found.extend(
                given.descendants().into_iter().filter(|below| below.kind() == "identifier").map(At::text),
            );
        } else if crate::extract::is_function(outer.kind()) && is_given_rows(outer) {
            let given = outer.field("parameters").or_else(|| outer.field("parameter"));
            let given = given.map(At::descendants).unwrap_or_default();
            found
                .extend(given.into_iter().filter(|below| below.kind().ends_with("identifier")).map(At::text));
        }
        node = outer.node.parent();
    }
    found
}

/// Returns whether something below a node fails a test, or tells of a failure.
fn fails(at: At<'_>) -> bool {
    const WORDS: &[&str] = &[
        "assert", "expect", "fail", "Fail", "Error", "Fatal", "raise", "throw", "panic", "require", "Skip",
        "skip", "Log",
    ];
    WORDS.iter().any(|word| at.text().contains(word))
}

/// Returns whether a statement leaves the block that it stands in, without ending a loop or a function of its own.
fn leaves(at: At<'_>, nested: bool) -> bool {
    let mut waiting: Vec<(At<'_>, bool)> = at.children().into_iter().map(|child| (child, false)).collect();
    while let Some((at, in_loop)) = waiting.pop() {
        let is_labelled = || {
            at.kind().starts_with("goto")
                || at
                    .children()
                    .iter()
                    .any(|child| child.kind().contains("label") || child.kind() == "statement_identifier")
        };
        match at.kind() {
            "break_statement"
            | "continue_statement"
            | "break_expression"
            | "continue_expression"
            | "goto_statement" => {
                if !in_loop || is_labelled() {
                    return true;
                }
            }
            "return_statement" | "return_expression" if nested => return true,
            kind if crate::extract::is_function(kind) => {}
            kind => {
                let is_loop = kind.starts_with("for_")
                    || kind.starts_with("while_")
                    || matches!(
                        kind,
                        "loop_expression"
                            | "enhanced_for_statement"
                            | "do_statement"
                            | "switch_statement"
                            | "expression_switch_statement"
                            | "select_statement"
                    );
                waiting.extend(at.children().into_iter().map(|child| (child, in_loop || is_loop)));
            }
        }
    }
    false
}
