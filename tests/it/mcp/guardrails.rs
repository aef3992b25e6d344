//! Guardrails for servers: changes to the checkout are judged like those of commands.

use super::{assert_gone, call, config, notices, sandbox};
use serde_json::{Value, json};

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
