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

/// Returns the variables for a proxy on a port of this machine. `token` is its password, if it asks for one; `java` is
/// what the children's `JAVA_TOOL_OPTIONS` held.
pub fn proxy_variables(port: u16, token: Option<&str>, java: Option<&str>) -> Vec<(String, String)> {
    let password = token.map_or(String::new(), |token| format!("architect:{token}@"));
    let address = format!("http://{password}127.0.0.1:{port}");
    let mut variables: Vec<(String, String)> =
        ADDRESS.iter().map(|name| ((*name).to_owned(), address.clone())).collect();
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        variables.push((name.to_owned(), OWN.to_owned()));
    }
    // By default, Node's own `fetch` reads none of them.
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    let mut options: Vec<String> = java.map(str::to_owned).into_iter().collect();
    for scheme in ["http", "https"] {
        options.push(format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
    }
    options.push("-Dhttp.nonProxyHosts=localhost|127.*|[::1]".to_owned());
    variables.push(("JAVA_TOOL_OPTIONS".to_owned(), options.join(" ")));
    variables
}
