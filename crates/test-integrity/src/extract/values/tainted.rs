//! Expected values that come from what is tested: both sides of a comparison call the same function, at once or by a name.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::extract::is_function;
use crate::extract::recognition::checks;
use crate::syntax::At;

/// Most names that are followed from one to the next.
const MAX_STEPS: usize = 3;
/// Longest value that is looked at, in bytes.
const MAX_VALUE: usize = 2_000;
/// Most nodes of an operand that are looked at.
const MAX_NODES: usize = 200;
/// Longest call of a method that is looked at, in bytes.
const MAX_CALL: usize = 200;
/// Functions that say nothing about where a value is from.
const USUAL: &[&str] = &[
    "len",
    "str",
    "list",
    "sorted",
    "set",
    "dict",
    "int",
    "float",
    "range",
    "open",
    "tuple",
    "repr",
    "sum",
    "min",
    "max",
    "abs",
    "bytes",
    "bool",
    "type",
    "zip",
    "enumerate",
    "map",
    "filter",
    "String",
    "Number",
    "BigInt",
    "Symbol",
    "require",
    "isinstance",
    "getattr",
    "round",
    "print",
    "iter",
    "next",
    "any",
    "all",
    "format",
];

/// Returns whether what an assertion expects is given by a function that also gives what is tested.
pub(in crate::extract) fn is_recomputed(assertion: At<'_>) -> bool {
    let operands = operands(assertion);
    let [tested, expected] = operands.as_slice() else { return false };
    // Both sides may be columns of one table.
    let is_shared = |one: At<'_>, other: At<'_>| {
        let (own, all) = (sources(one, false), sources(other, true));
        own.iter().any(|(call, by)| {
            let shared = all.get(call);
            shared.is_some_and(|with| !is_put_in(other, by) && !is_put_in(one, with))
        })
    };
    // What is called in the assertion itself is called for what is tested.
    let in_place = |at: At<'_>| at.descendants().iter().any(|below| called(*below).is_some());
    !(in_place(*tested) && in_place(*expected))
        && (is_shared(*tested, *expected) || is_shared(*expected, *tested))
}

/// Returns whether an operand is a text of the test's own into which a value is put that the other side is given as well.
fn is_put_in(operand: At<'_>, by: &[&str]) -> bool {
    let is_text =
        matches!(operand.kind(), "string" | "template_string") && operand.text().contains(['{', '$']);
    is_text && names(operand).iter().any(|name| by.contains(&name.text()))
}

/// Returns whether both sides of an assertion are given to one function that the program calls back: `(err, response, body) => …`.
pub(in crate::extract) fn is_of_callback(assertion: At<'_>) -> bool {
    let operands = operands(assertion);
    let [tested, expected] = operands.as_slice() else { return false };
    let (tested, expected) = (names(*tested), names(*expected));
    if tested.is_empty() || expected.is_empty() {
        return false;
    }
    let mut node = assertion.node.parent();
    while let Some(outer) = node {
        node = outer.parent();
        let given = assertion.with(outer).field("parameters").filter(|_| is_function(outer.kind()));
        let Some(given) = given else { continue };
        let parameters: BTreeSet<&str> = given.children().into_iter().map(At::text).collect();
        let is_given = |name: &At<'_>| parameters.contains(name.text()) && name_in(*name, outer).is_empty();
        if tested.iter().any(is_given) && expected.iter().any(is_given) {
            return true;
        }
    }
    false
}

/// Returns the names in an expression.
fn names(at: At<'_>) -> Vec<At<'_>> {
    at.descendants().into_iter().filter(|below| below.kind() == "identifier").take(MAX_NODES).collect()
}

/// Returns both sides of a comparison, or nothing.
fn operands(at: At<'_>) -> Vec<At<'_>> {
    match at.kind() {
        "assert_statement" => {
            let condition = at.children().into_iter().next();
            let compared = condition.filter(|condition| condition.kind() == "comparison_operator");
            compared.map(At::children).unwrap_or_default()
        }
        "call" | "call_expression" => {
            let own = at.field("arguments").map(At::children).unwrap_or_default();
            let root = at.descendants().into_iter().skip(1).find(|below| checks::begins(*below));
            let subject = root.and_then(|root| root.field("arguments")).map(At::children).unwrap_or_default();
            match (subject.first(), own.first()) {
                (Some(subject), Some(expected)) => vec![*subject, *expected],
                _ => own.into_iter().take(2).collect(),
            }
        }
        _ => Vec::new(),
    }
}

/// Returns the name of a function that a node calls, unless it says nothing about where a value is from.
fn called(at: At<'_>) -> Option<&str> {
    let function = matches!(at.kind(), "call" | "call_expression").then(|| at.field("function"))??;
    let is_plain = function.kind() == "identifier";
    let name = function.text();
    // A method gives the same only with the same arguments.
    let is_method = matches!(function.kind(), "attribute" | "member_expression");
    // Neither does what makes a value, also of a package: `shop.Money(3)`, or what is called on a literal: `"a".repeat(3)`.
    let makes = |name: &str| name.starts_with(char::is_uppercase);
    let is_of_literal = name.starts_with(['"', '\'', '`', '[']);
    if is_method
        && !is_of_literal
        && !name.contains('(')
        && at.text().len() <= MAX_CALL
        && !makes(name)
        && !name.rsplit('.').next().is_some_and(makes)
    {
        return Some(at.text());
    }
    (is_plain
        && name.starts_with(|first: char| first.is_lowercase() || first == '_')
        && !USUAL.contains(&name))
    .then_some(name)
}

/// Returns the functions that a value comes from, with those of the table that it is a column of or without; each with the names by which
/// alone another call is given what comes of it.
fn sources(at: At<'_>, with_tables: bool) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut waiting = vec![(at, 0, Vec::new())];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some((at, depth, by)) = waiting.pop() {
        for below in at.descendants().into_iter().take(MAX_NODES) {
            if let Some(call) = called(below) {
                let known = found.entry(call).or_insert_with(|| by.clone());
                known.truncate(if by.is_empty() { 0 } else { known.len() });
            }
            if depth < MAX_STEPS && below.kind() == "identifier" && seen.insert(below.text()) {
                let values = values(below, with_tables).into_iter();
                let values = values.filter(|value| value.text().len() <= MAX_VALUE);
                // What is only passed on, such as an order to sort by, gives no value by itself.
                let is_passed =
                    below.node.parent().is_some_and(|parent| parent.kind().starts_with("argument"));
                let values = values.filter(|value| !(is_passed && is_function(value.kind())));
                let mut above = std::iter::successors(below.node.parent(), Node::parent)
                    .take_while(|above| above.end_byte() <= at.node.end_byte());
                let is_given = above.any(|above| above.kind().starts_with("argument"));
                let own = (!by.is_empty() || is_given).then(|| below.text());
                let by: Vec<&str> = by.iter().copied().chain(own).collect();
                waiting.extend(values.map(|value| (value, depth + 1, by.clone())));
            }
        }
    }
    found
}

/// Returns where the value of a name is from: what it is given, what a loop goes through, or the cases of the test.
fn values(name: At<'_>, with_tables: bool) -> Vec<At<'_>> {
    let given = name.given.and_then(|given| given.value(name));
    if let Some(value) = given {
        return vec![value];
    }
    let mut node = name.node.parent().filter(|_| with_tables);
    while let Some(outer) = node {
        let found = name_in(name, outer);
        if !found.is_empty() {
            return found;
        }
        node = outer.parent();
    }
    Vec::new()
}

/// Returns what the first call below a node is given.
fn given(at: At<'_>) -> Vec<At<'_>> {
    let call = at.descendants().into_iter().find(|below| matches!(below.kind(), "call" | "call_expression"));
    call.and_then(|call| call.field("arguments")).map(At::children).unwrap_or_default()
}

/// Returns what gives a name its value, if a node around it does so.
fn name_in<'a>(name: At<'a>, outer: Node<'a>) -> Vec<At<'a>> {
    let at = name.with(outer);
    let has = |pattern: Option<At<'a>>| {
        pattern.is_some_and(|pattern| {
            pattern.descendants().iter().any(|below| below.text() == name.text() && below.kind() != "string")
        })
    };
    match outer.kind() {
        "for_statement" | "for_in_statement" if has(at.field("left")) => {
            at.field("right").into_iter().collect()
        }
        kind if is_function(kind) && has(at.field("parameters").or_else(|| at.field("parameter"))) => {
            let above = outer.parent().map(|parent| at.with(parent));
            let decorated = above.filter(|above| above.kind() == "decorated_definition");
            let decorators = decorated.map(At::children).unwrap_or_default();
            let is_cases =
                |child: &At<'_>| child.kind() == "decorator" && child.text().contains("parametrize");
            let cases = decorators.into_iter().filter(is_cases).flat_map(given);
            // `test.each(cases)(…)` and `cases.forEach(…)`.
            let call =
                above.filter(|above| above.kind() == "arguments").and_then(|above| above.node.parent());
            let table = call.and_then(|call| at.with(call).field("function"));
            let of_table = table.into_iter().flat_map(|table| match table.field("object") {
                Some(items) => vec![items],
                None => given(table),
            });
            cases.chain(of_table).collect()
        }
        _ => Vec::new(),
    }
}
