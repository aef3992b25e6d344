//! Places where a change weakens tests or checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Severity;

/// A place where a change weakens tests or checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFinding {
    /// The path of the file, relative to the workspace.
    pub path: String,
    /// The line after the change, from 1; that before the change where the test or the file is gone.
    pub line: usize,
    /// What happened, such as `skipped-test`.
    pub kind: String,
    /// How severe it is.
    pub severity: Severity,
    /// One sentence, which may quote the file.
    pub message: String,
}
