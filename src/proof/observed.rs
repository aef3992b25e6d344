//! Observed result of each test in a run of the tests.

use std::collections::{BTreeMap, BTreeSet};

use test_integrity::ChangedTest;
use test_results::{Outcome, Results, TestResult, has_run_tests};

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

/// What is seen of one test in one state, and of each of its cases, if it has several and they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) seen: Observed,
    pub(super) cases: BTreeMap<String, Observed>,
}

impl Observation {
    /// Returns what is seen of a case: what is seen of the whole test if none is named.
    pub(super) fn case(&self, name: &str) -> Observed {
        match self.cases.get(name) {
            Some(seen) => seen.clone(),
            None if self.cases.is_empty() => self.seen.clone(),
            None => Observed::Nothing("the output does not name this case".to_owned()),
        }
    }
}

/// What the pipes of a command line hide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Whether something other than `tee` reads the output, and may leave out lines.
    pub(super) output: bool,
    /// Whether the exit code is only that of the last part of a pipe.
    pub(super) exit_code: bool,
}

/// One run of the command.
pub(super) struct CommandRun {
    pub(super) ended: Ended,
    pub(super) output: String,
    pub(super) results: Results,
    /// Whether the command was told which tests to run, by their names: any other one runs tests that nobody asked for.
    pub(super) is_named: bool,
    /// What a pipe in the command hides of its tests.
    pub(super) hidden: Hidden,
}

impl CommandRun {
    /// Returns whether something could not be built or loaded, and no test that ran has failed.
    pub(super) fn is_unbuilt_alone(&self) -> bool {
        !self.results.unbuilt.is_empty()
            && !self.results.tests.iter().any(|test| test.outcome == Outcome::Failed)
    }

    /// Returns what is seen of some tests, which are among those of the state.
    pub(super) fn of(&self, tests: &[&ChangedTest], state: &StateOfTests<'_>) -> Vec<Observation> {
        let names: Vec<Vec<String>> = tests.iter().map(|test| parts(test)).collect();
        let found = self.results.of(&names);
        let errors = build_errors(&self.output);
        let missing = state.missing(&errors);
        let mut observed = Vec::new();
        for ((test, results), name) in tests.iter().zip(found).zip(&names) {
            let unbuilt = if results.is_empty() { self.results.unbuilt_of(name) } else { None };
            let seen = match unbuilt {
                _ if !results.is_empty() => self.believed(of_results(&results)),
                Some(message) => {
                    let message = first_error(&self.output).unwrap_or(message).to_owned();
                    let is_own =
                        test.needs(&missing) || errors.iter().any(|error| state.is_within(error, test));
                    if is_own { Observed::Unbuilt(message) } else { Observed::Hindered(message) }
                }
                None => self.as_a_whole(tests.len()),
            };
            let own = test.names.last().map_or("", String::as_str);
            let cases = cases(own, &results).into_iter();
            let cases = cases.map(|(name, seen)| (name, self.believed(seen))).collect();
            observed.push(Observation { seen, cases });
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
                let cut = "; the pipe in the command may leave out its line";
                let hint = self.hidden.output.then_some(cut).or_else(|| hint(&self.output)).unwrap_or_default();
                Observed::Nothing(format!("the output of the command does not name it{hint}"))
            }
            // A test may have ended the process of its runner, with whatever exit code.
            _ if self.results.is_unfinished || lacks_summary(&self.output) => {
                Observed::Nothing("its runner did not come to its summary".to_owned())
            }
            Ended::Exited(_) if self.hidden.exit_code => Observed::Nothing(
                "the output names no test, and the exit code is that of the last part of the pipe; leave out the pipe".to_owned(),
            ),
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
    has_run_tests(output, true) == Some(false)
}

/// Returns whether a runner began, and did not come to what it says at its end.
fn lacks_summary(output: &str) -> bool {
    let begins = output.lines().any(|line| line.trim().trim_matches('=').trim() == "test session starts");
    let is_end = |line: &str| line.starts_with('=') && line.ends_with('=') && line.contains(" in ");
    begins && !output.lines().any(|line| is_end(line.trim()))
}

fn of_results(results: &[&TestResult]) -> Observed {
    let failed = results.iter().filter(|result| result.outcome == Outcome::Failed);
    // A test with cases may have a result of its own, which says less than theirs: the first that says why counts.
    match failed.min_by_key(|result| result.message.is_none()) {
        Some(failed) => Observed::Failed(failed.message.clone()),
        None if results.iter().all(|result| result.outcome == Outcome::Skipped) => Observed::Skipped,
        None => Observed::Passed,
    }
}

/// Returns what is seen of each case of a test of this name, if there are several.
fn cases(own: &str, results: &[&TestResult]) -> BTreeMap<String, Observed> {
    let mut by_case: BTreeMap<String, Vec<&TestResult>> = BTreeMap::new();
    for result in results {
        if let Some(case) = case(own, result) {
            by_case.entry(case).or_default().push(result);
        }
    }
    // Go names groups of cases as well as the cases in them.
    let names: Vec<String> = by_case.keys().cloned().collect();
    by_case.retain(|name, _| !names.iter().any(|other| is_below(other, name)));
    if by_case.len() < 2 {
        return BTreeMap::new();
    }
    by_case.into_iter().map(|(name, results)| (name, of_results(&results))).collect()
}

/// Returns whether a case is in a group of cases.
fn is_below(case: &str, group: &str) -> bool {
    case.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the case that a result is of: as its runner writes it, or else what the name of the test's own does not have. A name with
/// placeholders stands for those of its cases, and the cases of a test in Rust may be in a module of its name.
fn case(own: &str, result: &TestResult) -> Option<String> {
    if let Some(case) = &result.case {
        return Some(case.clone());
    }
    let last = result.name.last()?;
    if own.contains(['%', '$']) {
        return (last != own).then(|| last.clone());
    }
    let at = result.name.iter().rposition(|part| part == own)?;
    let behind = &result.name[at + 1..];
    (!behind.is_empty()).then(|| behind.join("::"))
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
    fn cases_are_seen_one_by_one() {
        for (own, output, expected) in [
            ("t", "a.py::t[1] PASSED [ 50%]\na.py::t[2] FAILED [100%]\n", "1 passed, 2 failed"),
            ("t", "a.py::t[1] PASSED [100%]\n", ""),
            ("t", "a.py::t PASSED [100%]\n", ""),
            (
                "TestT",
                "--- FAIL: TestT (0.00s)\n    --- PASS: TestT/zero (0.00s)\n    --- FAIL: TestT/more (0.00s)\n        --- PASS: \
                 TestT/more/one (0.00s)\n        --- FAIL: TestT/more/two (0.00s)\nFAIL\nFAIL\tshop\t0.1s\n",
                "more/one passed, more/two failed, zero passed",
            ),
            (
                "t",
                "test tests::t::case_1_small ... ok\ntest tests::t::case_2_large ... FAILED\n",
                "case_1_small passed, case_2_large failed",
            ),
            ("adds %i", "  ✓ adds 1\n  ✕ adds 2\n", "adds 1 passed, adds 2 failed"),
        ] {
            let results = test_results::parse(output);
            let found = cases(own, &results.tests.iter().collect::<Vec<_>>());
            let told: Vec<String> =
                found.iter().map(|(name, seen)| format!("{name} {}", seen.in_a_word())).collect();
            assert_eq!(told.join(", "), expected, "{output}");
        }
    }
}
