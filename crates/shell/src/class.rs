//! Command classes, by how much is put at risk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The class of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A command that only reads.
    Safe,
    /// A command that builds, tests, or formats, and so runs the project's own code.
    Dev,
    /// Anything else.
    Dangerous,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Dev => "dev",
            Self::Dangerous => "dangerous",
        })
    }
}
