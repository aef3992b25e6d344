//! Tests of Java: JUnit, `TestNG` and the assertion libraries beside them.

use super::python::worse;
use super::{Reader, Skip, Test, TestFile, arguments};
use crate::assertion::{Assertion, Strength};
use crate::syntax::At;

/// Longest chain of calls that is read.
const MAX_CHAIN: usize = 40;

struct Java;

/// Returns the names of a chain of calls: `["assertThat", "isEqualTo"]` of `assertThat(x).isEqualTo(1)`.
fn chain(at: At<'_>) -> Vec<(At<'_>, &str)> {
    let mut names = Vec::new();
    let mut next = Some(at);
    while let Some(call) = next.filter(|call| call.kind() == "method_invocation" && names.len() < MAX_CHAIN) {
        names.push((call, call.field("name").map_or("", At::text)));
        next = call.field("object");
    }
    names.reverse();
    names
}

impl Reader for Java {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        if at.kind() == "throw_statement" && at.text().starts_with("throw new AssertionError") {
            if is_of_object(at) {
                return None;
            }
            return Some(Assertion::of_call("fail", &[], at.line(), &at.words()));
        }
        let mut chain = chain(at);
        // Truth takes the message first: `assertWithMessage("why").that(x).isEqualTo(1)`.
        if matches!(chain.first(), Some((_, "assertWithMessage" | "assert_" | "assertAbout"))) {
            let that = chain.iter().position(|(_, name)| *name == "that")?;
            chain.drain(..that);
            chain[0].1 = "assertThat";
        }
        let (root, first) = *chain.first()?;
        let (_, last) = *chain.last()?;
        let words = at.words();
        if matches!(
            first,
            "assertThat" | "verify" | "assertThatThrownBy" | "assertThatExceptionOfType" | "expectThat"
        ) {
            if at.node.parent().is_some_and(|parent| parent.kind() == "method_invocation") && chain.len() < 2
            {
                return None;
            }
            let subject = arguments(root).into_iter().next().unwrap_or_default();
            let given = [vec![subject], arguments(at)].concat();
            let name = if chain.len() == 1 { matcher(&given).unwrap_or(first) } else { last };
            return Some(Assertion::of_call(name, &given, at.line(), &words));
        }
        let name = chain.last().map(|(_, name)| *name)?;
        if matches!(name, "assertThrows" | "assertThrowsExactly") {
            let kind = arguments(at).into_iter().next().unwrap_or_default();
            return Some(Assertion::of_failure(&kind, name.ends_with("Exactly"), at.line(), &words));
        }
        let is_assertion = name.starts_with("assert") || name == "fail";
        is_assertion.then(|| {
            let mut given = arguments(at);
            // JUnit 4 takes the message first.
            if given.len() > 2
                && given.first().is_some_and(|first| first.starts_with('"'))
                && !name.contains("Equals")
            {
                given.remove(0);
            }
            let mut assertion = Assertion::of_call(name, &given, at.line(), &words);
            if name == "assertEquals" && given.len() == 3 && assertion.tolerance.is_none() {
                let delta = given[2].trim_end_matches(['f', 'd', 'F', 'D']).parse::<f64>().ok();
                assertion.tolerance = delta;
                // What is said to please the compiler is hardly more than rounding.
                if delta.is_some_and(|delta| delta > 0.05) {
                    assertion.strength = assertion.strength.min(Strength::Bounded);
                }
            }
            assertion
        })
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        let name = (at.kind() == "method_invocation").then(|| at.field("name"))??.text();
        name.starts_with("assume").then(|| at.text().to_owned())
    }

    fn is_condition_of_skip(&self, at: At<'_>) -> bool {
        let given = arguments(at);
        // What is assumed of the machine may hold; a constant says which tests run.
        given.iter().any(|argument| argument.contains('(') || argument.contains(" . "))
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        matches!(at.kind(), "if_statement" | "ternary_expression")
    }

    fn swallows(&self, at: At<'_>) -> bool {
        at.kind() == "try_statement"
            && at.children().into_iter().filter(|part| part.kind() == "catch_clause").any(|clause| {
                let caught =
                    clause.children().into_iter().find(|part| part.kind() == "catch_formal_parameter");
                let caught = caught.map_or("", |caught| caught.text());
                let broad = ["Exception ", "Throwable ", "AssertionError ", "Error "].iter().any(|kind| {
                    caught.rsplit("final ").next().unwrap_or(caught).trim().starts_with(kind.trim_end())
                        && caught.contains(kind)
                });
                let body =
                    clause.field("body").map(super::super::syntax::At::descendants).unwrap_or_default();
                let acts = body.iter().any(|below| {
                    below.kind() == "throw_statement"
                        || below.kind() == "method_invocation"
                            && below.field("name").is_some_and(|name| {
                                name.text().starts_with("assert") || name.text() == "fail"
                            })
                });
                broad && !acts
            })
    }

    fn mock(&self, _: At<'_>) -> Option<String> {
        None
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        (at.kind() == "method_invocation").then(|| at.field("name"))?.map(At::text)
    }

    fn is_apart(&self, at: At<'_>) -> bool {
        at.kind() == "class_declaration"
    }
}

/// Returns whether a node stands in a method of an object that the test makes.
fn is_of_object(at: At<'_>) -> bool {
    let mut node = at.node.parent();
    while let Some(outer) = node.filter(|outer| outer.kind() != "method_declaration") {
        node = outer.parent();
    }
    let class = node.and_then(|method| method.parent()).and_then(|body| body.parent());
    class.is_some_and(|class| class.kind() == "object_creation_expression")
}

/// Returns the name of Hamcrest's matcher: `equalTo` of `assertThat(x, is(equalTo(1)))`.
fn matcher(given: &[String]) -> Option<&str> {
    let matcher = given.get(1)?;
    let names = [
        "equalTo",
        "notNullValue",
        "anything",
        "containsString",
        "hasItem",
        "not",
        "greaterThan",
        "lessThan",
        "closeTo",
        "instanceOf",
    ];
    match names.into_iter().find(|name| matcher.contains(*name)) {
        Some("notNullValue") => Some("isNotNull"),
        Some("anything") => Some("exists"),
        Some("instanceOf") => Some("isInstanceOf"),
        found => found,
    }
}

/// What the annotations of a declaration say.
#[derive(Default)]
struct Annotations {
    is_test: bool,
    skip: Option<Skip>,
    cases: Option<usize>,
    expected: Option<Assertion>,
}

impl Annotations {
    fn of(declaration: At<'_>) -> Self {
        let mut all = Self::default();
        let modifiers = declaration.children().into_iter().find(|child| child.kind() == "modifiers");
        for at in modifiers.map(super::super::syntax::At::children).unwrap_or_default() {
            let Some(name) = at.field("name").map(At::text) else { continue };
            let text = at.text();
            let skip = |is_conditional| Some(Skip { line: at.line(), is_conditional, text: text.to_owned() });
            match name.rsplit('.').next().unwrap_or(name) {
                "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "TestTemplate"
                | "Property" | "Theory" => {
                    all.is_test = true;
                    let normal = at.normal();
                    if normal.contains("enabled = false") {
                        all.skip = worse(all.skip.take(), skip(false));
                    }
                    if let Some((_, kind)) = normal.split_once("expected = ") {
                        let kind = kind.trim_end_matches([')', ' ']);
                        all.expected = Some(Assertion::of_failure(kind, false, at.line(), &at.words()));
                    }
                }
                "Disabled" | "Ignore" => all.skip = worse(all.skip.take(), skip(false)),
                other
                    if other.starts_with("DisabledOn")
                        || other.starts_with("DisabledIf")
                        || other.starts_with("Enabled") =>
                {
                    all.skip = worse(all.skip.take(), skip(true));
                }
                "ValueSource" | "CsvSource" | "EnumSource" => {
                    let list = at
                        .descendants()
                        .into_iter()
                        .find(|below| below.kind() == "element_value_array_initializer");
                    let rows = list.map_or(1, |list| list.children().len());
                    all.cases = Some(all.cases.unwrap_or(0) + rows);
                }
                _ => {}
            }
        }
        all
    }
}

/// Returns a modifier of a declaration, if it has it.
fn modifier(declaration: At<'_>, name: &str) -> Option<String> {
    let modifiers = declaration.children().into_iter().find(|child| child.kind() == "modifiers")?;
    modifiers.words().contains(&name).then(|| name.to_owned())
}

/// Reads the tests of a Java file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let mut waiting: Vec<(At<'_>, Vec<&str>, Option<Skip>, bool)> = vec![(root, Vec::new(), None, false)];
    while let Some((at, names, outer, is_test_case)) = waiting.pop() {
        match at.kind() {
            "class_declaration" => {
                let is_abstract = modifier(at, "abstract").map(|text| Skip {
                    line: at.line(),
                    is_conditional: true,
                    text: format!("{text} class"),
                });
                let skip = worse(worse(Annotations::of(at).skip, is_abstract), outer);
                let is_test_case =
                    at.field("superclass").is_some_and(|class| class.text().contains("TestCase"));
                let names = [names, vec![at.field("name").map_or("", At::text)]].concat();
                if let Some(body) = at.field("body") {
                    waiting.extend(
                        body.children()
                            .into_iter()
                            .rev()
                            .map(|child| (child, names.clone(), skip.clone(), is_test_case)),
                    );
                }
            }
            "method_declaration" => {
                let Some(block) = at.field("body") else { continue };
                let name = at.field("name").map_or("", At::text);
                let annotations = Annotations::of(at);
                let mut body = Java.body(block);
                if annotations.is_test || is_test_case && name.starts_with("test") {
                    let hidden = modifier(at, "private").map(|text| Skip {
                        line: at.line(),
                        is_conditional: false,
                        text,
                    });
                    body.skip =
                        worse(worse(worse(annotations.skip, hidden), outer.clone()), body.skip.take());
                    body.assertions.extend(annotations.expected);
                    let name = [names, vec![name]].concat().join(" > ");
                    let cases = annotations.cases;
                    file.tests.push(Test {
                        path: path.to_owned(),
                        name,
                        line: at.line(),
                        body,
                        focus: None,
                        cases,
                    });
                } else {
                    file.add_function(name, body);
                }
            }
            _ => waiting.extend(
                at.children()
                    .into_iter()
                    .rev()
                    .map(|child| (child, names.clone(), outer.clone(), is_test_case)),
            ),
        }
    }
    file
}
