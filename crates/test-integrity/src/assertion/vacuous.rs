//! Conditions that hold for whatever the program does, although they name it.

use super::Strength;
use crate::syntax::tokens::{outer_call, split};

/// Returns whether two of some conditions are each other's opposites, so that one of them holds: `a . is_ok ( )`, `a . is_err ( )`.
pub(super) fn is_exhaustive(parts: &[&str]) -> bool {
    const OPPOSITES: &[(&str, &str)] = &[
        (" . is_ok ( )", " . is_err ( )"),
        (" . is_some ( )", " . is_none ( )"),
        (" . isPresent ( )", " . isEmpty ( )"),
        (" is None", " is not None"),
        (" == ", " != "),
        (" === ", " !== "),
        (" < ", " >= "),
        (" > ", " <= "),
        (" in ", " not in "),
    ];
    let turned = |part: &str| -> Vec<String> {
        let swapped = OPPOSITES.iter().filter(|(one, _)| part.contains(one));
        let swapped = swapped.map(|(one, other)| part.replacen(one, other, 1));
        swapped.chain([format!("! {part}"), format!("not {part}")]).collect()
    };
    parts.iter().any(|part| turned(part).iter().any(|turned| parts.contains(&turned.as_str())))
}

/// Returns what a text with values put in is about, as a condition: it holds unless all of them are empty, which few values are as text.
pub(super) fn formatted(text: &str) -> Option<(String, Strength)> {
    let inner = ["f\"", "f'", "`"]
        .iter()
        .find_map(|start| text.strip_prefix(start)?.strip_suffix(['"', '\'', '`']))?;
    if inner.contains(['"', '`']) && !inner.contains('{') {
        return None;
    }
    let subject = inner.trim_matches(['$', '{', '}', ' ']).to_owned();
    Some((subject, Strength::Nothing))
}

/// Returns whether a condition demands of a length or a distance what every one meets: `len ( a ) >= 0`.
pub(super) fn is_natural(text: &str) -> bool {
    const LOWER: &[(&str, &str)] =
        &[(" >= ", "0"), (" > ", "- 1"), (" > ", "-1"), (" != ", "- 1"), (" != ", "-1"), (" >= ", "- 1")];
    let is_count = |side: &str| {
        let is_call = ["len (", "abs (", "Math . abs ("].iter().any(|start| side.starts_with(start))
            && side.ends_with(')');
        let ends = [" . length", " . size ( )", " . len ( )", " . length ( )", " . Len ( )", " . count ( )"];
        is_call && outer_call(side).is_some() || ends.iter().any(|end| side.ends_with(end))
    };
    let is_lower = |side: &str, sign: &str, bound: &str| LOWER.contains(&(sign, bound)) && is_count(side);
    [(" >= ", " <= "), (" > ", " < "), (" != ", " != ")].iter().any(|(sign, turned)| {
        let of = |sign: &str| match split(text, &[sign]).as_slice() {
            [one, other] => Some(((*one).to_owned(), (*other).to_owned())),
            _ => None,
        };
        of(sign).is_some_and(|(one, other)| is_lower(&one, sign, &other))
            || of(turned).is_some_and(|(one, other)| is_lower(&other, sign, &one))
    })
}

/// Returns whether a pattern also fits nothing at all, so that it is found in every text: `\d*`, `(items)?`.
pub(super) fn is_optional(pattern: &str) -> bool {
    let Some(one) = pattern.strip_suffix(['*', '?']) else { return false };
    let is_group = one.starts_with('(') && one.ends_with(')') && one.matches('(').count() == 1;
    let is_class = one.starts_with('[') && one.ends_with(']') && one.matches(']').count() == 1;
    let is_escape = one.starts_with('\\') && one.chars().count() == 2;
    is_group || is_class || is_escape || one.chars().count() == 1
}

/// Returns whether a condition is a search for what every text has: `re . match ( ".*" , a )`, `a . contains ( "" )`.
pub(super) fn is_found_always(text: &str) -> bool {
    const SEARCHES: &[&str] = &[
        "match",
        "search",
        "test",
        "matches",
        "is_match",
        "MatchString",
        "findall",
        "startswith",
        "startsWith",
        "starts_with",
        "endswith",
        "endsWith",
        "ends_with",
        "contains",
        "includes",
        "Contains",
        "HasPrefix",
        "HasSuffix",
    ];
    let Some((callee, given)) = outer_call(text) else { return false };
    let (receiver, name) = callee.rsplit_once(" . ").unwrap_or(("", callee));
    SEARCHES.contains(&name)
        && (receiver.starts_with('/') && super::vocabulary::is_vacuous(receiver)
            || split(given, &[" , "]).iter().any(|given| super::vocabulary::is_vacuous(given)))
}

/// Returns whether a condition is a method of Python's mocks without its `assert_`: a mock makes up what it does not have, and all
/// that it makes up is true.
pub(super) fn is_attribute_of_mock(text: &str) -> bool {
    const METHODS: &[&str] = &[
        "called_once",
        "called_with",
        "called_once_with",
        "not_called",
        "has_calls",
        "any_call",
        "awaited",
        "awaited_once",
        "awaited_with",
        "awaited_once_with",
        "any_await",
        "has_awaits",
        "not_awaited",
    ];
    let callee = outer_call(text).map_or(text, |(callee, _)| callee);
    callee.rsplit_once(" . ").is_some_and(|(_, name)| METHODS.contains(&name))
}

/// Returns whether an assertion looks at what all or some parts of a value have in common, or at what is left of both sides once
/// they are rounded.
pub(crate) fn is_of_traits(text: &str) -> bool {
    const QUANTIFIERS: &[&str] = &["all", "any", "every", "some", "allMatch", "anyMatch", "noneMatch"];
    let words: Vec<&str> = text.split(' ').collect();
    let is_rounding = |two: &&[&str]| matches!(two, ["int" | "round" | "trunc" | "floor" | "ceil", "("]);
    words.windows(2).any(|two| QUANTIFIERS.contains(&two[0]) && two[1] == "(")
        || words.windows(2).filter(is_rounding).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_leave_nothing_out() {
        assert!(is_exhaustive(&["a . is_err ( )", "a . is_ok ( )"]));
        assert!(is_exhaustive(&["a == 1", "a != 1"]));
        assert!(is_exhaustive(&["a", "! a"]));
        assert!(!is_exhaustive(&["a == 1", "a == 2"]));
        assert!(!is_exhaustive(&["a . is_ok ( )", "b . is_err ( )"]));
    }
}
