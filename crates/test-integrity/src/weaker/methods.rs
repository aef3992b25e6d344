//! Compares what a matcher demanded with what a method of the value, or another matcher, demands now.

use std::collections::BTreeSet;

use super::is_keyword;
use crate::assertion::Assertion;
use crate::syntax::tokens::{outer_call, split};

/// Returns whether a text or a pattern has to be found, or must not be found, by a method where it was by a matcher before:
/// `expect(a).toMatch('b')` and `assert(a.includes('b'))`.
pub(super) fn is_same_search(before: &Assertion, after: &Assertion) -> bool {
    const MATCHERS: &[&str] = &["toMatch (", "toContain (", ". match (", ". include (", ". contain ("];
    const METHODS: &[&str] = &[". includes (", ". test (", ". indexOf ("];
    let is_negative =
        |text: &str| text.contains(" not . ") || text.contains("( ! ") || text.contains("doesNotMatch");
    let theirs: BTreeSet<&str> = after.content().collect();
    let is_matcher =
        |word: &str| matches!(word, "toMatch" | "toContain" | "match" | "include" | "contain" | "to");
    // What is a mere text for one is a pattern for the other, which such a text fits as well.
    MATCHERS.iter().any(|matcher| before.text.contains(matcher))
        && METHODS.iter().any(|method| after.text.contains(method))
        && is_negative(&before.text) == is_negative(&after.text)
        && before.content().all(|word| is_keyword(word) || is_matcher(word) || theirs.contains(word))
}

/// Returns whether two values are compared that one of them was asked about before: `assertTrue(a.equals(b))` and `assertEquals(a, b)`.
pub(super) fn is_same_equality(before: &Assertion, after: &Assertion) -> bool {
    after.sides.as_ref().is_some_and(|(one, other)| {
        let asks = |one: &str, other: &str| before.text.contains(&format!("{one} . equals ( {other} )"));
        one != other && (asks(one, other) || asks(other, one))
    })
}

/// Returns whether an object must have no members, where it was compared with an empty one before.
pub(super) fn is_without_members(before: &Assertion, after: &Assertion) -> bool {
    let keys = format!("Object . keys ( {} ) . length", before.subject);
    let is_empty = before.sides.as_ref().is_some_and(|(one, other)| one == "{ }" || other == "{ }");
    let has_none = || {
        [format!("! {keys}"), format!("{keys} , 0"), format!("{keys} === 0")]
            .iter()
            .any(|none| after.text.contains(none))
    };
    is_empty && !before.subject.is_empty() && has_none()
}

/// Returns whether a mock must not be called, where it had to have no calls before.
pub(super) fn is_never_called(before: &Assertion, after: &Assertion) -> bool {
    let has_none = before.text.ends_with(". length ) . toBe ( 0 )")
        || before.text.ends_with(". length ) . toEqual ( 0 )");
    let mock = before.subject.split(" . calls").next().unwrap_or_default();
    let mock = mock.strip_suffix(" . mock").unwrap_or(mock);
    has_none
        && before.subject.contains(" . calls")
        && after.subject == mock
        && ["not . toBeCalled (", "not . toHaveBeenCalled ("].iter().any(|never| after.text.contains(never))
}

/// Returns whether testify's comparison with a truth is one on that truth now: `assert.Equal(t, false, ok)` and `assert.False(t, ok)`.
/// What is true there is of that type.
pub(super) fn is_same_truth(before: &Assertion, after: &Assertion) -> bool {
    let is_truth = |side: &str| side == after.name.to_lowercase();
    let Some((one, other)) = before.sides.as_ref().filter(|_| before.name == "Equal") else { return false };
    matches!(after.name.as_str(), "True" | "False")
        && (is_truth(one) && *other == after.subject || is_truth(other) && *one == after.subject)
}

/// Returns whether testify's comparison of the text of an error is one of the error now, which has to be there for it:
/// `assert.Contains(t, err.Error(), "no")` and `assert.ErrorContains(t, err, "no")`.
pub(super) fn is_same_error_text(before: &Assertion, after: &Assertion) -> bool {
    let given = |assertion: &Assertion| -> Vec<String> {
        let all = outer_call(&assertion.text).map(|(_, given)| split(given, &[" , "])).unwrap_or_default();
        // What names the test comes first, and what is said of the failure last.
        all.into_iter().skip_while(|given| *given == "t").take(2).map(str::to_owned).collect()
    };
    let is_same = match after.name.as_str() {
        "EqualError" => before.name == "Equal",
        "ErrorContains" => before.name == "Contains",
        _ => false,
    };
    let (before, after) = (given(before), given(after));
    let [error, text] = after.as_slice() else { return false };
    is_same && before.contains(text) && before.contains(&format!("{error} . Error ( )"))
}
