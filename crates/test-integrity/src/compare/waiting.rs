//! Assertions that are still made, and that the test no longer waits for.

use crate::extract::{Test, Wait};
use crate::finding::{Finding, Kind, short};
use crate::matching::state::State;

/// Words of assertions that come to a promise, whatever library they are from.
const PROMISED: &[&str] = &[
    "resolves",
    "rejects",
    "rejected",
    "rejectedWith",
    "fulfilled",
    "eventually",
    "poll",
    "toPass",
    "async",
    "page",
    "locator",
    "browser",
    "screen",
    "waitFor",
    "asyncProperty",
    "$",
];

/// Returns what a test waited for, and no longer does although it still starts it.
pub(super) fn of_pair((old, before): (&State, &Test), (new, after): (&State, &Test)) -> Option<Finding> {
    let (then, now) = (&before.body.waits, &after.body.waits);
    let count = |waits: &[Wait], text: &str| waits.iter().filter(|wait| wait.text == text).count();
    let loose = |lines: &[(String, usize)], text: &str| {
        let awaited = format!("await {text}");
        let is_left = |line: &str| line.contains(text) && !line.contains(&awaited);
        lines.iter().filter(|(line, _)| is_left(line)).map(|(_, line)| *line).collect::<Vec<_>>()
    };
    let is_checking = |wait: &Wait| {
        let helper = wait.callee.as_deref().filter(|name| old.is_helper(name));
        wait.asserts && comes_later(&wait.text, before) || helper.is_some_and(|name| new.is_coroutine(name))
    };
    let left = then.awaited.iter().filter(|wait| is_checking(wait)).find_map(|wait| {
        let (had, has) = (loose(&then.loose, &wait.text), loose(&now.loose, &wait.text));
        let is_left =
            count(&now.awaited, &wait.text) < count(&then.awaited, &wait.text) && has.len() > had.len();
        is_left.then(|| (short(&wait.text), has[0]))
    });
    // What a test returned, its runner waited for.
    let dropped = || {
        let name = then.returned.iter().find(|name| !now.returned.contains(name))?;
        let is_there = after.body.words.contains(name);
        let waits = now.awaited.iter().any(|wait| then.awaited.iter().all(|old| old.text != wait.text));
        (now.returned.is_empty() && is_there && !waits && !before.body.assertions.is_empty())
            .then(|| (name.clone(), after.line))
    };
    let (text, line) = left.or_else(dropped)?;
    let message = format!("in `{}`: nothing waits for `{text}` any more", after.name);
    Some(Finding::new(&after.path, line, Kind::WeakerAssertion, message))
}

/// Returns whether an assertion is one that comes to a promise. Others are often awaited for no reason.
fn comes_later(text: &str, test: &Test) -> bool {
    let is_promised = |word: &str| {
        PROMISED.contains(&word)
            || word.contains("Async")
            || word.contains("ejects")
            || word.starts_with("findBy")
    };
    let is_of_matcher = text.starts_with("expect (");
    !is_of_matcher || text.split(' ').any(is_promised) || test.body.words.iter().any(|word| is_promised(word))
}
