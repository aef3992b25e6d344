//! What a test says after the change, for telling whether something that it said before is still said.

use std::collections::BTreeSet;

use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::weaker::{is_keyword, is_mere_failure};

/// Words of assertions on a failure that was caught before it was looked at.
const OF_FAILURES: [&str; 9] =
    ["excinfo", "exc_info", "exc", "exception", "error", "err", "value", "exit_code", "returncode"];

/// What a test says after the change.
pub(crate) struct Said<'a> {
    assertions: Vec<(&'a Assertion, BTreeSet<&'a str>)>,
    /// Tokens of the whole test, if it has more cases than before: an assertion may have become one of them.
    cases: Option<BTreeSet<&'a str>>,
}

impl<'a> Said<'a> {
    pub(crate) fn new(assertions: &'a [Assertion], of_cases: Option<&'a Test>) -> Self {
        Self {
            assertions: assertions
                .iter()
                .map(|assertion| (assertion, assertion.content().collect()))
                .collect(),
            cases: of_cases.map(|test| test.body.words.iter().map(String::as_str).collect()),
        }
    }

    /// Returns whether one assertion, or a case, says what another assertion said.
    pub(crate) fn covers(&self, assertion: &Assertion) -> bool {
        let known: BTreeSet<&str> =
            without_places(&assertion.text).filter(|word| !is_keyword(word)).collect();
        let by_case = self.cases.as_ref().is_some_and(|words| known.is_subset(words));
        let by_assertion = |(other, words): &(&Assertion, BTreeSet<&str>)| {
            other.strength >= assertion.strength && other.text != assertion.text && known.is_subset(words)
        };
        !known.is_empty() && (by_case || self.assertions.iter().any(by_assertion))
    }

    /// Returns the failures that the test expects, and did not expect before.
    pub(crate) fn new_failures(&self, before: &[Assertion]) -> Vec<ExpectedFailure<'a>> {
        let all = self.assertions.iter().map(|(assertion, _)| *assertion);
        let new = all.filter(|assertion| {
            assertion.subject == "(failure)" && before.iter().all(|old| old.text != assertion.text)
        });
        new.map(ExpectedFailure).collect()
    }
}

/// Failure that a test expects, such as `pytest.raises(ValueError, match="no such")`.
pub(crate) struct ExpectedFailure<'a>(&'a Assertion);

impl ExpectedFailure<'_> {
    /// Returns whether the expectation says what an assertion on the caught failure said, if it is one of kind and text. An exit
    /// code other than 0 is part of what a failure is.
    pub(crate) fn tells(&self, assertion: &Assertion) -> bool {
        let mut words = assertion.text.split(' ');
        let expected = self.0.text.to_lowercase();
        if is_mere_failure(assertion) {
            return true;
        }
        self.0.strength == Strength::Exact
            && words.clone().any(|word| OF_FAILURES.contains(&word))
            && !words.any(|word| word == "0")
            && literals(&assertion.text).all(|literal| expected.contains(&literal.to_lowercase()))
    }
}

/// Returns the names and literals of a text, but for the places of items in a list: `a [ 1 ]` is about `a`.
fn without_places(text: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    text.split(' ').filter(move |word| {
        let is_place = before == "[" && word.bytes().all(|byte| byte.is_ascii_digit());
        before = word;
        !is_place && word.chars().any(char::is_alphanumeric)
    })
}

/// Returns what stands between the quotes of a text.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(['"', '\''])?;
        let quote = rest[start..].chars().next()?;
        let inside = &rest[start + 1..];
        let end = inside.find(quote)?;
        rest = &inside[end + 1..];
        Some(&inside[..end])
    })
}
