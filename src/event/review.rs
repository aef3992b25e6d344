//! What a code review finds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::workspace::WorkspacePath;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// It may break something.
    #[default]
    Warning,
    /// It breaks something, or is dangerous.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Most characters of a line that count.
const MAX_PLACE: usize = 200;

/// A finding of a code review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file; absent if the reviewer named none that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<WorkspacePath>,
    /// The line, from 1.
    pub line: u32,
    /// How severe it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The text of the line, by which the finding is recognised when lines move.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// How certain the reviewer is, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<u8>,
}

/// A code review of what a run has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRecord {
    /// The number of this code review within the run, from 1.
    pub pass: u32,
    /// The model that reviewed.
    pub model: String,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
}

/// Returns what stays the same of a place when lines move, are indented, or their file changes its folder: a hash of the name
/// of the file and the text of the line.
pub fn fingerprint(path: &str, line: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_whitespace()).take(MAX_PLACE).collect();
    hex::encode(Sha256::digest(format!("{name}\0{line}")))[..16].to_owned()
}
