//! Addresses of GitHub's APIs, as the environment names them.

use super::environment_error::EnvironmentError;

/// Returns the address of an API: the value of a variable, or the `default`.
pub(super) fn server_address(
    variable: &'static str,
    value: Option<String>,
    default: &'static str,
) -> Result<String, EnvironmentError> {
    let is_address = |text: &str| {
        reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    match value {
        Some(value) if !is_address(&value) => Err(EnvironmentError::Address { variable, value, default }),
        value => Ok(value.unwrap_or_else(|| default.to_owned())),
    }
}
