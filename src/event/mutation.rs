//! Mutations: which small faults in changed code the tests notice.

use crate::base::text::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a fault.
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
    /// The code before.
    pub before: String,
    /// The code put in its place; empty if there is none.
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
        let tried = self.mutations.len() + self.left_out;
        match (all, tried) {
            (0, 0) => "no fault could be injected into the change".to_owned(),
            (0, _) => format!("none of {} could be tried", counted(tried, "fault", "s")),
            _ => format!("the tests notice {noticed} of {}", counted(all, "fault", "s")),
        }
    }

    /// Returns whether there were faults to try, and none of them could be: nothing is known of the tests then.
    pub fn is_unknown(&self) -> bool {
        let tried = self.mutations.iter().any(|mutation| mutation.verdict != MutationVerdict::NotRun);
        !tried && (!self.mutations.is_empty() || self.left_out > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(verdicts: &[MutationVerdict], left_out: usize) -> MutationRecord {
        let mutation = |verdict: &MutationVerdict| MutationResult {
            path: "a.py".to_owned(),
            line: 1,
            kind: "off by one".to_owned(),
            before: "<".to_owned(),
            after: "<=".to_owned(),
            verdict: *verdict,
        };
        MutationRecord { mutations: verdicts.iter().map(mutation).collect(), left_out, duration_ms: 0 }
    }

    #[test]
    fn faults_that_could_not_be_tried_are_no_success() {
        use MutationVerdict::{NotRun, Noticed, Unnoticed};
        for (verdicts, left_out, summary, is_unknown) in [
            (&[][..], 0, "no fault could be injected into the change", false),
            (&[NotRun, NotRun], 1, "none of 3 faults could be tried", true),
            (&[], 1, "none of 1 fault could be tried", true),
            (&[Noticed, NotRun], 0, "the tests notice 1 of 1 fault", false),
            (&[Noticed, Unnoticed], 5, "the tests notice 1 of 2 faults", false),
        ] {
            let record = record(verdicts, left_out);
            assert_eq!((record.summary().as_str(), record.is_unknown()), (summary, is_unknown));
        }
    }
}
