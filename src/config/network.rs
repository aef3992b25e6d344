//! Network of child processes: which hosts they may reach.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::hosts::HostRule;

/// Network of child processes: `allow`, `deny`, `learn`, or a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Network {
    /// Everything, nothing, or everything that is requested, recorded in the report.
    Mode(NetworkMode),
    /// These hosts, through the proxy of the run.
    Hosts(AllowedHosts),
}

/// Network without a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// They may use the network.
    Allow,
    /// They may not; needs a sandbox.
    Deny,
    /// They may reach any public host; the report lists the hosts, and proposes the list to allow.
    Learn,
}

/// Hosts that may be reached; nothing else can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowedHosts {
    /// Hosts: `example.com`, `*.example.com`, `example.com:8443`, an address or a network such as `10.1.0.0/16`, or a set
    /// (`python`, `node`, `rust`, `go`, `java`, `ruby`, `debian`, `github`). A host without a port means 80 and 443.
    pub allow: Vec<HostRule>,
}

impl Default for Network {
    fn default() -> Self {
        Self::Mode(NetworkMode::Allow)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Network;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`allow`, `deny`, `learn`, or `allow:` with a list of hosts")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Network, E> {
                match text {
                    "allow" => Ok(Network::Mode(NetworkMode::Allow)),
                    "deny" => Ok(Network::Mode(NetworkMode::Deny)),
                    "learn" => Ok(Network::Mode(NetworkMode::Learn)),
                    _ => Err(E::unknown_variant(text, &["allow", "deny", "learn"])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Network, A::Error> {
                AllowedHosts::deserialize(MapAccessDeserializer::new(map)).map(Network::Hosts)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::yaml;

    #[test]
    fn networks_are_read_in_every_form() {
        let read = |text: &str| yaml::from_str::<Network>(text).map_err(|error| error.to_string());
        assert_eq!(read("allow"), Ok(Network::Mode(NetworkMode::Allow)));
        assert_eq!(read("learn"), Ok(Network::Mode(NetworkMode::Learn)));
        let hosts =
            AllowedHosts { allow: ["python", "example.com"].map(|text| text.parse().expect(text)).into() };
        assert_eq!(read("allow: [python, example.com]"), Ok(Network::Hosts(hosts)));
        insta::assert_snapshot!("unknown_mode", read("sometimes").expect_err("no mode"));
        insta::assert_snapshot!("unknown_key", read("deny: [x]").expect_err("no key"));
        insta::assert_snapshot!("bad_host", read("allow: [python, 'http://x']").expect_err("no host"));
    }
}
