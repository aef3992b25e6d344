//! Assertions that a test makes in other words: as part of a whole value, in the words of another library, or of what a fake
//! collected where a mock was asked.

use std::collections::BTreeSet;

use crate::assertion::{Assertion, Strength, split};
use crate::narrower::root;
use crate::settings::words_of;
use crate::vocabulary::{is_literal, plain};
use crate::weaker::{is_keyword, looks_away};

/// Words by which libraries lead to what is expected.
#[rustfmt::skip]
const CONNECTING: &[&str] = &[
    "and", "expect", "is", "has", "have", "to", "be", "that", "matcher", "matchers", "predicate", "predicates", "str", "assert", "times", "all",
];
/// Names that make a value of another one, and say nothing of it.
const WRAPPERS: &[&str] =
    &["Some", "Ok", "vec", "to_owned", "to_string", "into", "String", "from", "new", "as"];

/// Returns whether new assertions say what an assertion said; `now` are the tokens of the test that makes them.
pub(crate) fn is_reworded(part: &Assertion, fresh: &[&Assertion], now: &BTreeSet<&str>) -> bool {
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
    let Some(expected) = expected(whole).filter(|expected| expected.contains(['[', '{'])) else {
        return false;
    };
    let known: BTreeSet<&str> = expected.split(' ').map(bare).collect();
    let resolved = whole.resolved.as_ref().map_or("", |(one, _)| one.as_str());
    let is_named = |name: &str| whole.text.split(' ').chain(resolved.split(' ')).any(|word| word == name);
    let is_same = root(&part.subject).is_some_and(|name| is_named(name) || !now.contains(name));
    let said = self::expected(part).unwrap_or(&part.text);
    let count = || said.parse::<usize>().ok().filter(|_| part.strength == Strength::Partial);
    if !is_same || part.is_failure() || part.tolerance.is_some() || part.bound.is_some() {
        return false;
    }
    if let Some(count) = count() {
        return items(expected) == Some(count);
    }
    let is_said = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\'' | '`'))
    };
    let is_content = |word: &&str| word.contains(char::is_alphanumeric) && !WRAPPERS.contains(word);
    let is_absence =
        part.strength < Strength::Partial && [" ! ", " not "].iter().any(|sign| part.text.contains(sign));
    let own: Vec<&str> = match part.sides {
        Some(_) => {
            said.split(' ').filter(is_content).chain(part.subject.split(' ').filter(is_said)).collect()
        }
        None => said.split(' ').filter(is_said).collect(),
    };
    has_key(part, said, expected)
        && !own.is_empty()
        && own.iter().all(|word| known.contains(bare(word)) != is_absence)
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
    Some(if assertion.subject == *one { other } else { one })
}

/// Returns whether the same value is compared with something else than what a name stood for that the test no longer has.
fn is_of_other_name(part: &Assertion, other: &Assertion, now: &BTreeSet<&str>) -> bool {
    let Some((one, two)) = part.sides.as_ref() else { return false };
    let is_lost = |side: &str| {
        side.starts_with(char::is_alphabetic)
            && side.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !now.contains(side)
    };
    let is_compared = |side: &str| {
        !side.is_empty() && !is_literal(side) && format!(" {} ", other.text).contains(&format!(" {side} "))
    };
    is_lost(one) && is_compared(two) || is_lost(two) && is_compared(one)
}

/// Returns whether all words of a demand in a chain of calls are in another assertion: `andExpect ( status ( ) . isOk ( ) )` and
/// `assertThat ( response ) . hasStatusOk ( )`.
fn has_words(part: &Assertion, other: &Assertion) -> bool {
    let theirs = words_of(&other.text);
    let own: Vec<String> =
        words_of(&part.text).into_iter().filter(|word| !CONNECTING.contains(&word.as_str())).collect();
    // A matcher has a strength of its own, and a condition is true by whatever it calls.
    let is_as_strong = other.strength >= part.strength
        || other.strength == Strength::Present && part.strength == Strength::Bounded;
    is_as_strong && own.len() > 1 && own.iter().all(|word| theirs.contains(word))
}

/// Returns whether an assertion is one on a mock that the test no longer has.
fn is_of_lost_mock(part: &Assertion, now: &BTreeSet<&str>) -> bool {
    let name = plain(&part.name);
    let is_name =
        |word: &&str| word.starts_with(char::is_alphabetic) && !is_keyword(word) && *word != "verify";
    ["called", "awaited", "expectations"].iter().any(|word| name.contains(word))
        && part.text.split(' ').find(is_name).is_some_and(|mock| !now.contains(mock))
}

/// Returns whether a list or the like is compared, such as that of what was given to a fake.
fn is_of_many(assertion: &Assertion) -> bool {
    let sides = assertion.resolved.as_ref().or(assertion.sides.as_ref());
    sides.is_some_and(|(one, other)| one.contains(['[', '{']) || other.contains(['[', '{']))
}

/// Returns a literal without its quotes.
fn bare(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`'])
}
