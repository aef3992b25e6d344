//! Tests of Java: JUnit, `TestNG` and the assertion libraries next to them.

mod annotations;
mod expected;
mod fluent;
mod thrown;

use crate::assertion::bounds::Bound;
use crate::assertion::{Assertion, ROUNDING, Strength};
use crate::extract::classes::{Class, OF_BASE};
use crate::extract::recognition::chains;
use crate::extract::{Mark, Reader, Skip, Test, TestFile, arguments, worse};
use crate::files::is_collected;
use crate::syntax::At;
use annotations::{Annotations, bases, modifier, not_nested, not_run};
use expected::{is_by_name, of_rule, result};

struct Java;

impl Reader for Java {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        if at.kind() == "throw_statement" && at.text().starts_with("throw new AssertionError") {
            if is_of_object(at) {
                return None;
            }
            return Some(Assertion::of_call("fail", &[], at.line(), &at.words()));
        }
        if at.kind() == "return_statement" {
            return result(at);
        }
        let chain = fluent::chain(at)?;
        let words = at.words();
        let is_whole = at.node.parent().is_none_or(|parent| parent.kind() != "method_invocation");
        if let Some(assertion) = thrown::of_chain(&chain, at, &words).filter(|_| is_whole) {
            return Some(assertion);
        }
        if fluent::is_fluent(&chain) {
            return fluent::of_chain(&chain, at);
        }
        let name = chain.last().map(|(_, name)| *name)?;
        if let Some(rule) = of_rule(at, name, &words) {
            return Some(rule);
        }
        if matches!(name, "assertThrows" | "assertThrowsExactly") {
            let kind = arguments(at).into_iter().next().unwrap_or_default();
            let mut failure = Assertion::of_failure(&kind, name.ends_with("Exactly"), at.line(), &words);
            if arguments(at).iter().any(|given| given.contains("-> { throw new")) {
                failure.strength = Strength::Nothing;
            }
            return Some(failure);
        }
        let is_assertion = name.starts_with("assert")
            || matches!(name, "fail" | "verifyNoMoreInteractions" | "verifyNoInteractions");
        let is_assertion = (is_assertion || is_by_name(at, &chain, name)) && !holds_assertions(at, name);
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
            if name == "assertAll" && given.is_empty() {
                assertion.strength = Strength::Nothing;
            }
            limit(&mut assertion, at, &given);
            assertion
        })
    }

    fn earlier(&self, at: At<'_>) -> Vec<Assertion> {
        fluent::chain(at).map(|chain| fluent::earlier(&chain, at)).unwrap_or_default()
    }

    fn links(&self, at: At<'_>) -> Vec<Assertion> {
        if at.kind() != "method_invocation" {
            return Vec::new();
        }
        let chain = chains::chain(at);
        let found = chains::of_responses(&chain);
        if found.is_empty() { chains::of_expectations(&chain) } else { found }
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
        let is_of_some = at.field("name").is_some_and(|name| matches!(name.text(), "peek" | "ifPresent"));
        is_of_some
            || matches!(
                at.kind(),
                "if_statement" | "ternary_expression" | "switch_expression" | "switch_statement"
            )
    }

    fn swallows(&self, at: At<'_>) -> bool {
        at.kind() == "try_statement"
            && at.children().into_iter().filter(|part| part.kind() == "catch_clause").any(|clause| {
                let caught =
                    clause.children().into_iter().find(|part| part.kind() == "catch_formal_parameter");
                let caught = caught.map_or("", |caught| caught.text());
                let kinds = caught.rsplit("final ").next().unwrap_or(caught).split(' ').map(str::trim);
                let broad = kinds.take_while(|word| !word.is_empty()).any(|kind| {
                    let kind = kind.rsplit('.').next().unwrap_or(kind);
                    ["Exception", "Throwable", "AssertionError", "AssertionFailedError", "Error"]
                        .contains(&kind)
                });
                let body = clause.field("body").map(crate::syntax::At::descendants).unwrap_or_default();
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

    fn mock(&self, at: At<'_>) -> Option<String> {
        match at.kind() {
            "method_invocation" => {
                let name = at.field("name").map_or("", At::text);
                let object = at.field("object");
                if matches!(name, "mock" | "spy") {
                    let given = arguments(at).into_iter().next()?;
                    return Some(format!("class/{}", given.strip_suffix(" . class")?));
                }
                // `when(cart.total()).thenReturn(3)`, and `doReturn(3).when(cart).total()`.
                if matches!(name, "when" | "given") && object.is_none() {
                    let call = at.field("arguments")?.children().into_iter().next()?;
                    return Some(format!("{}.{}", call.field("object")?.text(), call.field("name")?.text()));
                }
                let target =
                    object.filter(|object| object.field("name").is_some_and(|name| name.text() == "when"));
                let target = target.filter(|when| when.field("object").is_some())?;
                Some(format!("{}.{name}", arguments(target).first()?))
            }
            // An object of the class with methods of its own.
            "object_creation_expression" => {
                let body = at.children().into_iter().find(|part| part.kind() == "class_body")?;
                let method =
                    body.children().into_iter().find(|member| member.kind() == "method_declaration")?;
                Some(format!("{}.{}", at.field("type")?.text(), method.field("name")?.text()))
            }
            _ => None,
        }
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        (at.kind() == "method_invocation").then(|| at.field("name"))?.map(At::text)
    }

    fn is_apart(&self, at: At<'_>) -> bool {
        at.kind() == "class_declaration"
    }
}

/// Takes over how much time or difference an assertion of JUnit accepts.
fn limit(assertion: &mut Assertion, at: At<'_>, given: &[String]) {
    let name = assertion.name.as_str();
    if name.starts_with("assertTimeout") {
        let first = at.field("arguments").and_then(|list| list.children().first().copied());
        let limit = first.and_then(|first| crate::assertion::bounds::seconds(&first.words()));
        assertion.bound = limit.map(Bound::of_time);
        assertion.subject.clear();
    }
    let is_equality = name.starts_with("assert") && name.ends_with("Equals");
    if is_equality && given.len() == 3 && assertion.tolerance.is_none() {
        let is_endless = given[2].contains("MAX_VALUE") || given[2].contains("INFINITY");
        let delta = given[2].trim_end_matches(['f', 'd', 'F', 'D']).parse::<f64>().ok();
        let delta = if is_endless { Some(f64::INFINITY) } else { delta };
        assertion.tolerance = delta;
        if delta.is_some_and(|delta| delta > ROUNDING) {
            assertion.strength = assertion.strength.min(Strength::Bounded);
        }
    }
}

/// Returns whether a call only groups the assertions in it: `assertAll(() -> assertEquals(1, a), () -> assertEquals(2, b))`.
fn holds_assertions(call: At<'_>, name: &str) -> bool {
    let inside = call.field("arguments").map_or("", At::text);
    matches!(name, "assertAll" | "assertSoftly")
        && ["-> assert", "-> verify(", "-> fail(", " assertEquals("].iter().any(|part| inside.contains(part))
}

/// Returns whether a node is in a method of an object that the test makes.
fn is_of_object(at: At<'_>) -> bool {
    let mut node = at.node.parent();
    while let Some(outer) = node.filter(|outer| outer.kind() != "method_declaration") {
        node = outer.parent();
    }
    let class = node.and_then(|method| method.parent()).and_then(|body| body.parent());
    class.is_some_and(|class| class.kind() == "object_creation_expression")
}

/// What surrounds a declaration.
#[derive(Clone, Default)]
struct Outer<'a> {
    names: Vec<&'a str>,
    skip: Option<Skip>,
    /// Whether the class is one of JUnit 3, whose tests are known by their names.
    is_test_case: bool,
    /// Whether no test of the file is marked, so that classes with a base are taken for those of JUnit 3.
    is_unmarked: bool,
    hidden: Option<&'static str>,
}

impl<'a> Outer<'a> {
    /// Returns what surrounds the members of a class.
    fn within(&self, class: At<'a>) -> Self {
        let is_base = class.kind() == "interface_declaration" || modifier(class, "abstract").is_some();
        let is_abstract =
            is_base.then(|| Skip { line: class.line(), is_conditional: true, text: OF_BASE[1].to_owned() });
        let superclass = class.field("superclass").map_or("", At::text);
        Self {
            names: [self.names.clone(), vec![class.field("name").map_or("", At::text)]].concat(),
            skip: worse(worse(Annotations::of(class).skip, is_abstract), self.skip.clone()),
            is_test_case: superclass.contains("TestCase") || self.is_unmarked && !superclass.is_empty(),
            is_unmarked: self.is_unmarked,
            hidden: self.hidden.or_else(|| not_nested(class)),
        }
    }
}

/// Returns what a node outside of methods replaces by a mock: in the value of a field, or by an annotation.
fn double(at: At<'_>) -> Option<String> {
    const ANNOTATIONS: &[&str] =
        &["@Mock", "@Spy", "@MockBean", "@MockitoBean", "@SpyBean", "@MockitoSpyBean"];
    if at.kind() != "field_declaration" {
        return Java.mock(at);
    }
    let modifiers = at.children().into_iter().find(|part| part.kind() == "modifiers")?;
    let is_annotation = |word: &str| word.split('(').next().is_some_and(|name| ANNOTATIONS.contains(&name));
    let is_double = modifiers.text().split_whitespace().any(is_annotation);
    is_double.then(|| Some(format!("class/{}", at.field("type")?.text())))?
}

/// Returns whether a body has soft assertions that nobody asks: they fail only where they are asked, or closed, at the end.
fn is_soft(body: &str) -> bool {
    let is_closed = ["try (", "try(", ".close()"].iter().any(|end| body.contains(*end));
    let is_open = |(at, _): (usize, &str)| {
        let before = body[..at].trim_end_matches("BDD");
        !(is_closed && before.ends_with("AutoCloseable"))
    };
    body.match_indices("SoftAssertions()").any(is_open) && !body.contains("assertAll(")
}

/// Reads the tests of a Java file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let mut all: Option<Skip> = None;
    // The base of a class of JUnit 3 is often one of the project's own.
    let marks = ["@Test", "org.junit.jupiter", "org.junit.Test", "org.testng"];
    let is_unmarked = is_collected(path) && !marks.iter().any(|mark| root.text().contains(mark));
    let mut waiting = vec![(root, Outer { is_unmarked, ..Outer::default() })];
    while let Some((at, outer)) = waiting.pop() {
        match at.kind() {
            "class_declaration" | "interface_declaration" => {
                let inner = outer.within(at);
                let runs = is_collected(path) && inner.skip.is_none() && inner.hidden.is_none();
                file.classes.push(Class::new(at.field("name").map_or("", At::text), &bases(at), runs));
                let members = at.field("body").map(At::children).unwrap_or_default();
                waiting.extend(members.into_iter().rev().map(|child| (child, inner.clone())));
            }
            "method_declaration" => {
                let Some(block) = at.field("body") else { continue };
                let name = at.field("name").map_or("", At::text);
                let annotations = Annotations::of(at);
                let mut body = Java.body(block);
                let is_soft = is_soft(block.text());
                body.assertions.iter_mut().for_each(|assertion| assertion.is_swallowed |= is_soft);
                let has_none = at.field("parameters").is_some_and(|given| given.children().is_empty());
                let is_void = at.field("type").is_some_and(|kind| kind.text() == "void");
                let is_by_name = outer.is_test_case && name.starts_with("test") && has_none && is_void;
                if annotations.is_test || is_by_name {
                    let private = modifier(at, "private");
                    let private = private.map(|text| Skip { line: at.line(), is_conditional: false, text });
                    let around = worse(worse(annotations.skip, private), outer.skip);
                    body.skip = worse(around, body.skip.take());
                    body.assertions.extend(annotations.expected);
                    body.cells.extend(annotations.cells);
                    file.tests.push(Test {
                        path: path.to_owned(),
                        name: [outer.names, vec![name]].concat().join(" > "),
                        line: at.line(),
                        body,
                        focus: None,
                        cases: annotations.cases,
                        hidden: outer.hidden.or_else(|| not_run(at)),
                    });
                } else {
                    if annotations.is_set_up {
                        file.mocks.extend(body.mocks.iter().cloned());
                        all = worse(all, body.skip.clone().filter(|skip| !skip.text.starts_with("return")));
                    }
                    file.add_function(name, body);
                }
            }
            _ => {
                file.mocks.extend(double(at).map(|text| Mark { line: at.line(), text }));
                waiting.extend(at.children().into_iter().rev().map(|child| (child, outer.clone())));
            }
        }
    }
    for test in &mut file.tests {
        test.body.skip = worse(test.body.skip.take(), all.clone());
    }
    file
}
