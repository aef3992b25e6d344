//! The OTLP endpoint that traces are sent to, and its headers.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::base::env::Variables;

/// The variable that holds headers for the endpoint, such as a key.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Returns the values of these headers, which are to be kept secret.
pub(crate) fn secrets(variables: &Variables) -> impl Iterator<Item = String> {
    let given = variables.get(HEADERS).map(String::as_str).unwrap_or_default();
    let value = |pair: &str| Some(pair.split_once('=')?.1.trim().to_owned());
    given.split(',').filter_map(value).filter(|value| value.len() >= 6)
}

/// Why traces cannot be sent anywhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointError {
    /// There is no endpoint.
    #[error(
        "telemetry is enabled, but has no endpoint; set `telemetry.endpoint` or `OTEL_EXPORTER_OTLP_ENDPOINT`"
    )]
    Missing,
    /// The endpoint is not a URL.
    #[error("invalid value {url:?} for `telemetry.endpoint`: {error}")]
    Url {
        /// The URL as written.
        url: String,
        /// What is wrong with it.
        error: String,
    },
    /// The endpoint is reached in another way than by HTTP.
    #[error("invalid value {0:?} for `telemetry.endpoint`; use a URL that begins with https:// or http://")]
    Scheme(String),
    /// The headers are no list of pairs. They are not shown, because they are secret.
    #[error("invalid value for `OTEL_EXPORTER_OTLP_HEADERS`; use comma-separated NAME=VALUE pairs")]
    Headers,
}

/// The OTLP endpoint that traces are sent to.
pub(super) struct Endpoint {
    /// The complete URL, with its path.
    pub(super) url: String,
    /// Headers to send along, such as a key.
    pub(super) headers: HeaderMap,
}

impl Endpoint {
    /// Reads the endpoint from the configuration, or else from OpenTelemetry's usual variables.
    pub(super) fn new(endpoint: Option<&str>, variables: &Variables) -> Result<Self, EndpointError> {
        let variable = |name: &str| variables.get(name).filter(|value| !value.trim().is_empty()).cloned();
        let base = |url: &str| format!("{}/v1/traces", url.trim_end_matches('/'));
        let url = endpoint
            .map(base)
            .or_else(|| variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
            .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|url| base(&url)))
            .ok_or(EndpointError::Missing)?;
        let parsed = reqwest::Url::parse(&url)
            .map_err(|error| EndpointError::Url { url: url.clone(), error: error.to_string() })?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(EndpointError::Scheme(url));
        }
        let given = variable(HEADERS);
        let mut headers = HeaderMap::new();
        for pair in given.unwrap_or_default().split(',').filter(|pair| !pair.trim().is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(EndpointError::Headers)?;
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            let name = HeaderName::try_from(name.trim()).map_err(|_| EndpointError::Headers)?;
            headers.insert(name, HeaderValue::try_from(&*value).map_err(|_| EndpointError::Headers)?);
        }
        Ok(Self { url, headers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_found_or_explained() {
        let variables = |pairs: &[(&str, &str)]| -> Variables {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let url =
            |endpoint, pairs: &[(&str, &str)]| Endpoint::new(endpoint, &variables(pairs)).map(|it| it.url);
        let general = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://b:4318/")];
        assert_eq!(url(Some("http://a"), &general), Ok("http://a/v1/traces".to_owned()));
        assert_eq!(url(None, &general), Ok("http://b:4318/v1/traces".to_owned()));
        let own = [general[0], ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/x")];
        assert_eq!(url(None, &own), Ok("http://c/x".to_owned()));
        assert!(url(None, &[]).is_err_and(|error| error == EndpointError::Missing));
        assert!(url(Some("ftp://x"), &[]).is_err() && url(Some("x"), &[]).is_err());
        let header = [general[0], ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=1")];
        let found = Endpoint::new(None, &variables(&header)).expect("a endpoint").headers;
        assert_eq!((found["api-key"].as_bytes(), found["x"].as_bytes()), (&b"a b"[..], &b"1"[..]));
        assert!(
            Endpoint::new(None, &variables(&[general[0], ("OTEL_EXPORTER_OTLP_HEADERS", "no")])).is_err()
        );
    }
}
