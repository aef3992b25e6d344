//! Rule by which pages list: nobody reads thousands of files, calls or actions.

use super::CallSummary;
use crate::base::text::grouped;

/// Number of files, of calls and of actions that a page lists.
pub(super) const MAX_LISTED: usize = 1_000;

/// Says how many of so many things a page leaves out, if it does.
pub(super) fn more(all: usize, what: &str) -> Option<String> {
    let more = all.checked_sub(MAX_LISTED).filter(|more| *more > 0)?;
    Some(format!("… and {} more {what}, which are in report.json", grouped(more)))
}

/// Returns the calls that a page lists, with their indexes: the first, and all that failed.
pub(super) fn listed(calls: &[CallSummary]) -> impl Iterator<Item = (usize, &CallSummary)> {
    calls.iter().enumerate().filter(|(index, call)| is_listed(*index, call))
}

/// Returns whether a page lists a call.
pub(super) fn is_listed(index: usize, call: &CallSummary) -> bool {
    index < MAX_LISTED || !call.success
}
