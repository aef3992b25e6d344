//! Key of a task: what its result depends on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the result of a task depends on. While it stays the same, the task need not be done again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskKey {
    /// A digest of the task's text, recipe, model and configuration.
    pub definition: String,
    /// The files and folders that the task read or wrote, with the IDs of their contents in the commit.
    pub files: BTreeMap<String, String>,
}
