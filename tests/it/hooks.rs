//! Hooks at their places in the run, and hooks that misbehave.
#![cfg(unix)]

use std::fs;
use std::time::{Duration, Instant};

use crate::support::model::{Answer, ModelServer};
use crate::support::processes::is_running;
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

const EVENTS: [&str; 8] = [
    "session_start",
    "pre_llm_call",
    "post_llm_call",
    "pre_tool_use",
    "post_tool_use",
    "agent_complete",
    "session_end",
    "on_error",
];

/// A hook for every event that notes what it is told.
fn noting() -> String {
    let hook = |event: &str| {
        format!(
            "  {event}:\n    - {{ name: notes, command: 'cat >> ../told; echo >> ../told; env | grep ^ARCHITECT_ | sort > ../env-{event}' }}\n"
        )
    };
    format!(
        "commands: {{ writable_paths: ['..'] }}\nhooks:\n{}  post_edit:\n    - {{ name: edited, command: 'echo edited {{file}} >> ../edits' }}\n",
        EVENTS.map(hook).concat()
    )
}

fn told(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.path().join("told")).unwrap_or_default();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn records(run: &Run) -> Vec<String> {
    let report = run.report();
    let hooks = report["hooks"].as_array().unwrap().iter();
    hooks
        .map(|hook| {
            let text = |key: &str| hook[key].as_str().unwrap().to_owned();
            format!("{} {} {} {}", text("event"), text("name"), text("decision"), hook["exit_code"])
        })
        .collect()
}

#[test]
fn hook_events_fire_in_order() {
    let sandbox = Sandbox::new(&[(".architect.yml", &noting()), ("a.txt", "one\n")]);
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let read = ("read_file", json!({"path": "a.txt"}));
    let server =
        ModelServer::start(vec![Answer::Calls(vec![edit]), Answer::Calls(vec![read]), Answer::Text("done")]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--mode", "yolo"];
    sandbox.run(&args, &[]).expect_code(0);
    let lines: Vec<String> = told(&sandbox)
        .iter()
        .map(|told| {
            let tool = told["tool_name"].as_str().map_or(String::new(), |tool| format!(" {tool}"));
            format!("{} step {}{tool}", told["event"].as_str().unwrap(), told["step"])
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(fs::read_to_string(sandbox.path().join("edits")).unwrap(), "edited a.txt\n");
    let environment = |event: &str| fs::read_to_string(sandbox.path().join(format!("env-{event}"))).unwrap();
    assert!(environment("post_tool_use").contains("ARCHITECT_FILE_PATH=a.txt\n"));
    assert!(environment("post_tool_use").contains("ARCHITECT_TOOL_RESULT_SUCCESS=true\n"));
    assert!(environment("session_end").contains("ARCHITECT_EVENT=session_end\n"));
    let end = told(&sandbox).pop().unwrap();
    assert_eq!(
        (&end["status"], &end["stop_reason"], &end["message"]),
        (&json!("success"), &json!("llm_done"), &json!("done"))
    );
    // The eighth: an error.
    let failing = Sandbox::new(&[(".architect.yml", &noting())]);
    let server = ModelServer::start(vec![Answer::Status(401, Vec::new(), "{}")]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url];
    failing.run(&args, &[]).expect_code(4);
    let events: Vec<_> =
        told(&failing).iter().map(|told| told["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["session_start", "pre_llm_call", "on_error", "session_end"]);
}

#[test]
fn hooks_see_every_edit_and_each_of_its_files() {
    let files = [("a.py", "x = 1\n"), ("b c.py", "x = 1\n"), ("sub/d.py", "x = 1\n"), ("e.txt", "x = 1\n")];
    let noting = |name: &str, what: &str| format!("    - {{ name: {name}, {what} >> ../{name}' }}\n");
    let config = [
        "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n".to_owned(),
        noting("class", "matcher: edit, command: 'echo $ARCHITECT_TOOL_NAME"),
        noting("pair", "matcher: 'write_file|edit_file', command: 'echo $ARCHITECT_TOOL_NAME"),
        noting("alone", "matcher: edit_file, command: 'echo $ARCHITECT_TOOL_NAME"),
        noting("others", "matcher: '(?!replace_text).*', command: 'echo $ARCHITECT_TOOL_NAME"),
        "  post_edit:\n".to_owned(),
        noting("each", "file_patterns: ['*.py'], command: 'echo {file}"),
        noting("all", "file_patterns: ['*.py'], command: 'echo {files}"),
        noting("variable", "command: 'echo $ARCHITECT_EDITED_FILE"),
        noting("once", "command: 'echo run"),
    ]
    .concat();
    let turns = [
        vec![("replace_text", json!({"pattern": "x = 1", "replacement": "x = 2"}))],
        vec![("move_file", json!({"from": "a.py", "to": "z.py"}))],
        vec![("delete_file", json!({"path": "e.txt"})), ("read_file", json!({"path": "z.py"}))],
        vec![("edit_file", json!({"path": "z.py", "old_str": "x = 2", "new_str": "x = 3"}))],
        vec![("run_command", json!({"command": "touch made.py"}))],
    ];
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&files);
        sandbox.write(".architect.yml", format!("workspace: {{ allow_delete: true }}\n{config}"));
        let model = sandbox.script(&turns, "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        assert!(run.calls().iter().all(|call| call.ends_with("true")), "{mode}: {:?}", run.calls());
        let noted = |name: &str| {
            let text = fs::read_to_string(sandbox.path().join(name)).unwrap_or_default();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let edits = ["replace_text", "move_file", "delete_file", "edit_file"];
        assert_eq!(noted("class"), edits, "{mode}");
        assert_eq!(noted("pair"), edits, "{mode}");
        assert_eq!(noted("alone"), ["edit_file"], "{mode}");
        assert_eq!(
            noted("others"),
            ["move_file", "delete_file", "read_file", "edit_file", "run_command"],
            "{mode}"
        );
        assert_eq!(noted("each"), ["a.py", "b c.py", "sub/d.py", "z.py", "z.py"], "{mode}");
        assert_eq!(noted("all"), ["a.py b c.py sub/d.py", "z.py", "z.py"], "{mode}");
        assert_eq!(
            noted("variable"),
            ["a.py", "b c.py", "e.txt", "sub/d.py", "z.py", "e.txt", "z.py"],
            "{mode}"
        );
        assert_eq!(noted("once").len(), 4, "{mode}");
    }
}

#[test]
fn hook_that_blocks_one_file_of_many_blocks_the_call() {
    let config = "hooks:\n  pre_tool_use:\n    - { name: vendored, matcher: edit, file_patterns: ['vendor/**'], command: 'echo no {file} >&2; exit 2' }\n";
    let files = [("a.py", "x = 1\n"), ("vendor/b.py", "x = 1\n"), (".architect.yml", config)];
    let sandbox = Sandbox::new(&files);
    let turns = [
        vec![("replace_text", json!({"pattern": "x = 1", "replacement": "x = 2"}))],
        vec![(
            "replace_text",
            json!({"pattern": "x = 1", "replacement": "x = 2", "file_pattern": "!vendor/**"}),
        )],
    ];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert_eq!(run.results()[0], "Error: Blocked by hook: no vendor/b.py (vendored)");
    assert_eq!((sandbox.read("a.py"), sandbox.read("vendor/b.py")), ("x = 2\n".into(), "x = 1\n".into()));
}

#[test]
fn hook_output_reaches_model() {
    let config = r#"
hooks:
  session_start: [{ name: greets, command: 'echo from the start' }]
  pre_llm_call: [{ name: reminds, command: 'echo "{\"additionalContext\": \"before step $ARCHITECT_STEP\"}"' }]
  post_llm_call: [{ name: fails, command: 'echo odd; exit 7' }]
"#;
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
    let read = ("read_file", json!({"path": "a.txt"}));
    let server = ModelServer::start(vec![Answer::Calls(vec![read]), Answer::Text("done")]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Look"];
    sandbox.run(&args, &[]).expect_code(0);
    let bodies = server.bodies();
    let messages = |index: usize| -> Vec<(String, String)> {
        let messages = bodies[index]["messages"].as_array().unwrap().iter().skip(1);
        messages
            .map(|message| {
                (
                    message["role"].as_str().unwrap().to_owned(),
                    message["content"].as_str().unwrap_or_default().to_owned(),
                )
            })
            .collect()
    };
    let first = &messages(0)[0].1;
    assert!(
        first.starts_with("Look\n\nfrom the start\n\n[THIS RUN]\n") && first.ends_with("\n\nbefore step 1"),
        "{first}"
    );
    let second = messages(1);
    assert_eq!(second[0], messages(0)[0], "what was sent stays as it was");
    assert_eq!(second[2], ("tool".into(), "1\tone\n".into()));
    assert_eq!(second[3], ("user".into(), "[Hook fails: FAILED (exit 7)]\nodd\n\nbefore step 2".into()));
}

#[test]
fn hook_at_session_start_can_stop_run() {
    let config = "hooks:\n  pre_llm_call: [{ name: budget, command: 'test $ARCHITECT_STEP -lt 2 || { echo enough >&2; exit 2; }' }]\n  session_start: [{ name: cannot, command: 'exit 2' }]\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
    let model = sandbox.script(&[vec![("read_file", json!({"path": "a.txt"}))]], "never said");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "hook_blocked");
    assert!(run.stdout.contains("A hook stopped the run: enough (budget)"), "{}", run.stdout);
    assert_eq!(
        records(&run),
        ["session_start cannot failed 2", "pre_llm_call budget allow 0", "pre_llm_call budget block 2"]
    );
}

#[test]
fn hook_background_processes_end_with_run() {
    // Each waits for all three, so that none of them ends unless they run side by side.
    let config = "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n    - { name: slow, command: 'echo >> ../at-work; until test $(wc -l < ../at-work) -ge 3; do sleep 0.02; done; echo late; exit 2', async: true, timeout: 60 }\n    - { name: quick, command: 'true' }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
    let read = ("read_file", json!({"path": "a.txt"}));
    let model = sandbox.script(&[vec![read.clone()], vec![read.clone()], vec![read]], "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let records = records(&run);
    assert_eq!(records[..3], ["pre_tool_use quick allow 0"; 3].map(str::to_owned), "and they cannot block");
    assert_eq!(records[3..], ["pre_tool_use slow failed 2"; 3].map(str::to_owned));
    assert!(run.calls().iter().all(|call| call.ends_with("true")));
}

#[test]
fn hook_failures_are_contained() {
    let misbehaving = [
        ("flood", "yes 'a flood of words' | head -c 200000000"),
        ("hang", "trap '' TERM; sleep 300"),
        ("fork", "for i in 1 2 3; do (setsid sleep 300 & echo $! >> ../pids) & done; wait"),
        ("signal", "kill -SEGV $$"),
        ("json", "echo '{\"updatedInput\": {\"path\":'"),
        ("wrong", "echo '{\"updatedInput\": {\"file\": 1}, \"additionalContext\": 7}'"),
        ("closed", "exec 0<&- 1>&- 2>&-"),
        ("missing", "/no/such/program"),
    ];
    for (name, command) in misbehaving {
        let timeout = if name == "hang" { 2 } else { 90 };
        let hook = format!("{{ name: {name}, command: {}, timeout: {timeout} }}", json!(command));
        let config = format!("hooks:\n  pre_tool_use:\n    - {hook}\n");
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
        let model = sandbox.script(&[vec![("read_file", json!({"path": "a.txt"}))]], "done");
        let started = Instant::now();
        let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
        let most = Duration::from_secs(timeout + 60);
        assert!(started.elapsed() < most, "{name}: {:?}", started.elapsed());
        let record = records(&run).remove(0);
        let result = run.results().remove(0);
        let expected = match name {
            "flood" => "pre_tool_use flood allow 0",
            "hang" => "pre_tool_use hang failed -1",
            "fork" => "pre_tool_use fork allow 0",
            "signal" => "pre_tool_use signal failed",
            "wrong" => "pre_tool_use wrong modify 0",
            "missing" => "pre_tool_use missing failed 127",
            _ => "allow 0",
        };
        assert!(record.contains(expected), "{name}: {record}");
        match name {
            // The new arguments are none: the call says so, the run goes on.
            "wrong" => assert!(result.contains("Invalid arguments: file: unknown field"), "{result}"),
            _ => assert!(result.starts_with("1\tone\n"), "{name}: {result}"),
        }
        assert!(result.len() < 20_000, "{name}: {}", result.len());
        let pids = fs::read_to_string(sandbox.path().join("pids")).unwrap_or_default();
        for pid in pids.lines() {
            assert!(!is_running(pid.parse().expect("an id")), "{name}: {pid}");
        }
    }
}

#[test]
fn names_of_files_are_never_commands_of_a_hook() {
    let name = "$(touch injected).py";
    let turns = [vec![("write_file", json!({"path": name, "content": "x = 1\n"}))]];
    for command in [
        "echo \"checked {file}\"",
        "sh -c 'echo {file}'",
        "echo `echo {files}`",
        "cat <<E\n{file}\nE",
        "echo # it's {file}",
        "echo \\{file}",
        "echo ${file}",
    ] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
        let hook = json!({"name": "lint", "command": command});
        sandbox.write(".architect.yml", json!({"hooks": {"post_edit": [hook]}}).to_string());
        let model = sandbox.script(&turns, "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
        assert!(!sandbox.repo().join("injected").exists(), "{command}");
        assert_eq!(run.code, 3, "{command}: {}", run.stderr);
        assert!(
            run.stderr.contains("hook \"lint\"") && run.stderr.contains("write it as a separate word"),
            "{}",
            run.stderr
        );
    }
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let hook = json!({"name": "lint", "command": "echo \"it's\" --name={file} '{{file}}' > seen.txt"});
    sandbox.write(".architect.yml", json!({"hooks": {"post_edit": [hook]}}).to_string());
    let model = sandbox.script(&turns, "done");
    sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert_eq!(sandbox.read("seen.txt"), format!("it's --name={name} {{file}}\n"));
    assert!(!sandbox.repo().join("injected").exists());
}

#[test]
fn programs_of_hooks_and_servers_that_commands_changed_are_told_of() {
    let sandbox = Sandbox::new(&[(".gitignore", "node_modules/\n"), ("a.txt", "one\n")]);
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_endless.py");
    let config = json!({
        "hooks": {
            "agent_complete": [{"name": "lint", "command": "npx --version || true"}],
            "session_end": [{"name": "plain", "command": "true"}],
        },
        "mcp": {"servers": [
            {"name": "near", "command": "python3", "args": ["-I", server, "none", "node_modules"]},
        ]},
    });
    sandbox.write(".architect.yml", config.to_string());
    sandbox.write("node_modules/.bin/lint", "#!/bin/sh\n");
    let changes = "echo exit 0 >> node_modules/.bin/lint; chmod +x node_modules/.bin/lint";
    for (command, is_told) in [(changes, true), ("echo two > a.txt", false)] {
        let model = sandbox.script(&[vec![("run_command", json!({"command": command}))]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
        let notices = run.report()["notices"].to_string();
        for owner in ["hook lint", "MCP server near"] {
            let told = format!(
                "the {owner} runs or reads files that Git ignores and that commands of this run had changed before: node_modules/.bin/lint"
            );
            assert_eq!(notices.contains(&told), is_told, "{owner}: {notices}");
        }
        assert!(!notices.contains("hook plain"), "{notices}");
    }
}
