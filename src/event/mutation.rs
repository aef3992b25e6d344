//! What tests notice of small faults that were put into changed code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MutationVerdict {
    /// The tests fail with it.
    Noticed,
    /// The tests pass with it.
    Unnoticed,
    /// The code could not be built with it, or the command could not be run.
    NotRun,
}

/// A fault that was put into the code, on a throw-away state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutationResult {
    /// The path of the file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The kind of fault: `negated condition`, `off by one`, `dropped call` or `returned default`.
    pub kind: String,
    /// What stood there.
    pub before: String,
    /// What was put in its place; empty if nothing was.
    pub after: String,
    /// What became of it.
    pub verdict: MutationVerdict,
}

/// Faults that were put into changed code, one at a time, and what its tests noticed of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MutationRecord {
    /// The faults, by path and line.
    pub mutations: Vec<MutationResult>,
    /// The number of faults that the time limit left out.
    pub left_out: usize,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl MutationRecord {
    /// Returns the faults that became this.
    pub fn of(&self, verdict: MutationVerdict) -> impl Iterator<Item = &MutationResult> {
        self.mutations.iter().filter(move |mutation| mutation.verdict == verdict)
    }

    /// Returns the result in one sentence without a full stop: "the tests notice 3 of 4 faults".
    pub fn summary(&self) -> String {
        let noticed = self.of(MutationVerdict::Noticed).count();
        let all = noticed + self.of(MutationVerdict::Unnoticed).count();
        if all == 0 {
            return "no fault could be put into the change".to_owned();
        }
        format!("the tests notice {noticed} of {all} {}", if all == 1 { "fault" } else { "faults" })
    }
}
