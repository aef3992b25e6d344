//! Which of a test's code runs, and whether its failures count: what is never reached, what ends a body early, what is not waited for,
//! and what becomes of the outcomes of calls.

pub(super) mod early_exit;
pub(super) mod jumps;
pub(super) mod listeners;
pub(super) mod outcomes;
pub(super) mod raised;
pub(super) mod reach;
pub(super) mod waits;
