//! State that the clients of one session share, and their connections to hosts.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Egress;
use super::connection_limit::ConnectionLimit;
use super::dial::{DialError, Dialed};
use super::host_requests::HostRequests;
use super::relay::{Counted, relay};
use super::target::Target;
use super::upstream::{Protocol, Upstream};
use crate::event::NetworkDecision;

/// What the clients of one session share.
pub(super) struct Shared {
    pub(super) egress: Arc<Egress>,
    /// The password of the proxy, where others could reach its port.
    pub(super) token: Option<String>,
    pub(super) stop: CancellationToken,
    pub(super) asked: HostRequests,
    /// Places for clients.
    pub(super) clients: ConnectionLimit,
    /// Places for connections to hosts.
    pub(super) connections: ConnectionLimit,
}

/// A connection to a host that may be asked for.
pub(super) struct Connection {
    pub(super) stream: Counted<TcpStream>,
    pub(super) target: Target,
    /// The proxy at its other end, if requests are passed on by one.
    pub(super) forwards: Option<Upstream>,
}

impl Shared {
    /// Connects to a host, and notes that it was asked for.
    pub(super) async fn open(&self, target: Target, protocol: Protocol) -> Result<Connection, DialError> {
        let place = self.connections.place().await.ok_or(DialError::Over)?;
        match self.egress.dial(&target, protocol).await {
            Ok(Dialed { stream, forwards }) => {
                let traffic = self.asked.note(&target, self.let_through(), String::new());
                Ok(Connection { stream: Counted::new(stream, traffic, place), target, forwards })
            }
            Err(error) => {
                let refused = error.is_refusal();
                let decision = if refused { NetworkDecision::Refused } else { NetworkDecision::Unreachable };
                self.asked.note(&target, decision, error.to_string());
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
            self.asked.note(target, NetworkDecision::Refused, cut.to_string());
        }
    }

    pub(super) fn let_through(&self) -> NetworkDecision {
        if self.egress.learns() { NetworkDecision::Learned } else { NetworkDecision::Allowed }
    }
}
