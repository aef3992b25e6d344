//! Errors of the web tools, in words for the model.

use std::io;
use std::sync::Arc;

use reqwest::StatusCode;

use super::{MAX_HOPS, MAX_TIME, MAX_URL};

/// Why the web cannot be used under a configuration.
#[derive(Debug, thiserror::Error)]
pub enum InvalidWeb {
    /// The address of the search engine takes no query, or is not reached by HTTP.
    #[error("invalid value {0:?} for `web.search_url`; use an http or https URL that contains `{{query}}`")]
    SearchUrl(String),
    /// The path of this program, which parses pages, is not known.
    #[error("could not prepare reading pages")]
    Launcher(#[source] io::Error),
}

/// Why a page or a search gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("stopped, because the run was interrupted")]
    Interrupted,
    #[error("it took longer than {} s", MAX_TIME.as_secs())]
    TooSlow,
    #[error("it redirects more than {MAX_HOPS} times")]
    TooManyHops,
    #[error("it redirects to {to:?}: {error}")]
    InvalidRedirect { to: String, error: url::ParseError },
    #[error("it redirects to {to}: {error}")]
    Redirect { to: String, error: Box<WebError> },
    #[error("the URL is longer than {MAX_URL} characters")]
    TooLong,
    #[error("invalid URL {text:?}: {error}")]
    InvalidUrl { text: String, error: url::ParseError },
    #[error("{0:?} has no host")]
    NoHost(String),
    #[error("ACCESS DENIED: only http and https URLs are allowed")]
    Scheme,
    #[error("ACCESS DENIED: URLs with a user name or a password are not allowed")]
    Userinfo,
    #[error("ACCESS DENIED: {0} is not a host on the public internet")]
    NotPublic(String),
    #[error("ACCESS DENIED: {host} is not among web.allowed_hosts ({allowed})")]
    NotAllowed { host: String, allowed: String },
    #[error("{0}")]
    Client(Arc<reqwest::Error>),
    #[error("{}", reason(.0))]
    Http(#[from] reqwest::Error),
    #[error("the server answered with status {0}")]
    Status(StatusCode),
    #[error("it is {0:?}, not text")]
    NotText(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Results(#[from] serde_json::Error),
}

/// Why a page could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The process that parses pages could not be started.
    #[error("could not convert the page: {0}")]
    Start(#[source] io::Error),
    /// The process ended early.
    #[error("the page is too complex to read")]
    TooComplex,
    /// The process took too long.
    #[error("the page takes too long to read")]
    TooSlow,
}

/// Describes what went wrong, without the address, which the model knows.
fn reason(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let what = if error.is_timeout() { "it took too long" } else { "could not reach it" };
    let detail = deepest.to_string();
    if detail.contains("not a host on the public internet") {
        format!("ACCESS DENIED: {detail}")
    } else {
        format!("{what}: {detail}")
    }
}
