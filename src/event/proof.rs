//! Verdicts on tests of a change, from running them on the old code and on the new.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a test says about the change that adds or changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProofVerdict {
    /// It fails on the old code and passes on the new.
    Proves,
    /// It passes on the old code as well.
    PassesOnOld,
    /// It fails on the old code and on the new.
    FailsOnBoth,
    /// It passes on the old code and fails on the new.
    FailsOnNew,
    /// It fails on the old code and passes on the new, but did something else when it ran once more.
    Flaky,
    /// It could not be run on one of the two.
    NotRun,
}

impl fmt::Display for ProofVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proves => "proves the change",
            Self::PassesOnOld => "passes on the old code too",
            Self::FailsOnBoth => "fails on both",
            Self::FailsOnNew => "fails on the new code only",
            Self::Flaky => "is flaky",
            Self::NotRun => "could not be run",
        })
    }
}

/// A test that a change adds or changes, and what it says about the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestProof {
    /// The path of its file.
    pub path: String,
    /// Its name, with those of the classes, modules or groups that it is in.
    pub name: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// What it says about the change.
    pub verdict: ProofVerdict,
    /// How it fails on the old code, or why it could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its cases, if it has several and the output names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseProof>,
}

/// A case of a test, and what it says about the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseProof {
    /// The case, as its runner writes it.
    pub name: String,
    /// What it says about the change.
    pub verdict: ProofVerdict,
}

impl TestProof {
    /// Returns its verdict for people, with the number of cases that prove the change if only some do: "proves the change in 2 of 3
    /// cases".
    pub fn told(&self) -> String {
        let proving = self.cases.iter().filter(|case| case.verdict == ProofVerdict::Proves).count();
        match self.verdict {
            ProofVerdict::Proves if proving < self.cases.len() => {
                format!("{} in {proving} of {} cases", self.verdict, self.cases.len())
            }
            verdict => verdict.to_string(),
        }
    }
}

/// The tests that a change adds or changes, run on the old code and on the new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofRecord {
    /// The tests, by path and line.
    pub tests: Vec<TestProof>,
    /// Whether code of the program has changed, but no test is new or changed: nothing proves the change then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untested: bool,
    /// How long the runs on the old code took, in milliseconds.
    pub old_ms: u64,
    /// How long the run on the new code took, in milliseconds.
    pub new_ms: u64,
}

impl ProofRecord {
    /// Returns how many tests prove the change.
    pub fn proving(&self) -> usize {
        self.tests.iter().filter(|test| test.verdict == ProofVerdict::Proves).count()
    }

    /// Returns whether every test proves the change, and changed code has one.
    pub fn is_complete(&self) -> bool {
        !self.untested && self.proving() == self.tests.len()
    }

    /// Returns the result in one sentence without a full stop: "2 of 3 new tests prove the change, 1 is flaky".
    pub fn summary(&self) -> String {
        let (proving, all) = (self.proving(), self.tests.len());
        let flaky = self.tests.iter().filter(|test| test.verdict == ProofVerdict::Flaky).count();
        let told = match all {
            0 if self.untested => "nothing proves the change: no test is new or changed".to_owned(),
            0 => "no test is new or changed".to_owned(),
            1 if proving == 1 => "1 of 1 new test proves the change".to_owned(),
            1 => "0 of 1 new test proves the change".to_owned(),
            _ => format!("{proving} of {all} new tests prove the change"),
        };
        match flaky {
            0 => told,
            1 => format!("{told}, 1 is flaky"),
            _ => format!("{told}, {flaky} are flaky"),
        }
    }
}
