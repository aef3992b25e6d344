//! Assertions on a whole value that became assertions on each of its items, or of what a query finds, which say nothing if there is
//! none.

use crate::assertion::{Assertion, Strength};
use crate::extract::{Looped, Test};
use crate::finding::short;

/// Returns the line of a loop that took the place of an assertion on a whole value, and what that means. `gone` are the assertions
/// that the test no longer makes.
pub(super) fn only_of_items(gone: &[Assertion], before: &Test, after: &Test) -> Option<(usize, String)> {
    let is_over =
        |looped: &Looped, subject: &str| format!(" {} ", looped.over).contains(&format!(" {subject} "));
    let whole = |assertion: &&Assertion| {
        !assertion.is_conditional && assertion.strength >= Strength::Partial && !assertion.subject.is_empty()
    };
    gone.iter().filter(whole).find_map(|assertion| {
        let subject = assertion.subject.as_str();
        if before.body.loops.iter().any(|looped| is_over(looped, subject)) {
            return None;
        }
        let looped = after.body.loops.iter().find(|looped| is_over(looped, subject))?;
        let (inside, outside): (Vec<&Assertion>, Vec<&Assertion>) =
            after.body.assertions.iter().partition(|other| looped.lines.contains(&other.line));
        let is_about = |other: &&Assertion| format!(" {} ", other.text).contains(&format!(" {subject} "));
        if inside.is_empty() || outside.iter().any(is_about) {
            return None;
        }
        let over = short(&looped.over);
        let message = format!(
            "`{}` is gone, and what a loop over `{over}` asserts holds if it is empty",
            short(&assertion.text)
        );
        Some((*looped.lines.start(), message))
    })
}

/// Returns the line of a loop through what a query finds in which all assertions are now that a test made without one.
pub(super) fn only_of_found(before: &Test, after: &Test) -> Option<(usize, String)> {
    let looped = after.body.loops.iter().find(|looped| looped.is_of_query)?;
    let is_known = before.body.loops.iter().any(|other| other.is_of_query);
    let demands = |test: &Test| -> Vec<usize> {
        let certain = test.body.assertions.iter().filter(|assertion| !assertion.is_conditional);
        certain.map(|assertion| assertion.line).collect()
    };
    let lines = demands(after);
    let is_all = !lines.is_empty() && lines.iter().all(|line| looped.lines.contains(line));
    (is_all && !is_known && !demands(before).is_empty()).then(|| {
        let message = format!("all that it asserts holds if `{}` finds nothing", short(&looped.over));
        (*looped.lines.start(), message)
    })
}
