//! Errors of requests to GitHub, sorted by what to do about them.

use std::time::Duration;

use crate::base::network_clock::CutOff;

/// Errors that can occur when sending a request to GitHub.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The token is invalid or has expired.
    #[error("GitHub refused the token ({0}); check `github-token`")]
    Unauthorized(String),
    /// The token lacks a permission.
    #[error(
        "the token is not allowed to {doing} ({message}); add `permissions: {permission}` to the \
             job{fork}"
    )]
    Forbidden {
        /// The operation, as an infinitive without "to".
        doing: &'static str,
        /// GitHub's message.
        message: String,
        /// The missing permission, as a workflow writes it.
        permission: String,
        /// A remark about forks where that is the reason, else empty.
        fork: &'static str,
    },
    /// A rate limit applies for longer than we wait.
    #[error("rate-limited by GitHub until {until} ({message}); the run does not wait that long")]
    RateLimited {
        /// The time at which the limit ends: RFC 3339, UTC.
        until: String,
        /// GitHub's message.
        message: String,
    },
    /// Any other refusal.
    #[error("GitHub refused to {doing}: {message} ({status})")]
    Refused {
        /// The operation, as an infinitive without "to".
        doing: &'static str,
        /// The HTTP status.
        status: u16,
        /// GitHub's message.
        message: String,
    },
    /// There was no response, or none that makes sense. The operation may have been carried out.
    #[error("the request to {doing} failed: {message}")]
    Unclear {
        /// The operation, as an infinitive without "to".
        doing: &'static str,
        /// A description of the failure.
        message: String,
    },
    /// There was no response in time. The operation may have been carried out.
    #[error("GitHub did not answer in time")]
    Timeout,
    /// The time of the run was up, or somebody stopped it. The operation may have been carried out.
    #[error("GitHub did not answer in time ({0})")]
    CutOff(CutOff),
    /// There is no token.
    #[error("could not send a request to GitHub: no token; set `github-token` or GITHUB_TOKEN")]
    NoToken,
    /// No client could be created; with the reason.
    #[error("could not create a client for GitHub: {0}")]
    NoClient(String),
    /// A thread without a runtime cannot wait for a response.
    #[error("could not wait for a response of GitHub")]
    NoRuntime(#[from] tokio::runtime::TryCurrentError),
    /// A task that sent requests was aborted or panicked.
    #[error("a request to GitHub was aborted")]
    Aborted(#[from] tokio::task::JoinError),
    /// The run has nothing to do with GitHub.
    #[error("this run is not on GitHub")]
    NotOnGitHub,
    /// An event that has no pull request and no issue.
    #[error("the event does not belong to a pull request or issue")]
    NoSubject,
    /// A pull request that GitHub does not show.
    #[error("the pull request #{0} was not found")]
    NoSuchPull(u64),
    /// A pull request with more files than GitHub lists.
    #[error("GitHub lists only {listed} of the files of #{number}")]
    TooManyFiles {
        /// The number of the pull request.
        number: u64,
        /// The number of files that GitHub lists.
        listed: usize,
    },
    /// A file of the repository that is not text.
    #[error("{0} is not a text file")]
    NotText(String),
}

impl ApiError {
    /// Returns the error for an answer that leaves out what was asked for, which is not the same as to say that it is not there.
    pub(super) fn incomplete(doing: &'static str) -> Self {
        Self::Unclear { doing, message: "the answer is incomplete".to_owned() }
    }

    /// Returns the error for an answer that was not whole after the time that a request may take.
    pub(super) fn too_long(doing: &'static str, most: Duration) -> Self {
        let message = format!("the answer was not complete after {} s", most.as_secs());
        Self::Unclear { doing, message }
    }

    /// Returns why nobody waited any longer, if the end of the run is the reason.
    pub fn cut_off(&self) -> Option<CutOff> {
        match self {
            Self::CutOff(why) => Some(*why),
            _ => None,
        }
    }

    /// Returns whether a push would not go better than what failed.
    pub fn forbids_push(&self) -> bool {
        matches!(self, Self::Unauthorized(_) | Self::CutOff(_))
    }

    /// Returns the HTTP status of a refusal, or `None` for other errors. Refusals by GraphQL have the
    /// corresponding status.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unauthorized(_) => Some(401),
            Self::Forbidden { .. } => Some(403),
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns when the rate limit ends that applies, as RFC 3339 has it; `None` for other errors.
    pub fn limited_until(&self) -> Option<&str> {
        match self {
            Self::RateLimited { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Returns whether the requested object does not exist, or no longer exists.
    pub fn is_missing(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }

    /// Returns whether a rule of the repository (a ruleset, or the protection of a branch) forbids the operation. Neither
    /// another attempt nor another way around the API changes that.
    pub fn is_about_rule(&self) -> bool {
        matches!(self, Self::Refused { status: 403 | 409 | 422, message, .. } if names_rule(message))
    }

    /// Returns whether the cause is the token or its permissions.
    pub fn is_about_permission(&self) -> bool {
        matches!(self, Self::Unauthorized(_) | Self::Forbidden { .. })
    }
}

/// Returns whether a message, of the API or of a push, says that a rule of the repository forbids something.
pub(super) fn names_rule(message: &str) -> bool {
    let text = message.to_ascii_lowercase();
    // Rulesets, the protection of a branch (which over the API gives the reasons alone), and pushes that either has refused.
    let known = [
        "rule violation",
        "protected branch",
        "protected ref",
        "must be made through",
        "required status check",
        "approving review",
        "verified signature",
        "gh006",
        "gh013",
    ];
    known.iter().any(|words| text.contains(words))
}

/// Returns what to do about the rule that a message names, as the end of a sentence; empty if that is not known.
pub(super) fn way_out(message: &str) -> &'static str {
    let text = message.to_ascii_lowercase();
    let has = |words: &str| text.contains(words);
    if has("merge queue") || has("through a pull request") || has("approving review") {
        "; deliver to a branch of its own instead (`deliver: pull-request`)"
    } else if has("signature") {
        "; GitHub signs the commits of a job's own token or an app's, not those of other tokens"
    } else if has("status check") {
        "; deliver to a branch of its own instead (`deliver: pull-request`), where the checks can run"
    } else {
        ""
    }
}

/// Joins the messages of an error and its causes by `: `, leaving out a cause that the text already
/// contains.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_from_other_refusals() {
        for (message, rule, expected) in [
            (
                "Repository rule violations found  Changes must be made through a pull request.",
                true,
                "pull-request",
            ),
            (
                "Repository rule violations found  Commits must have verified signatures.",
                true,
                "GitHub signs",
            ),
            (
                "Repository rule violations found  Changes must be made through the merge queue",
                true,
                "pull-request",
            ),
            (
                "Protected branch update failed for refs/heads/main.: Required status check \"ci\" is expected.",
                true,
                "checks can run",
            ),
            ("remote: error: GH006: Protected branch update failed", true, ""),
            ("Changes must be made through a pull request.", true, "pull-request"),
            ("Required status check \"ci\" is expected.", true, "checks can run"),
            ("At least 1 approving review is required by reviewers with write access.", true, "pull-request"),
            ("Update is not a fast forward", false, ""),
            ("Reference already exists", false, ""),
        ] {
            let refused = ApiError::Refused { doing: "commit", status: 422, message: message.to_owned() };
            assert_eq!(refused.is_about_rule(), rule, "{message}");
            assert!(way_out(message).contains(expected), "{message}");
            let failed = ApiError::Refused { doing: "commit", status: 500, message: message.to_owned() };
            assert!(!failed.is_about_rule());
        }
    }
}
