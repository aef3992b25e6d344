//! Error for an entry of a list of hosts that names none, or that surely means another one.

use std::net::Ipv6Addr;

use super::host_sets::set_names;
use crate::base::did_you_mean::nearest;

/// Error for a text that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid host {0:?}{hint}; use a host such as `example.com`, `*.example.com` or `example.com:8443`, an address, a \
     network such as `10.1.0.0/16`, or one of the sets {sets}",
    hint = meant(.0).map_or_else(String::new, |meant| format!(" (did you mean {meant}?)")),
    sets = set_names().collect::<Vec<_>>().join(", ")
)]
pub struct InvalidHost(pub(super) String);

/// Programs and registries, and the sets that have their hosts.
const TOOLS: [(&str, &str); 22] = [
    ("apt", "debian"),
    ("bundler", "ruby"),
    ("cargo", "rust"),
    ("crates", "rust"),
    ("gem", "ruby"),
    ("golang", "go"),
    ("gradle", "java"),
    ("maven", "java"),
    ("mvn", "java"),
    ("nodejs", "node"),
    ("npm", "node"),
    ("npx", "node"),
    ("pip", "python"),
    ("pnpm", "node"),
    ("poetry", "python"),
    ("pypi", "python"),
    ("rubygems", "ruby"),
    ("rustup", "rust"),
    ("ubuntu", "debian"),
    ("uv", "python"),
    ("yarn", "node"),
    ("yarnpkg", "node"),
];

/// Returns what is surely meant by a text that would be taken for something else, or for nothing.
pub(super) fn meant(text: &str) -> Option<String> {
    if let Some(host) = text.strip_prefix('.') {
        return Some(format!("`*.{host}`"));
    }
    if let Some((address, port)) = with_port(text) {
        return Some(format!("`[{address}]:{port}` or, without a port, `[{text}]`"));
    }
    let is_name = !text.contains(['.', ':', '/']) && text != "localhost";
    like_set(&text.to_ascii_lowercase()).filter(|_| is_name).map(|set| format!("the set `{set}`"))
}

/// Splits an IPv6 address without brackets whose last part may be a port.
fn with_port(text: &str) -> Option<(Ipv6Addr, u16)> {
    let (address, port) = text.rsplit_once(':')?;
    Some((address.parse().ok()?, port.parse().ok()?))
}

/// Returns the set that a name stands for, or is likely to be a misspelling of.
fn like_set(name: &str) -> Option<&'static str> {
    let of_tool = TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, set)| *set);
    of_tool.or_else(|| nearest(name, set_names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_mean_something_else_are_explained() {
        for (text, expected) in [
            (".pypi.org", Some("`*.pypi.org`")),
            ("::1:80", Some("`[::1]:80` or, without a port, `[::1:80]`")),
            ("pip", Some("the set `python`")),
            ("Maven", Some("the set `java`")),
            ("2001:db8::53", None),
            ("[::1]:80", None),
            ("::1", None),
            ("example.com:80", None),
            ("mirror", None),
        ] {
            assert_eq!(meant(text).as_deref(), expected, "{text}");
        }
        assert!(TOOLS.iter().all(|(_, set)| set_names().any(|known| known == *set)));
    }
}
