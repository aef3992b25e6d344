//! Origin of a plan: the run of a workflow, and its outcome there. The digest covers it, so a plan cannot get another origin
//! without getting another digest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{GateRecord, Status};

/// The run of a workflow that has made a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// The repository, as `owner/name`.
    pub repository: String,
    /// The folder of the repository that the plan is for, where that is not its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The workflow, as `owner/name/.github/workflows/file.yml@ref`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The id of the run.
    pub run: u64,
    /// The commit that the event was about: the head of a pull request, otherwise that of `GITHUB_SHA`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When the plan was made, in RFC 3339: nobody can have approved it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// How the run ended.
    pub status: Status,
    /// The quality gates that ran last, in order.
    pub gates: Vec<MadeGate>,
}

/// What a quality gate said when a plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeGate {
    /// The name of the gate.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
}

impl From<&GateRecord> for MadeGate {
    fn from(record: &GateRecord) -> Self {
        Self { name: record.name.clone(), passed: record.passed }
    }
}
