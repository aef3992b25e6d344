//! What comments may ask for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a comment may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Do it.
    Run,
    /// Plan it.
    Plan,
    /// Apply the plan of the sticky comment.
    Apply,
    /// Say what there is.
    Help,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Run, Self::Plan, Self::Apply, Self::Help];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Help => "help",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
