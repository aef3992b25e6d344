//! Hosts that child processes may reach, as a configuration names them. The sets that have a name are in
//! `host_sets.yml`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::host_sets::{SET_TEXTS, SetText};
use super::invalid_host::{InvalidHost, meant};

/// A host, a network, or a set of hosts that may be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    text: String,
    kind: RuleKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleKind {
    Set(&'static [HostRule]),
    Name { host: String, below: bool, port: Option<u16> },
    Addresses { network: IpAddr, bits: u8, port: Option<u16> },
}

/// Ports that a host without a port stands for.
const USUAL_PORTS: [u16; 2] = [80, 443];

impl FromStr for HostRule {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if let Some(set) = SETS.get(text) {
            return Ok(Self { text: text.to_owned(), kind: RuleKind::Set(&set.rules) });
        }
        let rule = parse(text).filter(|_| meant(text).is_none());
        rule.ok_or_else(|| InvalidHost(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<HostRule> {
    let (place, port) = split_port(text)?;
    let bare = place.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(place);
    let (address, bits) = match bare.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (bare, None),
    };
    let kind = match (address.parse::<IpAddr>(), bits) {
        (Ok(network), bits) => {
            let most = all_bits(network);
            let bits = bits.unwrap_or(most);
            // An address that is asked for is compared in its form of IPv4.
            let is_comparable = !matches!(network, IpAddr::V6(network) if network.to_ipv4_mapped().is_some());
            (bits <= most && is_comparable).then_some(RuleKind::Addresses { network, bits, port })?
        }
        (Err(_), Some(_)) => return None,
        (Err(_), None) => {
            let (below, host) = match bare.strip_prefix("*.") {
                Some(host) => (true, host),
                None => (false, bare),
            };
            RuleKind::Name { host: host_name(host)?, below, port }
        }
    };
    Some(HostRule { text: text.to_owned(), kind })
}

/// Splits off a port; an IPv6 address has to stand in brackets then.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, _)) if host.contains(':') && !host.starts_with('[') => Some((text, None)),
        Some((host, _)) if host.starts_with('[') && !host.ends_with(']') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
        None => Some((text, None)),
    }
}

/// Returns a name in the form in which names are compared; `None` for what is not a name, or means an address.
fn host_name(text: &str) -> Option<String> {
    if text.ends_with('.') || text.contains('*') {
        return None;
    }
    match url::Host::parse(text).ok()? {
        url::Host::Domain(name) => Some(name),
        url::Host::Ipv4(_) | url::Host::Ipv6(_) => None,
    }
}

impl HostRule {
    /// Returns whether the rule names a host: in lower case, without a dot at its end.
    pub fn allows_name(&self, asked: &str, asked_port: u16) -> bool {
        match &self.kind {
            RuleKind::Set(rules) => rules.iter().any(|rule| rule.allows_name(asked, asked_port)),
            RuleKind::Name { host, below, port } => {
                let fits = if *below {
                    asked
                        .strip_suffix(host.as_str())
                        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                } else {
                    asked == host
                };
                fits && is_port(*port, asked_port)
            }
            RuleKind::Addresses { .. } => false,
        }
    }

    /// Returns whether the rule names an address, or a network that holds it.
    pub fn allows_address(&self, asked: IpAddr, asked_port: u16) -> bool {
        let RuleKind::Addresses { network, bits, port } = self.kind else { return false };
        let within = match (network, asked.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(asked)) => {
                let shift = 32 - u32::from(bits);
                network.to_bits().checked_shr(shift) == asked.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(network), IpAddr::V6(asked)) => {
                let shift = 128 - u32::from(bits);
                network.to_bits().checked_shr(shift) == asked.to_bits().checked_shr(shift)
            }
            _ => false,
        };
        within && is_port(port, asked_port)
    }

    /// Returns the server of this machine that the rule names, if it names one: `localhost:5432`.
    pub fn local_server(&self) -> Option<LocalServer> {
        match self.kind {
            RuleKind::Name { ref host, below: false, port: Some(port) } if host == "localhost" => {
                let addresses = vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
                Some(LocalServer { host: host.clone(), addresses })
            }
            RuleKind::Addresses { network, bits, port: Some(port) }
                if network.is_loopback() && bits == all_bits(network) =>
            {
                let address = SocketAddr::from((network, port));
                Some(LocalServer { host: network.to_string(), addresses: vec![address] })
            }
            _ => None,
        }
    }
}

/// A server of this machine that a list names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The host, as the list names it.
    pub host: String,
    /// Where it may listen, in the order in which that is tried; never empty.
    pub addresses: Vec<SocketAddr>,
}

/// Returns the number of bits in an address.
fn all_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns the entry of a list that names a host at a port. A name that means something else by itself, such as that of a
/// set, comes with the port.
pub fn entry_for(host: &str, port: u16) -> String {
    let means_it = |rule: HostRule| matches!(rule.kind, RuleKind::Name { .. } | RuleKind::Addresses { .. });
    let is_clear = USUAL_PORTS.contains(&port) && host.parse().is_ok_and(means_it);
    if is_clear { host.to_owned() } else { format!("{host}:{port}") }
}

fn is_port(named: Option<u16>, asked: u16) -> bool {
    named.map_or_else(|| USUAL_PORTS.contains(&asked), |named| named == asked)
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for HostRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for HostRule {
    fn schema_name() -> Cow<'static, str> {
        "HostRule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// A set whose hosts are parsed.
struct HostSet {
    manifests: &'static [String],
    rules: Vec<HostRule>,
}

static SETS: LazyLock<BTreeMap<&str, HostSet>> = LazyLock::new(|| {
    let set = |text: &'static SetText| HostSet {
        manifests: &text.manifests,
        rules: text.hosts.iter().filter_map(|host| parse(host)).collect(),
    };
    SET_TEXTS.iter().map(|(name, text)| (name.as_str(), set(text))).collect()
});

/// Returns the sets that the files of a checkout name; `is_there` says whether it has a file of this name at its root.
pub fn sets_of(mut is_there: impl FnMut(&str) -> bool) -> Vec<HostRule> {
    let named = SETS.iter().filter(|(_, set)| set.manifests.iter().any(|file| is_there(file)));
    named.map(|(name, set)| HostRule { text: (*name).to_owned(), kind: RuleKind::Set(&set.rules) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::yaml;
    use crate::config::host_sets::set_names;

    fn rule(text: &str) -> HostRule {
        text.parse().expect(text)
    }

    #[test]
    fn host_sets_are_read_as_a_whole() {
        let read: BTreeMap<String, SetText> =
            yaml::from_str(include_str!("host_sets.yml")).expect("the file of sets");
        let names = ["debian", "github", "go", "java", "node", "python", "ruby", "rust"];
        assert_eq!(set_names().collect::<Vec<_>>(), names);
        for (name, text) in read {
            assert_eq!(SETS[name.as_str()].rules.len(), text.hosts.len(), "{name}");
            assert!(!text.hosts.is_empty(), "{name}");
        }
    }

    #[test]
    fn misspelt_set_is_no_host() {
        for (text, near) in [
            ("pyhton", "python"),
            ("Python", "python"),
            ("nod", "node"),
            ("gihtub", "github"),
            ("npm", "node"),
            ("pypi", "python"),
            ("cargo", "rust"),
        ] {
            let error = text.parse::<HostRule>().expect_err(text).to_string();
            assert!(error.contains(&format!("did you mean the set `{near}`?")), "{error}");
        }
        for good in
            ["localhost", "registry", "pyhton.example", "pyhton:8080", "npm:443", "mirror", "2001:db8::53"]
        {
            assert!(good.parse::<HostRule>().is_ok(), "{good}");
        }
    }

    #[test]
    fn host_rules_allow_what_they_name_and_nothing_else() {
        for (text, host, port, allowed) in [
            ("example.com", "example.com", 443, true),
            ("example.com", "example.com", 80, true),
            ("example.com", "example.com", 22, false),
            ("example.com", "www.example.com", 443, false),
            ("EXAMPLE.com", "example.com", 443, true),
            ("example.com:22", "example.com", 22, true),
            ("example.com:22", "example.com", 443, false),
            ("*.example.com", "www.example.com", 443, true),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("*.example.com", "evilexample.com", 443, false),
            ("example.com", "example.com.evil.net", 443, false),
            ("bücher.example", "xn--bcher-kva.example", 443, true),
            ("python", "pypi.org", 443, true),
            ("python", "files.pythonhosted.org", 443, true),
            ("python", "upload.pypi.org", 443, false),
            ("python", "python", 443, false),
            ("github", "github.com", 22, true),
            ("10.0.0.0/8", "10.0.0.1", 443, false),
        ] {
            assert_eq!(rule(text).allows_name(host, port), allowed, "{text} {host}:{port}");
        }
    }

    #[test]
    fn address_rules_allow_their_network_and_nothing_else() {
        for (text, address, port, allowed) in [
            ("10.1.0.0/16", "10.1.2.3", 443, true),
            ("10.1.0.0/16", "10.2.2.3", 443, false),
            ("10.1.2.3:8081", "10.1.2.3", 8081, true),
            ("10.1.2.3:8081", "10.1.2.3", 443, false),
            ("10.1.2.3", "10.1.2.4", 443, false),
            ("0.0.0.0/0", "8.8.8.8", 80, true),
            ("::1", "::1", 443, true),
            ("[::1]:5432", "::1", 5432, true),
            ("[fd00::]/8", "fd00::1", 443, false),
            ("fd00::/8", "fd12::1", 443, true),
            ("fd00::/8", "fe80::1", 443, false),
            ("10.1.2.3", "::ffff:10.1.2.3", 443, true),
            ("example.com", "10.1.2.3", 443, false),
        ] {
            let allows = text
                .parse::<HostRule>()
                .is_ok_and(|rule| rule.allows_address(address.parse().expect(address), port));
            assert_eq!(allows, allowed, "{text} {address}:{port}");
        }
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "a b",
            "http://example.com",
            "example.com/path",
            "example.com:0",
            "example.com:http",
            "example.com:70000",
            "*.*.com",
            "a.*.com",
            "10.0.0.0/33",
            "2130706433",
            "0x7f.1",
            "example.com.",
            ".example.com",
            "::1:80",
            "fd00::1:8080",
            "::ffff:10.0.0.0/104",
            "::ffff:10.0.0.1",
            "user@example.com",
            "example.com:443:1",
        ] {
            assert!(text.parse::<HostRule>().is_err(), "{text}");
        }
        let said = "no host".parse::<HostRule>().expect_err("a space").to_string();
        insta::assert_snapshot!("invalid_host", said);
    }

    #[test]
    fn servers_of_this_machine_are_where_the_list_says() {
        for (text, addresses) in [
            ("localhost:5432", &["127.0.0.1:5432", "[::1]:5432"][..]),
            ("127.0.0.1:6379", &["127.0.0.1:6379"]),
            ("127.0.0.2:6379", &["127.0.0.2:6379"]),
            ("[::1]:80", &["[::1]:80"]),
            ("localhost", &[]),
            ("127.0.0.0/8:80", &[]),
            ("127.0.0.2/31:80", &[]),
            ("[::1/64]:80", &[]),
            ("example.com:5432", &[]),
        ] {
            let server = text.parse::<HostRule>().ok().and_then(|rule| rule.local_server());
            let found = server.map_or_else(Vec::new, |server| server.addresses);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), addresses, "{text}");
        }
    }

    #[test]
    fn manifests_name_their_sets() {
        let sets = sets_of(|file| matches!(file, "package.json" | "Cargo.toml"));
        assert_eq!(sets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["node", "rust"]);
        assert!(sets_of(|_| false).is_empty());
    }
}
