//! Chains of calls that say of a value what it has to be: `AssertJ`, Truth, Hamcrest, Mockito.

use super::expected::{interaction, verification};
use super::thrown;
use crate::assertion::{Assertion, Strength};
use crate::extract::arguments;
use crate::syntax::At;

/// Longest chain of calls that is read.
const MAX_CHAIN: usize = 40;

/// First words of the names of calls that demand something. All others lead to what those behind them are about.
const DEMANDS: &[&str] = &[
    "is",
    "has",
    "have",
    "contains",
    "does",
    "starts",
    "ends",
    "matches",
    "satisfies",
    "all",
    "any",
    "none",
    "are",
    "returns",
];

/// Returns the calls of a chain with their names: `["assertThat", "isEqualTo"]` of `assertThat(x).isEqualTo(1)`.
pub(super) fn chain(at: At<'_>) -> Option<Vec<(At<'_>, &str)>> {
    let mut chain = Vec::new();
    let mut next = Some(at);
    while let Some(call) = next.filter(|call| call.kind() == "method_invocation" && chain.len() < MAX_CHAIN) {
        chain.push((call, call.field("name").map_or("", At::text)));
        next = call.field("object");
    }
    chain.reverse();
    // Truth takes the message first: `assertWithMessage("why").that(x).isEqualTo(1)`.
    if matches!(chain.first(), Some((_, "assertWithMessage" | "assert_" | "assertAbout"))) {
        let that = chain.iter().position(|(_, name)| *name == "that")?;
        chain.drain(..that);
        chain[0].1 = "assertThat";
    }
    (!chain.is_empty()).then_some(chain)
}

/// Returns whether a chain is BDD's name of `assertThat`; that of Mockito has `should` behind it.
fn is_then(chain: &[(At<'_>, &str)]) -> bool {
    let is_plain =
        |root: At<'_>| root.field("object").is_none_or(|object| object.text().ends_with("BDDMockito"));
    matches!(chain, [(root, "then"), _, ..] if is_plain(*root))
}

/// Returns whether a chain says of a value what it has to be.
pub(super) fn is_fluent(chain: &[(At<'_>, &str)]) -> bool {
    let Some((root, first)) = chain.first() else { return false };
    let is_verification = || {
        root.field("object")
            .is_none_or(|object| !object.text().starts_with(char::is_uppercase) || object.text() == "Mockito")
    };
    is_then(chain)
        || matches!(*first, "assertThat" | "assertThatThrownBy" | "assertThatExceptionOfType" | "expectThat")
        || *first == "verify" && is_verification()
}

/// Returns what the last call of a chain demands.
pub(super) fn of_chain(chain: &[(At<'_>, &str)], at: At<'_>) -> Option<Assertion> {
    let (root, first) = *chain.first()?;
    let (_, last) = *chain.last()?;
    let words = at.words();
    if is_then(chain) && chain.iter().any(|(_, name)| name.starts_with("should")) {
        return Some(interaction(chain, at, &words));
    }
    if at.node.parent().is_some_and(|parent| parent.kind() == "method_invocation") && chain.len() < 2 {
        return None;
    }
    if first == "verify" {
        return Some(verification(root, at, &words));
    }
    let words = if demands(chain).is_empty() { words } else { words_of(chain, chain.len() - 1) };
    let mut assertion = demanded(chain, chain.len() - 1, at.line(), &words);
    // AssertJ demands nothing before the first condition, nor with one that holds for everything.
    let is_bare = chain.len() == 1 && arguments(root).len() < 2;
    if is_bare || matches!(last, "as" | "describedAs" | "withFailMessage") || asks_nothing(at) {
        assertion.strength = Strength::Nothing;
    }
    Some(assertion)
}

/// Returns what the calls of a chain demand before the last one, as if each were said by itself.
pub(super) fn earlier(chain: &[(At<'_>, &str)], at: At<'_>) -> Vec<Assertion> {
    let demand = |place: usize| {
        let assertion = demanded(chain, place, at.line(), &words_of(chain, place));
        let strength = if asks_nothing(chain[place].0) { Strength::Nothing } else { assertion.strength };
        Assertion { strength, ..assertion }
    };
    demands(chain).into_iter().map(demand).collect()
}

/// Returns the places of the calls of a chain that demand something before the last one does.
fn demands(chain: &[(At<'_>, &str)]) -> Vec<usize> {
    if !matches!(chain, [(_, "assertThat" | "expectThat"), ..]) && !is_then(chain) {
        return Vec::new();
    }
    (1..chain.len() - 1).filter(|place| is_demand(chain[*place].1)).collect()
}

fn is_demand(name: &str) -> bool {
    let begins =
        |word: &str| name.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_lowercase));
    DEMANDS.iter().any(|word| begins(word))
}

/// Returns the tokens of a chain up to a call, but for those of the demands before it.
fn words_of<'a>(chain: &[(At<'a>, &'a str)], place: usize) -> Vec<&'a str> {
    let mut words = chain[0].0.words();
    for (at, (call, name)) in chain.iter().enumerate().take(place + 1).skip(1) {
        if at == place || !is_demand(name) {
            words.extend([".", *name]);
            words.extend(call.field("arguments").map(At::words).unwrap_or_default());
        }
    }
    words
}

/// Makes an assertion of what one call of a chain demands.
fn demanded(chain: &[(At<'_>, &str)], place: usize, line: usize, words: &[&str]) -> Assertion {
    let (root, first) = chain[0];
    let (call, name) = chain[place];
    // Hamcrest says all in one call.
    let mut given = match place {
        0 => arguments(root),
        _ => [vec![arguments(root).into_iter().next().unwrap_or_default()], arguments(call)].concat(),
    };
    if let [_, matcher] = given.as_mut_slice()
        && let Some(value) = thrown::of_equality(matcher)
    {
        *matcher = value;
    }
    let name = if place == 0 { matcher(&given).unwrap_or(first) } else { name };
    Assertion::of_call(name, &given, line, words)
}

/// Returns whether what a condition is given holds for everything: `x -> {}`, `x -> true`.
fn asks_nothing(call: At<'_>) -> bool {
    arguments(call).iter().any(|given| given.ends_with("-> { }") || given.ends_with("-> true"))
}

/// Returns the name of Hamcrest's matcher: `equalTo` of `assertThat(x, is(equalTo(1)))`.
pub(super) fn matcher(given: &[String]) -> Option<&str> {
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
    if matcher.contains("not ( nullValue") {
        return Some("isNotNull");
    }
    match names.into_iter().find(|name| matcher.contains(*name)) {
        Some("notNullValue") => Some("isNotNull"),
        Some("anything") => Some("exists"),
        Some("instanceOf") => Some("isInstanceOf"),
        found => found,
    }
}
