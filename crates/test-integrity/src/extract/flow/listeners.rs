//! Functions that a test hands to what it tests, and that assert something only if they are called.

use crate::extract::is_function;
use crate::syntax::At;

/// Methods that take a function for whenever something happens.
const LISTENING: &[&str] = &[
    "on",
    "once",
    "addListener",
    "addEventListener",
    "subscribe",
    "connect",
    "add_done_callback",
    "add_listener",
    "register",
];
/// Names of arguments that take such a function.
const ARGUMENTS: &[&str] = &["callback", "handler", "target", "listener", "done_callback", "cb"];
/// What a function does that something else waits for: it tells of its end, or keeps what it was given.
const TELLING: &[&str] = &[
    "done",
    "resolve",
    "reject",
    "next",
    "cb",
    "callback",
    "end",
    "put",
    "set",
    "set_result",
    "push",
    "append",
    "add",
    "send",
];

/// Returns whether a node is a function that is called only when something happens, and of which nothing notices if it is not; `root`
/// is the body around it.
pub(in crate::extract) fn may_stay_silent(at: At<'_>, root: At<'_>) -> bool {
    if !is_function(at.kind()) || at.node == root.node || tells(at) {
        return false;
    }
    let Some(parent) = at.node.parent().map(|parent| at.with(parent)) else { return false };
    if matches!(at.kind(), "function_definition" | "function_declaration") {
        return at.field("name").is_some_and(|name| is_handed_over(name.text(), root));
    }
    is_listening(parent)
}

/// Returns whether what holds a value is an argument that is called when something happens.
fn is_listening(holder: At<'_>) -> bool {
    match holder.kind() {
        "pair" | "keyword_argument" => {
            let name = holder.field("key").or_else(|| holder.field("name")).map_or("", At::text);
            let behind = name.strip_prefix("on");
            ARGUMENTS.contains(&name)
                || behind
                    .is_some_and(|rest| rest.starts_with(|first: char| first == '_' || first.is_uppercase()))
        }
        "arguments" | "argument_list" => {
            let call = holder.node.parent().map(|call| holder.with(call));
            let function = call.and_then(|call| call.field("function"));
            let method = function
                .and_then(|function| function.field("property").or_else(|| function.field("attribute")));
            method.is_some_and(|method| LISTENING.contains(&method.text()))
        }
        _ => false,
    }
}

/// Returns whether a function within a body is called nowhere, and handed over as a listener.
fn is_handed_over(name: &str, root: At<'_>) -> bool {
    if name.is_empty() {
        return false;
    }
    let uses = root.descendants().into_iter().filter(|at| at.kind() == "identifier" && at.text() == name);
    let mut is_given = false;
    for at in uses {
        let Some(parent) = at.node.parent().map(|parent| at.with(parent)) else { continue };
        match parent.kind() {
            "function_definition" | "function_declaration" => {}
            _ if is_listening(parent) => is_given = true,
            _ => return false,
        }
    }
    is_given
}

/// Returns whether a function tells something else that it was called.
fn tells(function: At<'_>) -> bool {
    function.descendants().into_iter().filter(|at| matches!(at.kind(), "call" | "call_expression")).any(
        |call| {
            let name = call.field("function").map_or("", At::text);
            TELLING.contains(&name.rsplit('.').next().unwrap_or(name))
        },
    )
}
