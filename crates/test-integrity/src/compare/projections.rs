//! Values that were compared as a whole, and of which only keys, sizes or sums are compared now.

use std::collections::BTreeSet;

use crate::assertion::vocabulary::is_literal;
use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::finding::{Finding, Kind, short};
use crate::matching::state::State;

/// Calls and members that lead to keys, sizes or sums.
const PROJECTIONS: &[&str] =
    &["keys", "len", "Len", "length", "size", "count", "sum", "keySet", "isEmpty", "is_empty", "iter_keys"];

/// Returns what a test no longer compares, if it only looks at keys, sizes or sums of the value.
pub(super) fn of_pair(
    (before_state, before): (&State, &Test),
    (after_state, after): (&State, &Test),
) -> Option<Finding> {
    let (old, new) = (
        before_state.assertions(&before.body, None),
        after_state.assertions(&after.body, Some(&before.body)),
    );
    let kept: BTreeSet<&str> = new.iter().map(|assertion| assertion.text.as_str()).collect();
    let words: BTreeSet<&str> =
        after.body.words.iter().chain(&after.body.cells).map(String::as_str).collect();
    let mut gone = old.iter().filter(|assertion| !kept.contains(assertion.text.as_str()));
    let (whole, part) = gone.find_map(|whole| Some((whole, part(whole, &new, &words)?)))?;
    let (name, whole) = (&after.name, short(&whole.text));
    let message = format!("in `{name}`: `{whole}` is gone, and `{}` looks at a part only", short(&part.text));
    Some(Finding::new(&after.path, part.line, Kind::WeakerAssertion, message))
}

/// Returns the first of the assertions on a value, if all of them look at a part of it only, and literals that it was compared with
/// are no longer said.
fn part<'a>(whole: &Assertion, now: &'a [Assertion], words: &BTreeSet<&str>) -> Option<&'a Assertion> {
    let (one, other) = whole.sides.as_ref().filter(|_| whole.strength == Strength::Exact)?;
    let (subject, expected) = if whole.subject == *other { (other, one) } else { (one, other) };
    let is_value = !subject.is_empty() && !is_literal(subject) && !is_projection(subject);
    let lost = expected.split(' ').filter(|word| is_literal(word) && word.chars().any(char::is_alphanumeric));
    if !is_value || lost.filter(|word| !words.contains(word)).count() < 2 {
        return None;
    }
    let is_about = |assertion: &&Assertion| texts(assertion).any(|text| names(text, subject));
    let about: Vec<&Assertion> = now.iter().filter(is_about).collect();
    let is_part = |assertion: &&Assertion| texts(assertion).any(is_projection);
    about.first().copied().filter(|_| about.iter().all(is_part))
}

/// Returns the text of an assertion, and what its sides stand for.
fn texts(assertion: &Assertion) -> impl Iterator<Item = &str> {
    let resolved = assertion.resolved.iter().flat_map(|(one, other)| [one.as_str(), other.as_str()]);
    std::iter::once(assertion.text.as_str()).chain(resolved)
}

fn is_projection(text: &str) -> bool {
    text.split(' ').any(|word| PROJECTIONS.contains(&word))
}

/// Returns whether a value stands in a text as a whole.
fn names(text: &str, value: &str) -> bool {
    format!(" {text} ").contains(&format!(" {value} "))
}
