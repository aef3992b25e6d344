//! Outcomes that a test looked at, and no longer looks at.

use crate::Change;
use crate::assertion::Assertion;
use crate::extract::Test;
use crate::finding::{Finding, Kind, short};
use crate::syntax::is_pure;
use crate::syntax::tokens::{outer_call, split};

/// Returns what a test no longer does with the outcome of what it calls.
pub(super) fn of_pair(before: &Test, after: &Test, changes: &[Change<'_>]) -> Vec<Finding> {
    let (old, new) = (&before.body.outcomes, &after.body.outcomes);
    let name = &after.name;
    let mut findings = Vec::new();
    let dropped = new.dropped.iter().find(|(call, line)| {
        !is_request_of_literals(call)
            && old.needed.contains(*call)
            && !old.dropped.contains_key(*call)
            && !new.needed.contains(*call)
            && !is_of_cleaning(call, **line, after)
            && (!call.starts_with("program ") || !asks(after, RESULTS))
            && !is_redefined(call, changes)
    });
    if let Some((call, line)) = dropped {
        let message = format!("`{name}` no longer looks at whether `{}` fails", short(call));
        findings.push(Finding::new(&after.path, *line, Kind::SwallowedFailure, message));
    }
    let unchecked = old.checked.iter().find(|(value, _)| {
        let has = |words: &[String]| format!(" {} ", words.join(" ")).contains(&format!(" {value} "));
        !new.checked.contains_key(*value)
            && has(&after.body.words)
            && !asks(after, RESULTS)
            && !is_given_away(before, after)
    });
    if let Some((value, demand)) = unchecked.filter(|_| new.checked.len() < old.checked.len()) {
        let message = format!("`{name}` no longer demands by `{demand}` that `{}` succeeds", short(value));
        findings.push(Finding::new(&after.path, after.line, Kind::WeakerAssertion, message));
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

/// Names of what says whether something failed.
#[rustfmt::skip]
const RESULTS: &[&str] = &[
    "returncode", "status_code", "ok", "status", "is_success", "is_error", "exit_code", "communicate", "wait", "poll", "check_returncode",
];

/// Returns whether an assertion of a test looks at one of some members, or a statement calls it.
fn asks(test: &Test, members: &[&str]) -> bool {
    let is_one = |word: &str| members.contains(&word);
    test.body.assertions.iter().any(|assertion| assertion.text.split(' ').any(is_one))
        || test.body.calls.iter().any(|name| is_one(name))
}

/// Returns whether a test newly calls what says that it demands something.
fn is_given_away(before: &Test, after: &Test) -> bool {
    let demands = |name: &str| {
        let name = name.to_lowercase();
        ["check", "assert", "ensure", "raise", "verify", "expect", "require"]
            .iter()
            .any(|part| name.contains(part))
    };
    after.body.calls.iter().any(|name| demands(name) && !before.body.calls.contains(name))
}

/// Returns whether a call only takes away what a test has made: nothing is asserted behind it, or it removes files.
fn is_of_cleaning(call: &str, line: usize, test: &Test) -> bool {
    const CLEANING: &[&str] = &[
        "close",
        "shutdown",
        "kill",
        "stop",
        "clean",
        "teardown",
        "disconnect",
        "remove",
        "unlink",
        "rmtree",
        "delete",
        "terminate",
        "destroy",
        "quit",
        "release",
        "unregister",
        "unsubscribe",
        "cancel",
        "abort",
        "join",
    ];
    const FILES: &[&str] = &[
        "fs :: remove",
        "std :: fs :: remove",
        "os . remove",
        "os . Remove",
        "os . unlink",
        "shutil . rmtree",
    ];
    let name =
        outer_call(call).map_or(call, |(name, _)| name).rsplit(' ').next().unwrap_or(call).to_lowercase();
    let is_last = test.body.assertions.iter().all(|assertion| assertion.line < line);
    // A lock fails after another test has only.
    call.ends_with(" . lock ( )")
        || is_last && CLEANING.iter().any(|part| name.contains(part))
        || FILES.iter().any(|start| call.starts_with(start))
}

/// Returns whether an assertion demanded of a call, which a test still makes, that there is no error, and there may be none any more.
pub(super) fn can_no_longer_fail(gone: &Assertion, after: &Test, changes: &[Change<'_>]) -> bool {
    let call = gone.text.contains(" . NoError ( t , ").then_some(gone.subject.as_str());
    call.is_some_and(|call| after.body.words.join(" ").contains(call) && is_redefined(call, changes))
}

/// Returns whether a change gives another shape to what is called, so that it may have no failure any more.
fn is_redefined(call: &str, changes: &[Change<'_>]) -> bool {
    const KEYWORDS: &[&str] = &["fn", "func", "def", "function", "async"];
    const STATEMENTS: &[&str] = &["if", "for", "while", "switch", "match", "return", "}", "try", "else"];
    let name = outer_call(call).map_or(call, |(name, _)| name).rsplit(' ').next().unwrap_or(call);
    let defines = |line: &&str| {
        line.match_indices(name).any(|(at, _)| {
            let (head, tail) = (line[..at].trim_end(), &line[at + name.len()..]);
            let mut words = head.split_whitespace();
            let is_method = line.ends_with('{')
                && !head.contains(['=', '.', '('])
                && words.next().is_none_or(|first| !STATEMENTS.contains(&first));
            let is_function = head.starts_with("func ") && head.ends_with(')')
                || head.split_whitespace().next_back().is_some_and(|last| KEYWORDS.contains(&last));
            tail.starts_with(['(', '<']) && (is_function || is_method)
        })
    };
    let lines = |text: Option<&str>| -> Vec<String> {
        let all = text.unwrap_or_default().lines();
        all.filter(defines).map(|line| line.trim().to_owned()).collect()
    };
    changes.iter().any(|change| {
        let is_dependency = ["Cargo.toml", "go.mod", "package.json", "pom.xml"]
            .iter()
            .any(|name| change.path.ends_with(name));
        is_dependency || lines(change.before) != lines(change.after)
    })
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
