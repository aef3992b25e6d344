//! Tests of JavaScript and TypeScript: Jest, Vitest, Mocha, node:test, tape, AVA and what is alike.

mod alias;
mod judge;
mod label;
mod loose;
mod outer;
mod promises;
mod queries;
mod test_calls;

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::flow::reach;
use crate::extract::recognition::{chains, checks};
use crate::extract::values::Values;
use crate::extract::{Mark, Reader, Skip, Test, TestFile, arguments, fixtures, worse};
use crate::syntax::At;
use loose::loosen;
use outer::Outer;
use promises::{forgets, is_log};
use test_calls::{callback, made, parts};

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
    "hasstrict",
    "comparearray",
    "throwsasync",
    "matchsnapshot",
];

/// Most tokens of tables that the tests in loops through them are given, in all of a file. Others count as without values.
const MAX_CELLS: usize = 500_000;

pub(super) struct EcmaScript;

impl Reader for EcmaScript {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        if let Some(names) = checks::properties(at) {
            let is_of_value = names.contains(&"should");
            return if is_of_value { checks::of_script(at, &names) } else { Some(expectation(at, &names)) };
        }
        let parts = parts(at);
        let (first, rest) = parts.split_first()?;
        let last = rest.last().copied().unwrap_or("");
        // Doubles of the library `expect`.
        if *first == "expect" && matches!(rest, ["createSpy" | "spyOn" | "restoreSpies", ..]) {
            return None;
        }
        if *first == "expect" && rest.first() == Some(&"type") && checks::ends(at) {
            return of_types(at, first, rest);
        }
        if matches!(*first, "expect" | "expectAsync" | "should")
            && !rest.is_empty()
            && !matches!(last, "then" | "catch" | "finally")
            && checks::ends(at)
        {
            return Some(expectation(at, rest));
        }
        if matches!(*first, "expectTypeOf" | "assertType" | "expectType") {
            return of_types(at, first, rest);
        }
        let is_assert = *first == "assert" && !matches!(last, "async" | "timeout")
            || *first == "sinon" && rest.first() == Some(&"assert")
            || (ASSERTING.contains(first) && METHODS.contains(&vocabulary::plain(last).as_str()));
        if !is_assert {
            return checks::of_script(at, &parts);
        }
        let name = if last.is_empty() { first } else { last };
        if matches!(vocabulary::plain(name).as_str(), "throws" | "rejects" | "throwsasync") {
            let given = arguments(at);
            let (kind, says) = judge::expected(given.get(1).map_or("", String::as_str));
            return Some(Assertion::of_failure(&kind, says, at.line(), &at.words()));
        }
        Some(Assertion::of_call(name, &arguments(at), at.line(), &at.words()))
    }

    fn links(&self, at: At<'_>) -> Vec<Assertion> {
        if at.kind() == "call_expression" { chains::of_scripts(&chains::chain(at)) } else { Vec::new() }
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        let parts = parts(at);
        let is_plain = parts.as_slice() == ["skip"]
            && at.field("arguments").is_some_and(|given| given.children().is_empty());
        // Playwright's, within a test: a call that makes none.
        let is_of_runner =
            matches!(parts.as_slice(), ["test" | "it", "skip" | "fixme" | "fail"]) && made(at).is_none();
        (is_plain
            || is_of_runner
            || matches!(parts.as_slice(), ["t" | "this" | "ctx" | "context", "skip" | "todo"] | ["pending"]))
        .then(|| at.text().to_owned())
    }

    fn is_condition_of_skip(&self, at: At<'_>) -> bool {
        let given = at.field("arguments").map(At::children).unwrap_or_default();
        given.first().is_some_and(|first| !matches!(first.kind(), "string" | "template_string" | "true"))
            && parts(at).first().is_some_and(|first| matches!(*first, "test" | "it"))
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        let is_short = at.kind() == "binary_expression"
            && at.field("operator").is_some_and(|sign| matches!(sign.text(), "&&" | "||"));
        is_short || matches!(at.kind(), "if_statement" | "ternary_expression" | "switch_statement")
    }

    fn swallows(&self, at: At<'_>) -> bool {
        match at.kind() {
            "try_statement" => at.field("handler").is_some_and(|handler| {
                let body = handler.field("body").map(crate::syntax::At::descendants).unwrap_or_default();
                !body.iter().any(|below| {
                    below.kind() == "throw_statement" || below.kind() == "call_expression" && !is_log(*below)
                })
            }),
            "call_expression" => forgets(at),
            _ => false,
        }
    }

    fn mock(&self, at: At<'_>) -> Option<String> {
        if at.kind() == "assignment_expression" {
            let value = at.field("right").map_or("", |value| value.kind());
            let target = at.field("left").filter(|left| left.kind() == "member_expression")?;
            let is_function = matches!(value, "arrow_function" | "function_expression");
            return is_function.then(|| target.text().to_owned());
        }
        let parts = parts(at);
        // `vi.spyOn(cart, "total")` and `sinon.stub(cart, "total")`.
        if matches!(
            parts.as_slice(),
            ["jest" | "vi", "spyOn", ..] | ["sinon", "stub", ..] | ["mock", "method"]
        ) {
            let root = at
                .descendants()
                .into_iter()
                .rev()
                .find(|below| below.kind() == "call_expression" && self::parts(*below).len() == 2)?;
            let is_replaced = parts.iter().any(|part| {
                part.starts_with("mock") || matches!(*part, "returns" | "resolves" | "callsFake")
            });
            let given = arguments(root);
            return is_replaced.then(|| {
                Some(format!("{}.{}", given.first()?, given.get(1)?.trim_matches(['"', '\'', '`'])))
            })?;
        }
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

/// Reads an assertion on types: `expectTypeOf(a).toEqualTypeOf<B>()`, `expectType<B>(a)`.
fn of_types(at: At<'_>, first: &str, matchers: &[&str]) -> Option<Assertion> {
    let is_last = at.node.parent().is_none_or(|parent| parent.kind() != "member_expression");
    if !is_last || first == "expectTypeOf" && matchers.is_empty() {
        return None;
    }
    let last = matchers.last().copied().unwrap_or(first);
    let words = at.words();
    let mut assertion = Assertion::of_call(last, &arguments(at), at.line(), &words);
    let is_any = matches!(last, "toBeAny" | "toBeUnknown")
        || words.windows(3).any(|three| matches!(three, ["<", "any" | "unknown", ">"]));
    assertion.strength = match last {
        _ if is_any => Strength::Present,
        "toMatchTypeOf" | "toExtend" | "toMatchObjectType" | "toBeAssignableTo" => Strength::Bounded,
        _ if matchers.contains(&"not") => Strength::Bounded,
        _ => Strength::Exact,
    };
    assertion.sides = None;
    Some(assertion)
}

/// Returns what skips each test of a file: `beforeEach((t) => t.skip())`.
fn skip_of_all(at: At<'_>) -> Option<Skip> {
    let name = *parts(at).last()?;
    let hook = matches!(name, "before" | "beforeEach" | "beforeAll").then(|| callback(at))??;
    EcmaScript.body(hook).skip.filter(|skip| !skip.text.starts_with("return"))
}

/// Returns what skips all tests of a file for uvu, which runs them only when it is told to.
fn never_run(root: At<'_>) -> Option<Skip> {
    let is_of_uvu = ["'uvu'", "\"uvu\""].iter().any(|name| root.source.contains(name));
    let text = "no call of `run`".to_owned();
    (is_of_uvu && !root.source.contains(".run(")).then_some(Skip { line: 1, is_conditional: false, text })
}

/// Reads `expect(subject).not.toBe(value)`; `matchers` are the names behind `expect`.
fn expectation(at: At<'_>, matchers: &[&str]) -> Assertion {
    let root = at
        .descendants()
        .into_iter()
        .find(|below| below.kind() == "call_expression" && checks::begins(*below));
    let subject = root.and_then(|root| arguments(root).into_iter().next()).unwrap_or_default();
    let expected = arguments(at);
    let last = matchers.last().copied().unwrap_or("");
    let is_negative = matchers.contains(&"not");
    let words = at.words();
    let is_by_hand = subject.contains("=> { throw ") || subject.contains(") { throw ");
    let is_failure = last.starts_with("toThrow")
        || last.starts_with("toBeRejected")
        || matches!(last, "throw" | "throws" | "rejected" | "rejectedWith");
    if is_failure && !is_negative {
        let kind = expected.first().cloned().unwrap_or_default();
        // What is called by a name of its own is a text rather than a class.
        let is_text = kind.starts_with(char::is_lowercase) && kind.chars().all(char::is_alphanumeric);
        let says =
            vocabulary::is_literal(&kind) || is_text || kind.starts_with('/') || kind.starts_with("new ");
        let says = says && !vocabulary::is_vacuous(&kind) || expected.len() > 1;
        let kind = if vocabulary::is_vacuous(&kind) { String::new() } else { kind };
        let mut failure = Assertion::of_failure(
            if says { "" } else { &kind },
            says && !kind.starts_with("new Error ( )"),
            at.line(),
            &words,
        );
        if is_by_hand {
            failure.strength = Strength::Nothing;
        }
        return failure;
    }
    let name = if is_negative { format!("not{last}") } else { last.to_owned() };
    let arguments = [vec![subject], expected].concat();
    // `expect(true).toBe(true)` compares two literals; `expect(true).toBeTruthy()` looks at one.
    // `expect(a === b || true).toBe(true)` asserts the condition.
    let of_condition = matches!(vocabulary::plain(last).as_str(), "tobetruthy" | "ok")
        || arguments.get(1).is_some_and(|expected| expected == "true");
    let is_always =
        of_condition && Assertion::of_condition(&arguments[0], 0, &[]).strength == Strength::Nothing;
    let of_truth = vocabulary::is_truth(&arguments[0])
        && matches!(vocabulary::plain(last).as_str(), "tobetruthy" | "tobedefined" | "ok");
    let mut assertion = Assertion::of_call(&name, &arguments, at.line(), &words);
    let same =
        arguments.len() == 2 && arguments[0] == arguments[1] && !arguments[0].contains('(') && !is_negative;
    // A snapshot that the test itself holds is one value.
    if last == "toMatchInlineSnapshot" && arguments.get(1).is_some_and(|text| text.len() > 2) {
        assertion.strength = Strength::Exact;
    }
    let is_found = root.is_some_and(|root| queries::holds_always(root, last, is_negative));
    if of_truth || same || is_found || is_always && !is_negative {
        assertion.strength = Strength::Nothing;
    }
    assertion
}

/// Reads the tests of a JavaScript or TypeScript file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let mut all: Option<Skip> = None;
    let mut room = MAX_CELLS;
    let mut waiting = vec![(root, Outer::default())];
    while let Some((at, outer)) = waiting.pop() {
        if let Some(made) = made(at) {
            let names = [outer.names.clone(), vec![made.name]].concat();
            let skip = worse(made.skip, outer.skip.clone());
            let focus = outer.focus || made.focus;
            let mut body = made.body.map(|body| EcmaScript.body(body)).unwrap_or_default();
            body.words.extend(made.words);
            // A test that a loop makes for each row of a table has these cases.
            if !made.is_group {
                body.cells.extend(made.cells.iter().cloned());
            }
            if !made.is_group && outer.cells.len() <= room {
                room -= outer.cells.len();
                body.cells.extend(outer.cells.iter().cloned());
            }
            body.skip = worse(skip.clone(), body.skip.take());
            body.is_repeated = outer.is_open;
            if let Some(inner) = made.body {
                // The tests of a group have the cases of its table; without any, they are skipped.
                let of_table = outer.repeated(made.cases.filter(|cases| *cases > 0), &made.cells);
                let inner_outer = Outer { names: names.clone(), skip, focus, ..of_table };
                waiting.extend(children(inner).into_iter().rev().map(|child| (child, inner_outer.clone())));
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
                    cases: outer.times(made.cases),
                    hidden: None,
                });
            }
            continue;
        }
        if let Some((name, function)) = helper(at) {
            let head = at.source.get(at.node.start_byte()..function.node.start_byte()).unwrap_or_default();
            if head.split(['(', ' ']).any(|word| word == "async") {
                file.coroutines.insert(name.to_owned());
            }
            file.add_function(name, EcmaScript.body(function));
        }
        all = worse(all, skip_of_all(at));
        file.hooks.extend(fixtures::matchers(path, at));
        if let Some(function) = (at.kind() == "call_expression").then(|| callback(at)).flatten() {
            let read = || EcmaScript.body(function);
            file.hooks.extend(fixtures::of_script(path, &outer.names, &parts(at), at, read));
        }
        if let Some(text) = EcmaScript.mock(at) {
            file.mocks.push(Mark { line: at.line(), text });
        }
        let inside = outer.inside(at);
        waiting.extend(children(at).into_iter().rev().map(|child| (child, inside.clone())));
    }
    all = worse(all, never_run(root));
    for test in &mut file.tests {
        test.body.skip = worse(test.body.skip.take(), all.clone());
    }
    loosen(root, &mut file);
    file
}

/// Returns the children of a node that are reached when the file is loaded.
fn children(at: At<'_>) -> Vec<At<'_>> {
    let dead = reach::dead(at, &Values::none());
    reach::reached(at, true).into_iter().filter(|child| Some(child.node) != dead).collect()
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
