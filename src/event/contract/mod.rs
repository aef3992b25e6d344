//! Contract: the meaning of every way in which a run can end, in one table.
//!
//! Two steps lead to an end. What the agent did and what was requested give the reason ([`answered`]); the reason gives
//! everything that is reported about the run ([`StopReason::clause`]). The documentation prints both. A run is green only
//! if it did what was requested and verified it.

mod clause;
mod whole_plan;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StopReason;

pub use clause::{Clause, Conclusion, JunitResult};

/// What a run is expected to leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Changed files, planned or made; without any, the run fails.
    Changes,
    /// An answer and no changed files; with any, the run fails.
    NoChanges,
    /// An answer; files may be changed or not.
    #[default]
    Any,
}

impl Expectation {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Changes, Self::NoChanges, Self::Any];

    /// Returns the expectation that a configuration or an input calls so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.to_string() == text)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changes => "changes",
            Self::NoChanges => "no-changes",
            Self::Any => "any",
        })
    }
}

/// What an agent has done when its final answer is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Files are changed, or planned to be.
    Changed,
    /// Nothing changed: the agent only read, ran commands or talked.
    Unchanged,
    /// Nothing changed, though the agent tried edits: each of them failed or was refused.
    EditsFailed,
    /// Nothing changed: every call was refused.
    CallsRefused,
}

impl Work {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Changed, Self::Unchanged, Self::EditsFailed, Self::CallsRefused];
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "files are changed, or planned to be",
            Self::Unchanged => "nothing changed: the agent read, ran commands, or only answered",
            Self::EditsFailed => "nothing changed: every edit failed or was refused",
            Self::CallsRefused => "nothing changed: every call was refused",
        })
    }
}

/// Returns the reason with which a run ends whose agent said that it is done.
pub fn answered(expected: Expectation, work: Work, is_empty: bool) -> StopReason {
    match (expected, work, is_empty) {
        (_, _, true) => StopReason::EmptyAnswer,
        (Expectation::NoChanges, Work::Changed, _) => StopReason::UnwantedChanges,
        (Expectation::Changes, Work::Unchanged, _) => StopReason::NothingChanged,
        (Expectation::Changes, Work::EditsFailed, _) => StopReason::EditsFailed,
        (Expectation::Changes, Work::CallsRefused, _) => StopReason::CallsRefused,
        (_, Work::EditsFailed | Work::CallsRefused, _) => StopReason::NothingWorked,
        (_, Work::Changed | Work::Unchanged, _) => StopReason::LlmDone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Exit, Status};

    #[test]
    fn contract_is_consistent() {
        for reason in StopReason::ALL {
            let clause = reason.clause();
            let is_green = clause.sign == "✅";
            assert_eq!(is_green, clause.conclusion == Conclusion::Success, "{reason:?}");
            assert_eq!(clause.next_step.is_empty(), is_green, "{reason:?}: everything else says what to do");
            assert_eq!(clause.status == Status::Success, clause.exit == Exit::Success, "{reason:?}");
            assert_eq!(clause.status == Status::Success, clause.junit == JunitResult::Passed, "{reason:?}");
            assert_eq!(
                clause.junit == JunitResult::Failed,
                clause.conclusion == Conclusion::Failure,
                "{reason:?}"
            );
            let same =
                StopReason::ALL.iter().filter(|other| other.clause().sentence == clause.sentence).count();
            assert_eq!(same, 1, "{reason:?}: each end has a sentence of its own");
        }
    }

    #[test]
    fn contract_lists_every_reason_once() {
        let schema = schemars::schema_for!(StopReason).to_value();
        let named = schema["oneOf"].as_array().map_or(0, Vec::len);
        let mut listed: Vec<String> = StopReason::ALL.iter().map(|reason| format!("{reason:?}")).collect();
        listed.sort();
        listed.dedup();
        assert_eq!((listed.len(), StopReason::ALL.len()), (named, named));
    }

    #[test]
    fn nothing_is_green_without_what_was_asked() {
        for work in Work::ALL {
            for expected in Expectation::ALL {
                let green = answered(expected, work, false).clause().sign == "✅";
                let fits = match expected {
                    Expectation::Changes => work == Work::Changed,
                    Expectation::NoChanges => work == Work::Unchanged,
                    Expectation::Any => matches!(work, Work::Changed | Work::Unchanged),
                };
                assert_eq!(green, fits, "{expected} {work:?}");
                assert_ne!(answered(expected, work, true).status(), Status::Success);
            }
        }
    }
}
