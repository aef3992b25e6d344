//! Rules of an egress: which names and which addresses its children may ask for.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::target::Target;
use crate::base::public_address::is_public;
use crate::config::{HostRule, LocalServer};

/// Ends of names that are in use on private networks, where no server of the internet knows them.
const PRIVATE: [&str; 10] = [
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "private",
];

/// Which hosts may be asked for.
#[derive(Clone, Debug)]
pub struct Rules {
    allow: Vec<HostRule>,
    learn: bool,
}

impl Rules {
    /// Returns rules that let through what a list names.
    pub fn allowing(allow: Vec<HostRule>) -> Self {
        Self { allow, learn: false }
    }

    /// Returns rules that let everything public through: every name, where a proxy of this machine resolves it, and else
    /// what leads to a public address.
    pub fn learning() -> Self {
        Self { allow: Vec::new(), learn: true }
    }

    pub(super) fn learns(&self) -> bool {
        self.learn
    }

    /// Returns whether a host may be asked for at all, as far as its name shows.
    pub(super) fn names(&self, target: &Target) -> bool {
        self.learn
            || match &target.host {
                url::Host::Domain(name) => self.allow.iter().any(|rule| rule.allows_name(name, target.port)),
                url::Host::Ipv4(address) => self.lists((*address).into(), target.port),
                url::Host::Ipv6(address) => self.lists((*address).into(), target.port),
            }
    }

    /// Returns whether a name may lead to an address. One that is not public has to be listed itself: who owns a name
    /// decides where it leads, and not who allowed it.
    pub(super) fn leads(&self, target: &Target, address: IpAddr) -> bool {
        is_public(address)
            || self.lists(address, target.port)
            || address.is_loopback()
                && matches!(&target.host, url::Host::Domain(name) if name == "localhost" && self.names(target) && !self.learn)
    }

    /// Returns whether a name may be passed on to a proxy that resolves it. Without a list, that is no name of a private
    /// network: what such a proxy reaches need not be on the public internet.
    pub(super) fn passes_on(&self, target: &Target) -> bool {
        match &target.host {
            url::Host::Domain(name) if self.learn => {
                let is_private = |(before, _): (usize, &str)| PRIVATE.contains(&&name[before + 1..]);
                name.contains('.') && !name.match_indices('.').any(is_private)
            }
            _ => true,
        }
    }

    /// Returns the servers of this machine that the list names, each of whose first addresses is there once.
    pub(super) fn local_servers(&self) -> Vec<LocalServer> {
        let mut servers: Vec<LocalServer> = self.allow.iter().filter_map(HostRule::local_server).collect();
        // Of those with the same first address, `localhost` stands for the others as well.
        servers.sort_by_key(|server| (server.addresses[0], Reverse(server.addresses.len())));
        servers.dedup_by_key(|server| server.addresses[0]);
        servers
    }

    fn lists(&self, address: IpAddr, port: u16) -> bool {
        self.allow.iter().any(|rule| rule.allows_address(address, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(list: &[&str]) -> Rules {
        Rules::allowing(list.iter().map(|text| text.parse().expect(text)).collect())
    }

    #[test]
    fn names_are_allowed_and_addresses_are_listed() {
        let rules = rules(&["example.com", "10.1.0.0/16", "localhost:5432", "*.corp.example:8080"]);
        for (host, port, named) in [
            ("example.com", 443, true),
            ("EXAMPLE.COM.", 443, true),
            ("example.com", 8443, false),
            ("10.1.2.3", 80, true),
            ("10.2.2.3", 80, false),
            // Other ways to write 10.1.2.3 and 127.0.0.1.
            ("167838211", 80, true),
            ("0x7f000001", 80, false),
            ("localhost", 5432, true),
            ("localhost", 443, false),
            ("[::ffff:10.1.2.3]", 80, true),
            ("a.corp.example", 8080, true),
        ] {
            let target = Target::new(host, port).expect(host);
            assert_eq!(rules.names(&target), named, "{host}:{port}");
        }
    }

    #[test]
    fn names_lead_to_public_and_listed_addresses() {
        let rules = rules(&["example.com", "10.1.0.0/16", "localhost:5432"]);
        for (host, port, address, leads) in [
            ("example.com", 443, "93.184.216.34", true),
            ("example.com", 443, "10.1.2.3", true),
            ("example.com", 443, "10.2.2.3", false),
            ("example.com", 443, "169.254.169.254", false),
            ("example.com", 443, "127.0.0.1", false),
            ("example.com", 443, "::1", false),
            ("localhost", 5432, "127.0.0.1", true),
            ("localhost", 5433, "127.0.0.1", false),
        ] {
            let target = Target::new(host, port).expect(host);
            assert_eq!(rules.leads(&target, address.parse().expect(address)), leads, "{host} {address}");
        }
        let learning = Rules::learning();
        let target = Target::new("localhost", 80).expect("a host");
        assert!(
            learning.names(&target) && !learning.leads(&target, "127.0.0.1".parse().expect("an address"))
        );
    }

    #[test]
    fn names_of_private_networks_are_learned_by_nobody_else() {
        for (host, learned) in [
            ("example.com", true),
            ("internal.example.com", true),
            ("93.184.216.34", true),
            ("metadata.google.internal", false),
            ("localhost.localdomain", false),
            ("foo.localhost", false),
            ("router.home.arpa", false),
            ("printer.local", false),
            ("ip6-localhost", false),
        ] {
            let target = Target::new(host, 80).expect(host);
            assert_eq!(Rules::learning().passes_on(&target), learned, "{host}");
            assert!(rules(&[host]).passes_on(&target), "{host}");
        }
    }

    #[test]
    fn servers_of_this_machine_are_told_once() {
        let rules =
            rules(&["127.0.0.1:5432", "localhost:5432", "127.0.0.2:5432", "localhost:80", "localhost"]);
        let described: Vec<String> = rules
            .local_servers()
            .iter()
            .map(|server| format!("{} {} {}", server.host, server.addresses[0], server.addresses.len()))
            .collect();
        assert_eq!(
            described,
            ["localhost 127.0.0.1:80 2", "localhost 127.0.0.1:5432 2", "127.0.0.2 127.0.0.2:5432 1"]
        );
    }
}
