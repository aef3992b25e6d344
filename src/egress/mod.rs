//! Egress of child processes: the hosts that they may ask for, and the proxy in this process through which they ask.
//!
//! A [`Session`] serves one command by HTTP (`CONNECT` and absolute addresses) and SOCKS5. It resolves names itself,
//! connects to public addresses and listed ones, and looks at the server name of TLS. What keeps a command from every
//! other way out is its sandbox: a network of its own, in which the session's sockets are all that is there, or else
//! rules of the kernel for ports.

mod connection_limit;
mod dial;
mod host_requests;
mod http;
mod peer;
mod relay;
mod rules;
mod session;
mod shared;
#[cfg(target_os = "linux")]
pub mod socket_handover;
mod socks;
mod target;
mod upstream;
mod variables;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;

pub use rules::Rules;
pub use session::Session;
pub use upstream::Upstreams;
pub use variables::Proxy;

use crate::config::{LocalServer, Network, NetworkMode};
use crate::event::{Events, NoticeLevel};

/// What is wrong with a machine on which no network of a child's own can be made.
pub const NOT_WHOLE: &str =
    "a list of hosts cannot be enforced in full on this machine, which cannot give a command its own network";

/// Finds the addresses of a name and a port.
pub type Resolver = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// What children can reach.
#[derive(Clone, Debug, Default)]
pub enum Reach {
    /// Whatever the machine reaches.
    #[default]
    Everything,
    /// Nothing outside of themselves.
    Nothing,
    /// What a proxy lets through.
    Through(Arc<Egress>),
}

impl Reach {
    /// Returns what a network of the configuration stands for. `key` names its place there, and `Egress::events` receives
    /// what is asked for.
    pub fn of(network: &Network, key: &str, events: &Events) -> Self {
        match network {
            Network::Mode(NetworkMode::Allow) => Self::Everything,
            Network::Mode(NetworkMode::Deny) => Self::Nothing,
            Network::Mode(NetworkMode::Learn) => {
                Self::Through(Arc::new(Egress::new(Rules::learning(), key, events)))
            }
            Network::Hosts(hosts) => {
                let rules = Rules::allowing(hosts.allow.clone());
                Self::Through(Arc::new(Egress::new(rules, key, events)))
            }
        }
    }
}

/// The hosts that some children may ask for, and where their requests are reported.
pub struct Egress {
    pub(super) rules: Rules,
    /// The key of the configuration that holds the list.
    pub(super) key: String,
    pub(super) events: Events,
    pub(super) resolver: Resolver,
    /// The proxies by which the machine itself reaches hosts.
    pub(super) upstreams: Upstreams,
    /// Whether the list applies only where the kernel can enforce it; the configuration did not ask for it.
    pub(super) by_default: bool,
    /// How many of the requested hosts are reported one by one.
    reported: host_requests::ReportedHosts,
    /// Whether it has been reported that the list does not apply here.
    is_reported: AtomicBool,
}

impl Egress {
    /// Creates the egress of children whose list stands below `key`.
    pub fn new(rules: Rules, key: &str, events: &Events) -> Self {
        let resolver: Resolver = Arc::new(|host, port| {
            async move { Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect()) }.boxed()
        });
        Self {
            rules,
            key: key.to_owned(),
            events: events.clone(),
            resolver,
            upstreams: Upstreams::from_environment(),
            by_default: false,
            reported: host_requests::ReportedHosts::default(),
            is_reported: AtomicBool::new(false),
        }
    }

    /// Creates an egress that lets nothing through, and reports nothing.
    pub fn nowhere() -> Self {
        Self::new(Rules::allowing(Vec::new()), "commands.network", &Events::new(Vec::new()))
    }

    /// Returns the same with another resolver of names; for tests.
    #[must_use]
    pub fn with_resolver(self, resolver: Resolver) -> Self {
        Self { resolver, ..self }
    }

    /// Returns the same with other proxies of the machine; for tests.
    #[must_use]
    pub fn with_upstreams(self, upstreams: Upstreams) -> Self {
        Self { upstreams, ..self }
    }

    /// Returns the same for a list that the configuration did not ask for: it applies where a network of its own can be
    /// had, and nowhere else.
    #[must_use]
    pub fn by_default(self) -> Self {
        Self { by_default: true, ..self }
    }

    /// Returns the key of the configuration that holds the list.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether the list applies only where a network of its own can be had.
    pub fn is_default(&self) -> bool {
        self.by_default
    }

    /// Reports, once, that a list which the configuration did not ask for does not apply on this machine.
    pub fn report_not_enforced(&self) {
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            self.events.notice(
                NoticeLevel::Warning,
                format!("commands of the agent can use the network: {NOT_WHOLE}"),
            );
        }
    }

    /// Reports, once, that the ports of this machine which the list names are reached only through the proxy.
    pub fn report_proxy_only(&self) {
        let ports: Vec<String> = self
            .local_servers()
            .iter()
            .map(|LocalServer { host, addresses }| format!("`{host}:{}`", addresses[0].port()))
            .collect();
        if !ports.is_empty() && !self.is_reported.swap(true, Ordering::Relaxed) {
            self.events.notice(
                NoticeLevel::Warning,
                format!(
                    "on this machine, commands reach {} of `{}.allow` through the proxy alone (`HTTP_PROXY`, `ALL_PROXY`), \
                     because {NOT_WHOLE}; programs that connect directly, such as database clients, are refused",
                    ports.join(", "),
                    self.key
                ),
            );
        }
    }

    /// Returns whether everything is let through and written down.
    pub fn learns(&self) -> bool {
        self.rules.learns()
    }

    /// Returns the servers of this machine that the list names, each of whose first addresses is there once.
    pub fn local_servers(&self) -> Vec<LocalServer> {
        self.rules.local_servers()
    }
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").field("rules", &self.rules).field("key", &self.key).finish_non_exhaustive()
    }
}
