//! Relay between a client of the proxy and the host that it asked for. The server name by which a client begins TLS has
//! to be that host: another name would be answered by whoever shares its address.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy_bidirectional_with_sizes};
use tokio::sync::OwnedSemaphorePermit;
use url::Host;

use super::target::Target;

/// Bytes that are on their way in each direction of a connection.
const BUFFER: usize = 64 * 1024;
/// Longest beginning of TLS that is looked at.
const MAX_OPENING: usize = 16 * 1024;
/// First byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// Port on which nothing but TLS is spoken.
const TLS_PORT: u16 = 443;

/// Port of HTTP, whose requests the proxy writes anew, with the host that was judged.
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
    _place: OwnedSemaphorePermit,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S, traffic: Arc<Traffic>, place: OwnedSemaphorePermit) -> Self {
        Self { inner, traffic, _place: place }
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
    #[error("the client asked the proxy for this host, and TLS for {0:?}")]
    OtherName(String),
    #[error("the client began TLS without naming a host")]
    NoName,
    #[error("the client began something other than TLS on port {TLS_PORT}, or TLS that cannot be read")]
    NotTls,
    #[error(
        "the client began something other than TLS in a tunnel to port {HTTP_PORT}, where it could name any host; such \
         requests go to the proxy itself"
    )]
    PlainHttp,
}

/// What the first bytes of a client say.
#[derive(Debug, PartialEq, Eq)]
enum Opening {
    /// Too little to tell.
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
                    // What ends before it can be judged is not passed on.
                    Opening::Unfinished if is_over => return Err(CutReason::NotTls),
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
        Some(_) => return Ok(Opening::Fine),
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

/// Checks the name for which TLS is begun. For an address, and for a name of one label, clients give none.
fn fits(name: Option<&str>, target: &Target) -> Result<(), CutReason> {
    match (name, &target.host) {
        (Some(name), Host::Domain(asked)) if name.eq_ignore_ascii_case(asked) => Ok(()),
        (Some(name), _) => Err(CutReason::OtherName(name.to_owned())),
        (None, Host::Domain(asked)) if asked.contains('.') => Err(CutReason::NoName),
        (None, _) => Ok(()),
    }
}
