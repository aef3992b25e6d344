//! Variables by which programs find the proxy.

/// Variables that hold the address of a proxy for HTTP.
const ADDRESS: [&str; 13] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    // By HTTP as well: clients that read this variable need a further library for SOCKS.
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "PIP_PROXY",
    "CARGO_HTTP_PROXY",
    "GLOBAL_AGENT_HTTP_PROXY",
];

/// Hosts that programs connect to by themselves.
const OWN: &str = "localhost,127.0.0.1,::1";

/// A proxy on a port of this machine, as it is announced to programs.
pub struct Proxy<'a> {
    /// Port of the proxy.
    pub port: u16,
    /// Its password, if it asks for one.
    pub token: Option<&'a str>,
    /// Whether programs ask it for this machine's own ports as well, because they can connect to no other port than its
    /// own.
    pub asks_for_all: bool,
}

impl Proxy<'_> {
    /// Returns the variables for programs; `java` is what their `JAVA_TOOL_OPTIONS` held.
    pub fn variables(&self, java: Option<&str>) -> Vec<(String, String)> {
        let Self { port, token, asks_for_all } = self;
        let password = token.map_or(String::new(), |token| format!("architect:{token}@"));
        let address = format!("http://{password}127.0.0.1:{port}");
        let mut variables: Vec<(String, String)> =
            ADDRESS.iter().map(|name| ((*name).to_owned(), address.clone())).collect();
        let own = if *asks_for_all { "" } else { OWN };
        for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
            variables.push((name.to_owned(), own.to_owned()));
        }
        // By default, Node's own `fetch` reads none of them.
        variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        let mut options: Vec<String> = java.map(str::to_owned).into_iter().collect();
        for scheme in ["http", "https"] {
            options.push(format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
        }
        let own = if *asks_for_all { "" } else { "localhost|127.0.0.1|[::1]" };
        options.push(format!("-Dhttp.nonProxyHosts={own}"));
        variables.push(("JAVA_TOOL_OPTIONS".to_owned(), options.join(" ")));
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_reach_nothing_else_ask_the_proxy_for_this_machine_as_well() {
        for (asks_for_all, own, java) in [
            (false, OWN, "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"),
            (true, "", "-Dhttp.nonProxyHosts="),
        ] {
            let proxy = Proxy { port: 9, token: Some("t"), asks_for_all };
            let variables: std::collections::BTreeMap<String, String> =
                proxy.variables(Some("-Xmx1g")).into_iter().collect();
            assert_eq!(variables["https_proxy"], "http://architect:t@127.0.0.1:9");
            assert_eq!((variables["NO_PROXY"].as_str(), variables["no_proxy"].as_str()), (own, own));
            let options = &variables["JAVA_TOOL_OPTIONS"];
            assert!(options.starts_with("-Xmx1g ") && options.ends_with(java), "{options}");
        }
    }
}
