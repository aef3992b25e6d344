//! Assertions of which nothing is lost: what they said is said beside what became of them, or follows from it.

use std::collections::BTreeSet;

use super::narrower;
use crate::assertion::{Assertion, Strength};

/// Returns whether an assertion looks at a member of an object that the test has set to the same literal before as it does now. What the
/// object makes of that is for the program to say: `client.base_url = "/v1"` may well set a `URL`.
pub(super) fn is_set_as_before(before: &Assertion, after: &Assertion) -> bool {
    let set = |assertion: &Assertion| {
        let ((tested, _), (value, _)) = (assertion.operands()?, assertion.resolved_operands()?);
        (tested != value && crate::syntax::is_pure(value)).then(|| value.to_owned())
    };
    before.subject == after.subject
        && before.subject.contains(" . ")
        && set(before).is_some_and(|was| set(after) == Some(was))
}

/// Returns whether one new assertion has all literals that another one lost, of the very failure that it was about, and nothing else is
/// lost with them: `must_raise(Error, /no such/)` became `must_raise(Error)` and `assert_match(/no such/, error.message)`. `words` are
/// the tokens of the test after the change.
pub(crate) fn is_said_beside(
    before: &Assertion,
    after: &Assertion,
    new: &[Assertion],
    words: &[String],
) -> bool {
    let left: BTreeSet<&str> = after.content().collect();
    let lost: Vec<&str> = before.content().filter(|word| !left.contains(word)).collect();
    let is_text = before.is_failure() || before.text.starts_with("end . must_raise");
    // A text that the message had to hold may be looked for in the message that the test takes out of the failure.
    let plain = |text: &str| text.replace([' ', '\\'], "");
    let sought = before.text.split_once(" message : / ").and_then(|(_, rest)| rest.rsplit_once(" /"));
    let sought = sought.map(|(sought, _)| plain(sought)).filter(|sought| !sought.is_empty());
    let is_sought = |other: &Assertion| {
        other.strength > Strength::Nothing
            && other.text.split(' ').any(|word| word == "message")
            && sought.as_ref().is_some_and(|sought| plain(&other.text).contains(sought.as_str()))
    };
    if is_text && before.name == after.name && new.iter().any(is_sought) {
        return true;
    }
    is_text
        && !lost.is_empty()
        && before.name == after.name
        && new.iter().any(|other| {
            let theirs: BTreeSet<&str> = other.content().collect();
            other.strength >= Strength::Bounded
                && lost.iter().all(|word| theirs.contains(word))
                && caught(words).any(|failure| theirs.contains(failure))
        })
}

/// Returns the names that a test gives to what fails: `raises ( E ) as e`, `e = assert_raises ( E )`, `e = lambda do`.
fn caught(words: &[String]) -> impl Iterator<Item = &str> {
    const BLOCKS: &[&str] = &["lambda", "proc", "->", "expect", "_"];
    const EXPECTING: &[&str] = &["throw", "raise", "reject"];
    const NEAR: usize = 20;
    let expects = |word: &&String| EXPECTING.iter().any(|part| word.to_lowercase().contains(part));
    let is_with = move |at: usize| {
        words[at] == "as" && words[at.saturating_sub(NEAR)..at].iter().any(|word| expects(&word))
    };
    let is_given = move |at: usize| {
        let mut value = words[at + 1..].iter().filter(|word| *word != "await").peekable();
        let is_block = value.peek().is_some_and(|first| BLOCKS.contains(&first.as_str()));
        // The name of what is called, with what it is in.
        let mut called = value.enumerate().take_while(|(place, word)| {
            if place % 2 == 0 { word.starts_with(char::is_alphabetic) } else { *word == "." }
        });
        words[at] == "=" && (is_block || called.any(|(_, word)| expects(&word)))
    };
    let places = 1..words.len().saturating_sub(1);
    places.filter_map(move |at| {
        let name = if is_with(at) { at + 1 } else { at - 1 };
        (is_with(at) || is_given(at)).then(|| words[name].as_str())
    })
}

/// Returns whether an assertion says how many a test has to make.
pub(super) fn counts_assertions(assertion: &Assertion) -> bool {
    ["t . plan (", "assert . expect (", "expect . assertions (", "expect . hasAssertions ("]
        .iter()
        .any(|start| assertion.text.starts_with(start))
}

/// Returns whether nothing is lost with an assertion: it counts the assertions of a library that the test no longer uses, or looks
/// at the length of a value that is compared as a whole.
pub(crate) fn counts_for_nothing(gone: &Assertion, then: &[Assertion], after: &crate::extract::Test) -> bool {
    let object = gone.text.split(' ').next().unwrap_or_default();
    let is_of_whole = |other: &Assertion| {
        let whole = other.subject.as_str();
        let is_length =
            gone.subject == format!("{whole} . length") || gone.subject == format!("len ( {whole} )");
        let (one, two) = other.sides.as_ref().map_or(("", ""), |(one, two)| (one.as_str(), two.as_str()));
        let is_pure = crate::syntax::is_pure;
        // What is made of a list that is known is known as well.
        let is_list = [one, two].iter().any(|side| side.starts_with('[')) && !whole.contains(' ');
        let is_made_of = is_list && gone.text != other.text && narrower::root(&gone.subject) == Some(whole);
        (is_length || is_made_of) && is_pure(one) != is_pure(two) && other.strength == Strength::Exact
    };
    // Where nothing is called back, chosen or repeated, each of the assertions is made. The first function is the test itself.
    let has = |known: &[&str]| after.body.words.iter().filter(|word| known.contains(&word.as_str())).count();
    let is_straight = || has(&["for", "while", "if", "switch", "try", "catch", "?"]) == 0;
    let is_in_line = || has(&["=>", "function"]) < 2;
    // AssertJ compares the number of items as well.
    let is_counted = gone.text.split_once(" . hasSize (").is_some_and(|(start, _)| {
        after.body.assertions.iter().any(|other| {
            other.text.strip_prefix(start).is_some_and(|rest| rest.starts_with(" . containsExactly"))
        })
    });
    // nock's word that all was asked for.
    let is_told = gone.text.ends_with(" . done ( )") && !after.body.words.iter().any(|word| word == "nock");
    let is_used =
        || object == "expect" || after.body.words.windows(2).any(|two| two[0] == object && two[1] == ".");
    is_told
        || is_counted
        || counts_assertions(gone) && is_straight() && (!is_used() || is_in_line())
        || then.iter().any(is_of_whole)
}
