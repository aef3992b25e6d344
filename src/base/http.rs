//! The HTTP client of the whole process: one TLS stack, one proxy setting.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;

/// Most redirections of one request.
const MAX_REDIRECTIONS: usize = 5;

/// Error for an answer that sends a request to another place, with its body and its keys.
#[derive(Debug, thiserror::Error)]
#[error(
    "{from} redirects to {to}, which would get the request and its key; if that is intended, set `{key}` to that address"
)]
pub(crate) struct Redirected {
    from: String,
    to: String,
    /// The key of the configuration that holds the address.
    key: &'static str,
}

/// Returns a client for the address that `key` of the configuration names. It gives up on an answer after so long a
/// silence, and follows no redirection to another host, port or scheme.
pub(crate) fn http_client(silence: Duration, key: &'static str) -> Result<reqwest::Client, reqwest::Error> {
    let same_place = Policy::custom(move |attempt| {
        let from = attempt.previous().first();
        if from.is_some_and(|from| from.origin() == attempt.url().origin()) {
            return if attempt.previous().len() > MAX_REDIRECTIONS {
                attempt.stop()
            } else {
                attempt.follow()
            };
        }
        let origin = |url: &reqwest::Url| url.origin().ascii_serialization();
        let redirected =
            Redirected { from: from.map(origin).unwrap_or_default(), to: origin(attempt.url()), key };
        // Not every caller reports the causes of a failed request.
        tracing::warn!("warning: {redirected}");
        attempt.error(redirected)
    });
    http_client_builder().read_timeout(silence).redirect(same_place).build()
}

/// Returns what every client of the process is built from.
pub(crate) fn http_client_builder() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails only where one is installed already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .user_agent(concat!("architect-ci/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(15))
        .tcp_nodelay(true)
}
