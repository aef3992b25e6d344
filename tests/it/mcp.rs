//! MCP servers, good and bad, as real processes and over HTTP: their tools go through the pipeline, and no
//! fault of theirs costs the run.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_server.py");
const TOKEN: (&str, &str) = ("MY_MCP_ACCESS", "the-mcp-token-value");

fn config(mode: &str, more: &str) -> String {
    format!(
        "mcp:\n  servers:\n    - {{ name: test, command: python3, args: [{SERVER}, {mode}], timeout: 3{more} }}\n"
    )
}

fn sandbox(config: &str) -> Sandbox {
    Sandbox::new(&[
        (".architect.yml", config),
        ("a.txt", "one\n"),
        (".env", "KEY=x\n"),
        ("locked.txt", "x\n"),
    ])
}

fn notices(run: &Run) -> Vec<String> {
    let report = run.report();
    let notices = report["notices"].as_array().unwrap().iter();
    notices.map(|notice| notice["message"].as_str().unwrap().to_owned()).collect()
}

/// Calls, one a turn, and what came back.
fn call(
    sandbox: &Sandbox,
    args: &[&str],
    variables: &[(&str, &str)],
    calls: &[(&str, Value)],
) -> (Run, Vec<String>) {
    let turns: Vec<Vec<(&str, Value)>> = calls.iter().map(|call| vec![call.clone()]).collect();
    let model = sandbox.script(&turns, "done");
    let mut all = vec!["--model", &model];
    all.extend(args);
    let run = sandbox.run(&all, variables).expect_code(0);
    let results = run.results();
    assert_eq!(results.len(), calls.len());
    (run, results)
}

/// No server of this sandbox is left.
fn assert_gone(sandbox: &Sandbox) {
    let folder = sandbox.path().to_str().unwrap().to_owned();
    let alive = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            cwd.starts_with(&folder) && line.contains("mcp_server.py")
        })
    };
    let until = Instant::now() + Duration::from_secs(10);
    while alive() {
        assert!(Instant::now() < until, "a server was left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mcp_tool_arguments_are_validated() {
    let sandbox = sandbox(&config("stdio", ", token_env: MY_MCP_ACCESS, env: { GREETING: hello }"));
    let (run, results) = call(
        &sandbox,
        &["--mode", "yolo"],
        &[TOKEN, ("OTHER_TOKEN", "of-somebody-else"), ("GITHUB_OUTPUT", "/dev/null")],
        &[
            ("mcp_test_echo", json!({"text": "hello the-mcp-token-value"})),
            ("mcp_test_echo", json!({"txt": "hello"})),
            ("mcp_test_echo", json!({"text": 3})),
            ("mcp_test_environment", json!({})),
            ("mcp_test_picture", json!({})),
            ("mcp_test_odd_name_with__signs", json!({})),
            ("mcp_test_schemaless", json!({})),
        ],
    );
    assert_eq!(results[0], "hello ***");
    assert!(
        results[1].starts_with("Error: Invalid arguments: ") && results[1].contains("txt"),
        "{}",
        results[1]
    );
    assert_eq!(results[2], "Error: Invalid arguments: /text: 3 is not of type \"string\"");
    let names: Vec<&str> = results[3].lines().collect();
    assert!(names.contains(&"MY_MCP_ACCESS") && names.contains(&"GREETING"), "{names:?}");
    assert!(!names.contains(&"OTHER_TOKEN") && !names.contains(&"GITHUB_OUTPUT"), "{names:?}");
    assert_eq!(results[4], "[image, image/png, about 3000 bytes, not shown]\n[a: file:///a]");
    assert_eq!(results[5], "odd name/with: signs");
    assert!(results[6].starts_with("Error: Tool not found: mcp_test_schemaless"), "{}", results[6]);
    let notices = notices(&run).join("\n");
    assert!(notices.contains("the tool \"schemaless\" is left out: its schema is invalid"), "{notices}");
    assert!(
        notices.contains("the tool \"wordy\" is left out: its schema is longer than 16384 bytes"),
        "{notices}"
    );
    assert!(!run.file("transcript.jsonl").contains("the-mcp-token-value"));
    assert_gone(&sandbox);
}

#[test]
fn mcp_server_failures_do_not_fail_run() {
    let sandbox = sandbox(&config("stdio", ""));
    let started = Instant::now();
    let names = ["huge", "liar", "misshapen", "refuse", "fail", "flood", "hang"];
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
    assert_eq!(results[6], "Error: the MCP server test did not answer within 3 s");
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
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
fn mcp_server_changes_are_judged_like_command_changes() {
    let rules = "guardrails: { protected_files: [locked.txt], sensitive_files: [.env] }\n";
    let sandbox = sandbox(&(config("stdio", "") + rules));
    let root = sandbox.repo();
    let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
    let (run, results) = call(
        &sandbox,
        &["--mode", "yolo"],
        &[],
        &[
            ("mcp_test_write", json!({"path": at("new.txt"), "text": "by a server\n"})),
            ("mcp_test_write", json!({"path": at("locked.txt")})),
            ("mcp_test_write", json!({"path": "locked.txt"})),
            ("mcp_test_write", json!({"path": format!("file://{}", at(".github/workflows/ci.yml"))})),
            ("mcp_test_read", json!({"path": at(".env")})),
            ("mcp_test_read", json!({"path": at("locked.txt")})),
            ("mcp_test_write", json!({"path": at(".git/hooks/post-commit")})),
        ],
    );
    assert_eq!(results[0], "written\n[changed: new.txt]");
    for result in &results[1..3] {
        assert_eq!(result, "Error: Guardrail: locked.txt is a protected file (protected_files: locked.txt)");
    }
    assert!(results[3].contains("Guardrail: .github/workflows/ci.yml is always protected"), "{}", results[3]);
    assert!(results[4].contains("Guardrail: .env is a sensitive file"), "{}", results[4]);
    assert_eq!(results[5], "x\n");
    assert!(results[6].contains("Guardrail: ") || results[6].contains("ACCESS DENIED"), "{}", results[6]);
    assert!(!root.join(".git/hooks/post-commit").exists());
    let changed: Vec<Value> = run.report()["files"].as_array().unwrap().clone();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_gone(&sandbox);
}

#[test]
fn no_spelling_of_a_path_leads_a_server_past_the_guardrails() {
    let rules = "guardrails: { protected_files: [locked.txt], sensitive_files: [.env, deep/secret.key] }\n";
    let sandbox = sandbox(&(config("stdio", "") + rules));
    let root = sandbox.repo();
    sandbox.write("deep/secret.key", "DEEP\n");
    sandbox.write("deep/er/x", "");
    std::os::unix::fs::symlink("deep/er", root.join("l")).unwrap();
    std::fs::write(sandbox.path().join("outside.txt"), "outside\n").unwrap();
    let at = root.display();
    let reads = [
        "../repo/.env".to_owned(),
        format!("{at}/../repo/.env"),
        format!("/tmp/../{at}/.env"),
        format!("file://localhost{at}/%2eenv"),
        "../repo/.git/config".to_owned(),
        "l/../secret.key".to_owned(),
        "/proc/self/cwd/.env".to_owned(),
        format!("/proc/self/root{at}/.env"),
        "/proc/thread-self/cwd/.git/config".to_owned(),
        "../outside.txt".to_owned(),
        "../repo/a.txt".to_owned(),
    ];
    let mut calls: Vec<(&str, Value)> =
        reads.iter().map(|path| ("mcp_test_read", json!({"path": path}))).collect();
    calls.push(("mcp_test_write", json!({"path": "../repo/locked.txt"})));
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &calls);
    for (result, path) in results.iter().zip(&reads).take(6) {
        assert!(result.starts_with("Error: Guardrail: "), "{path}: {result}");
    }
    for (result, path) in results.iter().zip(&reads).take(9).skip(6) {
        let refused = result.starts_with("Error: ACCESS DENIED: ");
        assert!(refused && result.contains("relative to the checkout instead"), "{path}: {result}");
    }
    // What lies outside of the checkout is the sandbox's affair.
    assert!(!results[9].contains("Guardrail") && !results[9].contains("ACCESS DENIED"), "{}", results[9]);
    assert_eq!(results[10], "one\n");
    assert!(results[11].contains("locked.txt is a protected file"), "{}", results[11]);
    assert_eq!(sandbox.read("locked.txt"), "x\n");
    assert_gone(&sandbox);
}

#[test]
fn a_large_file_does_not_hide_what_a_server_does_after_its_answer() {
    let rules = "guardrails: { protected_files: [locked.txt] }\n";
    let sandbox = sandbox(&(config("stdio", "") + rules));
    let (run, _) = call(&sandbox, &["--mode", "yolo"], &[], &[("mcp_test_linger", json!({}))]);
    assert_eq!(sandbox.read("locked.txt"), "x\n");
    assert_eq!(sandbox.read("late.txt"), "late\n");
    let notices = notices(&run).join("\n");
    assert!(
        notices.contains("after its answer, an MCP server changed files: a-large.bin, late.txt"),
        "{notices}"
    );
    assert!(notices.contains("an MCP server changed files that were then restored: locked.txt"), "{notices}");
    assert_gone(&sandbox);
}

#[test]
fn a_refused_call_of_a_server_leaves_no_modes_and_no_folders() {
    use std::os::unix::fs::PermissionsExt;
    let rules = "guardrails: { protected_files: [locked.txt] }\n";
    let sandbox = sandbox(&(config("stdio", "") + rules));
    let root = sandbox.repo();
    std::fs::create_dir(root.join("empty")).unwrap();
    std::fs::set_permissions(root.join("a.txt"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &[("mcp_test_litter", json!({}))]);
    assert!(results[0].contains("locked.txt is a protected file"), "{}", results[0]);
    assert_eq!(sandbox.read("locked.txt"), "x\n");
    let mode = std::fs::metadata(root.join("a.txt")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    assert!(root.join("empty").is_dir() && !root.join("new").exists());
    assert_gone(&sandbox);
}

#[test]
fn mcp_dry_run_records_calls_not_marked_read_only() {
    let sandbox = sandbox(&config("stdio", ""));
    let (run, results) = call(
        &sandbox,
        &["--mode", "dry-run"],
        &[],
        &[("mcp_test_echo", json!({"text": "read"})), ("mcp_test_write", json!({"path": "new.txt"}))],
    );
    assert_eq!(results[0], "read");
    assert!(
        results[1].starts_with("[DRY-RUN] Would execute: mcp_test_write(")
            && results[1].ends_with("without making them; continue planning."),
        "{}",
        results[1]
    );
    assert!(!sandbox.repo().join("new.txt").exists());
    let plan = run.json("plan.json");
    assert_eq!(plan["actions"][0]["description"], "mcp_test_write → test/write");
    let comment = run.file("comment.md");
    assert!(comment.contains("1 action — 1 MCP call that applying does not repeat"), "{comment}");
    assert_gone(&sandbox);
}

#[test]
fn mcp_tools_are_filtered_by_agent_and_list() {
    let sandbox = sandbox(&config("stdio", ", allowed_tools: [echo, write]"));
    let script = |agent: &str| {
        let calls = json!([
            {"id": "1", "name": "mcp_test_echo", "arguments": {"text": "x"}},
            {"id": "2", "name": "mcp_test_write", "arguments": {"path": "b.txt"}},
            {"id": "3", "name": "mcp_test_environment", "arguments": {}},
        ]);
        let reply = json!({"type": "reply", "agent": agent, "step": 1, "calls": calls});
        let last = json!({"type": "reply", "agent": agent, "step": 2, "text": "done"});
        std::fs::write(sandbox.path().join("script.jsonl"), format!("{reply}\n{last}\n")).unwrap();
        format!("replay::{}", sandbox.path().join("script.jsonl").display())
    };
    let model = script("plan");
    let run = sandbox.run(&["--mode", "yolo", "--agent", "plan", "--model", &model], &[]).expect_code(0);
    let results = run.results();
    assert_eq!(results[0], "x");
    let refused = "Error: Tool not found: mcp_test_write is not available to the agent plan; its tools are ";
    assert!(results[1].starts_with(refused), "{}", results[1]);
    assert!(results[2].starts_with("Error: Tool not found: mcp_test_environment"), "{}", results[2]);
    let model = script("build");
    let run = sandbox.run(&["--mode", "yolo", "--agent", "build", "--model", &model], &[]).expect_code(0);
    assert_eq!(run.results()[1], "written\n[changed: b.txt]");
}

#[test]
fn mcp_tool_count_is_limited() {
    let sandbox = sandbox(&config("many", ""));
    let (run, results) = call(
        &sandbox,
        &["--mode", "yolo"],
        &[],
        &[("mcp_test_tool63", json!({})), ("mcp_test_tool64", json!({}))],
    );
    assert_eq!(results[0], "tool63");
    assert!(results[1].starts_with("Error: Tool not found"), "{}", results[1]);
    assert!(notices(&run).iter().any(|notice| notice.contains("has more than 64 tools")));
}

#[test]
fn mcp_configuration_without_server_is_refused() {
    let cases = [
        ("[{ name: 'a b', command: x }]", "`mcp.servers[0]`: invalid name \"a b\""),
        ("[{ name: a }]", "`mcp.servers[0]`: set exactly one of `command` and `url`"),
        ("[{ name: a, command: x, url: 'http://x' }]", "set exactly one of `command` and `url`"),
        ("[{ name: a, url: 'ftp://x' }]", "use a URL that begins with https:// or http://"),
        ("[{ name: a, url: 'https://x', args: [y] }]", "`args` and `env` are only allowed with `command`"),
        ("[{ name: a, command: x }, { name: a, command: y }]", "`mcp.servers[1]`: duplicate name \"a\""),
    ];
    for (servers, reason) in cases {
        let sandbox = sandbox(&format!("mcp: {{ servers: {servers} }}\n"));
        let model = sandbox.script(&[], "done");
        let run = sandbox.run(&["--mode", "yolo", "--model", &model], &[]).expect_code(3);
        assert!(run.stderr.contains(reason), "{servers}: {}", run.stderr);
    }
}

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

#[test]
#[cfg(target_os = "linux")]
fn mcp_server_meets_nothing_that_commands_leave_in_folders_of_their_own() {
    let sandbox = sandbox(&config("stdio", ""));
    let planted = format!("planted-{}", uuid::Uuid::new_v4());
    let home = format!("{}/{planted}", std::env::var("HOME").expect("a home folder"));
    let line = format!("echo x | tee ~/{planted} /tmp/{planted} > a.txt; cat ~/{planted} /tmp/{planted}");
    let calls = [
        ("run_command", json!({"command": line})),
        ("run_command", json!({"command": format!("cat ~/{planted} /tmp/{planted}")})),
        ("mcp_test_read", json!({"path": home})),
        ("mcp_test_read", json!({"path": format!("/tmp/{planted}")})),
    ];
    let (_, results) = call(&sandbox, &["--mode", "yolo"], &[], &calls);
    for result in &results[..2] {
        assert!(result.contains("x\nx"), "commands share them: {result}");
    }
    for result in &results[2..] {
        assert!(result.contains("No such file or directory"), "{result}");
    }
}
