//! Reads from the headers of a refusal when a further request makes sense: the time to wait, or else when quotas that are used
//! up are full again.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The headers with what is left of a quota, and those that say when it is full again.
const QUOTAS: [(&str, &str); 8] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Numbers of seconds above this are a time and no length of time.
const EPOCH: f64 = 1e9;

/// Returns the time to wait.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = value("retry-after-ms").and_then(|value| value.parse::<u64>().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    if let Some(text) = value("retry-after") {
        return match text.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Err(_) => from_now(httpdate::parse_http_date(text).ok()?),
        };
    }
    let is_used_up = |name: &str| value(name).and_then(|left| left.parse::<f64>().ok()) == Some(0.0);
    let resets = QUOTAS.iter().filter(|(remaining, _)| is_used_up(remaining));
    resets.filter_map(|(_, reset)| until(value(reset)?)).max()
}

/// Returns the time until a quota is full again, which providers write as a length of time or as a time.
fn until(reset: &str) -> Option<Duration> {
    if let Ok(seconds) = reset.parse::<f64>() {
        let seconds = Duration::try_from_secs_f64(seconds).ok()?;
        return if seconds.as_secs_f64() < EPOCH {
            Some(seconds)
        } else {
            from_now(SystemTime::UNIX_EPOCH.checked_add(seconds)?)
        };
    }
    length(reset).or_else(|| from_now(OffsetDateTime::parse(reset, &Rfc3339).ok()?.into()))
}

fn from_now(time: SystemTime) -> Option<Duration> {
    time.duration_since(SystemTime::now()).ok()
}

/// Parses a length of time such as `6m0s` or `1.5s` or `20ms`.
fn length(text: &str) -> Option<Duration> {
    let mut rest = Some(text).filter(|text| !text.is_empty())?;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !(character.is_ascii_digit() || character == '.'))?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|character: char| character.is_ascii_digit()).unwrap_or(rest.len());
        seconds += number
            * match &rest[..end] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_how_long_to_wait() {
        let wait = |headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().expect("a value"));
            }
            retry_after(&map).map(|wait| wait.as_secs_f64())
        };
        assert_eq!(wait(&[("retry-after-ms", "250"), ("retry-after", "9")]), Some(0.25));
        assert_eq!(wait(&[("retry-after", "1.5")]), Some(1.5));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), None, "it is over");
        for negative in ["-1", "nan", "soon"] {
            assert_eq!(wait(&[("retry-after", negative)]), None, "{negative}");
        }
        // The quota that is used up counts, and of two the later one.
        let requests = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0.5s")];
        let tokens = [("x-ratelimit-remaining-tokens", "12"), ("x-ratelimit-reset-tokens", "1h")];
        assert_eq!(wait(&[requests, tokens].concat()), Some(360.5));
        let later = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1h0m20ms")];
        assert_eq!(wait(&[requests, later].concat()), Some(3600.02));
        assert_eq!(wait(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "7")]), Some(7.0));
        let in_a_minute = crate::base::clock::after(Duration::from_mins(1));
        let text = in_a_minute.format(&Rfc3339).expect("a time");
        let soon = |wait: Option<f64>| wait.is_some_and(|wait| (50.0..=60.0).contains(&wait));
        let name = ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset");
        assert!(soon(wait(&[(name.0, "0"), (name.1, &text)])));
        let epoch = in_a_minute.unix_timestamp().to_string();
        assert!(soon(wait(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &epoch)])));
        for junk in ["", "1x", "s", "1.2.3s", "1e30", "yesterday"] {
            assert_eq!(wait(&[("ratelimit-remaining", "0"), ("ratelimit-reset", junk)]), None, "{junk}");
        }
    }
}
