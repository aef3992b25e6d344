//! Ways in which a test demands less although each of its assertions, by itself, demands as much as before.

use super::{groups, losses, messages};
use crate::Change;
use crate::extract::Test;
use crate::finding::Finding;
use crate::matching::state::State;

/// Returns what a test demands less of.
pub(super) fn of_pair(before: &Test, after: (&State, &Test), changes: &[Change<'_>]) -> Option<Finding> {
    groups::of_pair(before, after.1)
        .or_else(|| losses::of_pair(before, after, changes))
        .or_else(|| messages::of_pair(before, after.1, changes))
}

/// Returns whether the change shows a reason for a finding of one pair of tests.
pub(super) fn is_shown(finding: &Finding, before: &Test, after: &Test, changes: &[Change<'_>]) -> bool {
    messages::is_shown(finding, before, after, changes) || losses::is_of_order(finding, after, changes)
}
