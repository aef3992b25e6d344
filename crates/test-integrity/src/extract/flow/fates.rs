//! Fates of the failures of calls, whatever the language: whether one fails the test, or goes nowhere.

use super::outcomes::{Outcomes, name};
use crate::syntax::At;

/// Words of what fails a test.
#[rustfmt::skip]
const FAILING: &[&str] = &[
    "panic", "assert", "unreachable", "bail", "Err(", "?", "fail", "Fatal", "Fail", "Error(", "Errorf", "FailNow", "require", "expect", "raise",
    "throw", "Exit", "return err", "unwrap", "todo!",
];
/// Parts of the names of calls that only tell something.
const TELLING: &[&str] = &["print", "log", "console", "warn", "dbg", "stacktrace", "debug", "info"];
/// Functions that take a value and do nothing with it.
const DROPPING: &[&str] = &["drop", "mem::drop", "std::mem::drop", "core::mem::drop"];
/// Calls of Python's that run another program.
const RUNNING: &[&str] = &["run", "call", "check_call", "check_output", "Popen", "getoutput", "system"];
/// Longest call that is looked for on the other side of a change, in bytes.
const MAX_CALL: usize = 300;
/// Longest block in which the uses of an error are looked for, in bytes.
const MAX_BLOCK: usize = 20_000;

/// Longest function that is looked into, in bytes.
const MAX_FUNCTION: usize = 1_000;
/// Most places of a name at which it is looked at.
const MAX_USES: usize = 3;

/// Languages by what becomes of a failure that nothing is said of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is thrown.
    Thrown,
    /// It is a result that is dropped.
    Returned,
}

/// Reads what becomes of the failures of the calls of a body.
pub(super) fn read(root: At<'_>, outcomes: &mut Outcomes) {
    let top = std::iter::successors(Some(root.node), tree_sitter::Node::parent).last();
    let kind = if top.is_some_and(|top| top.kind() == "source_file") { Kind::Returned } else { Kind::Thrown };
    let may_catch =
        kind == Kind::Thrown && ["try", "suppress("].iter().any(|word| root.text().contains(word));
    for at in root.descendants() {
        match (at.kind(), kind) {
            ("expression_statement", _) => statement(at, root, (kind, may_catch), outcomes),
            ("variable_declarator" | "assignment", Kind::Thrown) => {
                let value = at.field("value").or_else(|| at.field("right")).map(awaited);
                outcomes.needed.extend(value.filter(|value| is_call(*value)).map(At::normal));
            }
            ("lambda_expression", _) => {
                outcomes.needed.extend(at.field("body").filter(|body| is_call(*body)).map(At::normal));
            }
            ("let_declaration", _) => {
                let is_unused = at.field("pattern").is_some_and(|name| {
                    name.text().starts_with('_')
                        || name.kind() == "identifier" && is_only_told(at, name.text(), root)
                });
                lose(at.field("value").filter(|_| is_unused), outcomes);
            }
            ("match_expression", _) => {
                lose(at.field("value").filter(|_| leaves_out_failures(at)), outcomes);
            }
            ("let_condition", _)
                if at.field("pattern").is_some_and(|pattern| pattern.text().starts_with("Err(")) =>
            {
                let outer = at.node.parent().map(|parent| at.with(parent));
                let tells = outer.and_then(|outer| outer.field("consequence")).is_some_and(only_tells);
                lose(at.field("value").filter(|_| tells), outcomes);
            }
            ("call_expression", Kind::Returned)
                if at.field("function").is_some_and(|name| DROPPING.contains(&name.text())) =>
            {
                let given = at.field("arguments").map(At::children).unwrap_or_default();
                lose(given.first().copied(), outcomes);
            }
            ("call_expression", Kind::Thrown) if matches!(name(at), "catch" | "then") && forgets(at) => {
                lose(at.field("function").and_then(|function| function.field("object")), outcomes);
            }
            ("call", _) => run(at, outcomes),
            _ => {}
        }
    }
}

/// Returns what a promise that is awaited comes from.
fn awaited(at: At<'_>) -> At<'_> {
    let is_awaited = matches!(at.kind(), "await_expression" | "await");
    at.children().first().copied().filter(|_| is_awaited).unwrap_or(at)
}

fn is_call(at: At<'_>) -> bool {
    matches!(at.kind(), "call" | "call_expression" | "method_invocation")
}

/// Notes that the failure of a call, and of those that it is called of, goes nowhere.
fn lose(value: Option<At<'_>>, outcomes: &mut Outcomes) {
    let mut at = value.map(awaited);
    while let Some(call) = at.filter(|at| is_call(*at)) {
        let fails = matches!(name(call), "unwrap" | "expect" | "unwrap_err" | "expect_err");
        if fails || call.field("arguments").is_some_and(|given| given.text().contains("panic!")) {
            return;
        }
        outcomes.dropped.insert(call.normal(), call.line());
        at = call.field("function").and_then(|function| function.field("value")).map(awaited);
    }
}

/// Reads a statement that makes nothing of what it calls.
fn statement(at: At<'_>, root: At<'_>, (kind, may_catch): (Kind, bool), outcomes: &mut Outcomes) {
    let Some(inner) = at.children().first().copied().map(awaited) else { return };
    if inner.kind() == "assignment_expression" && inner.field("left").is_some_and(|left| left.text() == "_") {
        lose(inner.field("right"), outcomes);
    }
    if !is_call(inner) {
        return;
    }
    let text = inner.normal();
    if text.starts_with("Promise . allSettled (") {
        outcomes.dropped.insert(text.replacen("allSettled", "all", 1), at.line());
    }
    let method =
        inner.field("function").and_then(|function| function.field("attribute")).map_or("", At::text);
    let is_swallowed = may_catch && is_swallowed(at, root);
    if matches!(method, "raise_for_status" | "check_returncode") && !is_swallowed && !is_in_block(at, root) {
        let receiver = inner.field("function").and_then(|function| function.field("object"));
        let value =
            receiver.map(|receiver| root.given.and_then(|given| given.value(receiver)).unwrap_or(receiver));
        outcomes.checked.extend(value.map(|value| (value.normal(), method.to_owned())));
    }
    if kind == Kind::Returned {
        lose(given_away(inner, root), outcomes);
    }
    if kind == Kind::Returned || is_swallowed {
        lose(Some(inner), outcomes);
    } else if text.len() <= MAX_CALL {
        outcomes.needed.insert(text);
    }
}

/// Returns what a call gives to a function of the file that makes nothing of it.
fn given_away<'a>(call: At<'a>, root: At<'a>) -> Option<At<'a>> {
    let function = root.given?.function(call.field("function")?.text())?;
    if function.text().len() > MAX_FUNCTION {
        return None;
    }
    // What it calls itself is not followed.
    let outcomes = Outcomes::of(At { given: None, ..function });
    let parameters = function.field("parameters")?.children();
    let name = |at: &At<'_>| at.field("pattern").or_else(|| at.field("name")).map_or("", At::text).to_owned();
    let is_lost = |name: &String| outcomes.dropped.contains_key(name) && !outcomes.needed.contains(name);
    let place = parameters.iter().map(name).position(|name| is_lost(&name))?;
    call.field("arguments")?.children().get(place).copied()
}

/// Returns whether nothing is made of a value but messages, once a statement has given it a name.
fn is_only_told(statement: At<'_>, name: &str, root: At<'_>) -> bool {
    let is_rare = root.text().len() <= MAX_BLOCK && root.text().matches(name).count() <= MAX_USES;
    let tells = |used: At<'_>| {
        let mut above = std::iter::successors(used.node.parent(), tree_sitter::Node::parent);
        let outer = above.find(|node| node.kind() == "macro_invocation").map(|node| used.with(node));
        let name = outer.and_then(|outer| outer.field("macro")).map_or("", At::text);
        TELLING.iter().any(|part| name.contains(part))
    };
    let from = statement.node.end_byte();
    let is_use = |at: &At<'_>| at.kind() == "identifier" && at.text() == name && at.node.start_byte() >= from;
    is_rare && root.descendants().into_iter().filter(is_use).all(tells)
}

/// Returns whether a statement stands in a block of a body that it may leave out.
fn is_in_block(at: At<'_>, root: At<'_>) -> bool {
    let above = std::iter::successors(at.node.parent(), tree_sitter::Node::parent);
    above.take_while(|node| *node != root.node).any(|node| node.kind() == "if_statement")
}

/// Returns whether a failure of a statement is caught, and at most told.
fn is_swallowed(at: At<'_>, root: At<'_>) -> bool {
    let (mut node, mut found) = (at.node, false);
    while let Some(outer) = node.parent().filter(|_| node != root.node) {
        let outer = at.with(outer);
        found |= match outer.kind() {
            "try_statement" | "try_with_resources_statement" => {
                outer.field("body").is_some_and(|body| body.node == node) && is_silent(outer)
            }
            "with_statement" => {
                let head = outer.children().into_iter().find(|part| part.kind() == "with_clause");
                head.is_some_and(|head| head.text().contains("suppress("))
            }
            // What is tried again may fail at first.
            kind if kind.starts_with("for_") || kind.starts_with("while_") => return false,
            _ => false,
        };
        node = outer.node;
    }
    found
}

/// Returns whether all handlers of a `try` at most tell of a failure, and none is expected.
fn is_silent(tried: At<'_>) -> bool {
    let body = tried.field("body").map_or("", At::text);
    let handlers: Vec<At<'_>> = tried
        .children()
        .into_iter()
        .filter(|part| part.kind().contains("except") || part.kind().contains("catch"))
        .collect();
    let tells = |handler: &At<'_>| {
        let block = handler.children().into_iter().rfind(|part| part.kind().contains("block"));
        block.is_some_and(only_tells)
    };
    !["fail", "Fail", "raise ", "throw "].iter().any(|word| body.contains(word))
        && !handlers.is_empty()
        && handlers.iter().all(tells)
}

/// Returns whether a block does nothing, or writes a message.
fn only_tells(block: At<'_>) -> bool {
    if matches!(block.text(), "()" | "{}") {
        return true;
    }
    let statements = if block.kind().contains("block") { block.children() } else { vec![block] };
    let is_list = statements.first().is_some_and(|first| first.kind() == "statement_list");
    let statements = if is_list { statements[0].children() } else { statements };
    statements.into_iter().all(|statement| {
        let text = statement.text();
        let called = text.split('(').next().unwrap_or(text).to_lowercase();
        matches!(text, "pass" | "...")
            || text.contains('(')
                && TELLING.iter().any(|part| called.contains(part))
                && !called.contains(['=', '{'])
                && !FAILING.iter().any(|word| text.contains(word))
    })
}

/// Returns whether an arm of Rust's takes all failures of what is matched, and does nothing.
fn leaves_out_failures(matched: At<'_>) -> bool {
    let arms = matched.field("body").map(At::children).unwrap_or_default();
    let is_of_failure = |arm: &At<'_>| {
        arm.field("pattern").is_some_and(|pattern| pattern.text().starts_with("Err") || pattern.text() == "_")
    };
    let is_result = arms.iter().any(|arm| arm.text().starts_with("Ok("));
    is_result && arms.iter().any(|arm| is_of_failure(arm) && arm.field("value").is_some_and(only_tells))
}

/// Returns whether a call of `catch` makes nothing of the failure that it is given.
fn forgets(call: At<'_>) -> bool {
    let given = call.field("arguments").map(At::children).unwrap_or_default();
    // `then` is given what handles a failure behind what goes on without one.
    let (([handler], "catch") | ([_, handler], "then")) = (given.as_slice(), name(call)) else {
        return false;
    };
    if !crate::extract::is_function(handler.kind()) {
        return matches!(handler.text(), "console.log" | "console.error" | "console.warn" | "noop");
    }
    handler.field("body").is_some_and(|body| match body.kind() {
        "statement_block" => only_tells(body),
        kind => matches!(kind, "number" | "string" | "undefined" | "null" | "true" | "false"),
    })
}

/// Reads a call that runs a program, by what the program is.
fn run(call: At<'_>, outcomes: &mut Outcomes) {
    let function = call.field("function").map_or("", At::text);
    let name = name(call);
    let is_known = function.starts_with("subprocess.") || function == "os.system";
    let given = call.field("arguments").map(At::children).unwrap_or_default();
    let Some(program) =
        given.first().filter(|_| is_known && RUNNING.contains(&function.rsplit('.').next().unwrap_or(name)))
    else {
        return;
    };
    let words: String = program.text().chars().filter(|sign| sign.is_alphanumeric()).collect();
    let key = format!("program {words}");
    let checks = function.contains(".check_") || given.iter().any(|given| given.text() == "check=True");
    if checks {
        outcomes.needed.insert(key);
    } else {
        outcomes.dropped.insert(key, call.line());
    }
}

/// Returns whether nothing fails because of the error that a statement of Go's gives a name.
pub(super) fn is_unheard(statement: At<'_>, name: &str) -> bool {
    let Some(outer) = statement.node.parent().map(|node| statement.with(node)) else { return false };
    if outer.text().len() > MAX_BLOCK {
        return false;
    }
    let from = statement.node.end_byte();
    let names = outer.descendants().into_iter();
    let mut uses =
        names.filter(|at| at.kind() == "identifier" && at.text() == name && at.node.start_byte() >= from);
    uses.by_ref().map_while(use_of).all(|is_heard| !is_heard)
}

/// Returns whether a use of an error may fail the test; `None` where it is given another value.
fn use_of(error: At<'_>) -> Option<bool> {
    let mut node = error.node;
    while let Some(outer) = node.parent() {
        let at = error.with(outer);
        match outer.kind() {
            "short_var_declaration" | "assignment_statement" => {
                let is_left = at.field("left").is_some_and(|left| left.node == node);
                let is_blank = at.field("left").is_some_and(|left| left.text() == "_");
                return if is_left { None } else { Some(!is_blank) };
            }
            "call_expression" => {
                let name = name(at).to_lowercase();
                return Some(!TELLING.iter().any(|part| name.contains(part)));
            }
            "if_statement" if at.field("condition").is_some_and(|condition| condition.node == node) => {
                let fails = |part: &str| {
                    at.field(part).is_some_and(|block| FAILING.iter().any(|word| block.text().contains(word)))
                };
                let condition = error.with(node).normal();
                let is_there = condition == format!("{} != nil", error.text());
                let is_none = condition == format!("{} == nil", error.text());
                let block = at.field("consequence");
                return Some(match (is_there, is_none) {
                    (true, _) => fails("consequence") || !block.is_some_and(only_tells),
                    // What is expected to fail, and does not.
                    (_, true) => {
                        at.field("alternative").is_some()
                            || block.is_some_and(|block| block.text().contains("expected"))
                    }
                    _ => true,
                });
            }
            "block" => return Some(true),
            _ => node = outer,
        }
    }
    Some(true)
}
