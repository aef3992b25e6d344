//! What a run of the tests shows of each of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use test_integrity::ChangedTest;
use test_results::{Outcome, Results, TestResult};

use super::has_extension;
use crate::command::Ended;

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

/// One run of the command.
pub(super) struct CommandRun {
    pub(super) ended: Ended,
    pub(super) output: String,
    pub(super) results: Results,
}

impl CommandRun {
    /// Returns whether something could not be built or loaded, and no test that ran has failed.
    pub(super) fn is_unbuilt_alone(&self) -> bool {
        !self.results.unbuilt.is_empty()
            && !self.results.tests.iter().any(|test| test.outcome == Outcome::Failed)
    }

    /// Returns what is seen of some tests. `new_names` are names that the state lacks.
    pub(super) fn of(
        &self,
        tests: &[&ChangedTest],
        new_names: &BTreeSet<String>,
        lines: &Lines<'_>,
    ) -> Vec<Observed> {
        let names: Vec<Vec<String>> = tests.iter().map(|test| parts(test)).collect();
        let found = self.results.of(&names);
        let unbuilt: Vec<Option<&str>> = names
            .iter()
            .zip(&found)
            .map(|(name, results)| if results.is_empty() { self.results.unbuilt_of(name) } else { None })
            .collect();
        // What stands alone in the way of a build is what hinders it.
        let is_alone = unbuilt.iter().flatten().count() == 1;
        let missing: BTreeSet<String> =
            missing_names(&self.output).chain(new_names.iter().cloned()).collect();
        let mut observed = Vec::new();
        for ((test, results), message) in tests.iter().zip(found).zip(unbuilt) {
            observed.push(match message {
                _ if !results.is_empty() => of_results(&results),
                Some(message) => {
                    let message = first_error(&self.output).unwrap_or(message).to_owned();
                    let is_own = is_alone || test.mentions(&missing) || lines.has_error(test, &self.output);
                    if is_own { Observed::Unbuilt(message) } else { Observed::Hindered(message) }
                }
                None => self.as_a_whole(),
            });
        }
        observed
    }

    /// Returns what the exit code says of a test that the output does not name.
    fn as_a_whole(&self) -> Observed {
        match &self.ended {
            Ended::TimedOut => Observed::Nothing("the command was stopped at its time limit".to_owned()),
            Ended::NotStarted(error) => {
                Observed::Nothing(format!("the command could not be started: {error}"))
            }
            Ended::Cancelled => Observed::Nothing("it was interrupted".to_owned()),
            Ended::Exited(126 | 127) => {
                let last = self.output.trim_end().lines().last().unwrap_or("").to_owned();
                Observed::Nothing(format!("the command could not be run: {last}"))
            }
            _ if !self.results.is_empty() || says_none(&self.output) => {
                Observed::Nothing("the output of the command does not name it".to_owned())
            }
            Ended::Exited(0) => Observed::Passed,
            Ended::Exited(code) => {
                Observed::Failed(Some(format!("the command as a whole failed with exit code {code}")))
            }
            Ended::Signaled(signal) => Observed::Nothing(format!("the command was ended by signal {signal}")),
        }
    }
}

/// Lines of tests in a state.
pub(super) struct Lines<'a> {
    /// Texts that are not those of the change, by path.
    pub(super) texts: &'a std::collections::BTreeMap<String, String>,
}

impl Lines<'_> {
    /// Returns whether an error of the output lies within a test.
    fn has_error(&self, test: &ChangedTest, output: &str) -> bool {
        let lines = match self.texts.get(&test.path) {
            Some(text) => test.lines_in(text),
            None => Some(test.line..=test.last_line),
        };
        let Some(lines) = lines else { return false };
        PLACE.captures_iter(output).any(|found| {
            let line = found[2].parse::<usize>().is_ok_and(|line| lines.contains(&line));
            line && (found[1].ends_with(&test.path) || test.path.ends_with(&found[1]))
        })
    }
}

/// Place in a file, as compilers write it.
#[expect(clippy::unwrap_used, reason = "a constant")]
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([\w./-]+\.(?:rs|go|java|py|[cm]?[jt]sx?)):(\d+)").unwrap());

/// What an error says is missing: the name behind "named" or "undefined:", otherwise the first one in quotes.
#[expect(clippy::unwrap_used, reason = "a constant")]
static MISSING: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        Regex::new(r#"(?:named |undefined: |symbol: +(?:method|class|variable) )[`'"]?([\w.:]+)"#).unwrap(),
        Regex::new(r#"[`'"]([A-Za-z_][\w.:]*)[`'"]"#).unwrap(),
    ]
});

/// Returns the names that errors of an output say are missing.
fn missing_names(output: &str) -> impl Iterator<Item = String> {
    errors(output).filter_map(|line| {
        let found = MISSING.iter().find_map(|pattern| pattern.captures(line))?;
        let name = found.get(1)?.as_str().trim_matches([':', '.']);
        name.rsplit(['.', ':']).next().map(str::to_owned)
    })
}

/// Returns the lines of an output that tell of errors.
fn errors(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter(|line| {
        line.starts_with("error")
            || line.contains("Error: ")
            || line.contains("undefined: ")
            || line.contains("symbol: ")
    })
}

fn first_error(output: &str) -> Option<&str> {
    errors(output)
        .find(|line| !line.contains("Failed to import test module"))
        .map(|line| line.trim_start_matches(['#', ' ', 'E']).trim())
        .filter(|line| !line.is_empty())
}

/// Returns whether a runner says that it ran no test, which is no failure of a test.
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

fn of_results(results: &[&TestResult]) -> Observed {
    let failed = results.iter().find(|result| result.outcome == Outcome::Failed);
    match failed {
        Some(failed) => Observed::Failed(failed.message.clone()),
        None if results.iter().all(|result| result.outcome == Outcome::Skipped) => Observed::Skipped,
        None => Observed::Passed,
    }
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
