//! Answers of providers: completions and errors.

use genai::chat::{MessageContent, StopReason, StreamEnd, Usage as GenaiUsage};

use super::error::{from_status, message_of};
use super::quota::retry_after;
use super::usage::of_provider;
use super::{Completion, ModelError, Opaque};
use crate::base::text::shortened;
use crate::event::ToolCall;

pub(super) fn completion_of_stream(end: StreamEnd) -> Completion {
    let mut content = end.captured_content.unwrap_or_default();
    if let (Some(reasoning), false) = (end.captured_reasoning_content, content.contains_reasoning_content()) {
        content.insert(0, genai::chat::ContentPart::ReasoningContent(reasoning));
    }
    completion(content, &end.captured_usage.unwrap_or_default(), end.captured_stop_reason.as_ref())
}

/// Returns an answer.
pub(super) fn completion(
    content: MessageContent,
    usage: &GenaiUsage,
    stop: Option<&StopReason>,
) -> Completion {
    let calls: Vec<ToolCall> = content
        .tool_calls()
        .into_iter()
        .map(|call| ToolCall {
            id: call.call_id.clone(),
            name: call.fn_name.clone(),
            arguments: call.fn_arguments.clone(),
        })
        .collect();
    // The provider's own form is kept only if it has more than text and well-formed calls.
    let special =
        content.parts().iter().any(|part| part.as_text().is_none() && part.as_tool_call().is_none())
            || content.tool_calls().iter().any(|call| call.thought_signatures.is_some());
    let broken = calls.iter().any(|call| !call.arguments.is_object());
    let text = content.joined_texts().unwrap_or_default();
    Completion {
        usage: of_provider(usage, text.is_empty() && calls.is_empty()),
        text,
        calls,
        cut: stop.is_some_and(StopReason::is_max_tokens),
        refused: matches!(stop, Some(StopReason::ContentFilter(_))),
        opaque: (special && !broken).then_some(Opaque(content)),
        continues: false,
    }
}

/// What the library puts in the place of an error's text that broke off.
const UNREAD: &str = "Failed to read error body";

/// Returns the error of ours that a library's error is.
pub(super) fn sort(error: &genai::Error) -> ModelError {
    use genai::Error;
    if let Some(status) = error.status() {
        let retry_after = error.headers().and_then(retry_after);
        let body = match error {
            Error::HttpError { body, .. } => body.as_str(),
            Error::WebModelCall {
                webc_error: genai::webc::Error::ResponseFailedStatus { body, .. }, ..
            } => body,
            _ => "",
        };
        // What the library puts in its place names the URL, which may contain a key.
        let body =
            if body.starts_with(UNREAD) { "the connection failed before all of it was read" } else { body };
        return from_status(status.as_u16(), body, retry_after);
    }
    match error {
        Error::WebModelCall { webc_error: genai::webc::Error::Reqwest(error), .. } => of_connection(error),
        // A stream that could not be opened carries the failed status inside.
        Error::WebStream { cause, error, .. } => {
            let unread = || unavailable(message_of(cause));
            let other = || error.downcast_ref::<reqwest::Error>().map_or_else(unread, of_connection);
            error.downcast_ref::<Error>().map_or_else(other, sort)
        }
        Error::WebModelCall { webc_error, .. } => ModelError::Malformed(brief(&webc_error.to_string())),
        Error::ChatResponse { body, .. } => from_stream_error(body),
        Error::ChatResponseGeneration { cause, .. } => ModelError::Malformed(brief(cause)),
        Error::StreamParse { serde_error, .. } => ModelError::Malformed(serde_error.to_string()),
        Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. }
        | Error::SerdeJson(_)
        | Error::JsonValueExt(_) => ModelError::Malformed(brief(&error.to_string())),
        _ => ModelError::Refused { status: 0, message: brief(&error.to_string()) },
    }
}

/// Classifies an error that arrives within a stream, which has a type but no HTTP status.
fn from_stream_error(body: &serde_json::Value) -> ModelError {
    let text = body.to_string();
    let lower = text.to_lowercase();
    if lower.contains("overloaded") || lower.contains("server_error") || lower.contains("api_error") {
        return unavailable(message_of(&text));
    }
    if lower.contains("rate_limit") {
        return ModelError::RateLimited { message: message_of(&text), retry_after: None };
    }
    from_status(400, &text, None)
}

fn unavailable(message: String) -> ModelError {
    ModelError::Unavailable { message, retry_after: None }
}

/// Returns the error of a request without an answer. A redirection is no different the next time.
fn of_connection(error: &reqwest::Error) -> ModelError {
    let message = chain(error);
    if error.is_redirect() { ModelError::Refused { status: 0, message } } else { unavailable(message) }
}

/// Returns the beginning of an error that a library describes, which may quote a whole answer.
fn brief(text: &str) -> String {
    shortened(text, 300)
}

/// Returns an error with its causes, but without the URL, which may contain a key.
/// Returns an error with its causes.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "the server stayed silent for too long".to_owned()
    } else if error.is_connect() {
        "could not connect".to_owned()
    } else if error.is_redirect() {
        "the redirect was not followed".to_owned()
    } else {
        "the connection failed".to_owned()
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let told = cause.to_string();
        let url = cause.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::url);
        let told = url.map_or_else(|| told.clone(), |url| told.replace(&format!(" for url ({url})"), ""));
        text = format!("{text}: {told}");
        source = cause.source();
    }
    text
}
