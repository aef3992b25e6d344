//! Lists of hosts of single gates, hooks, MCP servers and programs as models: each has its own, and no other's.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::support::Sandbox;
use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_server.py");

/// Starts a server on a loopback address that only a list can lead to. Returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.2:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = BufReader::new(&client)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .count();
            // A client that asked for another server may be gone.
            let _ = (&client).write_all(b"HTTP/1.0 200 OK\r\n\r\n");
        }
    });
    port
}

/// Asks the proxy for every server.
fn ask(ports: &[u16]) -> String {
    let all: Vec<String> = ports.iter().map(u16::to_string).collect();
    format!(
        "for port in {}; do\n  {{ (exec 3<> /dev/tcp/127.0.0.1/3128; printf \"GET http://127.0.0.2:$port/ HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3); }} \
         > /dev/null 2>&1\ndone\n",
        all.join(" ")
    )
}

#[test]
fn egress_of_each_gate_hook_server_and_model_is_its_own() {
    let owners = ["command", "gate checks", "hook guard", "MCP server test", "model"];
    let ports: Vec<u16> = owners.iter().map(|_| server()).collect();
    let list = |owner: usize| format!("{{ allow: ['127.0.0.2:{}'] }}", ports[owner]);
    let config = format!(
        "llm: {{ network: {model} }}\n\
         evaluation: off\n\
         commands: {{ network: {command}, dev_commands: ['bash ask.sh'] }}\n\
         guardrails:\n  quality_gates: [{{ name: checks, command: bash ask.sh, network: {gate} }}]\n\
         hooks:\n  pre_tool_use: [{{ name: guard, matcher: run_command, command: bash ask.sh, network: {hook} }}]\n\
         mcp:\n  servers: [{{ name: test, command: bash, args: [server.sh], network: {server} }}]\n",
        command = list(0),
        gate = list(1),
        hook = list(2),
        server = list(3),
        model = list(4),
    );
    let call = json!({"calls": [{"id": "1", "name": "run_command", "arguments": {"command": "bash ask.sh | cat; echo more > made.txt"}}]});
    let answers = format!(
        "bash ask.sh\nread -r x\necho '{call}'\nwhile read -r x; do echo '{{\"text\": \"Done.\"}}'; done\n"
    );
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config),
        ("ask.sh", &ask(&ports)),
        ("model.sh", &answers),
        ("server.sh", &format!("bash ask.sh\nexec python3 {SERVER}\n")),
    ]);
    let run = sandbox.run(&["--model", "exec::bash model.sh", "--mode", "yolo"], &[]).expect_code(0);
    let report = run.report();
    let mut decisions = BTreeMap::<&str, BTreeSet<(usize, &str)>>::new();
    for record in report["network"].as_array().expect("records") {
        let by = record["by"].as_str().expect("an owner");
        let by = if by.starts_with("command bash ask.sh") { "command" } else { by };
        let port = record["port"].as_u64().expect("a port");
        let asked = ports.iter().position(|known| u64::from(*known) == port).expect("a port of a server");
        decisions.entry(by).or_default().insert((asked, record["decision"].as_str().expect("a decision")));
    }
    for (index, owner) in owners.iter().enumerate() {
        let expected: BTreeSet<(usize, &str)> = (0..owners.len())
            .map(|asked| (asked, if asked == index { "allowed" } else { "refused" }))
            .collect();
        assert_eq!(decisions.get(owner), Some(&expected), "{owner}: {decisions:?}\n{}", run.stderr);
    }
    let refusal = |owner: &str| {
        let records = report["network"].as_array().expect("records");
        let of_owner = |record: &&Value| record["by"] == owner && record["decision"] == "refused";
        records.iter().find(of_owner).expect("a refusal")["reason"].as_str().expect("a reason").to_owned()
    };
    for (owner, key) in [
        ("gate checks", "guardrails.quality_gates[checks].network"),
        ("hook guard", "hooks.pre_tool_use[guard].network"),
        ("MCP server test", "mcp.servers[test].network"),
        ("model", "llm.network"),
    ] {
        let told = refusal(owner);
        let expected = format!("`{key}` does not allow it; add `127.0.0.2:");
        assert!(told.starts_with(&expected) && told.contains(&format!("` to `{key}.allow`")), "{told}");
    }
}
