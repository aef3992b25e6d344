//! What is wrong with a configuration, where, and what to write instead.

use serde_yaml::{Error as YamlError, RenderOptions, UserMessageFormatter};

use crate::nearest::nearest;

/// Why there is no configuration. All of them end the run with exit code 3.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Broken YAML, an unknown key, a wrong type: rendered with an excerpt of the source.
    #[error("{0}")]
    Invalid(String),
    /// The file that was asked for is not there.
    #[error(
        "the configuration file {0} does not exist; check `config`, or leave it out to use \
         `.github/architect.yml`"
    )]
    Missing(String),
    /// The task file is not there.
    #[error("the task file {0} does not exist; check `task-file`")]
    MissingTask(String),
    /// A file that the inputs or a batch name is not there.
    #[error("the {0} {1} does not exist")]
    MissingFile(&'static str, String),
    /// It cannot be read.
    #[error("could not read {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: String,
    },
    /// The base commit of a pull request is not to be had.
    #[error(
        "the configuration is read from the pull request's base commit {commit}, which is not in this clone \
         ({error}); set `fetch-depth: 0` (or 2) for `actions/checkout`, or set `trust-head-config: true` if \
         everybody who can open a pull request may change what the agent does"
    )]
    BaseUnavailable {
        /// The commit.
        commit: String,
        /// What git said.
        error: String,
    },
}

impl ConfigError {
    /// Renders a parser's error with file, line, column, excerpt, and the way out.
    pub(super) fn from_yaml(error: &YamlError, file: &str) -> Self {
        let mut options = RenderOptions::new(&UserMessageFormatter);
        options.source_name = Some(file);
        let mut text = error.render_with_options(options);
        if let Some(help) = help(error.without_snippet()) {
            text = format!("{}\nhelp: {help}", text.trim_end());
        }
        Self::Invalid(format!("{file} is not valid\n{text}"))
    }
}

fn help(error: &YamlError) -> Option<String> {
    let (given, expected) = match error {
        YamlError::SerdeUnknownField { field, expected, .. } => (field, expected),
        YamlError::SerdeUnknownVariant { variant, expected, .. } => (variant, expected),
        _ => return None,
    };
    let allowed = expected.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    Some(match nearest(given, expected.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? Allowed here: {allowed}"),
        None => format!("allowed here: {allowed}"),
    })
}
