//! Session of the proxy for one command: its sockets, its clients, and what they asked for.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::dial::{DialError, Dialed};
use super::relay::{Counted, Traffic, relay};
use super::target::Target;
use super::upstream::{Protocol, Upstream};
use super::{Egress, http, socks};
use crate::base::verbose_log::detail;
use crate::event::{Event, NetworkDecision, NetworkRecord};

/// Maximum number of clients at a time, and of connections to hosts.
const MAX_CLIENTS: usize = 256;
/// Maximum number of hosts that are told one by one.
const MAX_HOSTS: usize = 200;
/// What is told in the place of further hosts.
const OTHERS: &str = "(other hosts)";
/// Time limit for a client's first byte.
const FIRST_BYTE: Duration = Duration::from_mins(1);

/// The proxy for one command. It ends when this is dropped.
pub struct Session {
    shared: Arc<Shared>,
    _stop: DropGuard,
}

/// What the clients of one session share.
pub(super) struct Shared {
    egress: Arc<Egress>,
    /// The password of the proxy, where others could reach its port.
    pub(super) token: Option<String>,
    pub(super) stop: CancellationToken,
    asked: Mutex<BTreeMap<Asked, Arc<Traffic>>>,
    /// Places for connections to hosts.
    places: Arc<Semaphore>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    host: String,
    port: u16,
    decision: NetworkDecision,
    reason: String,
}

/// A connection to a host that may be asked for.
pub(super) struct Connection {
    pub(super) stream: Counted<TcpStream>,
    pub(super) target: Target,
    /// The proxy at its other end, if requests are passed on by one.
    pub(super) forwards: Option<Upstream>,
}

impl Session {
    fn new(egress: &Arc<Egress>, token: Option<String>) -> Self {
        let stop = CancellationToken::new();
        let (egress, asked) = (Arc::clone(egress), Mutex::default());
        let places = Arc::new(Semaphore::new(MAX_CLIENTS));
        let shared = Arc::new(Shared { egress, token, stop: stop.clone(), asked, places });
        Self { shared, _stop: stop.drop_guard() }
    }

    /// Starts a session on a free port of this machine. Returns it with the port and the password.
    pub fn on_machine(egress: &Arc<Egress>) -> io::Result<(Self, u16, String)> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let token = uuid::Uuid::new_v4().simple().to_string();
        let session = Self::new(egress, Some(token.clone()));
        session.shared.serve(listener)?;
        Ok((session, port, token))
    }

    /// Starts a session on sockets that come by way of `meeting`: a listening one of the proxy, and one for each of
    /// the ports of this machine that the list names.
    #[cfg(target_os = "linux")]
    pub fn in_own_network(egress: &Arc<Egress>, meeting: super::meeting::Meeting) -> Self {
        let session = Self::new(egress, None);
        let shared = Arc::clone(&session.shared);
        tokio::spawn(async move {
            let sockets = tokio::select! {
                sockets = meeting.sockets() => sockets,
                () = shared.stop.cancelled() => return,
            };
            let served = sockets.and_then(|sockets| {
                let mut sockets = sockets.into_iter().map(std::net::TcpListener::from);
                let proxy = sockets.next().ok_or(io::ErrorKind::NotFound)?;
                shared.serve(proxy)?;
                let ports = shared.egress.local_ports();
                ports.into_iter().zip(sockets).try_for_each(|(port, socket)| shared.lead(socket, port))
            });
            if let Err(error) = served {
                detail!("a command has no network: {error}");
            }
        });
        session
    }

    /// Ends the session, and tells what was asked for. Returns what was refused, for whoever asked.
    pub fn end(self, by: &str) -> Vec<NetworkRecord> {
        let asked = std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner));
        let records = asked.into_iter().map(|(asked, traffic)| NetworkRecord {
            by: by.to_owned(),
            key: self.shared.egress.key.clone(),
            host: asked.host,
            port: asked.port,
            decision: asked.decision,
            reason: asked.reason,
            times: traffic.times.load(Ordering::Relaxed),
            sent: traffic.sent.load(Ordering::Relaxed),
            received: traffic.received.load(Ordering::Relaxed),
        });
        let mut refused = Vec::new();
        for record in records {
            self.shared.egress.events.emit(Event::Network(record.clone()));
            refused.extend((record.decision == NetworkDecision::Refused).then_some(record));
        }
        refused
    }
}

impl Shared {
    /// Serves the clients of a socket.
    fn serve(self: &Arc<Self>, listener: std::net::TcpListener) -> io::Result<()> {
        let shared = Arc::clone(self);
        accept(listener, self.stop.clone(), move |client| {
            let shared = Arc::clone(&shared);
            async move { shared.client(client).await }
        })
    }

    /// Leads the clients of a socket to a port of this machine.
    fn lead(self: &Arc<Self>, listener: std::net::TcpListener, port: u16) -> io::Result<()> {
        let shared = Arc::clone(self);
        accept(listener, self.stop.clone(), move |mut client| {
            let shared = Arc::clone(&shared);
            async move {
                let Some(target) = Target::new("localhost", port) else { return };
                let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let Some(place) = shared.place().await else { return };
                match TcpStream::connect(to).await {
                    Ok(server) => {
                        let traffic = shared.note(&target, shared.let_through(), String::new());
                        let mut server = Counted::new(server, traffic, place);
                        // Either side may break off whenever it likes.
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                    Err(error) => {
                        shared.note(&target, NetworkDecision::Unreachable, error.to_string());
                    }
                }
            }
        })
    }

    async fn client(self: &Arc<Self>, client: TcpStream) {
        let _ = client.set_nodelay(true);
        let mut first = [0];
        let Ok(Ok(1)) = tokio::time::timeout(FIRST_BYTE, client.peek(&mut first)).await else { return };
        // Whoever breaks off has nobody to tell.
        if first[0] == socks::VERSION {
            let _ = socks::serve(client, self).await;
        } else {
            let _ = http::serve(client, self).await;
        }
    }

    /// Connects to a host, and notes that it was asked for.
    pub(super) async fn open(&self, target: Target, protocol: Protocol) -> Result<Connection, DialError> {
        let place = self.place().await.ok_or(DialError::Over)?;
        match self.egress.dial(&target, protocol).await {
            Ok(Dialed { stream, forwards }) => {
                let traffic = self.note(&target, self.let_through(), String::new());
                Ok(Connection { stream: Counted::new(stream, traffic, place), target, forwards })
            }
            Err(error) => {
                let refused = error.is_refusal();
                let decision = if refused { NetworkDecision::Refused } else { NetworkDecision::Unreachable };
                self.note(&target, decision, error.to_string());
                Err(error)
            }
        }
    }

    /// Passes bytes on until both sides are done, or the session ends.
    pub(super) async fn relay<C, S>(&self, client: C, server: S, target: &Target)
    where
        C: AsyncRead + AsyncWrite + Unpin,
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let cut = tokio::select! {
            done = relay(client, server, target) => done.err(),
            () = self.stop.cancelled() => None,
        };
        if let Some(cut) = cut {
            self.note(target, NetworkDecision::Refused, cut.to_string());
        }
    }

    /// Waits for a place for one more connection. The semaphore is closed by nobody.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    fn let_through(&self) -> NetworkDecision {
        if self.egress.learns() { NetworkDecision::Learned } else { NetworkDecision::Allowed }
    }

    /// Counts a request for a host. Returns where its bytes are counted.
    fn note(&self, target: &Target, decision: NetworkDecision, reason: String) -> Arc<Traffic> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = Asked { host: target.host.to_string(), port: target.port, decision, reason };
        if asked.len() >= MAX_HOSTS && !asked.contains_key(&key) {
            key = Asked { host: OTHERS.to_owned(), port: 0, decision, reason: String::new() };
        }
        let traffic = asked.entry(key).or_default();
        traffic.times.fetch_add(1, Ordering::Relaxed);
        Arc::clone(traffic)
    }
}

/// Serves each client of a socket by a task, until the session ends.
fn accept<F, Fut>(listener: std::net::TcpListener, stop: CancellationToken, serve: F) -> io::Result<()>
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    tokio::spawn(async move {
        let room = Arc::new(Semaphore::new(MAX_CLIENTS));
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return,
            };
            let Ok((client, _)) = accepted else {
                // Too many open files: others may be closed meanwhile.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let (work, stop) = (serve(client), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = work => {}
                    () = stop.cancelled() => {}
                }
                drop(place);
            });
        }
    });
    Ok(())
}
