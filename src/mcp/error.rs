//! Errors of a server: it does not start, one of its tools cannot be used, or a call gets no result.

use std::io;

use super::brief;
use super::start_limit::StartLimit;

/// Reason why a server is left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// The run ended first.
    #[error("the run was interrupted")]
    Interrupted,
    /// The variable with its token is missing.
    #[error("the variable `{0}` (`token_env`) is not set")]
    NoToken(String),
    /// No client can be made.
    #[error("could not prepare requests: {0}")]
    Http(#[source] reqwest::Error),
    /// Its program cannot be started.
    #[error("could not start it: {0}")]
    Program(#[source] io::Error),
    /// The handshake failed.
    #[error("{}", brief(&.0.to_string()))]
    Handshake(Box<rmcp::service::ClientInitializeError>),
    /// It was silent for too long.
    #[error("it did not answer within {0}")]
    NoAnswer(StartLimit),
    /// It refused to list its tools.
    #[error("could not list its tools: {}", brief(&.0.to_string()))]
    Listing(rmcp::service::ServiceError),
    /// Its list is longer than anybody's.
    #[error("its list of tools has more than {pages} pages, {tools} tools or {megabytes} MB")]
    LongList {
        /// Most pages.
        pages: usize,
        /// Most tools.
        tools: usize,
        /// Most megabytes.
        megabytes: usize,
    },
    /// It took too long to list its tools.
    #[error("it did not list its tools within {0}")]
    NoList(StartLimit),
    /// Any of these, with what the program printed before it was ended.
    #[error("{error}{stderr}")]
    Ended {
        /// What went wrong.
        error: Box<StartError>,
        /// The last lines of its standard error, as an addition to a message.
        stderr: String,
    },
}

impl StartError {
    /// Adds what the server's program printed.
    pub(super) fn with_output(self, stderr: String) -> Self {
        Self::Ended { error: Box::new(self), stderr }
    }
}

/// Reason why a schema of a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableSchema {
    /// It would cost too much with every request.
    #[error("its schema is longer than {0} bytes")]
    Long(usize),
    /// A few references stand for more than anybody can check.
    #[error("its schema expands to more than {0} values")]
    Large(usize),
    /// It is none.
    #[error("its schema is invalid: {0}")]
    Invalid(#[source] Box<jsonschema::ValidationError<'static>>),
}

/// Reason why a call has no result, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The run ended first.
    #[error("stopped, because the run was interrupted")]
    Interrupted,
    /// The server was silent for too long.
    #[error("the MCP server {server} did not answer within {seconds} s")]
    NoAnswer {
        /// The name of the server.
        server: String,
        /// The time limit.
        seconds: u64,
    },
    /// The server answered with something else.
    #[error("the MCP server {0} did not answer with a result")]
    NoResult(String),
    /// The server cannot be reached over the network.
    #[error("could not reach the MCP server {server}: {problem}")]
    Unreachable {
        /// The name of the server.
        server: String,
        /// What went wrong.
        problem: String,
    },
    /// The server's program has ended.
    #[error("the MCP server {0} has exited, so its tools no longer work")]
    Exited(String),
    /// The server refused, or broke the protocol.
    #[error("the MCP server {server}: {problem}")]
    Failed {
        /// The name of the server.
        server: String,
        /// Its words.
        problem: String,
    },
}
