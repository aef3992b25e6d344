//! Network of one child: what its sandbox lets it reach, and the proxy that serves it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::command_shell::Shell;
use super::sandbox::{Namespaces, Restrictions, Sandbox, Sockets};
#[cfg(target_os = "linux")]
use crate::egress::socket_handover::SharedNetwork;
use crate::egress::{Egress, Proxy, Reach, Session};
use crate::event::NetworkRecord;

/// Maximum length of a command line in the report on its network, in bytes.
const MAX_ASKER: usize = 200;

/// How a child is shut in on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SandboxSupport {
    /// How it gets a file system of its own; `None` if it does not.
    pub namespaces: Option<Namespaces>,
    /// Whether it gets a network of its own if its hosts are limited.
    pub own_network: bool,
}

/// How well a list of hosts is enforced on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Children have a network of their own, in which there is nothing but the proxy.
    OwnNetwork,
    /// Children can connect to the port of the proxy alone, at whatever address.
    Ports,
    /// Not at all.
    Nothing,
}

/// The proxy of a running child.
pub(super) struct RunningProxy {
    session: Session,
    by: String,
    /// The network that the child shares with others: it lasts as long as one of them.
    #[cfg(target_os = "linux")]
    _network: Option<Arc<SharedNetwork>>,
}

impl RunningProxy {
    /// Ends the proxy. Returns what was refused.
    pub(super) fn end(self) -> Vec<NetworkRecord> {
        self.session.end(&self.by)
    }
}

impl Shell {
    /// Returns how children are shut in here. This is tried out once.
    pub async fn sandbox_support(&self, root: &Path) -> SandboxSupport {
        let namespaces = self.namespaces(root).await;
        let own_network = match (&self.sandbox, &self.reach, namespaces) {
            (Some(sandbox), Reach::Through(_), Some(namespaces)) if sandbox.is_restricted() => {
                sandbox.own_network(Box::pin(self.probe_network(sandbox, root, namespaces))).await
            }
            _ => false,
        };
        SandboxSupport { namespaces, own_network }
    }

    /// Returns how well a list of hosts would be enforced here.
    pub async fn enforcement(&self, root: &Path) -> Enforcement {
        let limited = Self { reach: Reach::Through(Arc::new(Egress::nowhere())), ..self.clone() };
        if limited.sandbox_support(root).await.own_network {
            Enforcement::OwnNetwork
        } else if self.is_sandboxed() && super::sandbox::kernel_support().network {
            Enforcement::Ports
        } else {
            Enforcement::Nothing
        }
    }

    /// Opens the network of a child that is about to start: extends its restrictions and variables. Returns its proxy, if it gets
    /// one. `asker` is its command line.
    pub(super) fn open_network(
        &self,
        restrictions: Option<&mut Restrictions>,
        environment: &mut BTreeMap<String, String>,
        support: SandboxSupport,
        asker: &str,
    ) -> io::Result<Option<RunningProxy>> {
        let (Some(restrictions), Some(sandbox)) = (restrictions, &self.sandbox) else { return Ok(None) };
        if restrictions.sockets == Sockets::None {
            return Ok(None);
        }
        let egress = match &self.reach {
            Reach::Everything => {
                restrictions.sockets = Sockets::Internet;
                return Ok(None);
            }
            Reach::Nothing => {
                restrictions.sockets = Sockets::Local;
                return Ok(None);
            }
            Reach::Through(egress) => egress,
        };
        #[cfg(target_os = "linux")]
        let network = if self.owner.is_none() && support.own_network {
            sandbox.shared_network(egress, self.serves)
        } else {
            None
        };
        #[cfg(not(target_os = "linux"))]
        let network = None;
        let (session, port, token) = if support.own_network {
            let (session, port) = in_own_network(egress, restrictions, sandbox, network.as_ref())?;
            (session, port, None)
        } else if egress.is_default() {
            // Without a network of its own, a child could not connect to its own servers either.
            egress.report_not_enforced();
            restrictions.sockets = Sockets::Internet;
            return Ok(None);
        } else {
            let (session, port, token) = Session::on_machine(egress)?;
            restrictions.sockets = if egress.learns() {
                Sockets::Internet
            } else if restrictions.restricted && super::sandbox::kernel_support().network {
                // A rule for a port is one for that port of every address: only the proxy distinguishes them.
                egress.report_proxy_only();
                Sockets::Ports(vec![port])
            } else {
                return Err(io::Error::other("nothing on this machine can enforce a list of hosts"));
            };
            (session, port, Some(token))
        };
        let java = environment.get("JAVA_TOOL_OPTIONS").cloned();
        let asks_for_all = matches!(restrictions.sockets, Sockets::Ports(_));
        let proxy = Proxy { port, token: token.as_deref(), asks_for_all };
        environment.extend(proxy.variables(java.as_deref()));
        // A command line must not be taken for a gate, however it begins.
        let line = || format!("command {}", &asker[..asker.floor_char_boundary(MAX_ASKER)]);
        let by = self.owner.clone().unwrap_or_else(line);
        Ok(Some(RunningProxy {
            session,
            by,
            #[cfg(target_os = "linux")]
            _network: network,
        }))
    }
}

#[cfg(target_os = "linux")]
fn in_own_network(
    egress: &Arc<Egress>,
    restrictions: &mut Restrictions,
    sandbox: &Sandbox,
    network: Option<&Arc<SharedNetwork>>,
) -> io::Result<(Session, u16)> {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::sandbox::OwnNetwork;
    use crate::egress::socket_handover::{MAX_SOCKETS, PORT, SocketHandover};
    let path = sandbox.handover_path()?;
    let handover = SocketHandover::at(path.clone(), network.map(Arc::clone))?;
    let mut addresses: Vec<SocketAddr> =
        egress.local_servers().iter().map(|server| server.addresses[0]).collect();
    if addresses.len() >= MAX_SOCKETS {
        let (most, key) = (MAX_SOCKETS - 1, egress.key());
        return Err(io::Error::other(format!("`{key}.allow` names more than {most} ports of this machine")));
    }
    // A list may name a server of the machine at the usual port.
    let is_free = |port: &u16| addresses.iter().all(|address| address.port() != *port);
    let port = match network {
        Some(network) => std::iter::repeat_with(|| network.next_port()).find(is_free),
        None => (PORT..=u16::MAX).find(is_free),
    };
    let port = port.unwrap_or(PORT);
    addresses.insert(0, (Ipv4Addr::LOCALHOST, port).into());
    restrictions.sockets = Sockets::Internet;
    restrictions.network = Some(OwnNetwork { handover: path, addresses, is_shared: network.is_some() });
    Ok((Session::in_own_network(egress, handover), port))
}

#[cfg(not(target_os = "linux"))]
fn in_own_network(
    _: &Arc<Egress>,
    _: &mut Restrictions,
    _: &Sandbox,
    _: Option<&()>,
) -> io::Result<(Session, u16)> {
    Err(io::Error::other("this system cannot give a process its own network"))
}
