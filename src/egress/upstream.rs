//! Upstream proxy: the one by which this machine itself has to leave its network, as `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY` say.
//!
//! Where there is one, it resolves the names: what the machine's own servers of names know of the internet may be nothing.
//! The rules still judge every name and every address that is written as one.

use std::fmt;
use std::io;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::net::TcpStream;
use tower_service::Service;

use super::target::Target;

/// Why an upstream proxy did not lead to a host.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    #[error("its address has to begin with `http://`, and not with `{0}://`")]
    UnknownScheme(String),
    #[error("its address names no host")]
    NoHost,
    #[error("{0}")]
    NoTunnel(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("could not connect: {0}")]
    Unreachable(#[source] io::Error),
}

/// How a client of ours wants to speak to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// By requests of plain HTTP, which proxies pass on one by one.
    Http,
    /// By whatever it likes, such as TLS, through a tunnel.
    Tunnel,
}

/// The settings of a machine that say which hosts are reached by which proxy.
#[derive(Clone)]
pub struct Upstreams(Arc<Matcher>);

/// One proxy of the machine.
#[derive(Clone, Debug)]
pub(super) struct Upstream(Intercept);

impl Upstreams {
    /// Returns what the environment of this process says.
    pub(super) fn from_environment() -> Self {
        Self(Arc::new(Matcher::from_env()))
    }

    /// Returns settings by which one proxy leads everywhere but to some hosts, a list in the form of `NO_PROXY`.
    pub fn through(proxy: &str, except: &str) -> Self {
        Self(Arc::new(Matcher::builder().all(proxy).no(except).build()))
    }

    /// Returns the proxy by which a host is reached; `None` if it is reached without one.
    pub(super) fn find(&self, target: &Target, protocol: Protocol) -> Option<Upstream> {
        let is_local = match &target.host {
            url::Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        let scheme = match protocol {
            Protocol::Http => "http",
            Protocol::Tunnel => "https",
        };
        let address: Uri = format!("{scheme}://{target}/").parse().ok()?;
        if is_local { None } else { self.0.intercept(&address).map(Upstream) }
    }
}

impl fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its own form shows passwords.
        f.debug_struct("Upstreams").finish_non_exhaustive()
    }
}

impl Upstream {
    /// Returns a tunnel to a host.
    pub(super) async fn tunnel(&self, target: &Target) -> Result<TcpStream, UpstreamError> {
        let no_tunnel = |error: Box<dyn std::error::Error + Send + Sync>| UpstreamError::NoTunnel(error);
        self.address()?;
        let mut tunnel = Tunnel::new(self.0.uri().clone(), HttpConnector::new());
        if let Some(authorization) = self.authorization() {
            tunnel = tunnel.with_auth(authorization);
        }
        let address = format!("https://{target}/").parse().map_err(|error| no_tunnel(Box::new(error)))?;
        let stream = tunnel.call(address).await.map_err(|error| no_tunnel(Box::new(error)))?;
        Ok(stream.into_inner())
    }

    /// Returns a connection to the proxy itself, for requests with absolute addresses.
    pub(super) async fn connect(&self) -> Result<TcpStream, UpstreamError> {
        let (host, port) = self.address()?;
        TcpStream::connect((host, port)).await.map_err(UpstreamError::Unreachable)
    }

    /// Returns the value of `Proxy-Authorization`, if the proxy's address has a password.
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        self.0.basic_auth().cloned()
    }

    fn address(&self) -> Result<(&str, u16), UpstreamError> {
        let uri = self.0.uri();
        match uri.scheme_str() {
            None | Some("http") => {}
            Some(other) => return Err(UpstreamError::UnknownScheme(other.to_owned())),
        }
        let host = uri.host().ok_or(UpstreamError::NoHost)?;
        Ok((host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_reached_by_the_machines_proxy_or_without() {
        let upstreams = Upstreams::through("http://user:secret@proxy.corp.test:3128", "corp.test,10.0.0.0/8");
        for (host, is_proxied) in [
            ("example.com", true),
            ("93.184.216.34", true),
            ("2606:2800:220:1::1", true),
            ("nexus.corp.test", false),
            ("10.1.2.3", false),
            ("localhost", false),
            ("127.0.0.9", false),
            ("::1", false),
        ] {
            let target = Target::new(host, 443).expect(host);
            for protocol in [Protocol::Http, Protocol::Tunnel] {
                assert_eq!(upstreams.find(&target, protocol).is_some(), is_proxied, "{host} {protocol:?}");
            }
        }
        assert!(!format!("{upstreams:?}").contains("secret"));
    }

    #[tokio::test]
    async fn proxies_of_an_unknown_kind_are_named() {
        for (proxy, told) in
            [("socks5h://proxy.test:1080", "`socks5h://`"), ("https://proxy.test", "`https://`")]
        {
            let target = Target::new("example.com", 443).expect("a host");
            let upstream = Upstreams::through(proxy, "").find(&target, Protocol::Tunnel).expect(proxy);
            for error in [upstream.tunnel(&target).await.err(), upstream.connect().await.err()] {
                assert!(error.expect(proxy).to_string().contains(told), "{proxy}");
            }
        }
    }
}
