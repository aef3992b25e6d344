//! Two assertions, or two sets of them, compared: which demands less, and which says what another one said. It uses single
//! assertions ([`crate::assertion`]) and the tests that make them ([`crate::extract`]), and knows nothing of which test became which.

mod documents;
mod flags;
mod given;
mod ignoring;
pub(crate) mod implied;
mod kept;
mod messages;
mod methods;
pub(crate) mod narrower;
pub(crate) mod reworded;
pub(crate) mod subsumption;
mod whole;

use std::collections::BTreeSet;

use crate::assertion::{Assertion, Strength, is_mere_failure};
use crate::finding::{Kind, short};
use flags::is_same_flag;
use ignoring::leaves_out;
use kept::{counts_assertions, is_set_as_before};
pub(crate) use kept::{counts_for_nothing, is_said_beside};
use methods::{
    is_never_called, is_same_equality, is_same_error_text, is_same_search, is_same_truth, is_without_members,
};
use narrower::narrower;

/// Returns the assertion that has most words in common with one, if they have enough.
pub(crate) fn most_alike(assertion: &Assertion, others: &[Assertion]) -> Option<usize> {
    let own: BTreeSet<&str> = assertion.content().filter(|word| !is_keyword(word)).collect();
    // One that has all the literals says the same in other words.
    let literal =
        |word: &&&str| word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''));
    let literals: Vec<&str> = own.iter().filter(literal).copied().collect();
    let has_all = |other: &Assertion| {
        let theirs: BTreeSet<&str> = other.content().collect();
        !literals.is_empty() && literals.iter().all(|word| theirs.contains(word))
    };
    // A number of assertions is no value.
    let counts = counts_assertions(assertion);
    let alike = || others.iter().enumerate().filter(|(_, other)| counts_assertions(other) == counts);
    let is_chosen = alike().any(|(_, other)| has_all(other));
    let scored = alike().filter(|(_, other)| !is_chosen || has_all(other));
    let scored = scored.map(|(at, other)| {
        let theirs: BTreeSet<&str> = other.content().filter(|word| !is_keyword(word)).collect();
        let common = own.intersection(&theirs).count();
        (common * 2, own.len() + theirs.len(), at)
    });
    // More than a third of the words in common; a truth says nothing, so that anything may have become it.
    let (common, total, at) = scored.max_by_key(|(common, total, _)| common * 1000 / (*total).max(1))?;
    if common * 3 > total {
        Some(at)
    } else {
        others.iter().position(|other| other.strength == Strength::Nothing)
    }
}

/// Returns the one of some assertions that are about the same as one which has most words in common with it.
pub(crate) fn nearest(
    assertion: &Assertion,
    others: &[Assertion],
    is_same: impl Fn(&Assertion) -> bool,
) -> Option<usize> {
    let own: BTreeSet<&str> = assertion.content().collect();
    let same = others.iter().enumerate().rev().filter(|(_, other)| is_same(other));
    let common = |other: &Assertion| other.content().filter(|word| own.contains(word)).count();
    // Of several that have as much in common, it is one that demands as much.
    same.max_by_key(|(_, other)| (common(other), other.strength >= assertion.strength)).map(|(at, _)| at)
}

pub(crate) fn is_keyword(word: &str) -> bool {
    let plain = crate::assertion::vocabulary::plain(word);
    plain.starts_with("assert")
        || matches!(
            plain.as_str(),
            "self"
                | "expect"
                | "t"
                | "require"
                | "is"
                | "not"
                | "in"
                | "and"
                | "or"
                | "len"
                | "true"
                | "false"
        )
}

/// Returns how an assertion demands less than it did.
pub(crate) fn weaker(before: &Assertion, after: &Assertion) -> Option<(Kind, String)> {
    let change = || format!("`{}` became `{}`", short(&before.text), short(&after.text));
    // A name that is built in may be the program's own; it is not if the test was about another one.
    let is_constant = |assertion: &Assertion| {
        assertion.text.strip_prefix("assert ").is_some_and(crate::assertion::vocabulary::is_constant)
    };
    let is_nothing = after.strength == Strength::Nothing || is_constant(after) && !is_constant(before);
    if is_nothing && (is_set_as_before(before, after) || is_same_equality(before, after)) {
        return None;
    }
    if is_nothing && before.strength > Strength::Nothing {
        return Some((Kind::AlwaysTrue, format!("{}, which is always true", change())));
    }
    if let (Some(old), Some(new)) = (before.tolerance, after.tolerance)
        && new > old * 1.000_001
    {
        return Some((Kind::WiderTolerance, format!("{}, which accepts more", change())));
    }
    if let (Some(old), Some(new)) = (before.bound, after.bound)
        && before.subject == after.subject
        && old.is_within(new)
    {
        return Some((Kind::WiderTolerance, format!("{}, which accepts more", change())));
    }
    let words: Vec<&str> = after.text.split(' ').collect();
    if before.tolerance.is_some_and(|old| old < 0.5)
        && after.tolerance.is_none()
        && crate::assertion::bounds::is_whole(&words)
    {
        return Some((Kind::WiderTolerance, format!("{}, which compares only the integer part", change())));
    }
    if after.strength < before.strength && !demands_the_same(before, after) && !is_reversed(before, after) {
        return Some((Kind::WeakerAssertion, format!("{}, which is weaker", change())));
    }
    if before.tolerance.is_none()
        && before.strength == Strength::Exact
        && after.tolerance.is_some_and(|new| last_digit(before).is_some_and(|unit| new > unit * 1.000_001))
    {
        return Some((Kind::WiderTolerance, format!("{}, which accepts other digits", change())));
    }
    if let Some(how) = narrower(before, after) {
        return Some((Kind::WeakerAssertion, format!("{}, {how}", change())));
    }
    if let Some(pattern) = fits_more(before, after) {
        return Some((Kind::WeakerAssertion, format!("{}: `{pattern}` fits more", change())));
    }
    if gives_up_order(before, after) && before.strength > Strength::Present {
        return Some((Kind::WeakerAssertion, format!("{}, in whatever order", change())));
    }
    if let Some(name) = compares_itself(before, after) {
        return Some((Kind::WeakerAssertion, format!("{}, which compares `{name}` with itself", change())));
    }
    if before.strength > Strength::Present && leaves_out(before, after) {
        return Some((Kind::WeakerAssertion, format!("{}, which leaves something out", change())));
    }
    let is_cut = after.strength == before.strength
        && (after.text.len() < before.text.len() && drops_a_part(&before.text, &after.text)
            || drops_order(&before.text, &after.text)
            || is_of_part(before, after));
    is_cut.then(|| (Kind::WeakerAssertion, format!("{}, which is weaker", change())))
}

/// Returns the unit of the last digit of the only number that is expected: a hundredth for `1.67`.
fn last_digit(assertion: &Assertion) -> Option<f64> {
    let (_, expected) = assertion.operands()?;
    let bare = |word: &'_ str| word.trim_matches(['"', '\'']).to_owned();
    let mut numbers = expected.split(' ').map(bare).filter(|word| word.parse::<f64>().is_ok());
    let number = numbers.next().filter(|_| numbers.next().is_none())?;
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    Some(0.1_f64.powi(i32::try_from(digits).ok()?))
}

/// Returns whether a value is compared without the order that it was compared with before.
fn gives_up_order(before: &Assertion, after: &Assertion) -> bool {
    let had_none = ["Set", "set (", "sorted (", "Map"].iter().any(|name| before.text.contains(name));
    after.is_unordered && !before.is_unordered && !had_none && after.lost_since(before) != Some(0)
}

/// Returns the pattern that fits all that the plain text before it fitted, and more: `/status 503/` became `/status \\d*/`.
fn fits_more<'a>(before: &Assertion, after: &'a Assertion) -> Option<&'a str> {
    const META: [char; 8] = ['*', '+', '?', '[', '(', '|', '\\', '.'];
    fn pattern(text: &str) -> Option<&str> {
        let rest = text
            .split_once(" / ")
            .map(|(_, rest)| rest)
            .or_else(|| text.split_once(" /").map(|(_, rest)| rest));
        let by_slash = rest.and_then(|rest| rest.rsplit_once('/')).map(|(inner, _)| inner.trim());
        by_slash.or_else(|| {
            let rest = text.split_once("match = ").map(|(_, rest)| rest)?;
            crate::syntax::literals(rest).next()
        })
    }
    let (old, new) = (pattern(&before.text)?, pattern(&after.text)?);
    let is_plain = !old.is_empty() && !old.contains(META);
    // Signs that mean themselves may have another one in front that says so.
    let is_escaped = || {
        new.replace('\\', "") == old
            && new.split('\\').skip(1).all(|rest| rest.starts_with(|sign: char| sign.is_ascii_punctuation()))
    };
    let is_looser = is_plain && new.contains(META) && new.len() < 200 && old != new && !is_escaped();
    let found = is_looser.then(|| regex::Regex::new(new).ok()).flatten()?;
    found.is_match(old).then_some(new)
}

/// Returns the name of the function that gives both sides of a comparison whose one side was a literal before.
fn compares_itself<'a>(before: &Assertion, after: &'a Assertion) -> Option<&'a str> {
    let is_pure = |side: &str| crate::syntax::is_pure(side);
    let (one, other) = before.sides.as_ref()?;
    let had_literal = is_pure(one) != is_pure(other);
    let (one, other) = after.sides.as_ref().filter(|_| had_literal)?;
    let called = |side: &'a str| -> Option<&'a str> {
        let words: Vec<&str> = side.strip_suffix(')')?.split(' ').collect();
        let mut names =
            words.windows(2).filter(|two| two[1] == "(" && two[0].starts_with(char::is_alphabetic));
        names.next_back().map(|two| two[0])
    };
    let (first, second) = (called(one)?, called(other)?);
    let given = |side: &str| side.rsplit_once(" (").map(|(_, given)| given.to_owned());
    // A constructor gives the value that is expected.
    let is_function = first.starts_with(|letter: char| letter.is_lowercase())
        && !matches!(
            first,
            "of" | "from"
                | "into"
                | "new"
                | "len"
                | "list"
                | "str"
                | "sorted"
                | "set"
                | "dict"
                | "tuple"
                | "int"
                | "float"
                | "asList"
                | "to_string"
                | "to_owned"
                | "String"
                | "collect"
                | "join"
                | "format"
        );
    let before_names = before.text.split(' ').any(|word| word == first);
    (first == second && given(one) == given(other) && is_function && before_names).then_some(first)
}

/// Returns whether a condition has to be false now where it had to be true: another expectation, which is not a weaker one.
fn is_reversed(before: &Assertion, after: &Assertion) -> bool {
    const PAIRS: &[(&str, &str)] = &[("istrue", "isfalse"), ("asserttrue", "assertfalse")];
    let is_pair = |(one, other): (&str, &str)| PAIRS.contains(&(one, other)) || PAIRS.contains(&(other, one));
    let plain = |assertion: &Assertion| crate::assertion::vocabulary::plain(&assertion.name);
    !before.subject.is_empty() && before.subject == after.subject && is_pair((&plain(before), &plain(after)))
}

/// Returns whether a part of a value is compared with a part of what the whole was compared with: `f ( ) == [ 1 , 2 ]` became
/// `f ( ) [ 0 ] == 1`.
fn is_of_part(before: &Assertion, after: &Assertion) -> bool {
    let literals = |assertion: &Assertion| -> Option<Vec<String>> {
        let (_, expected) = assertion.operands()?;
        let is_literal = |word: &&str| {
            word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
        };
        Some(expected.split(' ').filter(is_literal).map(str::to_owned).collect())
    };
    let rest = after.subject.strip_prefix(&before.subject).filter(|_| !before.subject.is_empty());
    let is_place = rest.is_some_and(|rest| {
        [" [ ", " . get ( ", " . first ( )", " . at ( ", " . keys ( )", " . getFirst ( )"]
            .iter()
            .any(|place| rest.starts_with(place))
    });
    is_place
        && literals(before).zip(literals(after)).is_some_and(|(old, new)| {
            new.len() < old.len() && new.iter().all(|literal| old.contains(literal))
        })
}

/// Returns whether calls no longer have to come in an order: `order . verify ( store )` became `verify ( store )`.
fn drops_order(before: &str, after: &str) -> bool {
    let object = before.strip_suffix(after).and_then(|start| start.strip_suffix(" . "));
    after.starts_with("verify (") && object.is_some_and(|object| !object.contains(' ') && object != "Mockito")
}

/// Parts of assertions that accept all numbers on one side of a limit.
const LIMITS: &[&str] =
    &["Less", "Greater", "less", "greater", "ast (", "most (", "bove", "elow", " < ", " > ", " <= ", " >= "];

/// Names of how many there are of something.
#[rustfmt::skip]
const OF_LENGTH: &[&str] = &[
    "length", "size", "len", "Len", "HaveLen", "hasLength", "hasSize", "toHaveLength", "toHaveCount", "callCount", "calls", "toHaveBeenCalledTimes",
    "call_count",
];

/// Returns whether an assertion says how many there are of something, rather than at least or at most how many.
pub(crate) fn is_count(assertion: &Assertion) -> bool {
    assertion.bound.is_none()
        && !LIMITS.iter().any(|limit| assertion.text.contains(limit))
        && assertion.text.split(' ').any(|word| OF_LENGTH.contains(&word))
}

/// Returns whether an assertion says in other words what another one said.
pub(crate) fn demands_the_same(before: &Assertion, after: &Assertion) -> bool {
    const OF_TRUTH: &[&str] = &["isTrue", "isFalse", "assertTrue", "assertFalse"];
    const OF_MEMBERS: &[&str] = &["contains", "doesNotContain"];
    let has = |assertion: &Assertion, words: &[&str]| assertion.content().any(|word| words.contains(&word));
    let theirs: BTreeSet<&str> = after.content().collect();
    // Of names of the test's own, it may say what they stand for.
    let meant = before.resolved.as_ref().map(|(one, other)| format!("{one} {other}"));
    let is_said = |but: &[&str]| {
        let is_there = |word: &str| is_keyword(word) || but.contains(&word) || theirs.contains(word);
        let mut meant = meant
            .iter()
            .flat_map(|text| text.split(' '))
            .filter(|word| subsumption::is_value(word))
            .peekable();
        before.content().all(is_there) || meant.peek().is_some() && meant.all(is_there)
    };
    // `assertEquals(true, a.b())` and `assertThat(a.b()).isTrue()`; where anything can be true, this is no more than that.
    let of_truth = has(after, OF_TRUTH) && has(before, &["true", "false"]) && is_said(&["true", "false"]);
    // `0` is the tolerance that a comparison of numbers may be given.
    let equal = ["0", "toBe", "toEqual", "toStrictEqual", "equal", "isEqualTo"];
    let of_length = has(before, OF_LENGTH)
        && has(after, OF_LENGTH)
        && !LIMITS.iter().any(|limit| after.text.contains(limit) && !before.text.contains(limit))
        && is_said(&[OF_LENGTH, &equal].concat());
    // Hamcrest's `assertThat(a, startsWith(b))` and AssertJ's `assertThat(a).startsWith(b)` have the same words.
    let words = |assertion: &Assertion| {
        let mut words: Vec<String> = assertion.content().map(str::to_owned).collect();
        words.sort();
        words
    };
    let is_fluent = |assertion: &Assertion| assertion.text.starts_with("assertThat (");
    let of_matcher = is_fluent(before) && is_fluent(after) && words(before) == words(after);
    let of_members = has(before, OF_MEMBERS) && has(after, OF_TRUTH) && is_said(OF_MEMBERS);
    let of_start = has(before, &["substring", "slice"])
        && has(after, &["startsWith", "endsWith"])
        && before.content().filter(|word| word.starts_with('"')).all(|word| theirs.contains(word))
        && theirs.iter().filter(|word| before.content().any(|own| own == **word)).count() > 1;
    // `fail()` stands where an exception should have been thrown before.
    let of_failure = is_mere_failure(before) && after.is_failure();
    // `a == ""` and `not a`.
    let is_empty = before.sides.as_ref().is_some_and(|(one, other)| {
        [one, other]
            .iter()
            .any(|side| matches!(side.as_str(), "\"\"" | "''" | "[ ]" | "{ }" | "( )" | "None"))
    });
    let of_nothing = is_empty
        && after.text.starts_with("assert not ")
        && before.subject.rsplit(' ').next() == after.text.rsplit(' ').next();
    // `assertThat(x).isEmpty()` and `assertTrue(x.isEmpty())`.
    let of_emptiness = matches!(before.name.as_str(), "isEmpty" | "toBeEmpty")
        && after.name.to_lowercase().ends_with("true")
        && after.subject.strip_suffix(" . isEmpty ( )").is_some_and(|subject| subject == before.subject);
    let of_flag = is_same_flag(before, after);
    // What testify takes for an error is one, which is nil if there is none.
    let of_error = before.name == "Nil" && after.name == "NoError" && before.subject == after.subject;
    let of_search = is_same_search(before, after);
    let of_words = of_search
        || is_never_called(before, after)
        || is_without_members(before, after)
        || is_same_truth(before, after)
        || is_same_error_text(before, after)
        || of_nothing
        || of_emptiness
        || of_truth
        || of_length
        || of_members
        || of_start
        || of_matcher;
    before.text != after.text && (of_words || of_failure || of_flag || of_error)
}

/// Returns whether a condition lost one of the parts that all had to hold.
fn drops_a_part(before: &str, after: &str) -> bool {
    [" and ", " && "].iter().any(|sign| {
        before.matches(sign).count() > after.matches(sign).count()
            && before.starts_with(after.split(sign).next().unwrap_or(after))
    })
}

/// Returns whether an assertion is Go's usual way to continue only without an error.
pub(crate) fn is_mere_error_check(assertion: &Assertion) -> bool {
    assertion.text == "err != nil"
}

/// Returns whether two assertions are about the same, and the second one looks away from something.
pub(crate) fn looks_away(before: &Assertion, after: &Assertion) -> bool {
    leaves_out(before, after)
        || gives_up_order(before, after)
        || compares_itself(before, after).is_some()
        || drops_order(&before.text, &after.text)
        || is_of_part(before, after)
}

/// Returns whether an assertion is one on the length, the type or the like of what another one was about.
pub(crate) fn is_part(whole: &Assertion, part: &Assertion) -> bool {
    let rest =
        part.subject.strip_prefix(&whole.subject).filter(|_| whole.subject.contains(char::is_alphabetic));
    part.strength == Strength::Partial && rest.is_some_and(|rest| rest.starts_with(" . "))
}

/// Returns whether fewer assertions than before demand so much.
pub(crate) fn fewer_demand(strength: Strength, before: &[Assertion], after: &[Assertion]) -> bool {
    let count = |all: &[Assertion]| all.iter().filter(|other| other.strength >= strength).count();
    count(after) < count(before)
}
