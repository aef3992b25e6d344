//! Results of single tests, read from what runners print: pytest, unittest, cargo and nextest, `go test`, TAP, the trees
//! of Node's runner, Jest, Vitest and Mocha, and JUnit's XML.
//!
//! Runners name a test each in their own way, so a name is a list of parts, the innermost last, and tests are found
//! ([`Results::of`]) by the parts that two names have in common at their ends.
//!
//! ```
//! use test_results::{Outcome, parse};
//!
//! let results = parse("test cart::tests::adds ... ok\ntest cart::tests::sums ... FAILED\n");
//! assert_eq!(results.tests.len(), 2);
//! assert_eq!(results.tests[1].outcome, Outcome::Failed);
//! let names = [vec!["src", "cart", "tests", "adds"].into_iter().map(str::to_owned).collect::<Vec<_>>()];
//! assert_eq!(results.of(&names)[0][0].outcome, Outcome::Passed);
//! ```

mod activity;
mod cargo;
mod compare;
mod go;
mod junit;
mod matching;
mod python;
mod tally;
mod tap;
mod tree;
mod unittest;

pub use activity::has_run_tests;
pub use compare::{Comparison, compare};
pub use junit::{junit, parse_all};

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It ran, and what it asserts holds.
    Passed,
    /// It ran, or was to run, and failed.
    Failed,
    /// It was not run, or its failure is expected.
    Skipped,
}

/// Result of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// Parts of its name, such as folder, file, class and function. The last one is the test's own.
    pub name: Vec<String>,
    /// The case, of a test that has several, as its runner writes it.
    pub case: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// What its runner says about a failure, in one line, if it does.
    pub message: Option<String>,
    /// How long it took, in milliseconds, if its runner says so.
    pub duration_ms: Option<u64>,
}

/// Tests that did not run because they could not be built or loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbuilt {
    /// Parts of the name of the file, module or package that they are in; empty if it is everything.
    pub name: Vec<String>,
    /// What the runner says, in one line.
    pub message: String,
    /// Whether nothing else runs because of it.
    pub stops_all: bool,
}

/// What an output says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Results of single tests, in the order of the output.
    pub tests: Vec<TestResult>,
    /// What could not be built or loaded.
    pub unbuilt: Vec<Unbuilt>,
    /// Contradictions between the lines of single tests and a runner's own summary. What they say cannot be trusted then:
    /// the code under test prints lines as well.
    pub doubts: Vec<String>,
    /// Whether a runner that names tests has not come to its summary.
    pub is_unfinished: bool,
    /// Number of tests that have run under a runner that names only those that fail.
    pub counted: usize,
}

impl Results {
    /// Returns whether the output says nothing about any test.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.unbuilt.is_empty()
    }

    /// Adds what another output says.
    pub fn extend(&mut self, other: Self) {
        self.tests.extend(other.tests);
        self.unbuilt.extend(other.unbuilt);
        self.doubts.extend(other.doubts);
        self.is_unfinished |= other.is_unfinished;
        self.counted += other.counted;
    }

    fn add(&mut self, name: Vec<String>, outcome: Outcome, message: Option<&str>) {
        let message = message.map(str::trim).filter(|message| !message.is_empty()).map(str::to_owned);
        self.tests.push(TestResult { name, case: None, outcome, message, duration_ms: None });
    }

    /// Completes the test that was added last.
    fn complete(&mut self, case: Option<&str>, duration_ms: Option<u64>) {
        if let Some(test) = self.tests.last_mut() {
            test.case = case.map(str::to_owned);
            test.duration_ms = duration_ms;
        }
    }
}

/// Reads the output of test runners, whichever they are. Text that is none of theirs is passed over.
pub fn parse(output: &str) -> Results {
    let mut results = Results::default();
    for read in [python::read, unittest::read, cargo::read, go::read, tap::read, tree::read] {
        results.extend(read(output));
    }
    results
}

/// Reads a number of units that last so many milliseconds each: `0.005` and 1,000 give 5.
fn duration_ms(number: &str, unit_ms: f64) -> Option<u64> {
    let time = number.trim().replace(',', "").parse::<f64>().ok()? * unit_ms;
    // A float becomes an integer within its bounds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    (time.is_finite() && time >= 0.0).then_some(time.round() as u64)
}

/// Splits a path at its separators, without the extension of its file.
fn path_parts(path: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        path.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
    if let Some(last) = parts.last_mut()
        && let Some((stem, extension)) = last.rsplit_once('.')
        && !stem.is_empty()
        && extension.chars().all(char::is_alphanumeric)
    {
        *last = stem.to_owned();
    }
    parts
}
