//! Findings of a code review.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::WorkspacePath;

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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

impl Severity {
    /// All of them, the mildest first.
    pub(crate) const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];
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

/// Most characters of a line that are kept.
const MAX_PLACE: usize = 300;

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
    /// The text of the line, by which the finding is recognized when lines move.
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
    /// In a review of a pull request, findings of earlier reviews of it that nobody has resolved and whose lines are still there;
    /// absent in a review of what the run itself has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Vec<Finding>>,
}

impl Finding {
    /// Returns the text of a line by which a finding on it is recognized: the whole line, of a long one its beginning with a
    /// hash of all of it.
    pub fn place_of(line: &str) -> String {
        let line = line.trim();
        // Blanks do not count, so that a line is cut at the same sign however it is indented.
        match line.char_indices().filter(|(_, sign)| !sign.is_whitespace()).nth(MAX_PLACE) {
            None => line.to_owned(),
            Some((at, _)) => {
                let whole: String = line.chars().filter(|sign| !sign.is_whitespace()).collect();
                format!("{}… {}", &line[..at], &hex::encode(Sha256::digest(whole))[..16])
            }
        }
    }
}
