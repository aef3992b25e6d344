//! Tests of Python: pytest and unittest.

use std::collections::BTreeSet;

use super::{Mark, Reader, Skip, Test, TestFile, arguments, rebound};
use crate::assertion::{Assertion, Strength};
use crate::syntax::At;
use crate::vocabulary;

struct Python;

impl Reader for Python {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        match at.kind() {
            "raise_statement" if at.text().starts_with("raise AssertionError") => {
                Some(Assertion::of_call("fail", &[], at.line(), &at.words()))
            }
            "assert_statement" => {
                let condition = at.children().first().map(|first| first.normal())?;
                // A tuple is true, whatever is in it.
                let is_tuple = at.children().first().is_some_and(|first| first.kind() == "tuple");
                let condition = if is_tuple { "True".to_owned() } else { condition };
                Some(Assertion::of_condition(&condition, at.line(), &at.words()))
            }
            "call" => {
                let name = at.field("function")?.text();
                let last = name.rsplit('.').next().unwrap_or(name);
                let is_failure = matches!(
                    last,
                    "raises" | "assertRaises" | "assertRaisesRegex" | "assertRaisesRegexp" | "warns"
                );
                if is_failure {
                    let given = arguments(at);
                    let kind = given.first().cloned().unwrap_or_default();
                    let says = last.contains("Regex")
                        || given.iter().any(|argument| argument.starts_with("match ="));
                    let mut assertion = Assertion::of_failure(&kind, says, at.line(), &at.words());
                    if kind == "None" {
                        assertion.strength = Strength::Nothing;
                    }
                    return Some(assertion);
                }
                let is_assertion =
                    (last.starts_with("assert") || name == "pytest.fail" || name == "self.fail")
                        && last != "assert_type";
                is_assertion.then(|| Assertion::of_call(name, &arguments(at), at.line(), &at.words()))
            }
            _ => None,
        }
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        if at.kind() == "raise_statement" && at.text().contains("SkipTest") {
            return Some(at.text().to_owned());
        }
        let name = (at.kind() == "call").then(|| at.field("function"))??.text();
        matches!(
            name,
            "pytest.skip" | "pytest.xfail" | "self.skipTest" | "skip" | "xfail" | "pytest.importorskip"
        )
        .then(|| at.text().to_owned())
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        matches!(at.kind(), "if_statement" | "conditional_expression")
    }

    fn swallows(&self, at: At<'_>) -> bool {
        match at.kind() {
            "try_statement" => {
                at.children().iter().any(|part| part.kind() == "except_clause" && catches_failures(*part))
            }
            "with_statement" => {
                let clause = at.children().into_iter().find(|part| part.kind() == "with_clause");
                clause.is_some_and(|clause| {
                    let text = clause.text();
                    text.contains("suppress(Exception")
                        || text.contains("suppress(AssertionError")
                        || text.contains("suppress(BaseException")
                        || expects_failed_assertions(clause)
                })
            }
            _ => false,
        }
    }

    fn mock(&self, at: At<'_>) -> Option<String> {
        let name = (at.kind() == "call").then(|| at.field("function"))??.text();
        let is_patch = matches!(
            name,
            "patch" | "mock.patch" | "mocker.patch" | "unittest.mock.patch" | "monkeypatch.setattr"
        );
        let is_of_object = matches!(
            name,
            "patch.object" | "mock.patch.object" | "mocker.patch.object" | "unittest.mock.patch.object"
        );
        let given = (is_patch || is_of_object).then(|| arguments(at))?;
        let plain =
            |text: &String| vocabulary::is_literal(text).then(|| text.trim_matches(['"', '\'']).to_owned());
        let (first, second) = (given.first()?, given.get(1));
        match (plain(first), second.and_then(plain)) {
            (Some(target), _) => Some(target),
            // The object and the name of what is replaced in it.
            (None, Some(name)) => Some(format!("{first}.{name}")),
            (None, None) => None,
        }
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        (at.kind() == "call").then(|| at.field("function"))?.map(At::text)
    }

    fn is_apart(&self, at: At<'_>) -> bool {
        at.kind() == "class_definition"
    }
}

/// Returns whether an `except` clause catches failed assertions and forgets them.
fn catches_failures(clause: At<'_>) -> bool {
    let children = clause.children();
    let Some((block, caught)) = children.split_last() else { return false };
    let caught = caught.first().map_or("", |kind| kind.text());
    let catches = ["", "Exception", "AssertionError", "BaseException"]
        .contains(&caught.split(" as ").next().unwrap_or("").trim())
        || caught.contains("AssertionError");
    let forgets = block.descendants().iter().all(|below| {
        let fails = below.kind() == "call" && below.text().contains("fail");
        !fails && !matches!(below.kind(), "raise_statement" | "assert_statement")
    });
    catches && forgets
}

/// Returns whether the head of a `with` expects a failure that a failed assertion is as well.
fn expects_failed_assertions(clause: At<'_>) -> bool {
    clause.descendants().into_iter().filter(|below| below.kind() == "call").any(|call| {
        let name = call.field("function").map_or("", At::text);
        let kind = arguments(call).into_iter().next().unwrap_or_default();
        matches!(name.rsplit('.').next(), Some("raises" | "assertRaises"))
            && kind.split(' ').any(|kind| matches!(kind, "AssertionError" | "Exception" | "BaseException"))
    })
}

/// What the decorators of a function or class say.
#[derive(Clone, Default)]
struct Decorators {
    skip: Option<Skip>,
    cases: Option<usize>,
    /// Tokens of the cases.
    words: Vec<String>,
    mocks: Vec<Mark>,
}

impl Decorators {
    fn of(definition: At<'_>) -> Self {
        let mut all = Self::default();
        let parent = definition.node.parent().filter(|parent| parent.kind() == "decorated_definition");
        let Some(decorated) = parent.map(|node| definition.with(node)) else { return all };
        for decorator in decorated.children().into_iter().filter(|child| child.kind() == "decorator") {
            let text = decorator.text().trim_start_matches('@').trim();
            let name = text.split('(').next().unwrap_or(text).trim();
            let last = name.rsplit('.').next().unwrap_or(name);
            if matches!(
                last,
                "skip" | "skipif" | "skipIf" | "skipUnless" | "xfail" | "expectedFailure" | "skip_if"
            ) {
                let is_conditional = matches!(last, "skipif" | "skipIf" | "skipUnless" | "skip_if")
                    && !is_always(text)
                    || last == "xfail" && text.contains("xfail(") && has_condition(decorator);
                all.skip = Some(Skip { line: decorator.line(), is_conditional, text: format!("@{text}") });
            } else if matches!(last, "parametrize" | "expand" | "data" | "ddt") {
                // The names come first, and may be a tuple as well.
                let given = decorator.descendants().into_iter().find(|below| below.kind() == "argument_list");
                let given = given.map(At::children).unwrap_or_default();
                let from = usize::from(last == "parametrize" && given.len() > 1);
                let of_list =
                    given.into_iter().skip(from).find(|argument| matches!(argument.kind(), "list" | "tuple"));
                if let Some(list) = of_list {
                    all.cases = Some(all.cases.unwrap_or(1) * running(list));
                    all.words.extend(list.words().into_iter().map(str::to_owned));
                }
            }
            for below in decorator.descendants() {
                if let Some(text) = Python.mock(below) {
                    all.mocks.push(Mark { line: below.line(), text });
                }
            }
        }
        all
    }
}

/// Returns the number of different cases of a list that run.
fn running(list: At<'_>) -> usize {
    let is_skipped = |case: &&String| {
        case.starts_with("pytest . param (")
            && [" . skip ", " . xfail "].iter().any(|mark| format!("{case} ").contains(mark))
    };
    let cases: BTreeSet<String> = list.children().into_iter().map(At::normal).collect();
    cases.len() - cases.iter().filter(is_skipped).count()
}

/// Returns whether the condition of a decorator always holds.
fn is_always(text: &str) -> bool {
    let condition =
        text.split_once('(').map_or("", |(_, rest)| rest).split([',', ')']).next().unwrap_or("").trim();
    matches!(condition, "True" | "1" | "not False")
}

/// Returns whether a decorator has an argument that is a condition rather than a reason.
fn has_condition(decorator: At<'_>) -> bool {
    let call = decorator.children().into_iter().find(|child| child.kind() == "call");
    let first =
        call.and_then(|call| call.field("arguments")).and_then(|list| list.children().into_iter().next());
    first.is_some_and(|first| !matches!(first.kind(), "keyword_argument" | "string" | "true"))
}

/// Reads the tests of a Python file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let mut all: Option<Skip> = None;
    let mut waiting: Vec<(At<'_>, Vec<&str>, Decorators, bool)> =
        vec![(root, Vec::new(), Decorators::default(), false)];
    while let Some((at, names, outer, in_class)) = waiting.pop() {
        match at.kind() {
            "class_definition" => {
                let name = at.field("name").map_or("", At::text);
                let own = Decorators::of(at);
                let skip = own.skip.or_else(|| unset(at)).or(outer.skip);
                let names = [names, vec![name]].concat();
                let inner = Decorators {
                    skip,
                    cases: None,
                    words: Vec::new(),
                    mocks: [outer.mocks, own.mocks].concat(),
                };
                if let Some(body) = at.field("body") {
                    waiting.extend(
                        body.children()
                            .into_iter()
                            .rev()
                            .map(|child| (child, names.clone(), inner.clone(), true)),
                    );
                }
            }
            "function_definition" => {
                let Some(body) = at.field("body") else { continue };
                let name = at.field("name").map_or("", At::text);
                let mut body = Python.body(body);
                let own = Decorators::of(at);
                if name.starts_with("test") {
                    let skip = own.skip.or_else(|| outer.skip.clone());
                    body.skip = worse(skip, body.skip.take());
                    body.words.extend(own.words);
                    body.mocks.extend(outer.mocks.iter().cloned().chain(own.mocks));
                    let name = [names, vec![name]].concat().join(" > ");
                    let line = at.line();
                    file.tests.push(Test {
                        path: path.to_owned(),
                        name,
                        line,
                        body,
                        focus: None,
                        cases: own.cases,
                    });
                    continue;
                }
                // What skips in a fixture that every test has skips every test.
                let above = at.node.parent().filter(|node| node.kind() == "decorated_definition");
                let above = above.map_or("", |node| at.with(node).text());
                if above.split("def ").next().is_some_and(|above| above.contains("autouse=True")) {
                    all = worse(all, body.skip.take().filter(|skip| !skip.text.starts_with("return")));
                }
                file.add_function(name, body);
            }
            "assignment" if names.is_empty() || in_class => {
                let left = at.field("left").map_or("", At::text);
                let is_mark = left == "pytestmark"
                    && [".skip", ".xfail", "getattr("].iter().any(|mark| at.text().contains(mark));
                if is_mark || left == "__test__" && at.text().ends_with("False") {
                    let is_conditional = at.text().contains("skipif");
                    all = worse(
                        all,
                        Some(Skip { line: at.line(), is_conditional, text: at.text().to_owned() }),
                    );
                }
            }
            "call" if !in_class => {
                if let Some(text) = Python.skip(at) {
                    let is_conditional = at
                        .node
                        .parent()
                        .and_then(|parent| parent.parent())
                        .is_some_and(|node| node.kind() != "module")
                        || text.contains("importorskip");
                    all = worse(all, Some(Skip { line: at.line(), is_conditional, text }));
                }
                if let Some(text) = Python.mock(at) {
                    file.mocks.push(Mark { line: at.line(), text });
                }
            }
            "decorator" | "lambda" | "dictionary" => {}
            _ => waiting.extend(
                at.children().into_iter().rev().map(|child| (child, names.clone(), outer.clone(), in_class)),
            ),
        }
    }
    let taken_away = rebound::taken_away(root);
    for test in &mut file.tests {
        let own = taken_away.get(&test.line).cloned();
        test.body.skip = worse(worse(test.body.skip.take(), own), all.clone());
    }
    file
}

/// Returns the skip of a class that says that it holds no tests.
fn unset(class: At<'_>) -> Option<Skip> {
    let body = class.field("body")?;
    let statement = body.children().into_iter().find(|child| child.normal() == "__test__ = False")?;
    Some(Skip { line: statement.line(), is_conditional: false, text: statement.text().to_owned() })
}

/// Returns the one of two skips that leaves less.
pub(super) fn worse(one: Option<Skip>, other: Option<Skip>) -> Option<Skip> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(if one.is_conditional && !other.is_conditional { other } else { one })
        }
        (one, other) => one.or(other),
    }
}
