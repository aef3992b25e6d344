//! Demands of Java's tests other than by calls of an assertion library: by their result, by a rule, by names of methods.

use crate::assertion::{Assertion, Strength};
use crate::extract::arguments;
use crate::extract::recognition::learned;
use crate::syntax::At;

/// Returns what a property demands that says by its result whether it holds.
pub(super) fn result(at: At<'_>) -> Option<Assertion> {
    let block = at.node.parent()?;
    let method = block
        .parent()
        .filter(|method| method.kind() == "method_declaration")
        .map(|method| at.with(method))?;
    let is_property = method
        .children()
        .first()
        .is_some_and(|above| above.kind() == "modifiers" && above.text().contains("@Property"));
    let value = at.children().into_iter().next()?;
    let of_truth = method.field("type").is_some_and(|kind| kind.text() == "boolean");
    (is_property && of_truth).then(|| Assertion::of_condition(&value.normal(), at.line(), &at.words()))
}

/// Returns the failure that a rule of JUnit 4 expects: `thrown.expect(IOException.class)`.
pub(super) fn of_rule(at: At<'_>, name: &str, words: &[&str]) -> Option<Assertion> {
    let given = arguments(at);
    let first =
        given.first().filter(|_| at.field("object").is_some_and(|object| object.kind() == "identifier"))?;
    match name {
        "expect" if first.ends_with(". class") => Some(Assertion::of_failure(first, false, at.line(), words)),
        // There is no other side that a test could say.
        "expectMessage" | "expectCause" => {
            // A text is looked for in the message.
            let matcher = if first.starts_with('"') { "hasMessageContaining" } else { "hasMessage" };
            let assertion =
                Assertion::of_call(matcher, &["(rule)".to_owned(), first.clone()], at.line(), words);
            Some(Assertion { sides: None, ..assertion })
        }
        _ => None,
    }
}

/// Returns whether a statement calls what fails the test by its name: `Approvals.verify(text)`, `rule.check(classes)`.
pub(super) fn is_by_name(at: At<'_>, chain: &[(At<'_>, &str)], name: &str) -> bool {
    let root = chain.first().and_then(|(root, _)| root.field("object")).map_or("", At::text);
    let of_class = root.starts_with(char::is_uppercase)
        && matches!(name.split(char::is_uppercase).next(), Some("verify" | "check" | "expect" | "match"));
    let of_rule = name == "check"
        && (root.to_lowercase().ends_with("rule") || chain.iter().any(|(_, name)| *name == "should"));
    learned::is_statement(at)
        && (of_class || of_rule)
        && !chain.iter().any(|(_, name)| name.starts_with("expect"))
}

/// Reads `then(store).should(times(1)).save(3)`, BDD's way to say `verify(store, times(1)).save(3)`.
pub(super) fn interaction(chain: &[(At<'_>, &str)], call: At<'_>, words: &[&str]) -> Assertion {
    let should = chain.iter().find(|(_, name)| *name == "should").map_or(call, |(should, _)| *should);
    let mode = arguments(should).into_iter().next().unwrap_or_default();
    let mut assertion = Assertion::of_call("calledWith", &arguments(call), call.line(), words);
    assertion.sides = None;
    assertion.strength = if mode.contains("atLeast ( 0") {
        Strength::Nothing
    } else if mode.contains("atLeast") || mode.contains("atMost") {
        Strength::Bounded
    } else {
        Strength::Exact
    };
    assertion
}

/// Reads `verify(store, times(1)).save(3)`, which is weaker of the number, or of what is given, than that it is this one.
pub(super) fn verification(root: At<'_>, call: At<'_>, words: &[&str]) -> Assertion {
    let mut assertion = Assertion::of_call("calledWith", &arguments(call), call.line(), words);
    let mode = arguments(root).into_iter().nth(1).unwrap_or_default();
    let is_any = arguments(call)
        .iter()
        .any(|given| given.starts_with("any") || given.contains("ArgumentMatchers . any"));
    assertion.sides = None;
    assertion.strength = match mode.split(" (").next().unwrap_or_default() {
        "atLeast" if mode.contains(" 0 ") => Strength::Nothing,
        "atLeast" | "atLeastOnce" | "atMost" | "atMostOnce" => Strength::Bounded,
        _ if is_any => Strength::Partial,
        _ => Strength::Exact,
    };
    assertion
}
