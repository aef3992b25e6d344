//! Statements that end a body early, and their treatment of failures.

use crate::assertion::{Assertion, is_mere_failure};
use crate::extract::{Body, Reader, Skip, is_function};
use crate::syntax::At;

/// Returns the functions that an assertion hands a failure or a value to: those behind its first argument that take one, and those
/// that a chain of calls goes on with.
pub(in crate::extract) fn judging(assertion: At<'_>) -> Vec<At<'_>> {
    let takes_one = |at: &At<'_>| {
        let given = at.field("parameters").or_else(|| at.field("parameter"));
        is_function(at.kind()) && given.is_some_and(|given| given.text().contains(char::is_alphabetic))
    };
    let mut found = Vec::new();
    let mut next = Some(assertion);
    while let Some(call) = next {
        next = call.field("object").filter(|object| object.kind() == "method_invocation");
        let given = call.field("arguments").map(At::children).unwrap_or_default();
        let behind = given.into_iter().skip(usize::from(next.is_none()));
        found.extend(behind.filter(takes_one).filter_map(|at| at.field("body")));
    }
    found
}

/// Returns whether a call of a chain hands the value to a function that asserts something of it: `.satisfies(x -> …)`.
pub(in crate::extract) fn satisfies(call: At<'_>) -> bool {
    call.kind() == "method_invocation" && call.field("name").is_some_and(|name| name.text() == "satisfies")
}

/// Notes what the end of a body, and what it expects to fail, say about its assertions.
pub(in crate::extract) fn settle(root: At<'_>, body: &mut Body, returns: Vec<(At<'_>, bool)>) {
    // What is asserted of a failure is asserted only if there is one, unless something misses it.
    let misses = |assertion: &Assertion| is_mere_failure(assertion) || assertion.is_failure();
    if !body.assertions.iter().any(misses) && !root.text().contains("expect.assertions") {
        body.assertions.iter_mut().for_each(|assertion| assertion.is_conditional |= assertion.is_handling);
    }
    let last =
        |assertions: &mut dyn Iterator<Item = &Assertion>| assertions.map(|own| own.line).max().unwrap_or(0);
    let of_all = last(&mut body.assertions.iter());
    // What is looked for was found: `for … { if … { return } } t.Fatal("…")`.
    let is_end = |own: &&Assertion| !is_mere_failure(own) && own.name != "fail";
    let of_checks = last(&mut body.assertions.iter().filter(is_end));
    let ends_before = |line: usize, is_conditional: bool| {
        let is_search = is_conditional && of_checks > 0 && body.assertions.iter().any(|own| own.line < line);
        line < if is_search { of_checks } else { of_all }
    };
    let early: Vec<(At<'_>, bool)> =
        returns.into_iter().filter(|(at, conditional)| ends_before(at.line(), *conditional)).collect();
    body.exits.extend(early.iter().filter(|(_, conditional)| *conditional).map(|(at, _)| exit(*at)));
    let worst = early.into_iter().min_by_key(|(_, conditional)| *conditional);
    if let (None, Some((at, is_conditional))) = (&body.skip, worst) {
        body.skip = Some(Skip { line: at.line(), is_conditional, text: at.text().to_owned() });
    }
}

/// Returns what ends or skips a test under a condition, with the nearest condition.
pub(in crate::extract) fn exit(at: At<'_>) -> Skip {
    let mut node = at.node.parent();
    while let Some(outer) = node.filter(|outer| outer.child_by_field_name("condition").is_none()) {
        node = outer.parent();
    }
    let condition = node.and_then(|outer| at.with(outer).field("condition")).map(At::normal);
    let text = format!("{} if {}", at.normal(), condition.unwrap_or_default());
    Skip { line: at.line(), is_conditional: true, text }
}

/// Returns the one of two skips that leaves less.
pub(crate) fn worse(one: Option<Skip>, other: Option<Skip>) -> Option<Skip> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(if one.is_conditional && !other.is_conditional { other } else { one })
        }
        (one, other) => one.or(other),
    }
}

/// Returns whether the statement before one fails the test: `t.fail('no body'); return;`.
pub(in crate::extract) fn follows_failure(at: At<'_>) -> bool {
    const FAILURES: &[&str] = &[
        "t.fail(",
        "assert.fail(",
        "fail(",
        "pytest.fail(",
        "self.fail(",
        "t.Fatal(",
        "t.Fatalf(",
        "t.FailNow(",
    ];
    let before = at.node.prev_named_sibling().map_or("", |before| at.with(before).text());
    FAILURES.iter().any(|failure| before.starts_with(failure))
}

/// Returns whether what a node returns asserts something once it is there. A function that is returned does so only if it is called.
pub(in crate::extract) fn waits<R: Reader + ?Sized>(reader: &R, at: At<'_>) -> bool {
    let is_made = at.children().first().is_some_and(|value| is_function(value.kind()));
    let demands = |below: At<'_>| reader.assertion(below).is_some() || !reader.links(below).is_empty();
    !is_made && at.descendants().into_iter().skip(1).any(demands)
}
