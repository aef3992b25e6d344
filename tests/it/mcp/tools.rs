//! Tools of servers: which there are, and what is checked and recorded of a call.

use super::{TOKEN, assert_gone, call, config, notices, sandbox};
use serde_json::json;

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
