//! Outcomes that a test looked at, and no longer looks at.

use crate::extract::Test;
use crate::finding::{Finding, Kind, short};

/// Returns what a test no longer does with the outcome of what it calls.
pub(super) fn of_pair(before: &Test, after: &Test) -> Vec<Finding> {
    let (old, new) = (&before.body.outcomes, &after.body.outcomes);
    let name = &after.name;
    let mut findings = Vec::new();
    // A request of Go's that is made of literals cannot fail.
    let is_made = |call: &str| call.starts_with("http . NewRequest ( \"");
    let dropped = new.dropped.iter().find(|(call, _)| {
        !is_made(call)
            && old.needed.contains(*call)
            && !old.dropped.contains_key(*call)
            && !new.needed.contains(*call)
    });
    if let Some((call, line)) = dropped {
        let message = format!("`{name}` no longer looks at whether `{}` fails", short(call));
        findings.push(Finding::new(&after.path, *line, Kind::SwallowedFailure, message));
    }
    if let Some((path, line)) = new.written.iter().find(|(path, _)| !old.written.contains_key(*path)) {
        let message = format!("`{name}` writes what it expects itself: `{}`", short(path));
        findings.push(Finding::new(&after.path, *line, Kind::WeakerAssertion, message));
    }
    if old.started > 0 && new.started > 0 && old.joined > 0 && new.joined == 0 {
        let message = format!("`{name}` no longer waits for what it starts, whose failures are lost");
        findings.push(Finding::new(&after.path, after.line, Kind::SwallowedFailure, message));
    }
    findings
}
