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
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::target::Target;

/// Why an upstream proxy did not lead to a host.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    #[error("its address must begin with `http://`, not with `{0}://`")]
    UnknownScheme(String),
    #[error("its address names no host")]
    NoHost,
    #[error("could not connect: {0}")]
    Unreachable(#[source] io::Error),
    #[error(
        "it requires a user name and a password (407); put them in its address: `http://USER:PASSWORD@HOST:PORT`"
    )]
    NeedsPassword,
    #[error("it refused with status {0}")]
    Refused(u16),
    #[error("it did not answer as a proxy does: {0}")]
    NoAnswer(#[source] io::Error),
}

/// Maximum size of the head of a proxy's answer, in bytes.
const MAX_HEAD: usize = 16_384;

/// Maximum number of header fields in it.
const MAX_FIELDS: usize = 100;

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
    /// Returns a tunnel to a host. What its other end has said already is still to be read from it.
    pub(super) async fn tunnel(&self, target: &Target) -> Result<TcpStream, UpstreamError> {
        let mut stream = self.connect().await?;
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(authorization) = self.authorization() {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        stream.write_all(&request).await.map_err(UpstreamError::NoAnswer)?;
        match answer(&mut stream).await.map_err(UpstreamError::NoAnswer)? {
            200..=299 => Ok(stream),
            407 => Err(UpstreamError::NeedsPassword),
            status => Err(UpstreamError::Refused(status)),
        }
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

/// Reads the head of an answer and not a byte behind it: some servers speak first. Returns its status.
async fn answer(stream: &mut TcpStream) -> io::Result<u16> {
    let (mut head, mut seen) = (Vec::new(), [0; 1024]);
    loop {
        let count = stream.peek(&mut seen).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = head.len();
        head.extend_from_slice(&seen[..count]);
        let end = head.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        head.truncate(end.unwrap_or(head.len()));
        stream.read_exact(&mut seen[..head.len() - before]).await?;
        if end.is_some() {
            return status(&head);
        }
        if head.len() > MAX_HEAD {
            return Err(io::Error::other("its head is too long"));
        }
    }
}

/// Returns the status of an answer.
fn status(head: &[u8]) -> io::Result<u16> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    response.parse(head).map_err(io::Error::other)?;
    response.code.ok_or_else(|| io::Error::other("it has no status"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Starts a proxy that answers its only request by these parts, one after the other. Returns it with its request.
    async fn proxy(parts: Vec<&'static [u8]>) -> (Upstream, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.expect("a request"));
            }
            for part in parts {
                stream.write_all(part).await.expect("a client");
                tokio::task::yield_now().await;
            }
            String::from_utf8(request).expect("text")
        });
        let upstreams = Upstreams::through(&format!("http://user:secret@{address}"), "");
        let target = Target::new("example.com", 22).expect("a host");
        (upstreams.find(&target, Protocol::Tunnel).expect("a proxy"), served)
    }

    #[tokio::test]
    async fn what_a_server_says_first_is_not_lost() {
        let target = Target::new("example.com", 22).expect("a host");
        for parts in [
            vec![&b"HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-x\r\n"[..]],
            vec![b"HTTP/1.0 200 OK\r\nVia: p\r\n\r", b"\nSSH-2.0-x\r\n"],
            vec![b"HTTP/1.1 200 OK\r\n", b"\r\n", b"SSH-2.0", b"-x\r\n"],
        ] {
            let (upstream, served) = proxy(parts).await;
            let mut stream = upstream.tunnel(&target).await.expect("a tunnel");
            let mut said = String::new();
            stream.read_to_string(&mut said).await.expect("text");
            assert_eq!(said, "SSH-2.0-x\r\n");
            let request = served.await.expect("a request");
            assert!(
                request.starts_with("CONNECT example.com:22 HTTP/1.1\r\nHost: example.com:22\r\n"),
                "{request}"
            );
            assert!(request.contains("\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"), "{request}");
        }
    }

    #[tokio::test]
    async fn proxies_that_lead_nowhere_say_why() {
        let target = Target::new("example.com", 22).expect("a host");
        let long: &'static [u8] =
            Vec::leak([b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 40_000]].concat());
        for (answer, expected) in [
            (&b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..], "USER:PASSWORD"),
            (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "status 403"),
            (b"SSH-2.0-x\r\n\r\n", "did not answer as a proxy"),
            (b"HTTP/1.1 200 OK\r\n", "did not answer as a proxy"),
            (b"", "did not answer as a proxy"),
            (long, "too long"),
        ] {
            let (upstream, _served) = proxy(vec![answer]).await;
            let error = upstream.tunnel(&target).await.expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let upstreams = Upstreams::through(&format!("http://{address}"), "");
        let dead = upstreams.find(&target, Protocol::Tunnel).expect("a proxy");
        assert!(
            dead.tunnel(&target).await.expect_err("nobody listens").to_string().contains("could not connect")
        );
    }

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
        for (proxy, expected) in
            [("socks5h://proxy.test:1080", "`socks5h://`"), ("https://proxy.test", "`https://`")]
        {
            let target = Target::new("example.com", 443).expect("a host");
            let upstream = Upstreams::through(proxy, "").find(&target, Protocol::Tunnel).expect(proxy);
            for error in [upstream.tunnel(&target).await.err(), upstream.connect().await.err()] {
                assert!(error.expect(proxy).to_string().contains(expected), "{proxy}");
            }
        }
    }
}
