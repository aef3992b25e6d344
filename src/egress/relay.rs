//! Relay between a client of the proxy and the host that it asked for. The server name by which a client begins TLS has
//! to be that host: another name would be answered by whoever shares its address.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy_bidirectional_with_sizes};
use url::Host;

use super::connection_limit::ConnectionPermit;
use super::target::Target;

/// Bytes that are on their way in each direction of a connection.
const BUFFER: usize = 64 * 1024;
/// Longest beginning of TLS that is looked at.
const MAX_OPENING: usize = 16 * 1024;
/// First byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// First bytes of other records of TLS: a change of the cipher, and an alert.
const OTHER_RECORDS: [u8; 2] = [0x14, 0x15];
/// What stands before the version in the first line of a request of HTTP.
const HTTP: &[u8] = b"HTTP/";
/// Port on which nothing but TLS is spoken.
const TLS_PORT: u16 = 443;

/// Port of HTTP, whose requests the proxy rewrites, with the host that was judged.
const HTTP_PORT: u16 = 80;

/// Counters of what went to a host and came from it.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) times: AtomicU32,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

/// A stream whose bytes are counted.
pub(super) struct Counted<S> {
    inner: S,
    traffic: Arc<Traffic>,
    /// One of the connections that a session may have at a time.
    _permit: ConnectionPermit,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S, traffic: Arc<Traffic>, permit: ConnectionPermit) -> Self {
        Self { inner, traffic, _permit: permit }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, into))?;
        this.traffic.received.fetch_add((into.filled().len() - before) as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(cx, bytes))?;
        this.traffic.sent.fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

/// Why a connection was cut.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CutReason {
    #[error("the client asked the proxy for this host, but TLS for {0:?}")]
    OtherName(String),
    #[error("the client began TLS without naming a host")]
    NoName,
    #[error("the client sent something other than TLS to port {TLS_PORT}, or TLS that could not be parsed")]
    NotTls,
    #[error(
        "the client sent plain HTTP, or something other than TLS to port {HTTP_PORT}, through a \
         tunnel, where it could name any host; send such requests to the proxy directly"
    )]
    PlainHttp,
}

/// What the first bytes of a client say.
#[derive(Debug, PartialEq, Eq)]
enum Opening {
    /// Not enough to decide.
    Unfinished,
    /// They may be passed on.
    Fine,
}

/// Passes bytes on in both directions until both sides are done, or the client begins TLS for another host.
pub(super) async fn relay<C, S>(mut client: C, mut server: S, target: &Target) -> Result<(), CutReason>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut opening = Vec::new();
    let mut answer = vec![0; 4096];
    loop {
        tokio::select! {
            read = client.read_buf(&mut opening) => {
                let is_over = !matches!(read, Ok(count) if count > 0);
                if is_over && opening.is_empty() {
                    break;
                }
                match judge(&opening, target)? {
                    Opening::Fine => break,
                    // TLS that ends before it can be judged is not passed on.
                    Opening::Unfinished if is_over && opening.first() == Some(&HANDSHAKE) => {
                        return Err(CutReason::NotTls);
                    }
                    Opening::Unfinished if is_over => break,
                    Opening::Unfinished => {}
                }
            }
            // Some servers speak first.
            read = server.read(&mut answer) => {
                let Ok(count @ 1..) = read else { return Ok(()) };
                if client.write_all(&answer[..count]).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    if server.write_all(&opening).await.is_ok() {
        drop((opening, answer));
        // Either side may break off whenever it likes.
        let _ = copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER).await;
    }
    Ok(())
}

/// Judges the first bytes of a client.
fn judge(opening: &[u8], target: &Target) -> Result<Opening, CutReason> {
    match opening.first() {
        None => return Ok(Opening::Unfinished),
        Some(&HANDSHAKE) => {}
        Some(_) if target.port == TLS_PORT => return Err(CutReason::NotTls),
        Some(_) if target.port == HTTP_PORT => return Err(CutReason::PlainHttp),
        // Servers accept other records before the one that names a host.
        Some(record) if OTHER_RECORDS.contains(record) => return Err(CutReason::NotTls),
        Some(_) => return without_tls(opening),
    }
    if opening.len() > MAX_OPENING {
        return Err(CutReason::NotTls);
    }
    let mut acceptor = Acceptor::default();
    let mut rest = opening;
    while !rest.is_empty() {
        if acceptor.read_tls(&mut rest).is_err() {
            return Err(CutReason::NotTls);
        }
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                return fits(accepted.client_hello().server_name(), target).map(|()| Opening::Fine);
            }
            Err(_) => return Err(CutReason::NotTls),
        }
    }
    Ok(Opening::Unfinished)
}

/// Judges the first bytes of what is not TLS: they must not be a request of HTTP, whose method is a word.
fn without_tls(opening: &[u8]) -> Result<Opening, CutReason> {
    // Servers skip empty lines before a request.
    let start = opening.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(opening.len());
    let rest = &opening[start..];
    let end = rest.iter().position(|byte| *byte == b'\n');
    let line = &rest[..end.unwrap_or(rest.len())];
    let word = line.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let is_text = line.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\r'));
    if !is_text || word == 0 && !line.is_empty() || rest.len() > MAX_OPENING {
        return Ok(Opening::Fine);
    }
    if line.windows(HTTP.len()).any(|window| window.eq_ignore_ascii_case(HTTP)) {
        return Err(CutReason::PlainHttp);
    }
    Ok(if end.is_some() { Opening::Fine } else { Opening::Unfinished })
}

/// Checks the name for which TLS is begun. For an address, and for a name of one label, clients give none.
fn fits(name: Option<&str>, target: &Target) -> Result<(), CutReason> {
    match (name, &target.host) {
        (Some(name), Host::Domain(asked)) if name.eq_ignore_ascii_case(asked) => Ok(()),
        (Some(name), _) => Err(CutReason::OtherName(name.to_owned())),
        (None, Host::Domain(asked)) if asked.contains('.') => Err(CutReason::NoName),
        (None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_without_tls_are_no_requests_of_http() {
        let judged =
            |opening: &[u8], port| judge(opening, &Target::new("listed.test", port).expect("a host"));
        for opening in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"GET / HTTP/1.1",
            b"\r\n\nPOST /x HTTP/1.0\r\nHost: other.test\r\n",
            b"PROPFIND\t/x\thttp/1.1\n",
            b"X /\xc3\xa4 HTTP/1.1\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let is_cut = judged(opening, 8080) == Err(CutReason::PlainHttp);
            assert!(is_cut, "{}", opening.escape_ascii());
        }
        for opening in [
            &b"SSH-2.0-x\r\n"[..],
            b"*1\r\n$4\r\nPING\r\n",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"AMQP\0\0\x09\x01",
            b"0032git-upload-pack /project\0host=listed.test\0",
            b"EHLO me\r\n",
            b" GET / HTTP/1.1\r\n",
        ] {
            assert_eq!(judged(opening, 8080), Ok(Opening::Fine), "{}", opening.escape_ascii());
        }
        for opening in [&b"G"[..], b"\r\n", b"GET /"] {
            assert_eq!(judged(opening, 8080), Ok(Opening::Unfinished), "{}", opening.escape_ascii());
        }
        for record in OTHER_RECORDS {
            assert_eq!(judged(&[record, 3, 1, 0, 1, 1], 8443), Err(CutReason::NotTls));
        }
        assert_eq!(judged(b"SSH-2.0-x\r\n", 443), Err(CutReason::NotTls));
        assert_eq!(judged(b"SSH-2.0-x\r\n", 80), Err(CutReason::PlainHttp));
    }
}
