//! Key of a task: what its result depends on, and why it is settled.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskReport;

/// Why a task is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SettledBecause {
    /// It succeeded, and nothing that it depends on has changed since.
    Unchanged,
    /// People closed its pull request, and nothing that it depends on has changed since.
    Closed,
}

/// What a task took when it was last worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastWork {
    /// The model, as `provider::name`.
    pub model: String,
    /// How long the last attempt took, in milliseconds.
    pub duration_ms: u64,
    /// What all attempts cost, in USD; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TaskReport {
    /// Returns what the task took when it was last worked on; `None` if it never was, as far as is known.
    pub fn last_work(&self) -> Option<LastWork> {
        let own =
            || LastWork { model: self.model.clone(), duration_ms: self.duration_ms, cost_usd: self.cost_usd };
        if self.attempts > 0 { Some(own()) } else { self.last_work.clone() }
    }
}

/// What the result of a task depends on. While it stays the same, the task need not be done again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskKey {
    /// A digest of the task's text, recipe, model and configuration.
    pub definition: String,
    /// The files and folders that the task read or wrote, that instructed its agent, or that its commands could read, with the IDs of
    /// their contents in the commit; `*` stands for the files that lie directly in a folder.
    pub files: BTreeMap<String, String>,
    /// The folders of `workspace.extra_dirs` that it read, or that its commands could read, by the names that tools have for them, with
    /// digests of their contents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outside: BTreeMap<String, String>,
}
