//! The task: a text, or a Markdown file with optional front matter.

use serde::Deserialize;

use super::error::InputError;
use super::values::Inputs;
use crate::config::{ConfigError, parse_as};
use crate::event::Expectation;
use crate::trust::Trusted;

/// A task and what its file says about how to do it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Task {
    pub(super) text: String,
    pub(super) agent: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) expect: Option<Expectation>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FrontMatter {
    agent: Option<String>,
    mode: Option<String>,
    expect: Option<Expectation>,
}

pub(super) fn read(inputs: &Inputs, trusted: &Trusted<'_>) -> Result<Task, InputError> {
    let (text, file) = match (&inputs.task, &inputs.task_file) {
        (Some(_), Some(_)) => return Err(InputError::TwoTasks),
        (None, None) => return Err(InputError::NoTask),
        (Some(task), None) => (task.clone(), None),
        (None, Some(path)) => {
            let missing = || ConfigError::MissingTask(path.display().to_string());
            let file = trusted.read(path)?.ok_or_else(missing)?;
            (file.text.clone(), Some(file.shown()))
        }
    };
    let task = match &file {
        Some(file) => with_front_matter(&text, file)?,
        None => Task { text, ..Task::default() },
    };
    if task.text.trim().is_empty() {
        return Err(InputError::EmptyTask(file.unwrap_or_else(|| "text".to_owned())));
    }
    Ok(task)
}

fn with_front_matter(text: &str, file: &str) -> Result<Task, ConfigError> {
    let normal = text.replace("\r\n", "\n");
    let Some((header, body)) = normal.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"))
    else {
        return Ok(Task { text: normal, ..Task::default() });
    };
    // The blank line keeps the excerpt's line numbers those of the file.
    let front: FrontMatter = parse_as(&format!("\n{header}\n"), file)?;
    let text = body.trim_start().to_owned();
    Ok(Task { text, agent: front.agent, mode: front.mode, expect: front.expect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_optional_and_checked() {
        let task = with_front_matter(
            "---\nagent: review\nmode: dry-run\nexpect: no-changes\n---\n\n# Do it\n",
            "t.md",
        )
        .expect("a task");
        assert_eq!(
            (task.text.as_str(), task.agent.as_deref(), task.mode.as_deref(), task.expect),
            ("# Do it\n", Some("review"), Some("dry-run"), Some(Expectation::NoChanges))
        );
        assert_eq!(with_front_matter("Just do it\n---\n", "t.md").expect("a task").text, "Just do it\n---\n");
        let error =
            with_front_matter("---\nagnet: x\n---\nbody", "t.md").expect_err("an unknown key").to_string();
        assert!(error.contains("t.md:2:1") && error.contains("did you mean `agent`?"), "{error}");
    }
}
