//! Flags of Go that are numbers, truths or atomic values: `assert.Zero(t, ran)` and `assert.False(t, ran.Load())` say the same.

use crate::assertion::Assertion;

/// Returns whether two assertions of testify say the same of one flag.
pub(super) fn is_same_flag(before: &Assertion, after: &Assertion) -> bool {
    let (number, truth) = (before.name.as_str(), after.name.as_str());
    let is_bare = || after.text.ends_with(&format!(" {} )", after.subject));
    let is_truth = matches!(number, "Zero" | "Equal") && matches!(truth, "True" | "False") && is_bare();
    is_truth && flag(before).is_some_and(|flag| self::flag(after) == Some(flag))
}

/// Returns the name of the flag that an assertion is about, and whether it has to be set.
fn flag(assertion: &Assertion) -> Option<(&str, bool)> {
    let (subject, is_set) = match (assertion.name.as_str(), &assertion.sides) {
        ("True", _) => (&assertion.subject, true),
        ("False" | "Zero", _) => (&assertion.subject, false),
        ("Equal", Some((one, other))) => match (digit(one), digit(other)) {
            (Some(is_set), None) => (other, is_set),
            (None, Some(is_set)) => (one, is_set),
            _ => return None,
        },
        _ => return None,
    };
    let atomic = subject.strip_prefix("atomic . Load").and_then(|rest| rest.split_once("( & "));
    let name = match atomic {
        Some((_, name)) => name.strip_suffix(" )")?,
        None => subject.strip_suffix(" . Load ( )").unwrap_or(subject),
    };
    (!name.contains(' ')).then_some((name, is_set))
}

/// Returns whether a number is 1 rather than 0, also of a type: `int32 ( 1 )`.
fn digit(number: &str) -> Option<bool> {
    match number.rsplit_once("( ").map_or(number, |(_, number)| number).trim_end_matches([' ', ')']) {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}
