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
}

/// The tests that a change adds or changes, run on the old code and on the new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProofRecord {
    /// The tests, by path and line.
    pub tests: Vec<TestProof>,
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

    /// Returns whether every test proves the change.
    pub fn is_complete(&self) -> bool {
        self.proving() == self.tests.len()
    }

    /// Returns the result in one sentence without a full stop: "2 of 3 new tests prove the change, 1 is flaky".
    pub fn summary(&self) -> String {
        let (proving, all) = (self.proving(), self.tests.len());
        let flaky = self.tests.iter().filter(|test| test.verdict == ProofVerdict::Flaky).count();
        let told = match all {
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
