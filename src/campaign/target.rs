//! Targets: a repository and what is done there, or a part of that. Ids are parts of branches and folders.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::github::{InvalidName, RepositoryName};

/// A repository and the task that is done there: `owner/name`, or `owner/name:task` where a campaign has several tasks. Where
/// plans are split by the owners of their files, each part is a target as well, with `@part` behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TargetId {
    /// The repository.
    pub repository: RepositoryName,
    /// The id of the task; empty where there is only one.
    pub task: String,
    /// The part of the plan; empty for the files that nobody owns, and where plans are not split.
    pub part: String,
}

impl TargetId {
    /// Returns the target that this one is a part of, or itself.
    #[must_use]
    pub fn whole(&self) -> Self {
        self.with_part("")
    }

    /// Returns whether it is a target, or a part of that.
    pub(super) fn is_part_of(&self, whole: &Self) -> bool {
        self.repository == whole.repository && self.task == whole.task
    }

    /// Returns a part of the same target.
    pub(super) fn with_part(&self, part: &str) -> Self {
        Self { repository: self.repository.clone(), task: self.task.clone(), part: part.to_owned() }
    }

    /// Returns the task and the part, or `default` for a task without an id: a part of a path, and of a branch. Neither contains a dot.
    pub(super) fn work(&self, default: &str) -> String {
        let task = if self.task.is_empty() { default } else { &self.task };
        if self.part.is_empty() { task.to_owned() } else { format!("{task}.{}", self.part) }
    }
}

/// Longest id of a task.
const MAX_TASK: usize = 60;

/// Returns whether a text can be the id of a task or the name of a part, which is a part of branches and folders.
pub(super) fn is_task_id(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= MAX_TASK
        && text.chars().all(is_letter)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

/// Returns what is before a sign, and what is behind it if it is there.
fn cut(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

impl TryFrom<String> for TargetId {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        let (rest, part) = cut(&text, '@');
        let (repository, task) = cut(rest, ':');
        if [task, part].into_iter().flatten().any(|word| !is_task_id(word)) {
            return Err(InvalidName::new(&text));
        }
        let word = |word: Option<&str>| word.unwrap_or_default().to_owned();
        Ok(Self { repository: repository.parse()?, task: word(task), part: word(part) })
    }
}

impl From<TargetId> for String {
    fn from(id: TargetId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.repository.fmt(f)?;
        for (sign, word) in [(':', &self.task), ('@', &self.part)] {
            if !word.is_empty() {
                write!(f, "{sign}{word}")?;
            }
        }
        Ok(())
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
            ("octo/demo@web-1", true),
            ("octo/demo:a@web-1", true),
            ("octo/demo@", false),
            ("octo/demo@a.b", false),
            ("octo/demo@a@b", false),
            ("octo/demo@a:b", false),
        ] {
            let id = TargetId::try_from(text.to_owned());
            assert_eq!(id.as_ref().map(ToString::to_string).ok().as_deref(), valid.then_some(text), "{text}");
        }
        let part = TargetId::try_from("octo/demo@web".to_owned()).expect("a target");
        assert_eq!((part.whole().to_string(), part.work("_")), ("octo/demo".to_owned(), "_.web".to_owned()));
    }
}
