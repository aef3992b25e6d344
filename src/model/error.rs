//! Errors of model requests, sorted by what can be done about them.

use std::time::Duration;

use crate::base::text::shortened;
use crate::event::StopReason;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// 401 or 403: the key is missing or wrong, or not allowed to use the model.
    #[error("the model provider refused the key ({status}): {message}; check the variable that holds it")]
    Unauthorized {
        /// HTTP status.
        status: u16,
        /// Message from the provider.
        message: String,
    },
    /// The provider does not have the model.
    #[error(
        "unknown model: {0}; check `model`, and with `base-url` its path: most compatible servers expect it to end in `/v1`"
    )]
    UnknownModel(String),
    /// The conversation exceeds the model's context window.
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
    /// The account is out of credit, so waiting does not help.
    #[error("the account with the model provider has no credit left: {0}; add credit or use another key")]
    OutOfCredit(String),
    /// Too many requests.
    #[error("rate-limited by the model provider: {message}")]
    RateLimited {
        /// Message from the provider.
        message: String,
        /// Delay that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The provider, or the connection to it, has failed.
    #[error("the model provider is not available: {message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// Delay that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The answer could not be parsed.
    #[error("could not read the model's answer: {0}")]
    Malformed(String),
    /// The request was rejected.
    #[error("the model provider refused the request ({status}): {message}")]
    Refused {
        /// HTTP status; 0 if there was none.
        status: u16,
        /// Message from the provider.
        message: String,
    },
    /// The answer was lost after a part of it had arrived, which the provider may charge for.
    #[error("{error}")]
    Lost {
        /// Why.
        error: Box<Self>,
        /// Bytes that had arrived.
        received: usize,
    },
    /// What is left of the budget does not pay for an answer.
    #[error("the budget does not pay for another answer")]
    OverBudget,
    /// A replayed transcript has no further answer, or a result differs from the recorded one.
    #[error("replay: {0}")]
    Replay(String),
    /// A step of a recipe failed.
    #[error("recipe: {0}")]
    Recipe(String),
}

/// Whether and when a failed request may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Another try would fail as well.
    Never,
    /// After a delay of our choice.
    Backoff,
    /// After the delay that the provider asks for.
    After(Duration),
}

impl ModelError {
    /// Returns the reason for which a run ends that this error ends.
    pub fn reason(&self) -> StopReason {
        match self {
            Self::Lost { error, .. } => error.reason(),
            Self::TooLong(_) => StopReason::ContextFull,
            Self::OverBudget => StopReason::BudgetExceeded,
            Self::Recipe(_) => StopReason::RecipeFailed,
            Self::Unauthorized { .. } => StopReason::LlmUnauthorized,
            Self::UnknownModel(_) => StopReason::LlmUnknown,
            _ => StopReason::LlmError,
        }
    }

    /// Returns whether and when the request may be repeated.
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                retry_after.map_or(Retry::Backoff, Retry::After)
            }
            Self::Malformed(_) => Retry::Backoff,
            Self::Lost { error, .. } => error.retry(),
            _ => Retry::Never,
        }
    }

    /// Returns how many bytes of the answer had arrived before it was lost; `None` if there was no answer.
    pub fn received(&self) -> Option<usize> {
        if let Self::Lost { received, .. } = self { Some(*received) } else { None }
    }
}

/// Maximum length of a provider's message that is passed on, in characters.
const MAX_MESSAGE: usize = 600;

/// Extracts the readable message from an error body.
pub(super) fn message_of(body: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_slice(body.as_bytes()).ok();
    let text = parsed
        .as_ref()
        .and_then(|body| {
            let error = body.get("error").or_else(|| body.get(0)?.get("error")).unwrap_or(body);
            error.get("message").or(Some(error)).and_then(serde_json::Value::as_str)
        })
        .unwrap_or(body)
        .trim();
    if text.is_empty() { "no details given".to_owned() } else { shortened(text, MAX_MESSAGE) }
}

/// Classifies a failed HTTP status, with the help of the body where the status is ambiguous.
pub(super) fn from_status(status: u16, body: &str, retry_after: Option<Duration>) -> ModelError {
    let message = message_of(body);
    let lower = body.to_lowercase();
    match status {
        401 | 403 => ModelError::Unauthorized { status, message },
        402 => ModelError::OutOfCredit(message),
        404 => ModelError::UnknownModel(message),
        429 if lower.contains("insufficient_quota") || lower.contains("billing") => {
            ModelError::OutOfCredit(message)
        }
        429 => ModelError::RateLimited { message, retry_after },
        400 | 413 if is_too_long(&lower) || status == 413 => ModelError::TooLong(message),
        400 if lower.contains("model_not_found") => ModelError::UnknownModel(message),
        408 | 409 | 425 | 500.. => {
            ModelError::Unavailable { message: format!("status {status}, {message}"), retry_after }
        }
        _ => ModelError::Refused { status, message },
    }
}

fn is_too_long(lower: &str) -> bool {
    [
        "context_length_exceeded",
        "maximum context length",
        "prompt is too long",
        "too many tokens",
        "context window",
    ]
    .iter()
    .any(|sign| lower.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_sorted_by_what_to_do() {
        let quota = r#"{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}"#;
        assert_eq!(from_status(429, quota, None), ModelError::OutOfCredit("You exceeded your quota".into()));
        let wait = Duration::from_secs(7);
        assert_eq!(from_status(429, "{}", Some(wait)).retry(), Retry::After(wait));
        assert_eq!(from_status(529, "Overloaded", None).retry(), Retry::Backoff);
        assert_eq!(from_status(401, "{}", None).retry(), Retry::Never);
        let long = r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#;
        assert_eq!(from_status(400, long, None), ModelError::TooLong("too long".into()));
        assert_eq!(
            from_status(400, "nope", None),
            ModelError::Refused { status: 400, message: "nope".into() }
        );
        assert!(matches!(from_status(404, "{}", None), ModelError::UnknownModel(_)));
    }
}
