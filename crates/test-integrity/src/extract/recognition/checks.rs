//! Calls and expressions that fail a test although no assertion of the usual names is made: matchers of a fluent library, waits for
//! what has to appear, and functions whose names say that they check.

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::{arguments, is_function};
use crate::syntax::At;

/// Functions that a fluent assertion begins with.
const FLUENT: &[&str] = &[
    "expect",
    "should",
    "expectAsync",
    "assert_that",
    "assertThat",
    "ensure",
    "verify_that",
    "require_that",
];
/// First words of the names of functions that check something.
const VERBS: &[&str] = &["check", "verify", "compare", "expect", "ensure", "must", "should", "eq", "ok"];
/// Matchers of chai and its like that have to be called.
const MATCHERS: &[&str] = &[
    "equal",
    "equals",
    "eq",
    "eql",
    "eqls",
    "include",
    "includes",
    "contain",
    "contains",
    "match",
    "matches",
    "throw",
    "throws",
    "property",
    "lengthOf",
    "keys",
    "members",
    "a",
    "an",
    "above",
    "below",
    "least",
    "most",
    "within",
    "closeTo",
    "approximately",
    "instanceof",
    "instanceOf",
    "string",
    "satisfy",
    "oneOf",
    "calledWith",
    "calledOnceWith",
    "calledWithExactly",
    "rejectedWith",
    // Words between matchers.
    "to",
    "be",
    "been",
    "have",
    "deep",
    "not",
    "nested",
    "own",
];
/// Objects of which a method named like a check is an action.
const ACTING: &[&str] = &["page", "driver", "browser", "locator", "context", "app", "cy"];

/// Returns whether a node begins a fluent assertion: `expect(value)`.
pub(in crate::extract) fn begins(at: At<'_>) -> bool {
    matches!(at.kind(), "call" | "call_expression")
        && at.field("function").is_some_and(|name| FLUENT.contains(&name.text()))
}

/// Returns whether nothing but a handler of what an expression comes to is called of it.
pub(in crate::extract) fn ends(at: At<'_>) -> bool {
    let member = at.node.parent().filter(|parent| parent.kind() == "member_expression");
    let name = member.and_then(|member| at.with(member).field("property"));
    member.is_none() || name.is_some_and(|name| matches!(name.text(), "then" | "catch" | "finally"))
}

/// Returns the properties of a chain of members that ends in one rather than in a call: `["to", "be", "true"]` of
/// `expect(a).to.be.true`.
pub(in crate::extract) fn properties(at: At<'_>) -> Option<Vec<&str>> {
    const PARENTS: &[&str] =
        &["expression_statement", "arrow_function", "await_expression", "return_statement"];
    let is_last = at.node.parent().is_some_and(|parent| PARENTS.contains(&parent.kind()));
    if at.kind() != "member_expression" || !is_last {
        return None;
    }
    let (mut names, mut next) = (Vec::new(), Some(at));
    while let Some(member) = next.filter(|member| member.kind() == "member_expression") {
        names.push(member.field("property").map_or("", At::text));
        next = member.field("object");
    }
    names.reverse();
    // A matcher that is not called looks at nothing.
    let last = names.first().and(names.last()).copied().unwrap_or_default();
    let is_matcher = last.strip_prefix("to").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    if is_matcher || MATCHERS.contains(&last) {
        return None;
    }
    (next.is_some_and(begins) || names.contains(&"should")).then_some(names)
}

/// Returns the assertion that a call or a chain of members of JavaScript is by what it does; `parts` are the parts of a call's name.
pub(in crate::extract) fn of_script(at: At<'_>, parts: &[&str]) -> Option<Assertion> {
    let last = *parts.last()?;
    let is_outer = at.node.parent().is_none_or(|parent| parent.kind() != "member_expression");
    let should = parts.iter().position(|part| *part == "should");
    if let Some(should) = should.filter(|place| *place > 0 && is_outer && parts[0] != "cy") {
        let text = at.normal();
        let subject = text.split(" . should").next().unwrap_or_default().to_owned();
        let name = if parts[should + 1..].contains(&"not") { format!("not{last}") } else { last.to_owned() };
        let given = [vec![subject], arguments(at)].concat();
        return (last != "should").then(|| Assertion::of_call(&name, &given, at.line(), &at.words()));
    }
    if parts[0].len() > "assert".len() && parts[0].starts_with("assert") && parts.len() == 1 {
        return Some(of_name(at, parts[0]));
    }
    if matches!(parts, ["fc", "property" | "asyncProperty"]) {
        return property(at);
    }
    if !is_statement(at) {
        return None;
    }
    if parts[0] == "verify" && parts.len() > 1 {
        return Some(present(
            at,
            last,
            if last.starts_with("at") { Strength::Bounded } else { Strength::Exact },
        ));
    }
    let given = at.field("arguments").map(At::children).unwrap_or_default();
    let has_function = given.iter().any(|argument| is_function(argument.kind()));
    if waits_for(last) && !given.is_empty() {
        let asserts = has_function && at.text().contains("expect(");
        let strength = if last.contains("Removed") { Strength::Exact } else { Strength::Present };
        return (!asserts).then(|| present(at, last, strength));
    }
    let is_found = ["getBy", "getAllBy", "findBy", "findAllBy"].iter().any(|start| last.starts_with(start));
    let is_of_cypress = parts[0] == "cy" && last == "contains";
    if is_found || is_of_cypress {
        return Some(present(at, last, Strength::Present));
    }
    // nock and sinon tell by these whether all that was expected has happened.
    let is_end = given.is_empty()
        && parts.len() == 2
        && (last == "done" && at.source.contains("nock") || matches!(last, "verify" | "verifyAll"));
    is_end.then(|| present(at, last, Strength::Bounded))
}

/// Returns the condition that a property of fast-check has to meet, if its function comes to one.
fn property(at: At<'_>) -> Option<Assertion> {
    let function =
        at.field("arguments")?.children().into_iter().rev().find(|given| is_function(given.kind()))?;
    let body = function.field("body")?;
    let returned = || {
        let statements = body.children();
        let last = statements.last().filter(|last| last.kind() == "return_statement")?;
        last.children().first().copied()
    };
    let condition = if body.kind() == "statement_block" { returned()? } else { body };
    let asserts = ["expect(", "assert"].iter().any(|word| body.text().contains(word));
    (!asserts).then(|| Assertion::of_condition(&condition.normal(), condition.line(), &condition.words()))
}

/// Returns the assertion that a call of Python is by what it does.
pub(in crate::extract) fn of_python(at: At<'_>) -> Option<Assertion> {
    let function = at.field("function")?;
    if at.node.parent().is_some_and(|parent| parent.kind() == "attribute") {
        return None;
    }
    let name = function.text();
    let last = name.rsplit('.').next().unwrap_or(name);
    if let Some(root) = fluent_root(function) {
        let given = [arguments(root), arguments(at)].concat();
        let mut assertion = Assertion::of_call(last, &given, at.line(), &at.words());
        if let Some(matcher) = given.get(1).filter(|_| matches!(last, "to" | "to_not" | "not_to" | "should"))
        {
            assertion.strength = assertion.strength.min(demanded(matcher));
        }
        return Some(assertion);
    }
    if last == "assert_that" {
        return (arguments(at).len() > 1).then(|| of_name(at, last));
    }
    let is_verb = |name: &str| {
        let mut words = name.split('_');
        words.next().is_some_and(|first| VERBS.contains(&first))
            && words.next().is_none_or(|second| !matches!(second, "out" | "in"))
    };
    let receiver = name.rsplit_once('.').map(|(receiver, _)| receiver);
    // A verb alone is the name of a check; what it is about may make it one of the program's own functions.
    let is_of_tests = |name: &str| {
        let imports = |line: &str| line.contains("import") && line.contains("test") && line.contains(name);
        name.trim_end_matches('_').split('_').count() == 1 || at.source.lines().any(imports)
    };
    let is_checking = match receiver {
        None => is_verb(last) && is_of_tests(last),
        Some("check" | "expect" | "soft_assert" | "verify") => true,
        Some(receiver) => is_verb(last) && is_of_fixture(at, receiver),
    };
    if !is_checking || !is_statement(at) || at.source.contains(&format!("def {last}(")) {
        return None;
    }
    let given = at.field("arguments").map(At::children).unwrap_or_default();
    (!given.is_empty()).then(|| of_name(at, last))
}

/// Returns how much a matcher demands: `has_length(2)`, `is_(not_none())`.
fn demanded(matcher: &str) -> Strength {
    const OF_TYPES: &[&str] = &["be_a", "be_an", "instance_of", "be_instance"];
    let words: Vec<&str> = matcher.split(' ').collect();
    let called = words.windows(2).filter(|two| two[1] == "(" && two[0] != "is_").map(|two| two[0]);
    let of_name =
        |name: &str| if OF_TYPES.contains(&name) { Strength::Present } else { vocabulary::strength(name) };
    called.map(of_name).min().unwrap_or(Strength::Exact)
}

/// Returns the call that a chain of Python's calls and attributes begins with, if it begins a fluent assertion.
fn fluent_root(function: At<'_>) -> Option<At<'_>> {
    let mut next = Some(function).filter(|at| at.kind() == "attribute");
    while let Some(at) = next {
        if begins(at) {
            return Some(at);
        }
        next = match at.kind() {
            "attribute" => at.field("object"),
            "call" => at.field("function"),
            _ => None,
        };
    }
    None
}

/// Returns whether a name is that of a parameter of the function around, which has it from a fixture, or the test case itself.
fn is_of_fixture(at: At<'_>, receiver: &str) -> bool {
    if receiver == "self" {
        return true;
    }
    let mut node = at.node.parent();
    while let Some(outer) = node.filter(|outer| outer.kind() != "function_definition") {
        node = outer.parent();
    }
    let parameters = node.and_then(|function| at.with(function).field("parameters")).map(At::children);
    !ACTING.contains(&receiver)
        && parameters.unwrap_or_default().iter().any(|parameter| parameter.text() == receiver)
}

/// Returns whether a name of JavaScript is that of a wait for something that has to come.
fn waits_for(name: &str) -> bool {
    let rest = name.strip_prefix("waitFor").or_else(|| name.strip_prefix("waitUntil"));
    rest.is_some_and(|rest| !["Timeout", "LoadState", "Event"].contains(&rest))
}

/// Returns whether nothing uses what an expression comes to, but for what waits for it.
fn is_statement(at: At<'_>) -> bool {
    let mut parent = at.node.parent();
    while let Some(node) = parent.filter(|node| matches!(node.kind(), "await_expression" | "await")) {
        parent = node.parent();
    }
    parent.is_some_and(|parent| parent.kind() == "expression_statement")
}

fn of_name(at: At<'_>, name: &str) -> Assertion {
    let given = arguments(at);
    let is_failure = ["throws", "rejects"].iter().any(|word| vocabulary::plain(name).contains(word))
        && !vocabulary::plain(name).contains("not");
    if is_failure {
        let says = given.len() > 2;
        let kind = given.get(1).cloned().unwrap_or_default();
        return Assertion::of_failure(&kind, says, at.line(), &at.words());
    }
    let mut assertion = Assertion::of_call(name, &given, at.line(), &at.words());
    // PyHamcrest's matcher says how much is demanded.
    if let Some(matcher) = given.get(1).filter(|_| name == "assert_that") {
        assertion.strength = assertion.strength.min(demanded(matcher));
    }
    assertion
}

fn present(at: At<'_>, name: &str, strength: Strength) -> Assertion {
    let mut assertion = Assertion::of_call(name, &arguments(at), at.line(), &at.words());
    assertion.strength = strength;
    assertion.sides = None;
    assertion
}
