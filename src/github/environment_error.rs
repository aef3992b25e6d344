//! Errors that can occur when reading the environment of a step.

use std::path::PathBuf;

/// What could not be read, and what to check.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The file with the payload cannot be read.
    #[error("could not read the event file {path}: {error}; check `event` (or `GITHUB_EVENT_PATH`)")]
    Unreadable {
        /// The path of the payload.
        path: PathBuf,
        /// The failure of the read.
        error: std::io::Error,
    },
    /// The payload is not a JSON object of the documented form.
    #[error("the event file {path} is {}: {error}", if .error.is_data() { "not a GitHub event" } else { "not valid JSON" })]
    Invalid {
        /// The path of the payload.
        path: PathBuf,
        /// The failure of the parser.
        error: serde_json::Error,
    },
    /// The name of the repository is not `owner/repository`.
    #[error("invalid value {0:?} for `GITHUB_REPOSITORY`; use `owner/repository`")]
    Repository(String),
    /// The address of an API is none.
    #[error("invalid value {value:?} for `{variable}`; use an address such as `{default}`")]
    Address {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The address that is used without it.
        default: &'static str,
    },
}
