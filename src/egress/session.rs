//! Session of the proxy for one command: its sockets, its clients, and what they asked for.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection_limit::ConnectionLimit;
use super::host_requests::HostRequests;
use super::relay::Counted;
use super::shared::Shared;
use super::target::Target;
use super::{Egress, http, socks};
use crate::base::verbose_log::detail;
use crate::config::LocalServer;
use crate::event::{Event, NetworkDecision, NetworkRecord};

/// Time limit for a client's first byte.
const FIRST_BYTE: Duration = Duration::from_mins(1);

/// The proxy for one command. It ends when this is dropped.
pub struct Session {
    shared: Arc<Shared>,
    _stop: DropGuard,
}

impl Session {
    fn new(egress: &Arc<Egress>, token: Option<String>) -> Self {
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            egress: Arc::clone(egress),
            token,
            stop: stop.clone(),
            asked: HostRequests::default(),
            clients: ConnectionLimit::for_clients(),
            connections: ConnectionLimit::for_connections(),
        });
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

    /// Starts a session on sockets that come by way of `handover`: a listening one of the proxy, and one for each of
    /// the servers of this machine that the list names.
    #[cfg(target_os = "linux")]
    pub fn in_own_network(egress: &Arc<Egress>, handover: super::socket_handover::SocketHandover) -> Self {
        let session = Self::new(egress, None);
        let shared = Arc::clone(&session.shared);
        tokio::spawn(async move {
            let sockets = tokio::select! {
                sockets = handover.sockets() => sockets,
                () = shared.stop.cancelled() => return,
            };
            let served = sockets.and_then(|sockets| {
                let mut sockets = sockets.into_iter().map(std::net::TcpListener::from);
                let proxy = sockets.next().ok_or(io::ErrorKind::NotFound)?;
                shared.serve(proxy)?;
                let servers = shared.egress.local_servers();
                sockets.try_for_each(|socket| {
                    let at = socket.local_addr()?;
                    let server = servers.iter().find(|server| server.addresses[0] == at);
                    server.map_or(Ok(()), |server| shared.lead(socket, server))
                })
            });
            if let Err(error) = served {
                detail!("a command has no network: {error}");
            }
        });
        session
    }

    /// Ends the session, and reports the requested hosts. Returns what was refused, for whoever asked.
    pub fn end(self, by: &str) -> Vec<NetworkRecord> {
        let records = self.shared.asked.take(by, &self.shared.egress);
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
        accept(listener, self.clients.clone(), self.stop.clone(), move |client| {
            let shared = Arc::clone(&shared);
            async move { shared.client(client).await }
        })
    }

    /// Leads the clients of a socket to a server of this machine.
    fn lead(self: &Arc<Self>, listener: std::net::TcpListener, server: &LocalServer) -> io::Result<()> {
        let shared = Arc::clone(self);
        let server = server.clone();
        accept(listener, self.clients.clone(), self.stop.clone(), move |mut client| {
            let (shared, LocalServer { host, addresses }) = (Arc::clone(&shared), server.clone());
            async move {
                let Some(target) = Target::new(&host, addresses[0].port()) else { return };
                let Some(place) = shared.connections.place().await else { return };
                match TcpStream::connect(addresses.as_slice()).await {
                    Ok(server) => {
                        let traffic = shared.asked.note(&target, shared.let_through(), String::new());
                        let mut server = Counted::new(server, traffic, place);
                        // Either side may break off whenever it likes.
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                    Err(error) => {
                        shared.asked.note(&target, NetworkDecision::Unreachable, error.to_string());
                    }
                }
            }
        })
    }

    async fn client(self: &Arc<Self>, client: TcpStream) {
        let _ = client.set_nodelay(true);
        let mut first = [0];
        let Ok(Ok(1)) = tokio::time::timeout(FIRST_BYTE, client.peek(&mut first)).await else { return };
        // After a client has hung up, nobody reads an answer.
        if first[0] == socks::VERSION {
            let _ = socks::serve(client, self).await;
        } else {
            let _ = http::serve(client, self).await;
        }
    }
}

/// Serves each client of a socket by a task, until the session ends.
fn accept<F, Fut>(
    listener: std::net::TcpListener,
    limit: ConnectionLimit,
    stop: CancellationToken,
    serve: F,
) -> io::Result<()>
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return,
            };
            let Ok((client, _)) = accepted else {
                // Too many open files: others may be closed meanwhile.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Not before there is a client: a socket that is not used takes no place from other commands.
            let place = tokio::select! {
                place = limit.place() => place,
                () = stop.cancelled() => return,
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
