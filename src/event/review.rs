//! What a code review finds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::WorkspacePath;

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
        match line.char_indices().nth(MAX_PLACE) {
            None => line.to_owned(),
            Some((at, _)) => format!("{}… {}", &line[..at], short_hash(&without_blanks(line))),
        }
    }
}

/// Identity of a finding: whatever differs in one of these is another finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    /// Hash of the file's path.
    pub file: String,
    /// Hash of the text of the line, without blanks.
    pub line: String,
    /// Hash of the words of the message.
    pub message: String,
}

impl Fingerprint {
    /// Makes the fingerprint of a finding on a file, whose path is that from the root of the repository.
    pub fn of(path: &str, finding: &Finding) -> Self {
        let words =
            finding.message.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
        let message = words.map(str::to_lowercase).collect::<Vec<_>>().join(" ");
        Self { file: short_hash(path), line: Self::line_of(&finding.place), message: short_hash(&message) }
    }

    /// Returns whether it is of a line: a finding about no file has none.
    pub fn has_line(&self) -> bool {
        self.line != Self::line_of("")
    }

    /// Returns the part for a file.
    pub fn file_of(path: &str) -> String {
        short_hash(path)
    }

    /// Returns the part for the text of a line.
    pub fn line_of(place: &str) -> String {
        short_hash(&without_blanks(place))
    }

    /// Parses what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(' ').collect();
        let is_hash = |part: &&str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let [file, line, message] = parts.as_slice() else { return None };
        let own = |part: &str| part.to_owned();
        parts.iter().all(is_hash).then(|| Self { file: own(file), line: own(line), message: own(message) })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.file, self.line, self.message)
    }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_whitespace()).collect()
}

fn short_hash(text: &str) -> String {
    hex::encode(Sha256::digest(text))[..16].to_owned()
}
