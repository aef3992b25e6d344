//! What goes wrong between us and GitHub, sorted by what to do about it.

/// Why GitHub did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The token is wrong.
    #[error("GitHub refused the token ({0}); check `github-token`")]
    Unauthorized(String),
    /// The token may not.
    #[error(
        "the token is not allowed to {doing} ({message}); add `permissions: {permission}` to the \
             job{fork}"
    )]
    Forbidden {
        /// What was tried.
        doing: &'static str,
        /// What GitHub said.
        message: String,
        /// What is missing, as a workflow writes it.
        permission: String,
        /// A word on forks, where that is the reason.
        fork: &'static str,
    },
    /// A limit that lifts too late to wait for.
    #[error("rate-limited by GitHub until {until} ({message}); the run does not wait that long")]
    RateLimited {
        /// When it lifts.
        until: String,
        /// What GitHub said.
        message: String,
    },
    /// Any other refusal.
    #[error("GitHub refused to {doing}: {message} ({status})")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// The HTTP status.
        status: u16,
        /// What GitHub said.
        message: String,
    },
    /// No answer, or none that makes sense. What was asked may have been done.
    #[error("GitHub did not answer a request to {doing}: {message}")]
    Unclear {
        /// What was tried.
        doing: &'static str,
        /// What happened.
        message: String,
    },
    /// There is nobody to ask.
    #[error("could not send a request to GitHub: {0}")]
    Unusable(String),
}

impl ApiError {
    /// The HTTP status of a refusal, if that was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unauthorized(_) => Some(401),
            Self::Forbidden { .. } => Some(403),
            Self::Refused { status, .. } => Some(*status),
            Self::RateLimited { .. } | Self::Unclear { .. } | Self::Unusable(_) => None,
        }
    }

    /// Whether what was asked for is not there, or no longer.
    pub fn is_missing(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }

    /// Whether a token or its permissions are the reason.
    pub fn is_about_permission(&self) -> bool {
        matches!(self, Self::Unauthorized(_) | Self::Forbidden { .. })
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
