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

/// Returns whether one new assertion has all literals that another one lost, and nothing else is lost with them:
/// `must_raise(Error, /no such/)` became `must_raise(Error)` and `assert_match(/no such/, error.message)`.
pub(crate) fn is_said_beside(before: &Assertion, after: &Assertion, new: &[Assertion]) -> bool {
    let left: BTreeSet<&str> = after.content().collect();
    let lost: Vec<&str> = before.content().filter(|word| !left.contains(word)).collect();
    let is_text = before.is_failure() || before.text.starts_with("end . must_raise");
    is_text
        && !lost.is_empty()
        && before.name == after.name
        && new.iter().any(|other| {
            let theirs: BTreeSet<&str> = other.content().collect();
            other.strength >= Strength::Bounded && lost.iter().all(|word| theirs.contains(word))
        })
}

/// Returns whether nothing is lost with an assertion: it counts the assertions of a library that the test no longer uses, or looks
/// at the length of a value that is compared as a whole.
pub(crate) fn counts_for_nothing(gone: &Assertion, then: &[Assertion], after: &crate::extract::Test) -> bool {
    let is_count = ["t . plan (", "assert . expect ("].iter().any(|start| gone.text.starts_with(start));
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
    // Where nothing is called back, each of the assertions is made. The first function is the test itself.
    let functions = || after.body.words.iter().filter(|word| matches!(word.as_str(), "=>" | "function"));
    let is_in_line = || functions().count() < 2;
    // nock's word that all was asked for.
    let is_told = gone.text.ends_with(" . done ( )") && !after.body.words.iter().any(|word| word == "nock");
    is_told
        || is_count
            && (!after.body.words.windows(2).any(|two| two[0] == object && two[1] == ".") || is_in_line())
        || then.iter().any(is_of_whole)
}
