//! What can go wrong between us and a model, by what to do about it.

use std::time::Duration;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// 401 or 403: the key is missing, wrong, or may not use the model.
    #[error("the model provider refused the key ({status}): {message}; check the variable that holds it")]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        message: String,
    },
    /// The provider does not have the model.
    #[error("unknown model: {0}; check `model`")]
    UnknownModel(String),
    /// The conversation is longer than the model takes.
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
    /// The account is out of credit: waiting does not help.
    #[error("the account with the model provider has no credit left: {0}; add credit or use another key")]
    OutOfCredit(String),
    /// Too many requests.
    #[error("rate-limited by the model provider: {message}")]
    RateLimited {
        /// What the provider said.
        message: String,
        /// How long it wants us to wait.
        retry_after: Option<Duration>,
    },
    /// The provider is in trouble, or the way to it is.
    #[error("the model provider is not available: {message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// How long it wants us to wait.
        retry_after: Option<Duration>,
    },
    /// The answer could not be understood.
    #[error("could not read the model's answer: {0}")]
    Malformed(String),
    /// The request itself was refused.
    #[error("the model provider refused the request ({status}): {message}")]
    Refused {
        /// The HTTP status; 0 where there was none.
        status: u16,
        /// What the provider said.
        message: String,
    },
    /// A transcript that is played back has no answer, or not for what was asked.
    #[error("replay: {0}")]
    Replay(String),
    /// A recipe's step failed.
    #[error("recipe: {0}")]
    Recipe(String),
}

impl ModelError {
    /// How long to wait before another try: `None` where another try is pointless, `Some(None)`
    /// where any time will do.
    pub(super) fn retry_after(&self) -> Option<Option<Duration>> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Malformed(_) => Some(None),
            _ => None,
        }
    }
}

/// Most of a provider's words that are passed on.
const MAX_MESSAGE: usize = 600;

/// The readable part of an error body.
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
    let cut = text.floor_char_boundary(MAX_MESSAGE);
    let text = &text[..cut];
    if text.is_empty() { "no details given".to_owned() } else { text.to_owned() }
}

/// Sorts a failed HTTP status.
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
        let wait = Some(Duration::from_secs(7));
        assert_eq!(from_status(429, "{}", wait).retry_after(), Some(wait));
        assert_eq!(from_status(529, "Overloaded", None).retry_after(), Some(None));
        assert_eq!(from_status(401, "{}", None).retry_after(), None);
        let long = r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#;
        assert_eq!(from_status(400, long, None), ModelError::TooLong("too long".into()));
        assert_eq!(
            from_status(400, "nope", None),
            ModelError::Refused { status: 400, message: "nope".into() }
        );
        assert!(matches!(from_status(404, "{}", None), ModelError::UnknownModel(_)));
    }
}
