//! Assertions that a test makes in other words: as part of a whole value, in the words of another library, or of what a fake
//! collected where a mock was asked.

use std::collections::BTreeSet;

use super::narrower::root;
use super::{is_keyword, looks_away};
use crate::assertion::vocabulary::{is_literal, plain};
use crate::assertion::{Assertion, Strength};
use crate::syntax::tokens::{outer_call, split};
use crate::syntax::words;

/// Words by which libraries lead to what is expected.
#[rustfmt::skip]
pub(super) const CONNECTING: &[&str] = &[
    "and", "expect", "is", "has", "have", "to", "be", "that", "matcher", "matchers", "predicate", "predicates", "str", "assert", "times", "all",
];
/// Names that make a value of another one, and say nothing of it.
const WRAPPERS: &[&str] =
    &["Some", "Ok", "vec", "to_owned", "to_string", "into", "String", "from", "new", "as"];

/// Returns whether new assertions say what an assertion said; `now` are the tokens of the test that makes them.
pub(super) fn is_reworded(part: &Assertion, fresh: &[&Assertion], now: &BTreeSet<&str>) -> bool {
    let certain = || {
        fresh.iter().filter(|other| {
            !other.is_conditional
                && !other.is_swallowed
                && !looks_away(part, other)
                && part.text != other.text
        })
    };
    let exact = || certain().filter(|other| other.strength == Strength::Exact);
    part.is_link() && certain().any(|other| has_words(part, other))
        || exact().any(|other| is_in_value(part, other, now) || is_of_other_name(part, other, now))
        || is_unwrapped(part, now)
        || is_of_lost_mock(part, now) && exact().any(|other| is_of_many(other))
}

/// Returns the number of items of a list or map that stands in a text, if there is one.
pub(crate) fn items(text: &str) -> Option<usize> {
    let start = text.find(['[', '{'])?;
    let end = text.rfind([']', '}']).filter(|end| start < *end)?;
    let inner = text[start + 1..end].trim().trim_end_matches(" ,");
    Some(if inner.is_empty() { 0 } else { split(inner, &[" , "]).len() })
}

/// Returns whether a value is compared as a whole that has all that was expected of a part: `code == 0` and
/// `run ( ) == { code : 0 , lines : [ "ok" ] }`, or as many items as were counted.
fn is_in_value(part: &Assertion, whole: &Assertion, now: &BTreeSet<&str>) -> bool {
    let Some(expected) = value(whole) else { return false };
    // What a name stands for is said somewhere in the test.
    let known: BTreeSet<&str> = if is_name(&expected) {
        now.iter().copied().map(bare).collect()
    } else if has_parts(&expected) {
        expected.split(' ').map(bare).collect()
    } else {
        return false;
    };
    let resolved = whole.resolved.as_ref().map_or("", |(one, _)| one.as_str());
    let is_named = |name: &str| whole.text.split(' ').chain(resolved.split(' ')).any(|word| word == name);
    let is_same = root(&part.subject).is_some_and(|name| is_named(name) || !now.contains(name));
    if !is_same || part.is_failure() || part.tolerance.is_some() || part.bound.is_some() {
        return false;
    }
    let said = self::expected(part).unwrap_or(&part.text);
    if let Some(count) = said.parse::<usize>().ok().filter(|_| part.strength == Strength::Partial) {
        return items(&expected).map_or(is_name(&expected), |items| items == count);
    }
    let is_quoted = |word: &&str| word.starts_with(['"', '\'', '`']);
    let is_said = |word: &&str| is_quoted(word) || word.starts_with(|first: char| first.is_ascii_digit());
    let is_content = |word: &&str| word.contains(char::is_alphanumeric) && !WRAPPERS.contains(word);
    let own: Vec<&str> = match part.sides {
        Some(_) => {
            said.split(' ').filter(is_content).chain(part.subject.split(' ').filter(is_quoted)).collect()
        }
        None => said.split(' ').filter(is_said).collect(),
    };
    if own.is_empty() {
        // That a member is there, or is not, is said by its value.
        let words: Vec<&str> = part.subject.split(' ').collect();
        let mut members = words
            .windows(3)
            .filter(|three| three[0] == "." && three[2] != "(")
            .map(|three| three[1])
            .peekable();
        return members.peek().is_some() && members.all(|name| known.contains(name));
    }
    let is_absence =
        part.strength < Strength::Partial && [" ! ", " not "].iter().any(|sign| part.text.contains(sign));
    has_key(part, said, &expected) && own.iter().all(|word| known.contains(bare(word)) != is_absence)
}

/// Returns the value that an equality compares with; a list, whatever call says it, as one in brackets.
fn value(whole: &Assertion) -> Option<String> {
    let list = |text: &str| outer_call(text).map(|(_, given)| format!("[ {given} ]"));
    if ["containsexactly", "containsonly"].iter().any(|name| plain(&whole.name).starts_with(name)) {
        return list(&whole.text);
    }
    let expected = expected(whole)?;
    let is_list =
        outer_call(expected).is_some_and(|(callee, _)| callee.ends_with(" of") || callee.ends_with("asList"));
    if is_list { list(expected) } else { Some(expected.to_owned()) }
}

/// Returns whether a value is made of several: a list, a map, or what a constructor is given.
fn has_parts(value: &str) -> bool {
    let constructor = value.split_once(" (").map(|(callee, _)| callee.rsplit(' ').next().unwrap_or(callee));
    value.contains(['[', '{'])
        || constructor.is_some_and(|name| name.starts_with(char::is_uppercase) && !WRAPPERS.contains(&name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// Returns whether a member of the name of a part has the value that was expected of it, if the whole has members by name.
fn has_key(part: &Assertion, said: &str, expected: &str) -> bool {
    let (is_member, name) = match part.subject.rsplit_once(" . ") {
        Some((_, name)) => (!name.contains(' '), name),
        None => (false, part.subject.as_str()),
    };
    let mut keys = expected.match_indices(" : ").map(|(at, sign)| expected.split_at(at + sign.len()));
    let value = keys.find(|(key, _)| key[..key.len() - 3].rsplit(' ').next().map(bare) == Some(name));
    value.map_or(!is_member || !expected.contains(" : "), |(_, value)| {
        value.trim_start_matches(['[', '(', '{', ' ']).starts_with(said)
    })
}

/// Returns the side of an equality that is not what it is about.
fn expected(assertion: &Assertion) -> Option<&str> {
    let (one, other) = assertion.sides.as_ref()?;
    let is_list = |side: &str| side.contains(['[', '{']);
    let is_unknown = assertion.subject != *one && assertion.subject != *other;
    let is_first = assertion.subject == *other || is_unknown && (is_list(one) || !is_list(other));
    Some(if is_first { one } else { other })
}

/// Returns whether the same value is compared with something else than what a name stood for that the test no longer has.
fn is_of_other_name(part: &Assertion, other: &Assertion, now: &BTreeSet<&str>) -> bool {
    let Some((one, two)) = part.sides.as_ref() else { return false };
    let is_lost = |side: &str| is_name(side) && !now.contains(side);
    let is_compared = |side: &str| {
        !side.is_empty() && !is_literal(side) && format!(" {} ", other.text).contains(&format!(" {side} "))
    };
    is_lost(one) && is_compared(two) || is_lost(two) && is_compared(one)
}

/// Returns whether all words of a demand in a chain of calls are in another assertion: `andExpect ( status ( ) . isOk ( ) )` and
/// `assertThat ( response ) . hasStatusOk ( )`.
fn has_words(part: &Assertion, other: &Assertion) -> bool {
    let theirs = words(&other.text);
    let own: Vec<String> =
        words(&part.text).into_iter().filter(|word| !CONNECTING.contains(&word.as_str())).collect();
    // A matcher has a strength of its own, and a condition is true by whatever it calls.
    let is_as_strong = other.strength >= part.strength
        || other.strength == Strength::Present && part.strength == Strength::Bounded;
    is_as_strong && own.len() > 1 && own.iter().all(|word| theirs.contains(word))
}

/// Returns whether a failure was asked for that the test now takes out of the result, which fails if there is none.
fn is_unwrapped(part: &Assertion, now: &BTreeSet<&str>) -> bool {
    let result = part.subject.strip_suffix(" . is_err ( )");
    result.and_then(root).is_some_and(|name| !now.contains(name))
        && ["unwrap_err", "expect_err"].iter().any(|taken| now.contains(taken))
}

/// Returns whether an assertion is one on a mock that the test no longer has.
fn is_of_lost_mock(part: &Assertion, now: &BTreeSet<&str>) -> bool {
    const OF_CALLS: &[&str] =
        &["called", "Called", "awaited", "call_", "mock_calls", "Expectations", "NumberOfCalls", "verify ("];
    let is_mock =
        |word: &&str| word.starts_with(char::is_alphabetic) && !is_keyword(word) && *word != "verify";
    OF_CALLS.iter().any(|word| part.text.contains(word))
        && part.text.split(' ').find(is_mock).is_some_and(|mock| !now.contains(mock))
}

/// Returns whether a list or the like is compared, such as that of what was given to a fake.
fn is_of_many(assertion: &Assertion) -> bool {
    value(assertion).is_some_and(|value| value.contains(['[', '{']))
}

/// Returns a literal without its quotes.
fn bare(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`'])
}
