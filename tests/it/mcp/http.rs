//! Servers over HTTP.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{SERVER, TOKEN, call, notices, sandbox};
use serde_json::json;

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn mcp_http_servers_get_their_token() {
    let mut child =
        Command::new("python3").args([SERVER, "http"]).stdout(Stdio::piped()).spawn().expect("python3");
    let mut port = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let _served = Served(child);
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let config = format!(
        "mcp: {{ servers: [{{ name: web, url: '{url}', token_env: MY_MCP_ACCESS, timeout: 3 }}] }}\n"
    );
    let sandbox = sandbox(&config);
    let calls = [
        ("mcp_web_echo", json!({"text": "over http"})),
        ("mcp_web_hang", json!({})),
        ("mcp_web_fail", json!({})),
    ];
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[TOKEN], &calls);
    assert_eq!(results[0], "over http");
    assert_eq!(results[1], "Error: the MCP server web did not answer within 3 s");
    assert_eq!(results[2], "Error: it did not work");
    let (run, _) = call(
        &sandbox,
        &["--mode", "yolo"],
        &[("MY_MCP_ACCESS", "another-token-value")],
        &[("read_file", json!({"path": "a.txt"}))],
    );
    assert!(
        notices(&run).iter().any(|notice| notice.contains("MCP server web is left out")),
        "{:?}",
        notices(&run)
    );
}
