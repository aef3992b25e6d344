//! Handlers of promises of JavaScript that drop a failure.

use super::test_calls::callback;
use crate::syntax::At;

/// Returns whether a call is `promise.catch(…)` with a function that does nothing.
pub(super) fn forgets(call: At<'_>) -> bool {
    let function = call.field("function");
    let name = function.and_then(|function| function.field("property"));
    let given = call.field("arguments").map(At::children).unwrap_or_default();
    // Of several promises, only what these come to counts, whatever the others do.
    if matches!(function.map_or("", At::text), "Promise.allSettled" | "Promise.race" | "Promise.any") {
        return true;
    }
    // The second function of `then` gets what failed before.
    let is_then = name.is_some_and(|name| name.text() == "then") && given.len() == 2;
    if let Some(second) = given.get(1).filter(|_| is_then) {
        let acts = second
            .descendants()
            .iter()
            .any(|below| matches!(below.kind(), "throw_statement" | "call_expression"));
        let is_function = matches!(second.kind(), "arrow_function" | "function_expression");
        return is_function && !acts;
    }
    let is_catch = name.is_some_and(|name| name.text() == "catch");
    // A function by its name, which only writes, or does nothing.
    let by_name = given.first().is_some_and(|first| {
        first.text().starts_with("console.")
            || matches!(first.text(), "noop" | "_.noop" | "Function.prototype" | "() => {}")
    });
    if is_catch && by_name {
        return true;
    }
    let handler = name.filter(|_| is_catch).and_then(|_| callback(call));
    handler.is_some_and(|handler| {
        !handler.descendants().iter().any(|below| {
            below.kind() == "throw_statement" || below.kind() == "call_expression" && !is_log(*below)
        })
    })
}

/// Returns whether a call only writes to the console.
pub(super) fn is_log(call: At<'_>) -> bool {
    call.field("function").is_some_and(|name| name.text().starts_with("console."))
}
