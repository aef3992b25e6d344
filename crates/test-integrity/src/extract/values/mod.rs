//! Resolves the names of a test, as far as its text says what they stand for: literals, results of calls, and collections
//! without items.

pub(super) mod constants;
mod copies;
pub(super) mod fold;
pub(super) mod golden;
pub(super) mod losses;
pub(super) mod order;
mod steps;
pub(super) mod tainted;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::assertion::{Assertion, Strength};
use crate::extract::is_function;
use crate::syntax::tokens::inner;
use crate::syntax::{At, is_empty, is_pure};
use copies::{is_counted, is_same, plain};

/// Longest value that is looked at, in bytes.
const MAX_VALUE: usize = 400;
/// Most names that are followed from one to the next.
const MAX_STEPS: usize = 4;
/// Most bindings of one test.
const MAX_BINDINGS: usize = 500;

/// One value that a test gives to a name.
struct Binding {
    name: String,
    value: String,
    start: usize,
    end: usize,
}

/// Names of a test with what they stand for.
pub(in crate::extract) struct Values<'a> {
    bindings: Vec<Binding>,
    /// Places of the functions within the test.
    functions: Vec<Range<usize>>,
    /// Number of times that each token is in the test.
    counts: BTreeMap<&'a str, usize>,
    source: &'a str,
}

impl<'a> Values<'a> {
    /// Reads the bindings of a body; `words` are its tokens.
    pub(in crate::extract) fn of(root: At<'a>, words: &'a [String]) -> Self {
        let all = root.descendants();
        let within = all.iter().skip(1).filter(|at| is_function(at.kind()));
        let functions = within.map(|at| at.node.byte_range()).collect();
        let mut bindings: Vec<Binding> = all.into_iter().flat_map(bound).collect();
        bindings.sort_by_key(|binding| binding.start);
        bindings.truncate(MAX_BINDINGS);
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word.as_str()).or_default() += 1;
        }
        Self { bindings, functions, counts, source: root.source }
    }

    /// Returns the values of no body.
    pub(in crate::extract) fn none() -> Self {
        Self { bindings: Vec::new(), functions: Vec::new(), counts: BTreeMap::new(), source: "" }
    }

    /// Returns whether a text is that of a collection in which nothing is.
    pub(in crate::extract) fn is_empty(&self, text: &str, at: usize) -> bool {
        let named = || self.bindings.iter().rfind(|binding| binding.name == text && binding.end <= at);
        // What is at three places may be filled at one of them.
        let is_unfilled = || self.counts.get(text).is_some_and(|count| *count == 2);
        is_empty(text) || is_unfilled() && named().is_some_and(|binding| is_empty(&binding.value))
    }

    /// Notes which assertions hold whatever the program does, since both of their sides are the same or are given by the test.
    /// `starts` are the places of the assertions, and `asserted` is how often each token is in one.
    pub(in crate::extract) fn settle(
        &self,
        assertions: &mut [Assertion],
        starts: &[usize],
        asserted: &BTreeMap<String, usize>,
    ) {
        for (assertion, start) in assertions.iter_mut().zip(starts) {
            let Some((one, other)) = assertion.sides.clone() else {
                // A function is true, whatever it would come to.
                let value = self.resolve(&assertion.subject, *start, asserted);
                let is_name = !assertion.subject.contains(' ');
                if is_name && (value.starts_with("lambda") || value.starts_with("( ) =>")) {
                    assertion.strength = assertion.strength.min(assertion.truth());
                }
                continue;
            };
            let names =
                |one: &str, other: &str| one.trim_start_matches("( ").starts_with(&format!("{other} := "));
            if names(&one, &other) || names(&other, &one) {
                assertion.strength = Strength::Nothing;
                continue;
            }
            // That both have the same hash is for the program to say.
            let are_twins =
                |one: &str, other: &str| !assertion.text.contains("ashCode") && self.are_twins(one, other);
            let were_twins = are_twins(&one, &other);
            let (one, other) = (self.resolve(&one, *start, asserted), self.resolve(&other, *start, asserted));
            let are_same = is_same(&one, &other) || were_twins || are_twins(&one, &other);
            assertion.resolved = Some((one.clone(), other.clone()));
            if is_default(&one, &other) || is_default(&other, &one) {
                assertion.strength = assertion.strength.min(Strength::Present);
            }
            if are_same || is_pure(&one) && is_pure(&other) {
                assertion.strength = Strength::Nothing;
                // Neither is within any distance of the other.
                assertion.tolerance = None;
            }
        }
    }

    /// Returns whether two names were given the result of the same call, each of them once.
    fn are_twins(&self, one: &str, other: &str) -> bool {
        let value = |name: &str| {
            let mut bound = self.bindings.iter().filter(|binding| binding.name == name);
            bound
                .next()
                .map(|binding| binding.value.as_str())
                .filter(|value| value.ends_with(')') && bound.next().is_none())
        };
        value(one).zip(value(other)).is_some_and(|(one, other)| one == other)
    }

    /// Returns what a side of an assertion stands for.
    fn resolve(&self, side: &str, at: usize, asserted: &BTreeMap<String, usize>) -> String {
        let mut side = plain(side);
        for _ in 0..MAX_STEPS {
            let Some(binding) = self.bindings.iter().rfind(|known| known.name == side && known.end <= at)
            else {
                break;
            };
            if !self.holds(binding, at, asserted) {
                break;
            }
            side = plain(&binding.value);
        }
        side
    }

    /// Returns whether a name still stands for its value at some place.
    fn holds(&self, binding: &Binding, at: usize, asserted: &BTreeMap<String, usize>) -> bool {
        // Whether a function is called in which the name is given its value is for the program to say.
        if self.functions.iter().any(|function| function.contains(&binding.start) && !function.contains(&at))
        {
            return false;
        }
        if is_pure(&binding.value) {
            // Only what nothing else in the test names is certain to have kept its value.
            let last = binding.name.rsplit(' ').next().unwrap_or(&binding.name);
            let count = |of: &str, counts: &BTreeMap<&str, usize>| counts.get(of).copied().unwrap_or(0);
            let bound = self.bindings.iter().map(|other| {
                // A call may change what it is given, and so may a function that is called later.
                let copied = plain(&other.value);
                let value = if copied.contains('(') { "" } else { other.value.as_str() };
                let tokens = other.name.split(' ').chain(value.split(' '));
                tokens.filter(|token| *token == last).count()
            });
            let known = bound.sum::<usize>() + asserted.get(last).copied().unwrap_or(0);
            let between = self.source.get(binding.end..at).unwrap_or_default();
            return count(last, &self.counts) <= known && !is_counted(last, between);
        }
        // Whatever is called in between may change what the same expression comes to.
        self.source.get(binding.end..at).is_some_and(|between| !between.contains('('))
    }
}

/// Returns whether a value becomes the one that is expected where the program gives none.
fn is_default(value: &str, expected: &str) -> bool {
    const CALLS: &[&str] =
        &["unwrap_or (", "value_or (", "get_or (", "orElse (", "getOrElse (", "getOrDefault (", "Or ("];
    let value = inner(value).unwrap_or(value);
    let ends = [" ?? ", " || ", " or "].iter().any(|sign| {
        value
            .split_once(sign)
            .is_some_and(|(_, default)| default == expected || default.contains(&format!("( {expected} ,")))
    });
    let by_call = || CALLS.iter().any(|call| value.contains(call));
    is_pure(expected) && (ends || by_call() && value.ends_with(&format!(" {expected} )")))
}

/// Returns the names that a node gives a value.
fn bound(at: At<'_>) -> Vec<Binding> {
    let (left, right) = match at.kind() {
        "assignment" | "assignment_expression" | "short_var_declaration" | "assignment_statement" => {
            (at.field("left"), at.field("right"))
        }
        "named_expression" | "variable_declarator" | "var_spec" => (at.field("name"), at.field("value")),
        "let_declaration" => (at.field("pattern"), at.field("value")),
        _ => return Vec::new(),
    };
    let Some((left, right)) = left.zip(right) else { return Vec::new() };
    // `x += 1` is another kind of node in all grammars but that of Go.
    let is_plain = at.field("operator").is_none_or(|sign| matches!(sign.text(), "=" | ":="));
    if !is_plain || right.text().len() > MAX_VALUE || left.text().len() > MAX_VALUE {
        return Vec::new();
    }
    let (names, value) = (left.normal(), right.normal());
    let make = |name: &str, value: String| Binding {
        name: name.trim_start_matches("mut ").trim().to_owned(),
        value,
        start: at.node.start_byte(),
        end: at.node.end_byte(),
    };
    let names: Vec<&str> = names.split(" , ").collect();
    match names.as_slice() {
        [name] => vec![make(name, value)],
        several => {
            // The first of several results is the one that a call with one result would have.
            let parts = several.iter().enumerate();
            parts.map(|(place, name)| make(name, format!("{value}{}", "#".repeat(place)))).collect()
        }
    }
}
