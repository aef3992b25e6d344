//! Reads what the decorators of a Python function or class say about tests.

use std::collections::BTreeSet;

use super::Python;
use super::collected::Class;
use crate::assertion::Assertion;
use crate::extract::{Mark, Reader, Skip, arguments, cells, rows};
use crate::syntax::At;

/// Marks that keep tests from running.
const SKIPPING: &[&str] = &["skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "skip_if"];

/// What the decorators of a function or class say.
#[derive(Clone, Default)]
pub(super) struct Decorators {
    pub(super) skip: Option<Skip>,
    pub(super) cases: Option<usize>,
    /// Tokens of the cases.
    pub(super) words: Vec<String>,
    /// Tokens of the tables of cases that stand elsewhere.
    pub(super) cells: Vec<String>,
    /// What the class around says.
    pub(super) class: Class,
    /// Names of all decorators.
    pub(super) names: Vec<String>,
    /// Name of the fixture that the function is, if it has another one, and how many values it has.
    pub(super) fixture: Option<(Option<String>, usize)>,
    /// Names of fixtures that are asked for.
    pub(super) asked: Vec<String>,
    pub(super) mocks: Vec<Mark>,
    /// Failures that the whole function has to end with.
    pub(super) failures: Vec<Assertion>,
}

impl Decorators {
    pub(super) fn of(definition: At<'_>) -> Self {
        let mut all = Self::default();
        let parent = definition.node.parent().filter(|parent| parent.kind() == "decorated_definition");
        let Some(decorated) = parent.map(|node| definition.with(node)) else { return all };
        for decorator in decorated.children().into_iter().filter(|child| child.kind() == "decorator") {
            let text = meant(decorator);
            let name = text.split('(').next().unwrap_or(text).trim();
            let last = name.rsplit('.').next().unwrap_or(name);
            all.names.push(name.to_owned());
            if SKIPPING.contains(&last) {
                let is_conditional = matches!(last, "skipif" | "skipIf" | "skipUnless" | "skip_if")
                    && !is_always(text)
                    || last == "xfail" && text.contains("xfail(") && has_condition(decorator);
                all.words.extend(decorator.words().into_iter().map(str::to_owned));
                all.skip = Some(Skip { line: decorator.line(), is_conditional, text: format!("@{text}") });
            } else if last == "raises" && text.contains('(') {
                all.failures.extend(failure(decorator));
            } else if matches!(last, "given" | "settings" | "example" | "override_settings") {
                all.words.extend(decorator.words().into_iter().map(str::to_owned));
            } else if last == "fixture" {
                all.fixture = fixture(decorator);
            } else if last == "usefixtures" {
                let texts = decorator.descendants().into_iter().filter(|below| below.kind() == "string");
                all.asked.extend(texts.map(|text| text.text().trim_matches(['"', '\'']).to_owned()));
            } else if matches!(last, "parametrize" | "expand" | "data" | "ddt") {
                // The names come first, and may be a tuple as well.
                let given = decorator.descendants().into_iter().find(|below| below.kind() == "argument_list");
                let given = given.map(At::children).unwrap_or_default();
                let from = usize::from(last == "parametrize" && given.len() > 1);
                let of_list = given
                    .iter()
                    .skip(from)
                    .find(|argument| matches!(argument.kind(), "list" | "tuple"))
                    .copied();
                if of_list.is_none() {
                    let number = given.iter().skip(from).find_map(|argument| rows::len(*argument));
                    all.cases = number.map(|number| all.cases.unwrap_or(1) * number).or(all.cases);
                    let named = given.iter().skip(from).filter_map(|argument| rows::named(*argument));
                    all.cells.extend(named.flat_map(cells::of_table));
                }
                if let Some(list) = of_list {
                    all.cases = Some(all.cases.unwrap_or(1) * running(list));
                    all.words.extend(list.words().into_iter().map(str::to_owned));
                }
            }
            let is_none = all.cases == Some(0);
            if is_none || last == "usefixtures" && text.contains("skip") {
                let text = format!("@{text}");
                all.skip = all.skip.or(Some(Skip { line: decorator.line(), is_conditional: !is_none, text }));
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

/// Returns the name that a decorator gives a fixture, and how many values it has: `@pytest.fixture(name="size", params=[1, 2])`.
fn fixture(decorator: At<'_>) -> Option<(Option<String>, usize)> {
    let given = decorator.descendants().into_iter().filter(|below| below.kind() == "keyword_argument");
    let given: Vec<(&str, At<'_>)> =
        given.filter_map(|at| Some((at.field("name")?.text(), at.field("value")?))).collect();
    let of = |key: &str| given.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let values = of("params").filter(|values| matches!(values.kind(), "list" | "tuple"))?;
    let name = of("name").map(|name| name.text().trim_matches(['"', '\'']).to_owned());
    Some((name, running(values)))
}

/// Returns the failure that a decorator expects: `@raises(KeyError)`.
fn failure(decorator: At<'_>) -> Option<Assertion> {
    let call = decorator.descendants().into_iter().find(|below| below.kind() == "call")?;
    let kind = arguments(call).into_iter().next().unwrap_or_default();
    Some(Assertion::of_failure(&kind, false, decorator.line(), &call.words()))
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

/// Returns the text of a decorator, or of what its name stands for: `broken` of `broken = pytest.mark.skip(reason="later")`.
fn meant(decorator: At<'_>) -> &str {
    let text = decorator.text().trim_start_matches('@').trim();
    let Some(expression) = decorator.children().into_iter().next() else { return text };
    let name = expression.field("function").unwrap_or(expression);
    mark(name).map_or(text, At::text)
}

/// Returns the mark that a name stands for, if it keeps tests from running.
pub(super) fn mark(name: At<'_>) -> Option<At<'_>> {
    let value = name.given.filter(|_| name.kind() == "identifier")?.value(name)?;
    let function = value.field("function").unwrap_or(value).text();
    let last = function.rsplit('.').next().unwrap_or(function);
    SKIPPING.contains(&last).then_some(value)
}

/// Returns whether a decorator has an argument that is a condition rather than a reason.
fn has_condition(decorator: At<'_>) -> bool {
    let call = decorator.children().into_iter().find(|child| child.kind() == "call");
    let first =
        call.and_then(|call| call.field("arguments")).and_then(|list| list.children().into_iter().next());
    first.is_some_and(|first| !matches!(first.kind(), "keyword_argument" | "string" | "true"))
}
