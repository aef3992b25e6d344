//! Differences that an assertion ignores by an option and another one did not.

use std::collections::BTreeSet;

use super::narrower::narrower;
use crate::assertion::Assertion;

/// Returns whether an assertion looks away from something that it looked at before.
pub(super) fn leaves_out(before: &Assertion, after: &Assertion) -> bool {
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
    names(&after.text).difference(&names(&before.text)).any(is_exempting)
        && !["ignor", "any_order"].iter().any(|word| before.text.to_lowercase().contains(word))
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
