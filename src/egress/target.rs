//! Target of a request: the host and the port that a client of the proxy asks for.

use std::fmt;

use url::Host;

use crate::config::entry_for;

/// A host and a port, in one form however they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// A name in lower case without a dot at its end, or an address.
    pub(super) host: Host<String>,
    pub(super) port: u16,
}

/// Longest name of a host.
const MAX_NAME: usize = 253;
/// Longest label of such a name.
const MAX_LABEL: usize = 63;

impl Target {
    /// Parses a host; IPv6 addresses may stand in brackets. Returns `None` for what names no host.
    pub(super) fn new(host: &str, port: u16) -> Option<Self> {
        let bare = host.strip_suffix('.').unwrap_or(host);
        let bare =
            if bare.contains(':') && !bare.starts_with('[') { format!("[{bare}]") } else { bare.to_owned() };
        if bare.len() > MAX_NAME || port == 0 {
            return None;
        }
        let host = match Host::parse(&bare).ok()? {
            Host::Domain(name) if !is_name(&name) => return None,
            // An IPv4 address in another form.
            Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
            host => host,
        };
        Some(Self { host, port })
    }

    /// Returns the entry that a list would have to hold.
    pub(super) fn entry(&self) -> String {
        entry_for(&self.host.to_string(), self.port)
    }
}

/// Returns whether a name consists of labels that names of hosts can have. Others could be taken for entries of a list, such
/// as `*.example.com`.
fn is_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.split('.').all(|label| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_known))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_one_form() {
        for (host, text) in [
            ("Example.COM.", Some("example.com:1")),
            ("127.1", Some("127.0.0.1:1")),
            ("2130706433", Some("127.0.0.1:1")),
            ("::1", Some("[::1]:1")),
            ("[::1]", Some("[::1]:1")),
            ("::ffff:127.0.0.1", Some("127.0.0.1:1")),
            ("exam ple.com", None),
            ("a@b", None),
            ("a/b", None),
            ("", None),
            ("a\r\nb", None),
            ("example.com%00.evil.com", None),
            ("a_b-1.example.com", Some("a_b-1.example.com:1")),
            ("*.example.com", None),
            ("`x`.example.com", None),
            ("(other hosts)", None),
            ("example.com..", None),
            ("a..b", None),
            (".", None),
            ("..", None),
            (".example.com", None),
        ] {
            assert_eq!(Target::new(host, 1).map(|target| target.to_string()).as_deref(), text, "{host}");
        }
    }
}
