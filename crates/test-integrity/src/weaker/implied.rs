//! Assertions that another one implies: that a value is there whose members are compared, that a call fails whose error is
//! compared, or that a part of a value is as it is in the whole.

use std::collections::BTreeSet;

use super::narrower::root;
use crate::assertion::vocabulary::is_literal;
use crate::assertion::{Assertion, Strength};
use crate::syntax::is_pure;
use crate::syntax::tokens::is_object;

/// Ends of what asks which variant a value is of, how that variant is taken out, and how it begins.
const VARIANTS: &[(&str, &str, &str)] = &[
    (" . is_err ( )", "unwrap_err", "Err ("),
    (" . is_ok ( )", "unwrap", "Ok ("),
    (" . is_some ( )", "unwrap", "Some ("),
];

/// Returns whether nothing is lost with an assertion, because another one that was there before says it. What becomes of that one is
/// judged by itself.
pub(crate) fn is_implied(gone: &Assertion, then: &[Assertion]) -> bool {
    let is_other = |other: &&Assertion| {
        other.text != gone.text && !other.is_conditional && !other.is_swallowed && !other.is_failure()
    };
    !gone.is_failure()
        && then.iter().filter(is_other).any(|other| {
            has_variant(gone, other)
                || is_there(gone, other)
                || is_part_of_known(gone, other)
                || is_waited_for(gone, other)
        })
}

/// Returns whether a test takes out the content of a variant, for which a value has to be of it: `r . unwrap ( )` for
/// `assert ! ( r . is_some ( ) )`.
pub(crate) fn is_taken_out(gone: &Assertion, now: &[String]) -> bool {
    VARIANTS.iter().any(|(end, taken, _)| {
        let value = gone.subject.strip_suffix(end).filter(|_| gone.strength == Strength::Present);
        value.is_some_and(|value| {
            let value: Vec<&str> = value.split(' ').chain([".", taken, "("]).collect();
            now.windows(value.len()).any(|some| some.iter().eq(value.iter()))
        })
    })
}

/// Returns whether the content of a variant is asserted: `r . is_err ( )` and `r . unwrap_err ( ) == X`.
fn has_variant(gone: &Assertion, other: &Assertion) -> bool {
    VARIANTS.iter().any(|(end, taken, variant)| {
        let value = gone.subject.strip_suffix(end).filter(|_| gone.strength == Strength::Present);
        value.is_some_and(|value| {
            other.strength > Strength::Nothing
                && (other.text.contains(&format!(" {value} . {taken} ( )"))
                    || names(&other.text, value) && other.text.contains(variant))
        })
    })
}

/// Returns whether the content of a variant, which was taken out before, is compared within it: `r . unwrap ( ) == 3` and
/// `f ( ) == Some ( 3 )`; `now` are the tokens of the test.
pub(super) fn is_wrapped(part: &Assertion, other: &Assertion, now: &BTreeSet<&str>) -> bool {
    let (Some((one, two)), Some((left, right))) = (&part.sides, &other.sides) else { return false };
    [(one, two), (two, one)].into_iter().any(|(taken, content)| {
        VARIANTS.iter().any(|(_, end, variant)| {
            let value = taken.strip_suffix(&format!(" . {end} ( )"));
            let whole = format!("{variant} {content} )");
            value.is_some_and(|value| {
                let is_same = |side: &str| side == value || !now.contains(value) && !value.contains(' ');
                *left == whole && is_same(right) || *right == whole && is_same(left)
            })
        })
    })
}

/// Returns whether what was waited for is something of which more is asserted: `await ( ) . until ( job :: isDone )`.
fn is_waited_for(gone: &Assertion, other: &Assertion) -> bool {
    gone.text.contains("await ( )")
        && root(&gone.subject).is_some()
        && root(&gone.subject) == root(&other.subject)
}

/// Returns whether a value that has to be there has members that are asserted, or is compared with one that is there.
fn is_there(gone: &Assertion, other: &Assertion) -> bool {
    const PRESENCE: &[&str] = &["otNull", "otNil", "Defined", "undefined", "None", "null", "nil"];
    let is_presence = gone.strength == Strength::Present
        && !gone.subject.is_empty()
        && PRESENCE.iter().any(|word| gone.text.contains(word));
    let is_value = |side: &str| !matches!(side, "None" | "null" | "nil" | "undefined") && is_known(side);
    let is_equal = || sides_of(other, &gone.subject).is_some_and(is_value);
    let has_members = || other.text.contains(&format!(" {} . ", gone.subject));
    is_presence && other.strength > Strength::Bounded && (has_members() || is_equal())
}

/// Returns whether the whole is compared with a value that is written out, of which a part was looked at.
fn is_part_of_known(gone: &Assertion, other: &Assertion) -> bool {
    let whole =
        other.sides.as_ref().filter(|_| other.strength == Strength::Exact && other.tolerance.is_none());
    whole.is_some_and(|(one, two)| {
        [(one, two), (two, one)].into_iter().any(|(side, known)| {
            gone.subject.strip_prefix(side.as_str()).is_some_and(|rest| rest.starts_with(" . "))
                && !rest_calls(&gone.subject[side.len()..])
                && is_known(known)
        })
    })
}

/// Returns whether what follows a value calls something that is given more.
fn rest_calls(rest: &str) -> bool {
    rest.contains("( ") && !rest.contains("( )")
}

/// Returns the other side of an equality of which a value is one.
fn sides_of<'a>(other: &'a Assertion, value: &str) -> Option<&'a str> {
    let (one, two) = other.sides.as_ref().filter(|_| other.strength == Strength::Exact)?;
    if one == value {
        Some(two)
    } else if two == value {
        Some(one)
    } else {
        None
    }
}

/// Returns whether a value is written out: a literal, or an object with its members.
fn is_known(side: &str) -> bool {
    let bare = side.trim_start_matches("& ");
    is_literal(bare) || is_pure(bare) || is_object(bare)
}

/// Returns whether a value stands in a text as a whole.
fn names(text: &str, value: &str) -> bool {
    format!(" {text} ").contains(&format!(" {value} "))
}
