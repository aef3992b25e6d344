//! Quality gates: how each ran, and what that comes to, compared with the state before the run.

use std::fmt;

use crate::base::text::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a gate comes to, compared with the state before the run as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// It passed.
    Passed,
    /// It passed, and failed before the run.
    Mended,
    /// It failed, and passed when it ran again on the same state.
    Flaky,
    /// It failed, and it is not known whether it failed in the same way before the run.
    Failed,
    /// It failed in the same way before the run, so that the run does not fail for it.
    FailedBefore,
    /// It failed, and before the run it passed or failed in another way.
    NewlyFailing,
    /// It did not run, or not to its end, because the run ended before.
    NotRun,
}

impl fmt::Display for GateVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Mended => "passed, and failed before the run",
            Self::Flaky => "failed, and passed when it ran again",
            Self::Failed => "failed",
            Self::FailedBefore => "failed, as it did before the run",
            Self::NewlyFailing => "failed, but not before the run",
            Self::NotRun => "did not run",
        })
    }
}

/// A run of a quality gate.
#[expect(clippy::struct_excessive_bools, reason = "facts of one run, each of its own")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// The name of the gate.
    pub name: String,
    /// The command line.
    pub command: String,
    /// Whether its failure fails the run.
    pub required: bool,
    /// Whether it passed; of a flaky gate, the second time.
    pub passed: bool,
    /// What it comes to, compared with the state before the run.
    pub verdict: GateVerdict,
    /// Whether it ran on the planned state of a dry run.
    pub predicted: bool,
    /// The number of this run of the gates, from 1.
    #[serde(default = "first_round")]
    pub round: u32,
    /// Its exit code, or that of the part of a pipe that failed; -1 if there is none.
    pub exit_code: i32,
    /// How it ended, such as `exit code 1` or `timed out after 300 s`.
    pub ending: String,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// The last lines that it printed.
    pub output: String,
    /// Whether its output says that it ran no test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran_no_test: bool,
    /// Its single tests, compared with those that ran before the run changed anything; absent where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Box<TestChanges>>,
    /// Files that Git ignores, that it may have run or loaded, and that commands of this run had changed before: programs,
    /// and settings that are found by their names. Its result proves no more than they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubt: Vec<String>,
}

impl GateRecord {
    /// Returns the record of a gate that did not run, for this reason.
    pub fn not_run(name: String, command: String, required: bool, reason: &str) -> Self {
        Self {
            name,
            command,
            required,
            passed: false,
            verdict: GateVerdict::NotRun,
            predicted: false,
            round: first_round(),
            exit_code: -1,
            ending: reason.to_owned(),
            duration_ms: 0,
            output: String::new(),
            ran_no_test: false,
            tests: None,
            doubt: Vec::new(),
        }
    }

    /// Returns whether the run fails because of it.
    pub fn fails_run(&self) -> bool {
        self.required && matches!(self.verdict, GateVerdict::Failed | GateVerdict::NewlyFailing)
    }

    /// Returns how it ended, for people: the verdict, with the reason if it did not pass.
    pub fn told(&self) -> String {
        match self.verdict {
            GateVerdict::Passed | GateVerdict::Mended | GateVerdict::Flaky if self.ran_no_test => {
                format!("{}, but ran no test", self.verdict)
            }
            GateVerdict::Passed | GateVerdict::Mended | GateVerdict::Flaky => self.verdict.to_string(),
            GateVerdict::NotRun => format!("{} ({})", self.missing(), self.ending),
            _ => format!("{} ({})", self.verdict, self.ending),
        }
    }

    /// Returns a copy that was cut off, for this reason: it shows neither that it passes nor that it fails.
    #[must_use]
    pub fn cut_off(self, reason: &str) -> Self {
        // What has run has taken some time.
        let duration_ms = self.duration_ms.max(1);
        Self { passed: false, verdict: GateVerdict::NotRun, ending: reason.to_owned(), duration_ms, ..self }
    }

    /// Returns what is missing of a gate that did not run, or not to its end.
    pub fn missing(&self) -> &'static str {
        if self.duration_ms == 0 { "did not run" } else { "did not run to its end" }
    }

    /// Returns whether people should look at it: it did not simply pass, or what it shows is in doubt.
    pub fn needs_attention(&self) -> bool {
        let is_good = matches!(self.verdict, GateVerdict::Passed | GateVerdict::Mended);
        !is_good || !self.doubt.is_empty() || self.lost_tests().is_some()
    }

    /// Returns the changes of its tests if it passed although tests that ran before the run did not, or failed: a command may end
    /// with another exit code than its tests.
    pub fn lost_tests(&self) -> Option<&TestChanges> {
        let is_less = |tests: &&TestChanges| tests.has_lost() || !tests.newly_failing.is_empty();
        self.tests.as_deref().filter(|_| self.passed).filter(is_less)
    }
}

/// Single tests of a gate that are not as they were before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestChanges {
    /// How many tests ran.
    pub ran: usize,
    /// Tests that were not there before.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub new: NamedTests,
    /// Tests that ran before, and of which nothing is seen.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub gone: NamedTests,
    /// Tests that ran before, and are skipped.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub newly_skipped: NamedTests,
    /// Tests that fail, but did not before; new ones as well.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub newly_failing: NamedTests,
    /// How many of these are new.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub new_failing: usize,
    /// Tests that fail as they did before.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub still_failing: NamedTests,
    /// Tests that failed before, and pass.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub mended: NamedTests,
    /// Tests that take far longer than before.
    #[serde(default, skip_serializing_if = "NamedTests::is_empty")]
    pub slower: NamedTests,
    /// Why what its output says of single tests cannot be relied on, if it cannot: its end is missing, or the lines contradict
    /// the runner's own summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear: Option<String>,
}

/// Some tests, of which only the first are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedTests {
    /// How many there are.
    pub count: usize,
    /// The names of the first of them.
    pub names: Vec<String>,
}

impl NamedTests {
    /// Maximum number of tests that are named.
    const MAX: usize = 50;

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the first names in one line, at most `most`, and how many more tests there are. `shown` renders a name.
    pub fn first(&self, most: usize, shown: impl Fn(&str) -> String) -> String {
        let names: Vec<String> = self.names.iter().take(most).map(|name| shown(name)).collect();
        // The report of another run may say anything.
        match self.count.saturating_sub(names.len()) {
            0 => names.join(", "),
            more => format!("{}, and {more} more", names.join(", ")),
        }
    }
}

impl From<Vec<String>> for NamedTests {
    fn from(mut names: Vec<String>) -> Self {
        let count = names.len();
        names.truncate(Self::MAX);
        Self { count, names }
    }
}

impl TestChanges {
    /// Returns whether tests that ran before do not run now, or nothing shows that they do.
    pub fn has_lost(&self) -> bool {
        !self.gone.is_empty() || !self.newly_skipped.is_empty() || self.unclear.is_some()
    }

    /// Returns how a passing gate shows less than before, as the end of a sentence in the present tense. `start` says what changed
    /// the tests, such as "the run".
    pub fn told_losses(&self, start: &str) -> String {
        let old_failing = self.newly_failing.count.saturating_sub(self.new_failing);
        let fail = |count: usize| if count == 1 { "test fails" } else { "tests fail" };
        let mut told = Vec::new();
        if self.new_failing > 0 {
            told.push(format!("{} new {}", self.new_failing, fail(self.new_failing)));
        }
        if old_failing > 0 {
            told.push(format!("{old_failing} {} that did not before {start}", fail(old_failing)));
        }
        if self.has_lost() {
            told.push(match self.gone.count + self.newly_skipped.count {
                0 => format!("nothing shows that the tests of before {start} run"),
                1 => format!("1 test that ran before {start} no longer runs"),
                lost => format!("{lost} tests that ran before {start} no longer run"),
            });
        }
        told.join(" and ")
    }

    /// Returns the lists of tests of which a gate that passes says nothing, as far as they are not empty.
    pub fn lost_lists(&self) -> impl Iterator<Item = (&'static str, &NamedTests)> {
        let newly_failing = match self.new_failing {
            0 => "newly failing",
            new if new == self.newly_failing.count => "new and failing",
            _ => "newly failing (some are new)",
        };
        let all = [
            (newly_failing, &self.newly_failing),
            ("gone", &self.gone),
            ("newly skipped", &self.newly_skipped),
        ];
        all.into_iter().filter(|(_, list)| !list.is_empty())
    }

    /// Returns all lists that are not empty, those that need attention first, each with what it is called.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &NamedTests)> {
        let others = [
            ("failing as before", &self.still_failing),
            ("much slower", &self.slower),
            ("mended", &self.mended),
            ("new", &self.new),
        ];
        self.lost_lists().chain(others.into_iter().filter(|(_, list)| !list.is_empty()))
    }

    /// Returns counts in one line, such as `12 tests ran: 1 gone, 2 new`.
    pub fn summary(&self) -> String {
        let counts: Vec<String> = self.lists().map(|(what, list)| format!("{} {what}", list.count)).collect();
        let tests = counted(self.ran, "test", "s");
        match (counts.as_slice(), &self.unclear) {
            (_, Some(unclear)) => {
                let counts = counts.iter().map(|count| format!("; {count}")).collect::<String>();
                format!("it is unclear what ran: {unclear}{counts}")
            }
            ([], None) => format!("{tests} ran, the same as before"),
            (counts, None) => format!("{tests} ran: {}", counts.join(", ")),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn first_round() -> u32 {
    1
}
