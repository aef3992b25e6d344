//! Differences that an assertion ignores and another one did not: fields, order, white space.

use std::collections::BTreeSet;

use super::narrower::narrower;
use crate::assertion::Assertion;

/// Returns whether an assertion looks away from something that it looked at before: a field, an order, white space.
pub(super) fn leaves_out(before: &Assertion, after: &Assertion) -> bool {
    const LOSSY: &[&str] = &[
        "sorted",
        "set",
        "frozenset",
        "Counter",
        "lower",
        "upper",
        "casefold",
        "strip",
        "split",
        "toLowerCase",
        "toUpperCase",
        "trim",
        "sort",
        "toSorted",
        "Set",
        "HashSet",
        "BTreeSet",
        "TreeSet",
        "to_lowercase",
        "to_uppercase",
        "ToLower",
        "ToUpper",
        "TrimSpace",
        "Fields",
        "Sort",
    ];
    if fails_less(before, after) {
        return true;
    }
    if narrower(before, after).is_some() {
        return true;
    }
    let names = |text: &str| -> BTreeSet<String> {
        let words: Vec<&str> = text.split(' ').collect();
        let called = words.windows(2).filter(|two| matches!(two[1], "(" | "="));
        called.map(|two| two[0].to_lowercase()).collect()
    };
    let is_exempting = |name: &String| {
        name.contains("ignor") || name.starts_with("exclude") || name == "any_order" || name == "sortslices"
    };
    if names(&after.text).difference(&names(&before.text)).any(is_exempting)
        && !["ignor", "any_order"].iter().any(|word| before.text.to_lowercase().contains(word))
    {
        return true;
    }
    if after.lost_since(before) == Some(0) {
        return false;
    }
    // Only where it is lost on both sides: what is sorted on one may be so on the other.
    let loses = |text: &str| {
        text.split(' ').collect::<Vec<_>>().windows(2).any(|two| two[1] == "(" && LOSSY.contains(&two[0]))
    };
    let sides = after.sides.as_ref();
    if sides.is_some_and(|(one, other)| loses(one) && loses(other)) && !loses(&before.text) {
        return true;
    }
    // On one side alone, if the other one is the literal that it was.
    let is_literal = |side: &String| {
        crate::syntax::is_pure(side) || side.starts_with("List . of (") || side.starts_with("vec ! [")
    };
    let of_literal = |(one, other): &(String, String)| is_literal(one) != is_literal(other);
    let changes_order =
        sides.is_some_and(|(one, other)| ORDER.iter().any(|name| calls(one, name) || calls(other, name)));
    let had_order = ORDER.iter().any(|name| calls(&before.text, name));
    before.sides.as_ref().is_some_and(of_literal)
        && (changes_order && !had_order
            || sides.is_some_and(|(one, other)| loses(one) != loses(other)) && !loses(&before.text))
        && same_literals(before, after)
}

/// Returns whether a text calls a function, or makes a value of a type.
fn calls(text: &str, name: &str) -> bool {
    text.split(' ').collect::<Vec<_>>().windows(2).any(|two| two[0] == name && matches!(two[1], "(" | "<"))
}

/// Calls that give up an order, or make one.
const ORDER: &[&str] = &[
    "sorted",
    "sort",
    "toSorted",
    "set",
    "frozenset",
    "Set",
    "HashSet",
    "TreeSet",
    "BTreeSet",
    "Counter",
    "unordered",
];

/// Returns whether two assertions have the same literals, in whatever order.
fn same_literals(before: &Assertion, after: &Assertion) -> bool {
    let literals = |assertion: &Assertion| -> BTreeSet<String> {
        let numbers = assertion.text.split(' ').filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        crate::syntax::literals(&assertion.text).chain(numbers).map(str::to_owned).collect()
    };
    let (old, new) = (literals(before), literals(after));
    !old.is_empty() && old == new
}

/// Returns whether the condition of a failure has one more part that has to hold, or a snapshot is one of a part only.
fn fails_less(before: &Assertion, after: &Assertion) -> bool {
    let rest = after.subject.strip_prefix(&before.subject).filter(|_| !before.subject.is_empty());
    let of_snapshot =
        crate::assertion::vocabulary::plain(&after.name).contains("snapshot") && before.name == after.name;
    let is_narrower = after.text.strip_prefix(&before.text).is_some_and(|rest| rest.starts_with(" && "))
        || after.text.strip_suffix(&before.text).is_some_and(|rest| rest.ends_with(" && "));
    is_narrower || of_snapshot && rest.is_some_and(|rest| rest.starts_with(" . "))
}
