//! Values of which something is lost before they are compared that was compared before: their order, white space, the case of letters, or
//! members. What is expected lost the same, so that each assertion by itself demands as much as before.

use std::collections::BTreeMap;

use crate::Change;
use crate::assertion::origin::{CASE, ORDER, Origin, PART, SPACE};
use crate::assertion::vocabulary::plain;
use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::files::{Role, extension};
use crate::finding::{Finding, Kind, short};
use crate::matching::state::State;
use crate::syntax::tokens::{outer_call, split};
use crate::syntax::{is_pure, literals, without_strings};

/// Most pairs of assertions of one test that are compared.
const MAX_PAIRED: usize = 250_000;
/// Most functions that a test newly calls which are looked into.
const MAX_HELPERS: usize = 10;

/// Words of code whose results come in no order of their own.
#[rustfmt::skip]
const UNORDERED: &[&str] = &[
    "set(", "Set", "HashMap", "map[", "as_completed", "gather", "Promise.all", "hread", "spawn", "arallel", "par_", "rayon", "go func", "chan ",
    "pool", "Pool", "xecutor", "oncurrent", "glob", "listdir", "iterdir", "scandir", "eaddir", "ReadDir", "read_dir", "walk", "Walk", "unordered",
    "random", "shuffle", "Queue", "async", "channel", "mpsc", "dict(", "SELECT", "Files.list",
];
/// Parts of the names of assertions that ask for no order.
const ANY_ORDER: &[&str] = &["anyorder", "elementsmatch", "countequal", "ignoringorder", "samemembers"];
/// Words of code that puts results in an order.
const ORDERED: &[&str] =
    &["sort", "Sort", "rder", "BTree", "LinkedHash", "TreeMap", "reverse", "min(", "max("];
/// Words of code that sets white space.
const SPACED: &[&str] =
    &["strip", "rim", "\\n", "\\t", "ndent", "rintln", "whitespace", "join", "Join", "pad"];
/// Words of code that sets the case of letters.
const CASED: &[&str] = &["ower", "pper", "apital", "itle", "casefold"];

/// Returns what is lost of a value before a test compares it.
pub(super) fn of_pair(
    before: &Test,
    (state, after): (&State, &Test),
    changes: &[Change<'_>],
) -> Option<Finding> {
    let (old, new) = (&before.body.assertions, &after.body.assertions);
    if old.len().saturating_mul(new.len()) > MAX_PAIRED {
        return None;
    }
    let Some((was, is, lost)) = old.iter().find_map(|was| lost(was, new).map(|(is, lost)| (was, is, lost)))
    else {
        let (call, lost) =
            by_helper(before, after, state).filter(|(_, lost)| !has_reason(*lost, &[], changes))?;
        let (call, lost) = (short(&call), named(lost));
        let message = format!("in `{}`: `{call}` compares what the {lost} is lost of", after.name);
        return Some(Finding::new(&after.path, after.line, Kind::WeakerAssertion, message));
    };
    let is_named = |word: &str| {
        new.iter().filter(|other| other.text != is.text && old.iter().all(|own| own.text != other.text)).any(
            |other| {
                other
                    .text
                    .split(|sign: char| !sign.is_alphanumeric() && sign != '_')
                    .any(|other| other == word)
            },
        )
    };
    let gone = gone(was, is);
    if lost & PART != 0 && gone.iter().any(|word| is_named(word)) || has_reason(lost, &gone, changes) {
        return None;
    }
    let message = format!(
        "in `{}`: `{}` became `{}`, of whose value the {} is lost before",
        after.name,
        short(&was.text),
        short(&is.text),
        named(lost)
    );
    Some(Finding::new(&after.path, is.line, Kind::WeakerAssertion, message))
}

/// Returns the names of what is lost.
fn named(lost: u8) -> String {
    let all = [(ORDER, "order"), (CASE, "case"), (SPACE, "white space"), (PART, "members")];
    let names: Vec<&str> = all.iter().filter(|(loss, _)| lost & loss != 0).map(|(_, name)| *name).collect();
    names.join(" and the ")
}

/// Returns the call of a function that newly asserts what a test asserted, and loses something of both sides before.
fn by_helper(before: &Test, after: &Test, state: &State) -> Option<(String, u8)> {
    let calls = || after.body.outcomes.needed.iter().chain(after.body.outcomes.dropped.keys());
    let is_new = |name: &&String| !before.body.calls.contains(name);
    after.body.calls.iter().filter(is_new).take(MAX_HELPERS).find_map(|name| {
        let asserted = state.helper(name)?.iter().filter_map(|assertion| assertion.origins.as_deref());
        let lost = asserted.map(|(one, other)| one.lost & other.lost).fold(0, |all, lost| all | lost);
        let call = calls()
            .find(|call| outer_call(call).is_some_and(|(callee, _)| callee.ends_with(name.as_str())))?;
        let given = split(outer_call(call)?.1, &[" , "]);
        let compares = |was: &Assertion| {
            was.origins.as_deref().is_some_and(|(_, expected)| {
                is_pure(&expected.core)
                    && given
                        .iter()
                        .any(|given| is_same(expected, &Origin { core: (*given).to_owned(), lost }, lost))
            })
        };
        let gone = |was: &&Assertion| after.body.assertions.iter().all(|other| other.text != was.text);
        let is_one = lost != 0 && before.body.assertions.iter().filter(gone).any(compares);
        is_one.then(|| (call.clone(), lost))
    })
}

/// Returns the assertion that compares the same with the same, but for what is lost now.
fn lost<'a>(was: &Assertion, new: &'a [Assertion]) -> Option<(&'a Assertion, u8)> {
    let (tested, expected) =
        was.origins.as_deref().filter(|_| was.strength >= Strength::Partial && !was.is_failure())?;
    // What a test makes itself may be changed by what it tests.
    let is_result = tested.core.ends_with(')') || !tested.core.contains(' ');
    if !is_result || is_pure(&tested.core) {
        return None;
    }
    let gained: Vec<(&Assertion, u8)> = new
        .iter()
        .filter(|other| other.strength >= was.strength)
        .filter_map(|other| Some((other, other.lost_since(was)?)))
        .collect();
    if gained.iter().any(|(_, lost)| *lost == 0) {
        return None;
    }
    gained
        .into_iter()
        .find(|(other, lost)| other.origins.as_deref().is_some_and(|(_, now)| is_same(expected, now, *lost)))
}

/// Returns whether what is expected now is what was expected, without what is lost.
fn is_same(was: &Origin, is: &Origin, lost: u8) -> bool {
    let (old, new) = (items(&was.core, lost), items(&is.core, lost));
    if lost & PART != 0 {
        let fewer = counts(&old);
        let is_part =
            counts(&new).into_iter().all(|(item, count)| fewer.get(item).is_some_and(|had| *had >= count));
        return is_part
            && (new.len() < old.len() && !new.is_empty() || old.len() == new.len() && is.lost & PART != 0);
    }
    // How often each item occurs is counted instead.
    let texts = |all: &[String]| -> Vec<String> {
        all.iter().filter(|item| !item.starts_with(|first: char| first.is_ascii_digit())).cloned().collect()
    };
    let is_counted =
        lost & ORDER != 0 && is.core.contains(" : ") && !texts(&old).is_empty() && texts(&new) == old;
    // One item has no order.
    let is_enough = lost != ORDER || old.len() > 1 || !is_pure(&was.core);
    !old.is_empty() && is_enough && (old == new || is_counted)
}

fn counts(items: &[String]) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for item in items {
        *found.entry(item.as_str()).or_default() += 1;
    }
    found
}

/// Returns the literals and the names of a value, without what is lost of them.
fn items(text: &str, lost: u8) -> Vec<String> {
    let bare = without_strings(text);
    let words: Vec<&str> = bare.split_whitespace().collect();
    // What makes a collection is none of its items.
    let is_item = |(at, word): (usize, &&str)| {
        word.starts_with(char::is_alphanumeric)
            && !words
                .get(at + 1)
                .is_some_and(|next| matches!(*next, "(" | "{" | "." | "::" | "!" | "[" | "<" | "<>"))
    };
    let names = words.iter().enumerate().filter(|item| is_item(*item)).map(|(_, word)| (*word).to_owned());
    let texts = literals(text).map(|text| match lost & SPACE {
        0 => text.to_owned(),
        _ => ["\\n", "\\t", "\\r", " ", "\n", "\t"]
            .iter()
            .fold(text.to_owned(), |text, blank| text.replace(blank, "")),
    });
    let texts: Vec<String> = texts.collect();
    let texts = if lost & SPACE == 0 || texts.is_empty() { texts } else { vec![texts.concat()] };
    let mut all: Vec<String> = texts.into_iter().chain(names).collect();
    if lost & CASE != 0 {
        all = all.iter().map(|text| text.to_lowercase()).collect();
    }
    if lost & (ORDER | PART) != 0 {
        all.sort();
    }
    all
}

/// Returns the items that are no longer expected.
fn gone(was: &Assertion, is: &Assertion) -> Vec<String> {
    let all = |assertion: &Assertion| {
        assertion.origins.as_ref().map(|origins| items(&origins.1.core, 0)).unwrap_or_default()
    };
    let kept = all(is);
    all(was)
        .into_iter()
        .filter(|item| !kept.contains(item) && item.starts_with(char::is_alphabetic))
        .collect()
}

/// Returns whether the program changed in a way that may be the reason.
fn has_reason(lost: u8, gone: &[String], changes: &[Change<'_>]) -> bool {
    let lines = |one: Option<&str>, other: Option<&str>, words: &[&str]| {
        let known: std::collections::BTreeSet<&str> =
            other.unwrap_or_default().lines().map(str::trim).collect();
        one.unwrap_or_default()
            .lines()
            .filter(|line| !known.contains(line.trim()))
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    let mut sources = changes.iter().filter(|change| Role::of(change.path) == Role::Source);
    sources.any(|change| {
        let added = |words: &[&str]| lines(change.after, change.before, words);
        let changed = |words: &[&str]| added(words) || lines(change.before, change.after, words);
        lost & ORDER != 0 && (added(UNORDERED) || changed(ORDERED) || writes_set(change))
            || lost & SPACE != 0 && changed(SPACED)
            || lost & CASE != 0 && changed(CASED)
            || lost & PART != 0 && changed(&gone)
    })
}

/// Returns whether a finding is that an order is given up for which the program no longer stands.
pub(super) fn is_of_order(finding: &Finding, after: &Test, changes: &[Change<'_>]) -> bool {
    let ignores = |assertion: &Assertion| {
        let name = plain(&assertion.name);
        assertion.line == finding.line && ANY_ORDER.iter().any(|word| name.contains(word))
    };
    finding.kind == Kind::WeakerAssertion
        && (finding.message.ends_with("in whatever order") || after.body.assertions.iter().any(ignores))
        && has_reason(ORDER, &[], changes)
}

/// Returns whether a program of Python's has a new set that is written out.
fn writes_set(change: &Change<'_>) -> bool {
    let count = |text: Option<&str>| {
        let lines = text.unwrap_or_default().lines();
        lines.filter(|line| (line.contains("{\"") || line.contains("{'")) && !line.contains(':')).count()
    };
    extension(change.path) == "py" && count(change.after) > count(change.before)
}
