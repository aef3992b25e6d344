//! Batch manifest: the fully expanded list of tasks, fixed before anything starts. Shards on other machines work from the same
//! list.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{Entry, Pilot};
use super::problem::{MAX_TASKS, Problem};
use crate::base::bounded::Usd;
use crate::base::integrity::digest;
use crate::base::text::pretty_json;
use crate::git::is_object_id;
use crate::request::InputError;

/// The version of the format.
const SCHEMA_VERSION: u32 = 1;

/// The largest manifest that is read, in bytes.
const MAX_SIZE: u64 = 500_000_000;

/// One task, complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its identifier: letters, digits, `.`, `_` and `-`.
    pub id: String,
    /// What is done; without placeholders.
    pub entry: Entry,
    /// How much there is to look at, in bytes: tasks are spread evenly by it.
    pub size: u64,
}

/// All tasks of a batch and the commit that they are about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The version of the format, 1.
    pub schema_version: u32,
    /// The batch's name.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// SHA-256 of the file that it was made from.
    pub file_sha256: String,
    /// Maximum cost of all tasks, in USD.
    pub budget_usd: Option<Usd>,
    /// Time limit for all tasks, in seconds.
    pub timeout: Option<u64>,
    /// Maximum number of requests to a model per minute, of all shards together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// The tasks that run first, before all others. Each shard has a share of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<Pilot>,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
}

/// Why there is no list of tasks.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The batch file makes no sense.
    #[error("{file}: {place}: {problem}")]
    File {
        /// The file.
        file: String,
        /// Where in it.
        place: String,
        /// What is wrong and what to do.
        #[source]
        problem: Problem,
    },
    /// The manifest cannot be read.
    #[error("invalid manifest {path}: {problem}; create it with `architect-ci batch FILE --matrix`")]
    Unusable {
        /// The file.
        path: String,
        /// Why.
        problem: String,
    },
}

impl From<ManifestError> for InputError {
    fn from(error: ManifestError) -> Self {
        Self::Batch(Box::new(error))
    }
}

impl Manifest {
    pub(super) fn new(name: &str, commit: &str, file: &str, tasks: Vec<Task>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            name: name.to_owned(),
            commit: commit.to_owned(),
            file_sha256: digest(file.as_bytes()),
            budget_usd: None,
            timeout: None,
            requests_per_minute: None,
            pilot: None,
            tasks,
        }
    }

    /// Reads one that another job has written.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let unusable =
            |problem: String| ManifestError::Unusable { path: path.display().to_string(), problem };
        let size = path.metadata().map_err(|error| unusable(error.to_string()))?.len();
        if size > MAX_SIZE {
            return Err(unusable(format!("it has {size} bytes")));
        }
        let text = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
        let manifest: Self = serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
        if manifest.schema_version != SCHEMA_VERSION {
            return Err(unusable(format!("unsupported schema_version {}", manifest.schema_version)));
        }
        if manifest.tasks.len() > MAX_TASKS {
            return Err(unusable(format!("it has more than {MAX_TASKS} tasks")));
        }
        let mut ids = BTreeSet::new();
        for task in &manifest.tasks {
            // They become names of folders.
            if task.id.is_empty() || slug(&task.id) != task.id || !ids.insert(task.id.as_str()) {
                return Err(unusable(format!("invalid or duplicate id {:?}", task.id)));
            }
        }
        if !is_object_id(&manifest.commit) {
            return Err(unusable(format!("invalid commit {:?}", manifest.commit)));
        }
        Ok(manifest)
    }

    /// Serializes the manifest as it is written to a file.
    pub fn json(&self) -> io::Result<String> {
        pretty_json(self)
    }

    /// Returns the digest that identifies this list.
    pub fn digest(&self) -> String {
        digest(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Most characters of an id.
const MAX_ID: usize = 100;

/// Converts a text into a part of a folder's and a branch's name.
pub(super) fn slug(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let words = text.split('-').map(|word| word.trim_matches('.')).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-").replace("..", ".");
    while slug.contains("..") {
        slug = slug.replace("..", ".");
    }
    if slug.len() > MAX_ID {
        // The end says more of a path than its beginning; a hash distinguishes two with the same end.
        let hash = &digest(slug.as_bytes())[..8];
        slug = format!("{hash}-{}", slug[slug.len() - (MAX_ID - 9)..].trim_matches(['-', '.']));
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_of_folders_and_branches_and_stay_as_they_are() {
        for (text, expected) in [
            ("docs src/a_b.py", "docs-src-a_b.py"),
            ("../../etc/passwd", "etc-passwd"),
            ("Ünïcode…", "n-code"),
            (".hidden", "hidden"),
            ("a....b", "a.b"),
            ("a.-.b", "a-b"),
            ("---", ""),
        ] {
            assert_eq!(slug(text), expected, "{text}");
            assert_eq!(slug(&slug(text)), slug(text), "{text}");
        }
        let (one, two) = (format!("a/{}", "x".repeat(300)), format!("b/{}", "x".repeat(300)));
        assert!(slug(&one) != slug(&two) && slug(&one).len() <= MAX_ID);
        assert_eq!(slug(&slug(&one)), slug(&one));
    }
}
