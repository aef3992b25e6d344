//! The HTTP client of the whole process: one TLS stack, one proxy setting.

use std::sync::Once;
use std::time::Duration;

/// Returns a client that gives up on an answer after so long a silence.
pub(crate) fn http_client(silence: Duration) -> Result<reqwest::Client, reqwest::Error> {
    http_client_builder().read_timeout(silence).build()
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
