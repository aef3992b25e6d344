//! Connects to a requested host if the rules allow it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;

use super::Egress;
use super::target::Target;
use super::upstream::{Protocol, Upstream, UpstreamError};

/// Time limit for finding a host's addresses and connecting to one of them.
const DIAL: Duration = Duration::from_secs(20);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error("`{key}` does not allow it; add `{entry}` to `{key}.allow` in the configuration")]
    NotListed { key: String, entry: String },
    #[error(
        "it leads to {address}, which is not on the public internet; add that address to `{key}.allow` in the \
         configuration if it is yours"
    )]
    NotPublic { key: String, address: IpAddr },
    #[error(
        "it is a name of a private network, and `network: learn` leaves only public names to the proxy of this machine; set \
         `{key}` to a list with this name if it is yours"
    )]
    PrivateName { key: String },
    #[error("could not resolve its name: {0}")]
    Unknown(#[source] io::Error),
    #[error("could not connect: {0}")]
    Unreachable(#[source] io::Error),
    #[error("the proxy of this machine (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`) could not reach it: {0}")]
    Upstream(#[from] UpstreamError),
    #[error("it did not answer within {} s", DIAL.as_secs())]
    Late,
    #[error("the command has ended")]
    Over,
}

impl DialError {
    /// Returns whether the rules are the reason.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::NotListed { .. } | Self::NotPublic { .. } | Self::PrivateName { .. })
    }
}

/// A connection by which a host can be spoken to.
pub(super) struct Dialed {
    pub(super) stream: TcpStream,
    /// The proxy at its other end, which passes requests on if they have absolute addresses; `None` if that is the host
    /// itself, or a tunnel to it.
    pub(super) forwards: Option<Upstream>,
}

impl Egress {
    /// Connects to a host if the rules allow it.
    pub(super) async fn dial(&self, target: &Target, protocol: Protocol) -> Result<Dialed, DialError> {
        if !self.rules.names(target) {
            return Err(DialError::NotListed { key: self.key.clone(), entry: target.entry() });
        }
        tokio::time::timeout(DIAL, self.connect(target, protocol)).await.unwrap_or(Err(DialError::Late))
    }

    async fn connect(&self, target: &Target, protocol: Protocol) -> Result<Dialed, DialError> {
        let Some(upstream) = self.upstreams.find(target, protocol) else {
            let stream = self.connect_directly(target).await?;
            return Ok(Dialed { stream, forwards: None });
        };
        let address = match &target.host {
            url::Host::Domain(_) => None,
            url::Host::Ipv4(address) => Some(IpAddr::from(*address)),
            url::Host::Ipv6(address) => Some(IpAddr::from(*address)),
        };
        if let Some(address) = address.filter(|address| !self.rules.leads(target, *address)) {
            return Err(DialError::NotPublic { key: self.key.clone(), address });
        }
        if !self.rules.passes_on(target) {
            return Err(DialError::PrivateName { key: self.key.clone() });
        }
        Ok(match protocol {
            Protocol::Http => Dialed { stream: upstream.connect().await?, forwards: Some(upstream) },
            Protocol::Tunnel => Dialed { stream: upstream.tunnel(target).await?, forwards: None },
        })
    }

    async fn connect_directly(&self, target: &Target) -> Result<TcpStream, DialError> {
        let found = match &target.host {
            url::Host::Domain(name) => {
                (self.resolver)(name.clone(), target.port).await.map_err(DialError::Unknown)?
            }
            url::Host::Ipv4(address) => vec![SocketAddr::from((*address, target.port))],
            url::Host::Ipv6(address) => vec![SocketAddr::from((*address, target.port))],
        };
        let mut problem = DialError::Unknown(io::ErrorKind::NotFound.into());
        // The address that is judged is the one that is connected to.
        for address in found {
            let ip = address.ip().to_canonical();
            if !self.rules.leads(target, ip) {
                problem = DialError::NotPublic { key: self.key.clone(), address: ip };
                continue;
            }
            match TcpStream::connect((ip, target.port)).await {
                Ok(stream) => {
                    // Small messages go at once; a connection without it works as well.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => problem = DialError::Unreachable(error),
            }
        }
        Err(problem)
    }
}
