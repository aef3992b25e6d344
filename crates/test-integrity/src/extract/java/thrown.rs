//! Demands of `AssertJ` and Awaitility on functions that Java's tests give them: to throw something, or to become true.

use crate::assertion::{Assertion, vocabulary};
use crate::extract::arguments;
use crate::syntax::At;

/// Returns the assertion that a chain of calls makes of a function: `assertThatThrownBy(() -> f()).isInstanceOf(E.class)`,
/// `await().until(() -> done())`.
pub(super) fn of_chain(chain: &[(At<'_>, &str)], at: At<'_>, words: &[&str]) -> Option<Assertion> {
    failure(chain, at, words).or_else(|| awaited(chain, at, words))
}

fn failure(chain: &[(At<'_>, &str)], at: At<'_>, words: &[&str]) -> Option<Assertion> {
    let (root, first) = *chain.first()?;
    let given = |call: At<'_>| arguments(call).into_iter().next().unwrap_or_default();
    let called = |names: &[&str]| chain.iter().find(|(_, name)| names.contains(name)).map(|(call, _)| *call);
    let says = chain.iter().any(|(call, name)| is_of_message(name) && !given(*call).ends_with("\"\""));
    let kind = match first {
        // What is said of the text has a strength of its own there.
        "assertThatThrownBy" | "thenThrownBy" if !chain.iter().any(|(_, name)| is_of_message(name)) => {
            given(called(&["isInstanceOf", "isExactlyInstanceOf"])?)
        }
        "assertThatExceptionOfType" | "thenExceptionOfType" => {
            called(&["isThrownBy"])?;
            given(root)
        }
        _ => {
            called(&["isThrownBy"])?;
            first.strip_prefix("assertThat").filter(|kind| kind.ends_with("Exception"))?.to_owned()
        }
    };
    Some(Assertion::of_failure(&kind, says, at.line(), words))
}

fn is_of_message(name: &str) -> bool {
    ["withMessage", "hasMessage", "hasRootCauseMessage", "withStackTrace", "extracting", "satisfies"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Returns the literal that a matcher of Hamcrest accepts alone: `is ( 1 )`, `is ( equalTo ( 1 ) )`.
pub(super) fn of_equality(matcher: &str) -> Option<String> {
    let mut value = matcher;
    while let Some(inner) = ["is ( ", "equalTo ( "].iter().find_map(|start| value.strip_prefix(start)) {
        value = inner.strip_suffix(" )")?;
    }
    (value != matcher && vocabulary::is_literal(value)).then(|| value.to_owned())
}

/// Returns what has to become true: Awaitility fails if it does not in time.
fn awaited(chain: &[(At<'_>, &str)], at: At<'_>, words: &[&str]) -> Option<Assertion> {
    let (_, last) = *chain.last()?;
    let is_waiting = chain.iter().any(|(_, name)| *name == "await");
    if !is_waiting || !matches!(last, "until" | "untilTrue" | "untilFalse") {
        return None;
    }
    let function = at.field("arguments")?.children().into_iter().next()?;
    let value = match function.kind() {
        "lambda_expression" => function.field("body").map(At::normal)?,
        "method_reference" => format!("{} ( )", function.normal().replace(" :: ", " . ")),
        _ => function.normal(),
    };
    let given = arguments(at);
    match given.get(1) {
        Some(matcher) => {
            let given = [value, matcher.clone()];
            let name = super::fluent::matcher(&given).unwrap_or("assertThat");
            Some(Assertion::of_call(name, &given, at.line(), words))
        }
        None if last == "untilFalse" => Some(Assertion::of_call("assertFalse", &[value], at.line(), words)),
        None => Some(Assertion::of_condition(&value, at.line(), words)),
    }
}
