//! Servers that fail, die or do not start cost no run.

use std::time::{Duration, Instant};

use super::{assert_gone, call, config, notices, sandbox};
use serde_json::{Value, json};

#[test]
fn mcp_server_failures_do_not_fail_run() {
    // Time enough on a busy machine for all that answer.
    let sandbox = sandbox(&config("stdio", "").replace("timeout: 3", "timeout: 90"));
    let names = ["huge", "liar", "misshapen", "refuse", "fail", "flood"];
    let turns: Vec<(String, Value)> =
        names.iter().map(|name| (format!("mcp_test_{name}"), json!({}))).collect();
    let calls: Vec<(&str, Value)> =
        turns.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &calls);
    assert!(results[0].len() < 21_000 && results[0].contains("omitted"), "{}", results[0].len());
    assert!(
        results[1].starts_with("Error: the result does not satisfy the server's own schema:"),
        "{}",
        results[1]
    );
    assert!(results[2].starts_with("Error: the MCP server test"), "{}", results[2]);
    assert_eq!(results[3], "Error: the MCP server test: refused by the protocol");
    assert_eq!(results[4], "Error: it did not work");
    assert_eq!(results[5], "after the flood");
    assert_gone(&sandbox);
}

#[test]
fn mcp_server_that_hangs_does_not_fail_run() {
    let sandbox = sandbox(&config("stdio", ""));
    let started = Instant::now();
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &[("mcp_test_hang", json!({}))]);
    assert_eq!(results[0], "Error: the MCP server test did not answer within 3 s");
    assert!(started.elapsed() < Duration::from_mins(3), "{:?}", started.elapsed());
    assert_gone(&sandbox);
}

#[test]
fn mcp_server_death_does_not_fail_run() {
    let sandbox = sandbox(&config("stdio", ""));
    let edit = json!({"path": "a.txt", "old_str": "one", "new_str": "two"});
    let calls = [("mcp_test_die", json!({})), ("mcp_test_echo", json!({"text": "x"})), ("edit_file", edit)];
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &calls);
    for result in &results[..2] {
        assert_eq!(result, "Error: the MCP server test has exited, so its tools no longer work");
    }
    assert_eq!(sandbox.read("a.txt"), "two\n");
    assert_gone(&sandbox);
}

#[test]
fn mcp_server_start_failure_is_reported() {
    let cases = [
        (config("crash", ""), "no configuration found"),
        (config("mute", "").replace("timeout: 3", "timeout: 1"), "it did not answer within 1 s"),
        (config("garbage", ""), "MCP server test is left out"),
        (config("stdio", ", token_env: NOT_SET"), "the variable `NOT_SET` (`token_env`) is not set"),
        ("mcp: { servers: [{ name: test, command: no-such-program }] }".to_owned(), "no-such-program"),
        (
            "mcp: { servers: [{ name: test, url: 'http://127.0.0.1:9/mcp' }] }".to_owned(),
            "MCP server test is left out",
        ),
    ];
    for (config, reason) in cases {
        let sandbox = sandbox(&config);
        let (run, results) =
            call(&sandbox, &["--mode", "yolo"], &[], &[("read_file", json!({"path": "a.txt"}))]);
        assert_eq!(results, ["1\tone\n"]);
        let notices = notices(&run).join("\n");
        assert!(
            notices.contains("MCP server test is left out") && notices.contains(reason),
            "{config}: {notices}"
        );
        assert_gone(&sandbox);
    }
}

#[test]
fn mcp_configuration_without_server_is_refused() {
    let cases = [
        ("[{ name: 'a b', command: x }]", "`mcp.servers[0]`: invalid name \"a b\""),
        ("[{ name: a }]", "`mcp.servers[0]`: set exactly one of `command` and `url`"),
        ("[{ name: a, command: x, url: 'http://x' }]", "set exactly one of `command` and `url`"),
        ("[{ name: a, url: 'ftp://x' }]", "use a URL that begins with https:// or http://"),
        (
            "[{ name: a, url: 'https://x', args: [y] }]",
            "`args`, `env` and `sees_checkout` are only allowed with `command`",
        ),
        ("[{ name: a, command: x }, { name: a, command: y }]", "`mcp.servers[1]`: duplicate name \"a\""),
    ];
    for (servers, reason) in cases {
        let sandbox = sandbox(&format!("mcp: {{ servers: {servers} }}\n"));
        let model = sandbox.script(&[], "done");
        let run = sandbox.run(&["--mode", "yolo", "--model", &model], &[]).expect_code(3);
        assert!(run.stderr.contains(reason), "{servers}: {}", run.stderr);
    }
}
