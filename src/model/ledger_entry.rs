//! Entries of a ledger.

use serde::{Deserialize, Serialize};

/// Who spends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LedgerLabels {
    /// The repository, as `owner/name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The workflow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workflow: String,
    /// The task: the key of the comment, which names the batch and its task, or the job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
}

/// One answer, or the sum of some.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// When, as RFC 3339 in UTC.
    pub at: String,
    /// USD; `None` if the price is not known.
    pub usd: Option<f64>,
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Number of answers.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub answers: u64,
    /// The model, as `provider::name`.
    pub model: String,
    /// The id of a reservation: these USD may be spent, and count as spent until an entry settles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// The id of the reservation that is over with this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
    /// Who spent it.
    #[serde(flatten)]
    pub labels: LedgerLabels,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(count: &u64) -> bool {
    *count == 1
}
