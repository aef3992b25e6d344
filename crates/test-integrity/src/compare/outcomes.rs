//! Outcomes that a test looked at, and no longer looks at.

use crate::extract::Test;
use crate::finding::{Finding, Kind, short};
use crate::syntax::is_pure;
use crate::syntax::tokens::{outer_call, split};

/// Returns what a test no longer does with the outcome of what it calls.
pub(super) fn of_pair(before: &Test, after: &Test) -> Vec<Finding> {
    let (old, new) = (&before.body.outcomes, &after.body.outcomes);
    let name = &after.name;
    let mut findings = Vec::new();
    let dropped = new.dropped.iter().find(|(call, _)| {
        !is_request_of_literals(call)
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

/// Returns whether a call makes a request of Go's out of a method and an address that the test writes out: nothing else can make it fail.
fn is_request_of_literals(call: &str) -> bool {
    let Some((callee, given)) = outer_call(call) else { return false };
    let is_written =
        |given: &&str| is_pure(given) || given.starts_with("http . Method") && !given.contains('(');
    let given = split(given, &[" , "]);
    callee == "http . NewRequest" && given.len() == 3 && given.iter().take(2).all(is_written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_literals_cannot_fail() {
        for (call, expected) in [
            ("http . NewRequest ( \"GET\" , \"/\" , nil )", true),
            ("http . NewRequest ( http . MethodPost , \"/a,b\" , strings . NewReader ( text ) )", true),
            ("http . NewRequest ( \"GET\" , url ( ) , nil )", false),
            ("http . NewRequest ( \"GET\" , \"/\" + id , nil )", false),
            ("http . NewRequest ( method , \"/\" , nil )", false),
            ("shop . NewRequest ( \"GET\" , \"/\" , nil )", false),
        ] {
            assert_eq!(is_request_of_literals(call), expected, "{call}");
        }
    }
}
