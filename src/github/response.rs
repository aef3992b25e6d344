//! Responses from GitHub, and what a failed one means for the next attempt.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ApiError, chain};
use super::operation::{Method, Purpose};
use crate::base::clock::unix_seconds;

/// The minimum wait that GitHub documents for a secondary rate limit without a `retry-after`.
const SECONDARY_WAIT: Duration = Duration::from_mins(1);

/// The longest time that a rate limit is assumed to last: a header may say anything.
const MAX_PAUSE: Duration = Duration::from_hours(24);

/// Maximum length of a body, in bytes; larger files come as downloads with limits of their own.
const MAX_BODY: usize = 256 << 20;

/// Maximum length of the body of a refusal; what is longer is no message of GitHub's.
const MAX_ERROR_BODY: usize = 64 << 10;

/// A response, successful or not.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Response {
    pub(super) fn is_fine(&self) -> bool {
        (self.status.is_success() || self.status.is_redirection()) && !self.is_limited_query()
    }

    /// Returns whether it is a success whose JSON does not end, or is none.
    pub(super) fn is_cut(&self) -> bool {
        let is_json = self
            .headers
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.contains("json"));
        is_json
            && self.status.is_success()
            && !self.body.is_empty()
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.body).is_err()
    }

    /// Returns whether it refuses a GraphQL query because of a rate limit, which it does with the status of success.
    fn is_limited_query(&self) -> bool {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            data: Option<serde::de::IgnoredAny>,
            errors: Vec<QueryError>,
        }
        #[derive(Deserialize)]
        struct QueryError {
            #[serde(default, rename = "type")]
            kind: Option<String>,
        }
        let is_query = self.headers.get("x-ratelimit-resource").is_some_and(|name| name == "graphql");
        is_query
            && self.status.is_success()
            && serde_json::from_str::<Body>(&self.body).is_ok_and(|body| {
                body.data.is_none()
                    && body.errors.iter().any(|error| error.kind.as_deref() == Some("RATE_LIMITED"))
            })
    }

    /// Returns the URL that the request has to be sent to instead, as after a renaming of the repository.
    /// Following it is safe: octocrab sends the token to GitHub's host only.
    pub(super) fn moved(&self) -> Option<String> {
        let moved = matches!(self.status.as_u16(), 301 | 307 | 308);
        self.headers.get("location").filter(|_| moved)?.to_str().ok().map(str::to_owned)
    }

    /// Parses the body; an error says that the request may have been carried out.
    pub(super) fn read<T: DeserializeOwned>(&self, to: Purpose) -> Result<T, ApiError> {
        // An empty body is a value, too.
        let body = if self.body.is_empty() { "null" } else { &self.body };
        serde_json::from_slice(body.as_bytes()).map_err(|error| ApiError::Unclear {
            doing: to.doing,
            message: format!("unexpected answer: {error}"),
        })
    }

    /// Returns GitHub's error message on one line, together with the details that it gives.
    pub(super) fn message(&self) -> String {
        #[derive(Deserialize)]
        struct Body {
            message: String,
            #[serde(default)]
            errors: Value,
        }
        let Ok(Body { message, errors }) = serde_json::from_slice(self.body.as_bytes()) else {
            // The page of a proxy says less than the status does.
            return self.status.canonical_reason().unwrap_or("no reason given").to_owned();
        };
        let detail = |error: &Value| {
            let text = error.as_str().or_else(|| error["message"].as_str()).map(str::to_owned);
            text.or_else(|| Some(format!("{} {}", error["field"].as_str()?, error["code"].as_str()?)))
        };
        let details: Vec<String> = errors.as_array().into_iter().flatten().filter_map(detail).collect();
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        if details.is_empty() { message } else { format!("{message}: {}", details.join("; ")) }
    }
}

/// Reads a body as text. Of a refusal, only the beginning is read; a longer answer is an error, because a part of it is none.
pub(super) async fn read_body<B>(status: StatusCode, mut body: B) -> Result<String, Broken>
where
    B: Body<Data = Bytes, Error: std::error::Error + 'static> + Unpin,
{
    // The request has arrived.
    let broken = |message| Broken { unsent: false, message };
    let limit = if status.is_success() { MAX_BODY } else { MAX_ERROR_BODY };
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(chain(&error)))?;
        let Ok(data) = frame.into_data() else { continue };
        let room = limit - bytes.len();
        bytes.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            if status.is_success() {
                return Err(broken(format!("the answer is longer than {} MiB", MAX_BODY >> 20)));
            }
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    String::from_utf8(bytes).map_err(|error| broken(chain(&error)))
}

/// A request that got no response.
pub(super) struct Broken {
    /// Whether the request certainly did not arrive.
    pub(super) unsent: bool,
    pub(super) message: String,
}

impl Broken {
    pub(super) fn new(error: &octocrab::Error) -> Self {
        let mut unsent = false;
        let mut source: Option<&dyn std::error::Error> = Some(error);
        while let Some(cause) = source {
            unsent |= cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
            source = cause.source();
        }
        Self { unsent, message: chain(error) }
    }

    /// Decides whether to retry: a request that may have arrived is sent again only if it may be repeated.
    pub(super) fn judge(self, method: Method, to: Purpose) -> Failure {
        let again = if method == Method::Post && !self.unsent { Resend::Never } else { Resend::Soon };
        Failure { error: ApiError::Unclear { doing: to.doing, message: self.message }, again }
    }
}

/// An error, and whether another attempt may help.
pub(super) struct Failure {
    pub(super) error: ApiError,
    pub(super) again: Resend,
}

/// Whether to send the same request again, and when.
pub(super) enum Resend {
    Never,
    Soon,
    /// When the pace allows it.
    InTurn,
}

/// Returns how long GitHub wants us to wait, if a rate limit is the reason why a request failed.
pub(super) fn limited(answer: &Response, message: &str) -> Option<Duration> {
    if !matches!(answer.status.as_u16(), 403 | 429 | 503) && !answer.is_limited_query() {
        return None;
    }
    let number = |name: &str| answer.headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs(seconds).min(MAX_PAUSE));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        let now = unix_seconds();
        let seconds = number("x-ratelimit-reset").map_or(60, |reset| reset.saturating_sub(now));
        // GitHub's clock and ours may differ.
        return Some(Duration::from_secs(seconds.saturating_add(1)).min(MAX_PAUSE));
    }
    let secondary = answer.status.as_u16() == 429 || message.to_lowercase().contains("rate limit");
    secondary.then_some(SECONDARY_WAIT)
}

/// Returns the URL of the next page from the `Link` header.
pub(super) fn next_page(headers: &HeaderMap) -> Option<String> {
    let links = headers.get("link")?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let address = next.split_once('<')?.1.split_once('>')?.0;
    Some(address.to_owned())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;

    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &str)], body: &str) -> Response {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        Response {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: headers.collect(),
            body: body.to_owned(),
        }
    }

    #[test]
    fn waits_are_as_long_as_github_says() {
        let reset = (unix_seconds() + 30).to_string();
        for (status, headers, message, expected) in [
            (403, vec![("retry-after", "7")], "secondary", Some(7)),
            (429, vec![], "Too many requests", Some(60)),
            (403, vec![], "You have exceeded a secondary rate limit", Some(60)),
            (403, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)], "API", Some(31)),
            (403, vec![("x-ratelimit-remaining", "12")], "Resource not accessible", None),
            (404, vec![("retry-after", "7")], "Not Found", None),
            (429, vec![("retry-after", "18446744073709551615")], "", Some(86_400)),
            (
                403,
                vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "18446744073709551615")],
                "",
                Some(86_400),
            ),
        ] {
            let pause = limited(&answer(status, &headers, ""), message).map(|pause| pause.as_secs());
            assert!(
                pause == expected || pause.map(|pause| pause + 1) == expected,
                "{status} {message}: {pause:?}"
            );
        }
    }

    /// A body that never ends, and counts what was taken of it.
    fn endless(taken: &AtomicUsize) -> impl Body<Data = Bytes, Error = Infallible> {
        let piece = Bytes::from_static(&[b'x'; 1 << 14]);
        StreamBody::new(futures::stream::repeat_with(move || {
            taken.fetch_add(piece.len(), Ordering::Relaxed);
            Ok(Frame::data(piece.clone()))
        }))
    }

    #[tokio::test]
    async fn bodies_without_an_end_are_not_read_to_it() {
        for (status, limit, is_read) in [
            (200, MAX_BODY, false),
            (302, MAX_ERROR_BODY, true),
            (403, MAX_ERROR_BODY, true),
            (500, MAX_ERROR_BODY, true),
        ] {
            let taken = AtomicUsize::new(0);
            let status = StatusCode::from_u16(status).expect("a status");
            let read = read_body(status, endless(&taken)).await;
            assert_eq!(read.is_ok(), is_read, "{status}");
            assert!(read.is_ok_and(|text| text.len() == limit) == is_read, "{status}");
            let taken = taken.into_inner();
            assert!((limit..=limit + (1 << 14)).contains(&taken), "{status}: {taken}");
        }
    }

    #[tokio::test]
    async fn bodies_within_the_limit_are_read_whole() {
        let long = "x".repeat(MAX_ERROR_BODY + 1);
        let read = |status, text: &str| read_body(status, Full::new(Bytes::from(text.to_owned())));
        assert_eq!(read(StatusCode::OK, &long).await.ok().as_ref(), Some(&long));
        assert_eq!(read(StatusCode::BAD_GATEWAY, &long).await.ok().as_deref(), long.get(1..));
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        let links = "<https://api.github.com/a?page=1>; rel=\"prev\", <https://api.github.com/a?page=3>; rel=\"next\"";
        let found = next_page(&answer(200, &[("link", links)], "").headers);
        assert_eq!(found.as_deref(), Some("https://api.github.com/a?page=3"));
        assert_eq!(next_page(&answer(200, &[("link", "<x>; rel=\"last\"")], "").headers), None);
    }

    #[test]
    fn messages_carry_their_details() {
        for (body, expected) in [
            (
                r#"{"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}"#,
                "Validation Failed: head invalid",
            ),
            (
                r#"{"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}"#,
                "Unprocessable Entity: Line could not be resolved",
            ),
            (r#"{"message": "Not Found"}"#, "Not Found"),
            ("<html>a proxy</html>", "Bad Gateway"),
        ] {
            assert_eq!(answer(502, &[], body).message(), expected);
        }
    }
}
