//! Configuration errors: what is wrong, where, and what to write instead.

use std::error::Error;

use serde::Serialize;
use serde_yaml::{Error as YamlError, RenderOptions, UserMessageFormatter};

use crate::base::did_you_mean::nearest;

/// Reason why the configuration could not be loaded. All of them end the run with exit code 3.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Broken YAML, an unknown key or a wrong type, rendered with an excerpt of the source.
    #[error("{0}")]
    Invalid(String),
    /// The configuration file that was asked for does not exist.
    #[error(
        "the configuration file {0} does not exist; check `config`, or leave it out to use \
         `.github/architect.yml`"
    )]
    Missing(String),
    /// There are two configurations.
    #[error(
        "there are two configuration files, {0} and {1}, and only one would have an effect; remove one of them"
    )]
    Two(&'static str, &'static str),
    /// There is a configuration that would not be found.
    #[error("the configuration file {0} would have no effect; rename it to {1}")]
    Misnamed(&'static str, &'static str),
    /// The task file does not exist.
    #[error("the task file {0} does not exist; check `task-file`")]
    MissingTask(String),
    /// A file named by an input or a batch does not exist; with what kind of file it is.
    #[error(
        "the {0} {1} does not exist; paths are relative to the workspace, or to the folder in which the program was started"
    )]
    MissingFile(&'static str, String),
    /// A file cannot be read.
    #[error("could not read {path}: {error}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Reason.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// The commit that steers the run cannot be read.
    #[error(
        "the configuration is read from the commit {commit} (the pull request's base commit, or the event's own), which \
         is not in this clone ({error}); set `fetch-depth: 0` (or 2) for `actions/checkout`, or set \
         `trust-head-config: true` if everybody who can open a pull request may change what the agent does"
    )]
    BaseUnavailable {
        /// Hash of the commit.
        commit: String,
        /// Reason; it stands within the message.
        error: Box<dyn Error + Send + Sync>,
    },
}

impl ConfigError {
    /// Renders a parser's error with file, line, column, excerpt, and the cure.
    pub(super) fn from_yaml(error: &YamlError, file: &str) -> Self {
        Self::Invalid(format!("{file} is not valid\n{}", rendered(error, file)))
    }
}

/// One of the errors in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Line number, from 1; `None` for a rule that no single line breaks.
    pub line: Option<u64>,
    /// Column number, from 1.
    pub column: Option<u64>,
    /// Error text; with an excerpt of the source if there is a line.
    pub message: String,
}

impl Fault {
    /// Describes an error of the parser.
    pub(super) fn from_yaml(error: &YamlError, file: &str) -> Self {
        let at = error.location();
        Self {
            line: at.map(|at| at.line()),
            column: at.map(|at| at.column()),
            message: rendered(error, file),
        }
    }

    /// Describes what a run would refuse.
    pub fn of_rule(message: String) -> Self {
        Self { line: None, column: None, message }
    }
}

/// Renders an error with file, line, column, excerpt, and the cure.
fn rendered(error: &YamlError, file: &str) -> String {
    let mut options = RenderOptions::new(&UserMessageFormatter);
    options.source_name = Some(file);
    let text = error.render_with_options(options);
    let help = help(error.without_snippet());
    let lines: Vec<String> = text.trim_end().lines().map(|line| plain_line(line, help.is_some())).collect();
    let help = help.map_or_else(String::new, |help| format!("\nhelp: {help}"));
    format!("{}{help}", lines.join("\n"))
}

/// What the parser calls types, and what people call them.
const TYPES: [(&str, &str); 9] = [
    ("expected u8", "expected a whole number"),
    ("expected u16", "expected a whole number"),
    ("expected u32", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected i64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("invalid type: unit value", "nothing is set"),
    ("invalid type: sequence", "invalid type: list"),
    ("invalid type: map", "invalid type: mapping"),
];

/// Returns a line of a rendered error in the words of the file: the place is in the next line, what is allowed in the
/// help, and types of the program are none of the file's.
fn plain_line(line: &str, has_help: bool) -> String {
    let mut line = match line.strip_prefix("error: line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, message)) => format!("error: {message}"),
        None => line.to_owned(),
    };
    // Lines of the file itself stay as they are.
    if !line.starts_with("error: ") && !line.trim_start().starts_with("| ") {
        return line;
    }
    if has_help && let Some(at) = line.find(", expected ") {
        line.truncate(at);
    }
    if let Some(at) = line.find("expected struct ") {
        line.truncate(at);
        line += "expected a mapping";
    }
    TYPES.iter().fold(line, |line, (theirs, ours)| line.replace(theirs, ours))
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
