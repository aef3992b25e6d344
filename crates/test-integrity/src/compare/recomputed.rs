//! Expected values that a test said, and that the program now computes.

use std::collections::BTreeSet;

use crate::assertion::Assertion;
use crate::extract::Names;

/// Returns the function that gives what is expected, if the test said it before: one of the module that what is tested comes from, so
/// that both sides are wrong together.
pub(super) fn recomputed<'a>(
    (before, old): (&Assertion, &Names),
    (after, new): (&'a Assertion, &'a Names),
) -> Option<&'a str> {
    let (one, other) = before.sides.as_ref()?;
    let was_said = says(one, old) != says(other, old);
    let (one, other) = after.resolved.as_ref().or(after.sides.as_ref()).filter(|_| was_said)?;
    if says(one, new) || says(other, new) {
        return None;
    }
    let (first, second) = (called(one, new), called(other, new));
    let had: BTreeSet<&str> = before.text.split(' ').collect();
    let is_of_same = |name: &&&str| {
        first
            .iter()
            .chain(&second)
            .any(|tested| had.contains(tested) && tested != *name && module(tested, new) == module(name, new))
    };
    // What gave the tested value before is not what gives the expected one now.
    first.iter().chain(&second).filter(|name| !had.contains(**name)).find(is_of_same).copied()
}

/// Returns whether the test itself says a value: by literals, and no function of the program.
fn says(side: &str, names: &Names) -> bool {
    let has_literal = side
        .split(' ')
        .any(|word| word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\'')));
    has_literal && called(side, names).is_empty()
}

/// Returns the functions that an expression calls and that the file imports. What begins with a capital makes a value.
fn called<'a>(side: &'a str, names: &'a Names) -> Vec<&'a str> {
    let words: Vec<&str> = side.split(' ').collect();
    let is_function = |word: &str| word.starts_with(char::is_lowercase) && names.imported.contains_key(word);
    words.windows(2).filter(|two| two[1] == "(" && is_function(two[0])).map(|two| two[0]).collect()
}

/// Returns the words of the module that an imported name comes from.
fn module<'a>(name: &str, names: &'a Names) -> Option<BTreeSet<&'a str>> {
    let words = names.imported.get(name)?;
    Some(words.iter().map(String::as_str).filter(|word| *word != name).collect())
}
