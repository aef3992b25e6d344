//! Decides which of a test's code runs, and whether its failures count: code that is never reached, statements that end a body
//! early, calls that are not waited for, and the outcomes of calls.

pub(super) mod early_exit;
mod fates;
pub(super) mod jumps;
pub(super) mod listeners;
pub(super) mod outcomes;
pub(super) mod raised;
pub(super) mod reach;
pub(super) mod waits;
