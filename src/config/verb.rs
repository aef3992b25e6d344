//! Commands that comments can give.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command in a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Do the task.
    Run,
    /// Plan the task, changing nothing.
    Plan,
    /// Apply the plan of the sticky comment.
    Apply,
    /// Resume the session that was interrupted.
    Continue,
    /// List the commands.
    Help,
}

impl Verb {
    /// All commands, in the order in which help lists them.
    pub const ALL: [Self; 5] = [Self::Run, Self::Plan, Self::Apply, Self::Continue, Self::Help];

    /// Returns the word that a comment uses for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Continue => "continue",
            Self::Help => "help",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
