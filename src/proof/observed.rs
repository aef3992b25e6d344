//! Observed result of each test in a run of the tests.

use std::collections::{BTreeMap, BTreeSet};

use test_integrity::ChangedTest;
use test_results::{Outcome, Results, TestResult};

use super::missing::{BuildError, build_errors, is_error};
use super::{ProofError, has_extension};
use crate::base::text::shortened;
use crate::command::{Ended, failure_lines};

/// Number of characters of an output's line that a reason quotes.
const QUOTED: usize = 300;

/// What is seen of one test in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    Passed,
    /// It failed; with its runner's words, if there are any.
    Failed(Option<String>),
    /// It could not be built or loaded, for a reason of its own.
    Unbuilt(String),
    /// It could not be built or loaded because of something else.
    Hindered(String),
    Skipped,
    /// Nothing is seen of it, and why.
    Nothing(String),
}

impl Observed {
    /// Returns whether the same was seen, for whatever reason.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns what it did, as the end of a sentence.
    pub(super) fn in_a_word(&self) -> &str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Unbuilt(_) | Self::Hindered(_) => "could not be built",
            Self::Skipped => "was skipped",
            Self::Nothing(_) => "could not be run",
        }
    }
}

/// One run of the command.
pub(super) struct CommandRun {
    pub(super) ended: Ended,
    pub(super) output: String,
    pub(super) results: Results,
    /// Whether the command was told which tests to run, by their names: any other one runs tests that nobody asked for.
    pub(super) is_named: bool,
}

impl CommandRun {
    /// Returns whether something could not be built or loaded, and no test that ran has failed.
    pub(super) fn is_unbuilt_alone(&self) -> bool {
        !self.results.unbuilt.is_empty()
            && !self.results.tests.iter().any(|test| test.outcome == Outcome::Failed)
    }

    /// Returns what is seen of some tests, which are among those of the state.
    pub(super) fn of(&self, tests: &[&ChangedTest], state: &StateOfTests<'_>) -> Vec<Observed> {
        let names: Vec<Vec<String>> = tests.iter().map(|test| parts(test)).collect();
        let found = self.results.of(&names);
        let errors = build_errors(&self.output);
        let missing = state.missing(&errors);
        let mut observed = Vec::new();
        for ((test, results), name) in tests.iter().zip(found).zip(&names) {
            let unbuilt = if results.is_empty() { self.results.unbuilt_of(name) } else { None };
            observed.push(match unbuilt {
                _ if !results.is_empty() => self.believed(of_results(&results)),
                Some(message) => {
                    let message = first_error(&self.output).unwrap_or(message).to_owned();
                    let is_own =
                        test.needs(&missing) || errors.iter().any(|error| state.is_within(error, test));
                    if is_own { Observed::Unbuilt(message) } else { Observed::Hindered(message) }
                }
                None => self.as_a_whole(tests.len()),
            });
        }
        observed
    }

    /// Returns what was seen of a test, unless it is said to have passed in an output that contradicts itself.
    fn believed(&self, seen: Observed) -> Observed {
        match (seen, self.results.doubts.first()) {
            (Observed::Passed, Some(doubt)) => {
                Observed::Nothing(format!("its result in the output is not reliable: {doubt}"))
            }
            (seen, _) => seen,
        }
    }

    /// Returns an error if the command is none that can be run, rather than one that fails.
    pub(super) fn require_runnable(&self) -> Result<(), ProofError> {
        match &self.ended {
            Ended::NotStarted(error) => Err(ProofError::NotRunnable(error.clone())),
            Ended::Exited(126 | 127) if self.results.is_empty() => {
                Err(ProofError::NotRunnable(self.quoted().unwrap_or_else(|| "it was not found".to_owned())))
            }
            _ => Ok(()),
        }
    }

    /// Returns the line of the output that tells most about a failure.
    fn quoted(&self) -> Option<String> {
        let line = failure_lines(&self.output)
            .next()
            .or_else(|| self.output.lines().rev().find(|line| !line.trim().is_empty()))?;
        Some(shortened(line.trim(), QUOTED))
    }

    /// Returns whether the command failed, and its output does not tell which tests did.
    pub(super) fn fails_without_names(&self) -> bool {
        let has_failed = matches!(self.ended, Ended::Exited(code) if !matches!(code, 0 | 126 | 127));
        has_failed && self.results.is_empty() && !says_none(&self.output)
    }

    /// Returns what the exit code says of a test that the output does not name, of so many that were to run.
    fn as_a_whole(&self, asked: usize) -> Observed {
        match &self.ended {
            Ended::TimedOut => Observed::Nothing("the command was stopped at its time limit".to_owned()),
            Ended::NotStarted(error) => {
                Observed::Nothing(format!("the command could not be started: {error}"))
            }
            Ended::Cancelled => Observed::Nothing("it was interrupted".to_owned()),
            Ended::StillRunning => {
                Observed::Nothing("the processes of the command could not be stopped".to_owned())
            }
            Ended::Exited(126 | 127) => {
                let line = self.quoted().unwrap_or_default();
                Observed::Nothing(format!("the command could not be run: {line}"))
            }
            _ if !self.results.is_empty() || says_none(&self.output) => {
                let hint = hint(&self.output).unwrap_or_default();
                Observed::Nothing(format!("the output of the command does not name it{hint}"))
            }
            // A test may have ended the process of its runner, with whatever exit code.
            _ if self.results.is_unfinished || lacks_summary(&self.output) => {
                Observed::Nothing("its runner did not come to its summary".to_owned())
            }
            Ended::Exited(0) => Observed::Passed,
            Ended::Exited(_) if asked > 1 || !self.is_named => Observed::Nothing(
                "the output names no test, so that it is not known which one failed; use `{test}` in the command, or make its runner \
                 name them"
                    .to_owned(),
            ),
            Ended::Exited(code) => {
                let line = self.quoted().map_or_else(String::new, |line| format!(": {line}"));
                Observed::Failed(Some(format!("the command as a whole failed with exit code {code}{line}")))
            }
            Ended::Signaled(signal) => Observed::Nothing(format!("the command was ended by signal {signal}")),
        }
    }
}

/// What is known of a state before anything runs there.
pub(super) struct StateOfTests<'a> {
    /// All tests of the change.
    pub(super) tests: &'a [ChangedTest],
    /// Names that the state lacks.
    pub(super) new_names: &'a BTreeSet<String>,
    /// Texts of files that are not those of the change, by path.
    pub(super) texts: &'a BTreeMap<String, String>,
    /// Whether there has to be a program that the command runs.
    pub(super) has_to_run: bool,
}

impl StateOfTests<'_> {
    /// Returns an error if the command has to be one that can be run, and is not.
    pub(super) fn check(&self, run: &CommandRun) -> Result<(), ProofError> {
        if self.has_to_run { run.require_runnable() } else { Ok(()) }
    }

    /// Returns the names that the state lacks. What an error within a test says is missing is known of that test alone, since
    /// others have errors of their own.
    fn missing(&self, errors: &[BuildError]) -> BTreeSet<String> {
        let of_none = |error: &&BuildError| !self.tests.iter().any(|test| self.is_within(error, test));
        let named = errors.iter().filter(of_none).flat_map(|error| error.names.iter().cloned());
        named.chain(self.new_names.iter().cloned()).collect()
    }

    /// Returns whether an error lies within a test.
    fn is_within(&self, error: &BuildError, test: &ChangedTest) -> bool {
        let Some(line) = error.line_in(&test.path) else { return false };
        let lines = match self.texts.get(&test.path) {
            Some(text) => test.lines_in(text),
            None => Some(test.line..=test.last_line),
        };
        lines.is_some_and(|lines| lines.contains(&line))
    }
}

/// Returns how a runner is made to name its tests, if it is seen which one it is.
fn hint(output: &str) -> Option<&'static str> {
    let has = |fits: &dyn Fn(&str) -> bool| output.lines().any(|line| fits(line.trim_end()));
    if has(&|line| line.starts_with("Ran ") && line.contains(" test") && line.contains(" in ")) {
        Some("; unittest names tests with `-v`")
    } else if has(&|line| line.starts_with("ok  \t") || line.starts_with("FAIL\t")) {
        Some("; `go test` names tests with `-v`")
    } else if has(&|line| line.starts_with("Test Suites: ")) {
        Some("; Jest names tests with `--verbose`")
    } else if has(&|line| line.trim_start().starts_with("Test Files  ")) {
        Some("; Vitest names tests with `--reporter=verbose`")
    } else {
        None
    }
}

fn first_error(output: &str) -> Option<&str> {
    output
        .lines()
        .filter(|line| is_error(line))
        .find(|line| !line.contains("Failed to import test module"))
        .map(|line| line.trim_start_matches(['#', ' ', 'E']).trim())
        .filter(|line| !line.is_empty())
}

/// Returns whether a runner says that it ran no test, which is not a failure of a test.
fn says_none(output: &str) -> bool {
    output.lines().any(|line| {
        let line = line.trim();
        line == "running 0 tests"
            || line.starts_with("no tests ran")
            || line.contains("no tests ran in")
            || line.starts_with("Ran 0 tests")
            || line.contains("[no tests to run]")
            || line.contains("No tests found")
            || line == "# tests 0"
            || line == "ℹ tests 0"
    })
}

/// Returns whether a runner began, and did not come to what it says at its end.
fn lacks_summary(output: &str) -> bool {
    let begins = output.lines().any(|line| line.trim().trim_matches('=').trim() == "test session starts");
    let is_end = |line: &str| line.starts_with('=') && line.ends_with('=') && line.contains(" in ");
    begins && !output.lines().any(|line| is_end(line.trim()))
}

fn of_results(results: &[&TestResult]) -> Observed {
    let failed = results.iter().find(|result| result.outcome == Outcome::Failed);
    match failed {
        Some(failed) => Observed::Failed(match share_of_cases(results) {
            Some(share) => {
                let message =
                    failed.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
                Some(format!("{share}{message}"))
            }
            None => failed.message.clone(),
        }),
        None if results.iter().all(|result| result.outcome == Outcome::Skipped) => Observed::Skipped,
        None => Observed::Passed,
    }
}

/// Returns how many cases of a test failed, if others did not: what is shown of the test is shown by those alone.
fn share_of_cases(results: &[&TestResult]) -> Option<String> {
    let cases: BTreeMap<&str, bool> = results
        .iter()
        .map(|result| Some((result.case.as_deref()?, result.outcome == Outcome::Failed)))
        .collect::<Option<_>>()?;
    let failed = cases.values().filter(|failed| **failed).count();
    (failed < cases.len()).then(|| format!("{failed} of its {} cases", cases.len()))
}

/// Returns the parts of a test's name: folders, file, and what it is in.
fn parts(test: &ChangedTest) -> Vec<String> {
    let path = test.path.rsplit_once('.').map_or(test.path.as_str(), |(stem, _)| stem);
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let last = parts.last().map_or("", String::as_str);
    // Rust's crates and Go's packages do not have the names of these files, and Java's files those of their classes.
    let is_silent = matches!(last, "lib" | "main" | "mod") && has_extension(&test.path, "rs")
        || has_extension(&test.path, "go")
        || test.names.first().is_some_and(|first| first == last);
    if is_silent {
        parts.pop();
    }
    parts.extend(test.names.iter().cloned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_that_end_early_lack_their_summary() {
        let begun = "===== test session starts =====\ncollected 2 items\n\ntest_shop.py ";
        assert!(lacks_summary(begun));
        assert!(!lacks_summary(&format!("{begun}..\n===== 2 passed in 0.01s =====\n")));
        assert!(!lacks_summary("2 passed\n"));
    }

    #[test]
    fn cases_that_fail_are_counted_beside_those_that_do_not() {
        let results = test_results::parse("a.py::t[1] PASSED [ 50%]\na.py::t[2] FAILED [100%]\n");
        let all: Vec<&TestResult> = results.tests.iter().collect();
        assert_eq!(share_of_cases(&all), Some("1 of its 2 cases".to_owned()));
        assert_eq!(share_of_cases(&all[1..]), None);
    }
}
