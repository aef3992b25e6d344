//! Mocks that stand in for what tests are about.

use std::collections::BTreeSet;

use crate::Change;
use crate::assertion::Assertion;
use crate::extract::Test;
use crate::files::{Language, file_name, subject};
use crate::finding::{Finding, Kind};
use crate::matching::state::{State, all_mocks};

/// Returns the mocks that stand in for what a test is about.
pub(super) fn mocked(before: &State, after: &State, changes: &[Change<'_>], new: &[&Test]) -> Vec<Finding> {
    let is_new = |test: &Test| new.iter().any(|new| std::ptr::eq(*new, test));
    let mut findings = Vec::new();
    // A file may get its name in another spelling: `userStore` and `user-store`.
    let plain = |text: &str| -> String {
        text.chars().filter(|letter| !matches!(letter, '-' | '_')).flat_map(char::to_lowercase).collect()
    };
    let known: BTreeSet<String> = all_mocks(before).map(|(_, mark)| plain(&mark.text)).collect();
    for (path, mark) in all_mocks(after).filter(|(_, mark)| !known.contains(&plain(&mark.text))) {
        let existed = changes.iter().any(|change| change.path == path && change.before.is_some());
        let target = mark.text.trim_end_matches(".js").trim_end_matches(".ts");
        let subject = subject(path);
        let last = target.rsplit(['/', '.']).next().unwrap_or(target);
        let is_module = target.contains('/') && last == subject;
        let is_function = !target.contains('/')
            && target.rsplit('.').nth(1).is_some_and(|of| of == subject || is_variable_of(of, subject, path))
            // Calls within an assertion are part of its words.
            && after.tests.iter().any(|test| {
                let mut used = test.body.calls.iter().chain(&test.body.words);
                test.path == path && used.any(|name| name == last)
            });
        // What stands in the module of a test is what the test calls, whoever replaces it.
        let module = target.rsplit('.').nth(1).filter(|module| module.starts_with("test_"));
        let is_of_tests = file_name(path) == "conftest.py" && module.is_some();
        if existed && !subject.is_empty() && (is_module || is_function || is_of_tests) {
            let subject = module.unwrap_or(subject);
            let message = format!(
                "the tests of `{subject}` replace `{}`, which they test, with a mock",
                mark.text.trim_start_matches("class/")
            );
            let finding = Finding::new(path, mark.line, Kind::MockedSubject, message);
            let is_own = |test: &Test| test.path == path && test.body.mocks.contains(mark);
            let in_new = after.tests.iter().find(|test| is_own(test) && is_new(test));
            findings
                .push(finding.noted_if(in_new.map(|test| format!("only the new test `{}` does", test.name))));
        }
    }
    findings
}

/// Returns whether a variable of Java is one of the class of this name: `roster` of `Roster`.
fn is_variable_of(variable: &str, class: &str, path: &str) -> bool {
    Language::of(path) == Some(Language::Java) && variable.eq_ignore_ascii_case(class)
}

/// Returns what a test replaces by itself, and asserts as before.
pub(super) fn replaced(
    (before_state, before): (&State, &Test),
    (after_state, after): (&State, &Test),
) -> Vec<Finding> {
    let name = &after.name;
    let mut findings = Vec::new();
    // What is asserted as before is now said of what the test itself put there.
    for mark in
        after.body.mocks.iter().filter(|mark| !before.body.mocks.iter().any(|old| old.text == mark.text))
    {
        let method = mark.text.rsplit(['.', '/']).next().unwrap_or(&mark.text);
        let called = format!(" {method} (");
        let is_asked = |assertion: &Assertion| {
            format!(" {}", assertion.text).contains(&called)
                && before_state.assertions(&before.body, None).iter().any(|old| old.text == assertion.text)
        };
        // Or of a spy of what it was said of before.
        let is_asked_of_spy = |assertion: &Assertion| {
            let of_any = spied(&after.body.words, &mark.text)
                .filter(|(call, _)| assertion.text.contains(call.as_str()))
                .map(|(call, original)| assertion.text.replace(&call, &original));
            of_any.is_some_and(|text| {
                before_state.assertions(&before.body, None).iter().any(|old| old.text == text)
            })
        };
        let asserted = after_state.assertions(&after.body, None);
        if asserted.iter().any(|assertion| is_asked(assertion) || is_asked_of_spy(assertion)) {
            let message =
                format!("the test `{name}` asserts what its own replacement of `{}` says", mark.text);
            findings.push(Finding::new(&after.path, mark.line, Kind::MockedSubject, message));
        }
    }
    findings
}

/// Returns the beginning of a call of a method of a spy, and that of the call of what it spies on, if a mock is one: `copy . pay (`
/// and `shop . pay (` of `copy.pay`, where `copy` is `spy(shop)`.
fn spied(words: &[String], mock: &str) -> Option<(String, String)> {
    let (spy, method) = mock.rsplit_once('.')?;
    let is_made = |at: &[String]| {
        let start = if at[2] == "Mockito" { 4 } else { 2 };
        at[0] == spy && at[1] == "=" && at[start] == "spy" && at[start + 1] == "("
    };
    let made = words.windows(7).find(|at| is_made(at))?;
    let original = if made[2] == "Mockito" { &made[6] } else { &made[4] };
    Some((format!("{spy} . {method} ("), format!("{original} . {method} (")))
}
