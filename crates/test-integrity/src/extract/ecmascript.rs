//! Tests of JavaScript and TypeScript: Jest, Vitest, Mocha, node:test, tape, AVA and what is alike.

use super::label::label;
use super::loose::loosen;
use super::python::worse;
use super::{Mark, Reader, Skip, Test, TestFile, arguments};
use crate::assertion::{Assertion, Strength};
use crate::syntax::At;
use crate::vocabulary;

/// Names of functions that make a test.
const TESTS: &[&str] = &["test", "it", "specify", "xit", "xtest", "fit", "xspecify", "ftest"];
/// Names of functions that make a group of tests.
const GROUPS: &[&str] = &["describe", "context", "suite", "xdescribe", "fdescribe", "xcontext"];
/// Objects that assertions are methods of.
const ASSERTING: &[&str] = &["assert", "t", "tap", "chai", "sinon", "should", "expect", "assertions"];
/// Methods of a test's own object that assert something.
const METHODS: &[&str] = &[
    "equal",
    "equals",
    "is",
    "same",
    "ok",
    "notok",
    "true",
    "false",
    "deepequal",
    "deepequals",
    "notequal",
    "notdeepequal",
    "strictequal",
    "deepstrictequal",
    "notstrictequal",
    "throws",
    "rejects",
    "doesnotthrow",
    "match",
    "isequal",
    "like",
    "not",
    "fail",
    "iferror",
    "error",
    "assert",
    "strictsame",
    "plan",
    "truthy",
    "falsy",
    "regex",
    "snapshot",
    "include",
    "has",
    "comparearray",
];

/// Longest chain of names that is read.
const MAX_PARTS: usize = 40;

struct EcmaScript;

/// Returns the parts of a call's name: `["test", "only", "each"]` of `test.only.each`.
fn parts(call: At<'_>) -> Vec<&str> {
    let Some(mut at) = (call.kind() == "call_expression").then(|| call.field("function")).flatten() else {
        return Vec::new();
    };
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
fn callback(call: At<'_>) -> Option<At<'_>> {
    let given = call.field("arguments")?.children();
    given.into_iter().rev().take(2).find(|argument| {
        matches!(
            argument.kind(),
            "arrow_function" | "function_expression" | "function" | "generator_function"
        )
    })
}

/// Test, or group of tests, that a call makes.
struct Made<'a> {
    is_group: bool,
    name: String,
    body: Option<At<'a>>,
    skip: Option<Skip>,
    focus: bool,
    cases: Option<usize>,
}

/// Returns what a call makes, if it makes a test or a group.
fn made(call: At<'_>) -> Option<Made<'_>> {
    let parts = parts(call);
    let (first, modifiers) = parts.split_first()?;
    let first = if *first == "Deno" && modifiers.first() == Some(&"test") { &"test" } else { first };
    let is_group = GROUPS.contains(first) || modifiers.contains(&"describe");
    if !is_group && !TESTS.contains(first) {
        return None;
    }
    let known = [
        "skip",
        "only",
        "todo",
        "each",
        "failing",
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
    let label = label(*given.first()?)?;
    let body = callback(call);
    let is_todo = modifiers.contains(&"todo");
    if body.is_none() && !is_todo && !modifiers.contains(&"skip") && !first.starts_with('x') {
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
        || modifiers.iter().any(|modifier| matches!(*modifier, "skip" | "todo" | "failing"));
    let is_conditional = modifiers.iter().any(|modifier| matches!(*modifier, "skipIf" | "runIf" | "if"));
    let skipped = by_option || by_name || is_conditional || is_todo;
    let name = call.field("function").map_or("", At::text).split('(').next().unwrap_or_default();
    let skip = skipped.then(|| Skip {
        line: call.line(),
        is_conditional: is_conditional && !by_name,
        text: if by_option { option.clone() } else { name.to_owned() },
    });
    let focus = first.starts_with('f') || modifiers.contains(&"only") || option.contains("only : true");
    let cases = modifiers.contains(&"each").then(|| each(call)).flatten();
    Some(Made { is_group, name: label, body, skip, focus, cases })
}

/// Returns whether the options of a test skip it, whatever else holds.
fn leaves_out(options: At<'_>) -> bool {
    options.children().into_iter().filter(|pair| pair.kind() == "pair").any(|pair| {
        let key = pair.field("key").map_or("", |key| key.text().trim_matches(['"', '\'']));
        let value = pair.field("value").map(At::normal).unwrap_or_default();
        let is_empty = matches!(value.as_str(), "0" | "false" | "null" | "undefined" | "''" | "\"\"");
        matches!(key, "skip" | "todo") && !is_empty && vocabulary::is_literal(&value)
    })
}

/// Returns the number of rows of `test.each([…])(…)` or of its table in a template.
fn each(call: At<'_>) -> Option<usize> {
    let table = call.field("function")?;
    let list =
        table.descendants().into_iter().find(|below| matches!(below.kind(), "array" | "template_string"))?;
    if list.kind() == "array" {
        return Some(list.children().len());
    }
    Some(list.text().lines().filter(|line| line.contains("${")).count())
}

impl Reader for EcmaScript {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        let parts = parts(at);
        let (first, rest) = parts.split_first()?;
        let last = rest.last().copied().unwrap_or("");
        if *first == "expect"
            && !rest.is_empty()
            && at.node.parent().is_none_or(|parent| parent.kind() != "member_expression")
        {
            return Some(expectation(at, rest));
        }
        let is_assert = *first == "assert"
            || (ASSERTING.contains(first) && METHODS.contains(&vocabulary::plain(last).as_str()));
        if !is_assert {
            return None;
        }
        let name = if last.is_empty() { first } else { last };
        if matches!(vocabulary::plain(name).as_str(), "throws" | "rejects") {
            let given = arguments(at);
            let kind = given.get(1).cloned().unwrap_or_default();
            let says = kind.starts_with('/') || kind.starts_with('{');
            return Some(Assertion::of_failure(if says { "" } else { &kind }, says, at.line(), &at.words()));
        }
        Some(Assertion::of_call(name, &arguments(at), at.line(), &at.words()))
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        let parts = parts(at);
        matches!(parts.as_slice(), ["t" | "this" | "ctx" | "context", "skip" | "todo"] | ["pending"])
            .then(|| at.text().to_owned())
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        matches!(at.kind(), "if_statement" | "ternary_expression")
    }

    fn swallows(&self, at: At<'_>) -> bool {
        match at.kind() {
            "try_statement" => at.field("handler").is_some_and(|handler| {
                let body =
                    handler.field("body").map(super::super::syntax::At::descendants).unwrap_or_default();
                !body.iter().any(|below| {
                    below.kind() == "throw_statement" || below.kind() == "call_expression" && !is_log(*below)
                })
            }),
            "call_expression" => forgets(at),
            _ => false,
        }
    }

    fn mock(&self, at: At<'_>) -> Option<String> {
        let parts = parts(at);
        let mocks = matches!(
            parts.as_slice(),
            ["jest" | "vi", "mock" | "doMock"] | ["mock", "module"] | ["proxyquire"]
        );
        let first = mocks.then(|| arguments(at))?.into_iter().next()?;
        vocabulary::is_literal(&first).then(|| first.trim_matches(['"', '\'', '`']).to_owned())
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        (at.kind() == "call_expression").then(|| at.field("function"))?.map(At::text)
    }

    fn is_apart(&self, at: At<'_>) -> bool {
        at.kind() == "call_expression" && made(at).is_some()
    }
}

/// Returns whether a call is `promise.catch(…)` with a function that does nothing.
fn forgets(call: At<'_>) -> bool {
    let name = call.field("function").and_then(|function| function.field("property"));
    let handler = name.filter(|name| name.text() == "catch").and_then(|_| callback(call));
    handler.is_some_and(|handler| {
        !handler.descendants().iter().any(|below| {
            below.kind() == "throw_statement" || below.kind() == "call_expression" && !is_log(*below)
        })
    })
}

/// Returns what skips each test of a file: `beforeEach((t) => t.skip())`.
fn skip_of_all(at: At<'_>) -> Option<Skip> {
    let name = *parts(at).last()?;
    let hook = matches!(name, "before" | "beforeEach" | "beforeAll").then(|| callback(at))??;
    EcmaScript.body(hook).skip.filter(|skip| !skip.text.starts_with("return"))
}

/// Returns whether a call only writes to the console.
fn is_log(call: At<'_>) -> bool {
    call.field("function").is_some_and(|name| name.text().starts_with("console."))
}

/// Reads `expect(subject).not.toBe(value)`; `matchers` are the names behind `expect`.
fn expectation(at: At<'_>, matchers: &[&str]) -> Assertion {
    let root = at.descendants().into_iter().find(|below| {
        below.kind() == "call_expression"
            && below.field("function").is_some_and(|name| name.text() == "expect")
    });
    let subject = root.and_then(|root| arguments(root).into_iter().next()).unwrap_or_default();
    let expected = arguments(at);
    let last = matchers.last().copied().unwrap_or("");
    let is_negative = matchers.contains(&"not");
    let words = at.words();
    let is_failure = last.starts_with("toThrow") || last == "throw" || last == "throws";
    if is_failure && !is_negative {
        let kind = expected.first().cloned().unwrap_or_default();
        let says = vocabulary::is_literal(&kind) || kind.starts_with('/') || kind.starts_with("new ");
        return Assertion::of_failure(
            if says { "" } else { &kind },
            says && !kind.starts_with("new Error"),
            at.line(),
            &words,
        );
    }
    let name = if is_negative { format!("not{last}") } else { last.to_owned() };
    let arguments = [vec![subject], expected].concat();
    // `expect(true).toBe(true)` compares two literals; `expect(true).toBeTruthy()` looks at one.
    let of_truth = vocabulary::is_truth(&arguments[0])
        && matches!(vocabulary::plain(last).as_str(), "tobetruthy" | "tobedefined" | "ok");
    let mut assertion = Assertion::of_call(&name, &arguments, at.line(), &words);
    let same =
        arguments.len() == 2 && arguments[0] == arguments[1] && !arguments[0].contains('(') && !is_negative;
    if of_truth || same {
        assertion.strength = Strength::Nothing;
    }
    assertion
}

/// What surrounds a node.
#[derive(Clone, Default)]
struct Outer {
    names: Vec<String>,
    skip: Option<Skip>,
    focus: bool,
}

/// Reads the tests of a JavaScript or TypeScript file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let mut all: Option<Skip> = None;
    let mut waiting = vec![(root, Outer::default())];
    while let Some((at, outer)) = waiting.pop() {
        if let Some(made) = made(at) {
            let names = [outer.names.clone(), vec![made.name]].concat();
            let skip = worse(made.skip, outer.skip);
            let focus = outer.focus || made.focus;
            let mut body = made.body.map(|body| EcmaScript.body(body)).unwrap_or_default();
            body.skip = worse(skip.clone(), body.skip.take());
            if let Some(inner) = made.body {
                let inner_outer = Outer { names: names.clone(), skip, focus };
                waiting.extend(inner.children().into_iter().rev().map(|child| (child, inner_outer.clone())));
            }
            let has_nested = made.body.is_some_and(|body| {
                body.descendants()
                    .into_iter()
                    .any(|below| below.kind() == "call_expression" && self::made(below).is_some())
            });
            if !made.is_group && (!has_nested || !body.assertions.is_empty()) {
                file.tests.push(Test {
                    path: path.to_owned(),
                    name: names.join(" > "),
                    line: at.line(),
                    body,
                    focus: focus.then_some(at.line()),
                    cases: made.cases,
                });
            }
            continue;
        }
        if let Some((name, function)) = helper(at) {
            file.add_function(name, EcmaScript.body(function));
        }
        if outer.names.is_empty() {
            all = worse(all, skip_of_all(at));
        }
        if let Some(text) = EcmaScript.mock(at) {
            file.mocks.push(Mark { line: at.line(), text });
        }
        waiting.extend(at.children().into_iter().rev().map(|child| (child, outer.clone())));
    }
    for test in &mut file.tests {
        test.body.skip = worse(test.body.skip.take(), all.clone());
    }
    loosen(root, &mut file);
    file
}

/// Returns the name and the body of a function that a node declares.
fn helper(at: At<'_>) -> Option<(&str, At<'_>)> {
    match at.kind() {
        "function_declaration" => Some((at.field("name")?.text(), at.field("body")?)),
        "variable_declarator" => {
            let value = at.field("value")?;
            let is_function = matches!(value.kind(), "arrow_function" | "function_expression");
            is_function.then(|| Some((at.field("name")?.text(), value.field("body")?)))?
        }
        _ => None,
    }
}
