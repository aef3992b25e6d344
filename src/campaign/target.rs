//! Targets: a repository and what is done there. Ids are parts of branches and folders.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::github::{InvalidName, RepositoryName};

/// A repository and the task that is done there: `owner/name`, or `owner/name:task` where a campaign has several tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TargetId {
    /// The repository.
    pub repository: RepositoryName,
    /// The id of the task; empty where there is only one.
    pub task: String,
}

/// Longest id of a task.
const MAX_TASK: usize = 60;

/// Returns whether a text can be the id of a task, which is a part of branches and folders.
pub(super) fn is_task_id(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= MAX_TASK
        && text.chars().all(is_letter)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

impl TryFrom<String> for TargetId {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        let (repository, task) = text.split_once(':').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        if task.is_some_and(|task| !is_task_id(task)) {
            return Err(InvalidName::new(&text));
        }
        Ok(Self { repository: repository.parse()?, task: task.unwrap_or_default().to_owned() })
    }
}

impl From<TargetId> for String {
    fn from(id: TargetId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.task.is_empty() {
            self.repository.fmt(f)
        } else {
            write!(f, "{}:{}", self.repository, self.task)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaign_targets_are_parsed() {
        for (text, valid) in [
            ("octo/demo", true),
            ("octo/demo:a-b", true),
            ("octo/demo:", false),
            ("octo/demo:../x", false),
            ("octo/demo:A", false),
        ] {
            assert_eq!(TargetId::try_from(text.to_owned()).is_ok(), valid, "{text}");
        }
    }
}
