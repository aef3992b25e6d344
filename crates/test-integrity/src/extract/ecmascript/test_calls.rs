//! Calls of JavaScript that make tests and groups of tests.

use super::alias;
use super::label::label;
use crate::assertion::vocabulary;
use crate::extract::{Skip, cells, rows, worse};
use crate::syntax::At;

/// Names of functions that make a test.
pub(super) const TESTS: &[&str] = &["test", "it", "specify", "xit", "xtest", "fit", "xspecify", "ftest"];

pub(super) const GROUPS: &[&str] = &["describe", "context", "suite", "xdescribe", "fdescribe", "xcontext"];

/// Longest chain of names that is read.
const MAX_PARTS: usize = 40;

/// Returns the parts of a call's name: `["test", "only", "each"]` of `test.only.each`.
pub(super) fn parts(call: At<'_>) -> Vec<&str> {
    let function = (call.kind() == "call_expression").then(|| call.field("function")).flatten();
    function.map(chain).unwrap_or_default()
}

/// Returns the parts of a name.
pub(super) fn chain(mut at: At<'_>) -> Vec<&str> {
    let mut parts = Vec::new();
    for _ in 0..MAX_PARTS {
        match at.kind() {
            "member_expression" => {
                parts.push(at.field("property").map_or("", At::text));
                let Some(object) = at.field("object") else { break };
                at = object;
            }
            "call_expression" => {
                let Some(function) = at.field("function") else { break };
                at = function;
            }
            "await_expression" | "parenthesized_expression" => {
                let Some(inner) = at.children().into_iter().next() else { break };
                at = inner;
            }
            _ => {
                parts.push(at.text());
                break;
            }
        }
    }
    parts.reverse();
    parts
}

/// Returns the function that a call gets as its last argument, or last but one.
pub(super) fn callback(call: At<'_>) -> Option<At<'_>> {
    let is_function = |at: &At<'_>| {
        matches!(
            at.kind(),
            "arrow_function"
                | "function_expression"
                | "function"
                | "generator_function"
                | "method_definition"
        )
    };
    let given = call.field("arguments")?.children();
    let own = given.iter().rev().take(2).copied().find(is_function);
    // Deno's options hold the function.
    let of_options = || {
        let options = given.first().filter(|first| first.kind() == "object")?;
        let mut members = options.children().into_iter();
        members.find_map(|member| {
            let name = member.field("key").or_else(|| member.field("name"))?.text();
            let value = member.field("value").unwrap_or(member);
            (name == "fn" && is_function(&value)).then_some(value)
        })
    };
    own.or_else(of_options)
}

/// Test, or group of tests, that a call makes.
pub(super) struct Made<'a> {
    pub(super) is_group: bool,
    pub(super) name: String,
    pub(super) body: Option<At<'a>>,
    pub(super) skip: Option<Skip>,
    pub(super) focus: bool,
    pub(super) cases: Option<usize>,
    /// Tokens of the cases.
    pub(super) words: Vec<String>,
    /// Tokens of the table of cases, where it stands by its name or in a template.
    pub(super) cells: Vec<String>,
}

/// Returns what a call makes, if it makes a test or a group.
pub(super) fn made(call: At<'_>) -> Option<Made<'_>> {
    let own = parts(call);
    let alias = alias::of(call);
    let parts = match &alias {
        Some(alias) => [alias.parts.as_slice(), own.get(1..).unwrap_or_default()].concat(),
        None => own,
    };
    let (first, modifiers) = parts.split_first()?;
    // `Deno.test`, `QUnit.test`, and the tests that tap and node:test make within others.
    let is_of_object = matches!(*first, "Deno" | "QUnit" | "tap" | "t")
        && modifiers.first().is_some_and(|name| matches!(*name, "test" | "skip" | "todo" | "only"));
    let first = if is_of_object && !(*first == "t" && modifiers != ["test"]) { &"test" } else { first };
    let is_module = *first == "QUnit" && modifiers.first() == Some(&"module");
    let is_group = GROUPS.contains(first) || modifiers.contains(&"describe") || is_module;
    if !is_group && !TESTS.contains(first) {
        return None;
    }
    let known = [
        "skip",
        "only",
        "todo",
        "each",
        "failing",
        "fails",
        "fail",
        "fixme",
        "module",
        "concurrent",
        "serial",
        "test",
        "describe",
        "if",
        "skipIf",
        "runIf",
        "for",
        "sequential",
        "parallel",
    ];
    if modifiers.iter().any(|modifier| !known.contains(modifier)) {
        return None;
    }
    let given = call.field("arguments")?.children();
    let label = named(&given)?;
    let body = callback(call);
    let is_todo = modifiers.contains(&"todo");
    let is_named = matches!(given.first()?.kind(), "string" | "template_string");
    let may_be_bare = is_todo || is_named && (modifiers.contains(&"skip") || first.starts_with('x'));
    if body.is_none() && !may_be_bare {
        return None;
    }
    let option = given
        .iter()
        .find(|argument| argument.kind() == "object")
        .map(|options| options.normal())
        .unwrap_or_default();
    let by_option =
        given.iter().filter(|argument| argument.kind() == "object").any(|options| leaves_out(*options));
    let by_name = first.starts_with('x')
        || modifiers
            .iter()
            .any(|modifier| matches!(*modifier, "skip" | "todo" | "failing" | "fails" | "fail" | "fixme"));
    let is_conditional = modifiers.iter().any(|modifier| matches!(*modifier, "skipIf" | "runIf" | "if"));
    let skipped = by_option || by_name || is_conditional || is_todo;
    let name = call.field("function").map_or("", At::text).split('(').next().unwrap_or_default();
    let skip = skipped.then(|| Skip {
        line: call.line(),
        is_conditional: is_conditional && !by_name,
        text: if by_option { option.clone() } else { name.to_owned() },
    });
    let by_alias = alias.and_then(|alias| alias.skips).map(|is_conditional| Skip {
        line: call.line(),
        is_conditional,
        text: name.to_owned(),
    });
    let skip = worse(skip, by_alias);
    let focus = first.starts_with('f') || modifiers.contains(&"only") || option.contains("only : true");
    let cases = modifiers.contains(&"each").then(|| each(call)).flatten();
    let is_of_none = is_group && cases == Some(0);
    let skip = if is_of_none {
        Some(Skip { line: call.line(), is_conditional: false, text: name.to_owned() })
    } else {
        skip
    };
    let table = modifiers.contains(&"each").then(|| call.field("function")?.field("arguments")).flatten();
    let cells = table.map(cells::of_table).unwrap_or_default();
    let words = table.filter(|table| table.text().len() <= cells::MAX_TABLE);
    let words = words.map(At::words).unwrap_or_default().into_iter().map(str::to_owned).collect();
    Some(Made { is_group, name: label, body, skip, focus, cases, words, cells })
}

/// Returns the name of a test: its first argument, or that of its options.
fn named(given: &[At<'_>]) -> Option<String> {
    let first = given.first()?;
    let pairs = if first.kind() == "object" { first.children() } else { Vec::new() };
    let name = pairs.into_iter().find(|pair| pair.field("key").is_some_and(|key| key.text() == "name"));
    label(name.and_then(|pair| pair.field("value")).unwrap_or(*first))
}

/// Returns whether the options of a test skip it, whatever else holds.
fn leaves_out(options: At<'_>) -> bool {
    options.children().into_iter().filter(|pair| pair.kind() == "pair").any(|pair| {
        let key = pair.field("key").map_or("", |key| key.text().trim_matches(['"', '\'']));
        let value = pair.field("value").map(At::normal).unwrap_or_default();
        let is_empty = matches!(value.as_str(), "0" | "false" | "null" | "undefined" | "''" | "\"\"");
        matches!(key, "skip" | "todo" | "fails" | "ignore") && !is_empty && vocabulary::is_literal(&value)
    })
}

/// Returns the number of rows of `test.each([…])(…)` or of its table in a template.
fn each(call: At<'_>) -> Option<usize> {
    let table = call.field("function")?;
    if let Some(given) = table.field("arguments").map(At::children)
        && let Some(rows) = given.first().and_then(|first| rows::len(*first))
    {
        return Some(rows);
    }
    let list =
        table.descendants().into_iter().find(|below| matches!(below.kind(), "array" | "template_string"))?;
    if list.kind() == "array" {
        return Some(list.children().len());
    }
    Some(list.text().lines().filter(|line| line.contains("${")).count())
}
