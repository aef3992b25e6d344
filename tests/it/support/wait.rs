//! Waiting for a condition, as tests do that have to meet another process.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest that a test waits, in a debug build beside other tests.
const LIMIT: Duration = Duration::from_mins(5);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the condition holds. Panics with `what`, which says what is waited for, if that takes longer than five minutes.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_until_or(|| what.to_owned(), condition);
}

/// Does the same with a text that is made when the wait has been in vain, such as one with the log so far.
#[track_caller]
pub fn wait_until_or(what: impl Fn() -> String, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < LIMIT, "waited in vain: {}", what());
        sleep(PAUSE);
    }
}

/// Waits until the condition holds while a program runs, and panics also if the program ends before.
#[track_caller]
pub fn wait_while_running(child: &mut Child, what: impl Fn() -> String, mut condition: impl FnMut() -> bool) {
    wait_until_or(&what, || {
        // What it did last counts.
        let has_ended = child.try_wait().expect("a child").is_some();
        let holds = condition();
        assert!(holds || !has_ended, "the program ended before: {}", what());
        holds
    });
}
