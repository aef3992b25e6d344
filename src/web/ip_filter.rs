//! IP filter: pages may only come from addresses of the public internet.

use std::net::{IpAddr, SocketAddr};

use futures::FutureExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Predicate on addresses that may be connected to.
pub type IpRule = fn(IpAddr) -> bool;

/// DNS resolver that drops addresses which the rule does not allow. Filtering at this point judges the
/// addresses that are connected to, not those that the name had a moment before.
pub(super) struct FilteringResolver {
    pub(super) rule: IpRule,
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let rule = self.rule;
        async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| rule(address.ip())).collect();
            if allowed.is_empty() {
                return Err(format!("{host} is not a host on the public internet").into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        }
        .boxed()
    }
}
