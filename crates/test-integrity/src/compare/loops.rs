//! Assertions on a whole value that became assertions on each of its items, which say nothing if there is none.

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
