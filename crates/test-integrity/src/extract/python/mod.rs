//! Tests of Python: pytest and unittest.

mod collected;
mod decorators;
mod rebound;

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::recognition::{checks, failing};
use crate::extract::{Mark, Reader, Skip, Test, TestFile, arguments, classes, fixtures, worse};
use crate::files::{file_name, is_collected};
use crate::syntax::At;
use collected::{Class, chosen, hidden, is_set_up, unset};
use decorators::Decorators;

pub(super) struct Python;

impl Reader for Python {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        match at.kind() {
            "raise_statement" if at.text().starts_with("raise AssertionError") => failing::of_condition(at)
                .or_else(|| Some(Assertion::of_call("fail", &[], at.line(), &at.words()))),
            "call" if is_failing(at) && failing::condition(at).is_some() => failing::of_condition(at),
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
                    "raises"
                        | "RaisesGroup"
                        | "assertRaises"
                        | "assertRaisesRegex"
                        | "assertRaisesRegexp"
                        | "assertRaisesMessage"
                        | "warns"
                );
                if is_failure {
                    let given = arguments(at);
                    let kind = given.first().cloned().unwrap_or_default();
                    let pattern = match last {
                        "assertRaisesRegex" | "assertRaisesRegexp" | "assertRaisesMessage" => {
                            given.get(1).map(String::as_str)
                        }
                        _ => given.iter().find_map(|argument| argument.strip_prefix("match =")),
                    };
                    // What is in a group says it of each.
                    let is_of_parts = last == "RaisesGroup" && at.text().contains("match=");
                    let says = is_of_parts || pattern.is_some_and(|pattern| !vocabulary::is_vacuous(pattern));
                    let mut assertion = Assertion::of_failure(&kind, says, at.line(), &at.words());
                    if kind == "None" || is_raised_by_hand(at) {
                        assertion.strength = Strength::Nothing;
                    }
                    return Some(assertion);
                }
                let is_assertion =
                    (last.starts_with("assert") || name == "pytest.fail" || name == "self.fail")
                        && last != "assert_type";
                if let Some(check) = checks::of_python(at).filter(|_| !is_assertion || last == "assert_that")
                {
                    return Some(check);
                }
                is_assertion.then(|| Assertion::of_call(name, &arguments(at), at.line(), &at.words()))
            }
            _ => None,
        }
    }

    fn is_its_condition(&self, at: At<'_>) -> bool {
        failing::condition(at).is_some() && (at.kind() == "raise_statement" || is_failing(at))
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        if at.kind() == "raise_statement"
            && ["SkipTest", "skip.Exception", "SystemExit"].iter().any(|kind| at.text().contains(kind))
        {
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
        matches!(at.kind(), "if_statement" | "conditional_expression" | "match_statement")
            || at.kind() == "while_statement"
                && at.field("condition").is_some_and(|condition| condition.text() != "True")
    }

    fn swallows(&self, at: At<'_>) -> bool {
        match at.kind() {
            "try_statement" => {
                at.children().iter().any(|part| part.kind() == "except_clause" && catches_failures(*part))
            }
            "with_statement" => {
                let clause = at.children().into_iter().find(|part| part.kind() == "with_clause");
                clause.is_some_and(expects_failed_assertions)
            }
            _ => false,
        }
    }

    fn mock(&self, at: At<'_>) -> Option<String> {
        if at.kind() == "assignment" {
            let target = at.field("left").filter(|left| left.kind() == "attribute")?;
            let value = at.field("right")?;
            let is_double = value.kind() == "lambda"
                || value.field("function").is_some_and(|name| name.text().ends_with("Mock"));
            return is_double.then(|| target.text().to_owned());
        }
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

/// Returns whether a call fails the test.
fn is_failing(call: At<'_>) -> bool {
    call.field("function").is_some_and(|name| matches!(name.text(), "pytest.fail" | "self.fail"))
}

/// Returns whether the failure that a call of `raises` expects is made by the test itself.
fn is_raised_by_hand(call: At<'_>) -> bool {
    let mut node = call.node.parent();
    while let Some(outer) = node.filter(|outer| outer.kind() != "with_statement") {
        node = outer.parent().filter(|_| !outer.kind().ends_with("block"));
    }
    let body = node.and_then(|with| call.with(with).field("body")).map(At::children).unwrap_or_default();
    body.first().is_some_and(|first| first.kind() == "raise_statement")
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
        let fails = below.kind() == "call"
            && below.field("function").is_some_and(|name| name.text().ends_with("fail"));
        !fails && !matches!(below.kind(), "raise_statement" | "assert_statement")
    });
    catches && forgets
}

/// Returns the names of functions of the file that catch whatever fails in what they wrap: decorators and context managers.
fn calming(root: At<'_>) -> Vec<&str> {
    let functions = root.descendants().into_iter().filter(|at| at.kind() == "function_definition");
    let calms = |function: &At<'_>| {
        let inside = function.field("body").map(At::descendants).unwrap_or_default();
        let wraps = inside.iter().any(|at| matches!(at.kind(), "yield" | "function_definition"));
        wraps && inside.into_iter().any(|at| at.kind() == "except_clause" && catches_failures(at))
    };
    functions.filter(calms).filter_map(|function| Some(function.field("name")?.text())).collect()
}

/// Returns whether the head of a `with` expects or suppresses a failure that a failed assertion is as well, by whatever name.
fn expects_failed_assertions(clause: At<'_>) -> bool {
    clause.descendants().into_iter().filter(|below| below.kind() == "call").any(|call| {
        let name = call.field("function").map_or("", At::text);
        let kinds = arguments(call);
        let is_other =
            matches!(name.rsplit('.').next(), Some("warns" | "patch" | "Mock" | "MagicMock" | "object"));
        !is_other
            && kinds.iter().any(|given| {
                given.split(' ').any(|kind| matches!(kind, "AssertionError" | "Exception" | "BaseException"))
            })
    })
}

/// Returns what an assignment outside of functions says that keeps all tests of the file from running.
fn mark_of_all(at: At<'_>) -> Option<Skip> {
    let left = at.field("left").map_or("", At::text);
    let named = at.field("right").filter(|_| left == "pytestmark").map(At::descendants).unwrap_or_default();
    let mark = named.into_iter().find_map(decorators::mark);
    let is_mark = mark.is_some()
        || left == "pytestmark"
            && [".skip", ".xfail", "getattr("].iter().any(|mark| at.text().contains(mark));
    let is_meant = is_mark || left == "__test__" && at.text().ends_with("False");
    let is_conditional = mark.map_or(at.text(), At::text).contains("skipif");
    is_meant.then(|| Skip { line: at.line(), is_conditional, text: at.text().to_owned() })
}

/// Notes what the rest of the file does to its tests.
fn settle(root: At<'_>, file: &mut TestFile, all: Option<&Skip>, calming: &[&str]) {
    let taken_away = rebound::taken_away(root);
    for test in &mut file.tests {
        let own = taken_away.get(&test.line).cloned();
        test.body.skip = worse(worse(test.body.skip.take(), own), all.cloned());
        let is_calmed =
            test.body.words.windows(2).any(|two| two[0] == "with" && calming.contains(&two[1].as_str()));
        test.body.assertions.iter_mut().for_each(|assertion| assertion.is_swallowed |= is_calmed);
    }
}

/// Returns the skip of all tests of a file that a call outside of them makes.
fn skip_of_file(call: At<'_>, text: String) -> Skip {
    let statement = call.node.parent().and_then(|parent| parent.parent());
    let is_conditional =
        statement.is_some_and(|node| node.kind() != "module") || text.contains("importorskip");
    Skip { line: call.line(), is_conditional, text }
}

/// Reads the tests of a Python file.
#[expect(clippy::too_many_lines, reason = "one walk through all nodes")]
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let calming = calming(root);
    let mut file = TestFile::default();
    let mut all: Option<Skip> = None;
    let mut waiting: Vec<(At<'_>, Vec<&str>, Decorators, bool)> =
        vec![(root, Vec::new(), Decorators::default(), false)];
    while let Some((at, names, outer, in_class)) = waiting.pop() {
        match at.kind() {
            "class_definition" => {
                let name = at.field("name").map_or("", At::text);
                let own = Decorators::of(at);
                let skip = own.skip.or_else(|| unset(at)).or_else(|| chosen(at)).or(outer.skip);
                let names = [names, vec![name]].concat();
                let class = Class::of(at);
                if let Some(bases) = at.field("superclasses") {
                    let is_named = name.starts_with("Test") || bases.text().contains("Test");
                    let runs = is_collected(path) && is_named && skip.is_none() && class.is_read();
                    file.classes.push(classes::Class::new(name, bases.text(), runs));
                }
                let inner = Decorators {
                    skip,
                    cases: None,
                    class,
                    words: Vec::new(),
                    cells: Vec::new(),
                    names: Vec::new(),
                    fixture: None,
                    asked: own.asked,
                    mocks: [outer.mocks, own.mocks].concat(),
                    failures: Vec::new(),
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
                // A test asks for fixtures by the names of its parameters.
                let parameters = at.field("parameters").map(At::children).unwrap_or_default();
                body.calls.extend(parameters.into_iter().map(|parameter| parameter.text().to_owned()));
                let own = Decorators::of(at);
                body.calls.extend(own.asked.iter().chain(&outer.asked).cloned());
                if let Some((other, values)) = own.fixture {
                    file.fixtures.insert(other.unwrap_or_else(|| name.to_owned()), values);
                }
                if name.starts_with("test") {
                    let skip = own.skip.or_else(|| outer.skip.clone());
                    body.skip = worse(skip, body.skip.take());
                    body.words.extend(own.words);
                    body.cells.extend(own.cells);
                    body.assertions.extend(own.failures);
                    let is_calmed = own.names.iter().any(|name| calming.contains(&name.as_str()));
                    body.assertions.iter_mut().for_each(|assertion| assertion.is_swallowed |= is_calmed);
                    body.mocks.extend(outer.mocks.iter().cloned().chain(own.mocks));
                    let hidden = hidden(at, outer.class);
                    let name = [names, vec![name]].concat().join(" > ");
                    let line = at.line();
                    file.tests.push(Test {
                        path: path.to_owned(),
                        name,
                        line,
                        body,
                        focus: None,
                        cases: own.cases,
                        hidden,
                    });
                    continue;
                }
                // What every test has is replaced for the whole file.
                let above = at.node.parent().filter(|node| node.kind() == "decorated_definition");
                let above = above.map_or("", |node| at.with(node).text());
                let is_of_all =
                    above.split("def ").next().is_some_and(|above| above.contains("autouse=True"));
                if is_of_all || is_set_up(name) {
                    file.mocks.extend(body.mocks.iter().cloned());
                }
                if is_set_up(name) && body.skip.as_ref().is_some_and(|skip| !skip.text.starts_with("return"))
                {
                    all = worse(all, body.skip.clone());
                }
                // What skips in a fixture that every test has skips every test.
                if is_of_all {
                    let skip = body.skip.take().filter(|skip| !skip.text.starts_with("return"));
                    if let Some(skip) = skip.clone().filter(|_| file_name(path) == "conftest.py") {
                        file.everywhere.push(skip);
                    }
                    all = worse(all, skip);
                }
                if at.text().starts_with("async ") {
                    file.coroutines.insert(name.to_owned());
                }
                file.hooks.extend(fixtures::of_python(
                    path,
                    name,
                    at,
                    above.split("def ").next().unwrap_or_default(),
                    &body,
                ));
                file.add_function(name, body);
            }
            "assignment" if names.is_empty() || in_class => {
                all = worse(all, mark_of_all(at));
            }
            "call" if !in_class => {
                if let Some(text) = Python.skip(at) {
                    all = worse(all, Some(skip_of_file(at, text)));
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
    settle(root, &mut file, all.as_ref(), &calming);
    file
}
