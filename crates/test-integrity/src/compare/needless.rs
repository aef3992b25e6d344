//! Assertions that may go without a loss: what they said follows from what the test does now.

use std::collections::BTreeSet;

use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::matching::state::State;

/// Takes out the demand that a test panics, if it has to hold now by as many assertions: where it was to panic, none of them could show
/// anything. `state` is that after the change, in which the test still has to call what it called.
pub(super) fn without_panic(
    old: &mut Vec<Assertion>,
    new: &[Assertion],
    state: &State,
    (before, after): (&Test, &Test),
) {
    let others = old.iter().filter(|assertion| !is_panic(assertion)).count();
    let is_called = |name: &String| after.body.calls.contains(name);
    let holds_now = new.len() >= others
        && (others > 0 || is_by_helper(state, after))
        && before.body.calls.iter().all(is_called);
    if holds_now && !new.iter().any(is_panic) {
        old.retain(|assertion| !is_panic(assertion));
    }
}

/// Returns whether an assertion is the attribute of Rust's by which a test has to panic.
fn is_panic(assertion: &Assertion) -> bool {
    assertion.is_failure() && assertion.text.starts_with("# [ should_panic")
}

/// Returns whether a test calls a function of its file that says by itself whether it holds: other tests there do nothing else.
fn is_by_helper(state: &State, test: &Test) -> bool {
    let is_alone = |other: &&Test, name: &String| {
        other.path == test.path
            && other.name != test.name
            && other.body.assertions.is_empty()
            && other.body.calls.contains(name)
    };
    let is_helper = |name: &&String| state.functions.contains(*name);
    let others = |name: &String| state.tests.iter().filter(|other| is_alone(other, name)).count();
    test.body.calls.iter().filter(is_helper).any(|name| others(name) > 1)
}

/// Takes out the assertions that always hold and say where a test has come, if it said so by `t.pass("…")` before.
pub(super) fn without_passes(new: &mut Vec<Assertion>, before: &Test, after: &Test) {
    let passes =
        |test: &Test| test.body.words.windows(2).filter(|two| two[0] == "pass" && two[1] == "(").count();
    let mut said = passes(before).saturating_sub(passes(after));
    new.retain(|assertion| {
        let is_pass = said > 0 && assertion.strength == Strength::Nothing;
        said -= usize::from(is_pass);
        !is_pass
    });
}

/// Takes out the demands that a callback is given no error, as far as the test now waits for more promises: one that is rejected fails it.
pub(super) fn waiting_fails(dropped: &mut Vec<Assertion>, before: &Test, after: &Test) {
    let waits = |test: &Test| test.body.words.iter().filter(|word| *word == "await").count();
    let mut more = waits(after).saturating_sub(waits(before));
    dropped.retain(|assertion| {
        let is_told = more > 0 && is_absent_error(assertion);
        more -= usize::from(is_told);
        !is_told
    });
}

/// Returns whether an assertion demands of a callback's error that there is none: `assert.ifError(err)`, `expect(err).toBeNull()`.
fn is_absent_error(assertion: &Assertion) -> bool {
    const ERRORS: &[&str] = &["err", "error", "e"];
    const NONE: &[&str] = &[
        "ifError (",
        ". error ( e",
        "null",
        "Null",
        "undefined",
        "Undefined",
        "Falsy",
        "notOk (",
        "not . exist",
        "! e",
    ];
    let names = assertion.content().any(|word| ERRORS.contains(&word));
    names && NONE.iter().any(|part| assertion.text.contains(part))
}

/// Takes out the demands on items of a list as far as it is now expected to have fewer of them: another expectation, by which there is
/// less to say.
pub(super) fn items_of_less(dropped: &mut Vec<Assertion>, then: &[Assertion], now: &[Assertion]) {
    let size = |assertion: &Assertion| -> Option<(String, usize)> {
        let (tested, expected) = assertion.operands()?;
        let list =
            [" . size ( )", " . length", " . len ( )"].iter().find_map(|end| tested.strip_suffix(end));
        let list = list.or_else(|| tested.strip_prefix("len ( ")?.strip_suffix(" )"))?;
        Some((list.to_owned(), expected.parse().ok()?))
    };
    let total = |all: &[Assertion], list: &str| -> (usize, usize) {
        let sizes = all.iter().filter_map(size).filter(|(own, _)| own == list).map(|(_, size)| size);
        sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size))
    };
    let lists: BTreeSet<String> = then.iter().filter_map(size).map(|(list, _)| list).collect();
    for list in lists {
        let ((counts, had), (others, has)) = (total(then, &list), total(now, &list));
        let mut fewer = if counts == others { had.saturating_sub(has) } else { 0 };
        let items = [" . get (", " ["].map(|place| format!("{list}{place}"));
        dropped.retain(|assertion| {
            let is_item =
                fewer > 0 && items.iter().any(|start| assertion.subject.starts_with(start.as_str()));
            fewer -= usize::from(is_item);
            !is_item
        });
    }
}
