//! Refusals of guardrails, and rules that cannot be used.

use shell::InvalidRule;
use workspace::{FileError, InvalidGlob, WorkspacePath};

/// Error for a rule that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidGuardrail {
    /// A rule about code is not a regular expression.
    #[error("`guardrails.code_rules`: invalid regular expression {pattern:?}")]
    Code {
        /// The pattern as written.
        pattern: String,
        /// The reason.
        source: crate::base::pattern::InvalidPattern,
    },
    /// A pattern of files cannot be parsed.
    #[error(transparent)]
    Files(#[from] InvalidGlob),
    /// A pattern of commands cannot be parsed.
    #[error(transparent)]
    Commands(#[from] InvalidRule),
}

/// Reason why a call, or what it changed, is refused; for the model.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A path in Git's own folder.
    #[error("{0} is in Git's own folder, which is not accessible")]
    Git(WorkspacePath),
    /// A file that is not read.
    #[error("{path} is a sensitive file (sensitive_files: {pattern})")]
    Sensitive {
        /// The file.
        path: WorkspacePath,
        /// The pattern that it matches.
        pattern: String,
    },
    /// A file that is not read unless the configuration says so.
    #[error(
        "{path} is a sensitive file (by default: {pattern}); `guardrails.sensitive_files` replaces the default"
    )]
    UsuallySensitive {
        /// The file.
        path: WorkspacePath,
        /// The pattern that it fits.
        pattern: String,
    },
    /// A file that no configuration releases.
    #[error("{path} is always protected: {reason}")]
    AlwaysProtected {
        /// The file.
        path: WorkspacePath,
        /// What the file is for.
        reason: &'static str,
    },
    /// A file that is not written.
    #[error("{path} is a protected file (protected_files: {pattern})")]
    Protected {
        /// The file.
        path: WorkspacePath,
        /// The pattern that it matches.
        pattern: String,
    },
    /// A link in the place of a folder that has, or may have, protected files.
    #[error("{link} would be a link, and {reason}; create it by hand if it is meant")]
    LinkAbove {
        /// The link.
        link: WorkspacePath,
        /// What is protected below it.
        reason: String,
    },
    /// A command on the built-in list.
    #[error("Command blocked: {0}")]
    Blocked(String),
    /// A command on the configuration's list.
    #[error("Command blocked: it matches {0:?} (blocked_commands)")]
    BlockedByPattern(String),
    /// A dangerous command where only others are allowed.
    #[error("Command classified as 'dangerous' and allowed_only=true: {0}")]
    Dangerous(String),
    /// A glob on a command line that stands for a sensitive file.
    #[error("{glob} matches the sensitive file {file}")]
    Glob {
        /// The glob as written.
        glob: String,
        /// The sensitive file.
        file: WorkspacePath,
    },
    /// A folder on a command line that contains a sensitive file.
    #[error(
        "{folder} contains the sensitive file {file}; search with the tools grep or search_code, which skip it"
    )]
    Folder {
        /// The folder.
        folder: WorkspacePath,
        /// The sensitive file.
        file: WorkspacePath,
    },
    /// More commands than the configuration allows.
    #[error("the limit of {0} commands was reached (max_commands_executed)")]
    TooManyCommands(usize),
    /// More changed files than the configuration allows.
    #[error("{files} files would be modified, but the limit is {limit} (max_files_modified)")]
    TooManyFiles {
        /// Files that would be modified.
        files: usize,
        /// The limit.
        limit: usize,
    },
    /// More changed lines than the configuration allows.
    #[error("{lines} lines would be changed, but the limit is {limit} (max_lines_changed)")]
    TooManyLines {
        /// Lines that would be changed.
        lines: usize,
        /// The limit.
        limit: usize,
    },
    /// A file whose content is not read, where rules are about contents.
    #[error(
        "{0} is larger than 10 MiB, so it cannot be checked against code_rules, max_files_modified and \
         max_lines_changed; keep it smaller, or where ignore files exclude it"
    )]
    TooLargeToCheck(WorkspacePath),
    /// Code that is not added.
    #[error("{path}: {message} (code_rules: {pattern})")]
    Code {
        /// The file.
        path: WorkspacePath,
        /// What the rule says.
        message: String,
        /// The pattern that the code matches.
        pattern: String,
    },
    /// Changes that have not been checked in the time of the run.
    #[error("the time of the run was up before the changes had been checked against the guardrails")]
    TimeUp,
    /// No thread could be started to check changes.
    #[error("could not check the changes against code_rules: no thread could be started: {0}")]
    NoThread(std::io::Error),
    /// Changes that could not be read, and so not be checked.
    #[error(transparent)]
    Unreadable(#[from] FileError),
}
