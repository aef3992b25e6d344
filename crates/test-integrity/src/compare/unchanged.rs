//! Assertions of a test that are there as before, and what around them makes them demand less.

use crate::assertion::Assertion;
use crate::finding::Kind;
use crate::weaker::weaker;

/// Takes out the assertions that are there as before. Returns the others of the old ones, and what of those that are there is
/// looser around them, with how.
pub(super) fn without_same(
    old: Vec<Assertion>,
    new: &mut Vec<Assertion>,
) -> (Vec<Assertion>, Vec<(Assertion, Kind, String)>) {
    let (mut left, mut looser) = (Vec::new(), Vec::new());
    for assertion in old {
        let Some(at) = new.iter().position(|other| other.text == assertion.text) else {
            left.push(assertion);
            continue;
        };
        let other = new.remove(at);
        let found = if other.is_swallowed && !assertion.is_swallowed {
            Some((Kind::SwallowedFailure, "the failure of an assertion is caught".to_owned()))
        } else if let Some(weaker) = weaker(&assertion, &other) {
            Some(weaker)
        } else if other.is_conditional && !assertion.is_conditional {
            Some((Kind::ConditionalTest, "an assertion is now made only under a condition".to_owned()))
        } else {
            None
        };
        looser.extend(found.map(|(kind, message)| (other, kind, message)));
    }
    (left, looser)
}
