//! Turns of an agent that could be wasted: a full context, calls written as text, polls of commands in the background, servers
//! that see old files, and answers to the checklist.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};

fn run(sandbox: &Sandbox, server: &ModelServer, more: &[&str]) -> Run {
    let mut args = vec!["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Do it"];
    args.extend(more);
    sandbox.run(&args, &[])
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))
}

fn last_text(body: &Value) -> String {
    let messages = body["messages"].as_array().expect("messages");
    messages.last().expect("a message")["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn few_long_turns_do_not_end_the_run() {
    let config = "evaluation: off\ncontext: { max_context_tokens: 16000, max_tool_result_tokens: 1000 }\n";
    let text: String = (0..400).map(|n| format!("a line of the file with the number {n}\n")).collect();
    for (per_turn, turns) in [(1, 12), (3, 6), (8, 2)] {
        let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", &text)]);
        let read = |n: usize| ("read_file", json!({"path": "a.txt", "start_line": n + 1}));
        let turn = |turn: usize| Answer::Calls((0..per_turn).map(|n| read(turn * per_turn + n)).collect());
        let answers = (0..turns).map(turn).chain([Answer::Text("All done.")]).collect();
        let server = ModelServer::summing(answers, "SUMMARY");
        let run = run(&sandbox, &server, &["--mode", "dry-run"]).expect_code(0);
        assert_eq!(run.stdout, "All done.\n", "{per_turn} a turn");
        let bodies = server.bodies();
        let largest = bodies.iter().map(|body| body["messages"].to_string().len() / 4).max();
        assert!(largest.is_some_and(|largest| largest < 17_000), "{per_turn} a turn: {largest:?}");
        let last = last_text(bodies.last().expect("a request"));
        assert!(last.contains("continue with start_line="), "{per_turn} a turn: {last}");
    }
}

#[test]
fn call_or_patch_as_text_is_sent_back_once() {
    let call = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";
    let patch = "```\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n```";
    let config = "evaluation: off\n";
    for (text, hint) in [(call, "read_file"), (patch, "apply_patch takes a patch like this one")] {
        let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
        let answers = vec![Answer::Text(text), Answer::Calls(vec![edit("one", "two")]), Answer::Text("done")];
        let server = ModelServer::start(answers);
        run(&sandbox, &server, &["--mode", "yolo"]).expect_code(0);
        let told = last_text(&server.bodies()[1]);
        assert!(told.contains("text is not run: nothing has happened") && told.contains(hint), "{told}");
        assert_eq!(sandbox.read("a.txt"), "two\n");
        let server = ModelServer::start(vec![Answer::Text(text)]);
        run(&sandbox, &server, &["--mode", "yolo"]).expect_code(0);
        assert_eq!(server.bodies().len(), 2, "once");
        assert_eq!(sandbox.read("a.txt"), "two\n", "it is not run");
    }
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
    let server = ModelServer::start(vec![Answer::Text(patch)]);
    run(&sandbox, &server, &["--agent", "plan", "--mode", "dry-run"]).expect_code(0);
    assert_eq!(server.bodies().len(), 1, "an agent that changes nothing may propose a patch");
}

#[test]
fn background_commands_are_polled_and_told_to_be_outdated() {
    let sandbox = Sandbox::new(&[(".architect.yml", "evaluation: off\n"), ("a.txt", "one\n")]);
    let start = ("run_command", json!({"command": "echo ready; sleep 300", "background": true}));
    let poll = || ("background_command", json!({"id": 1}));
    let mut calls = vec![vec![start, poll()]];
    calls.extend((0..6).map(|_| vec![poll()]));
    calls.extend([vec![edit("one", "two")], vec![edit("two", "three")], vec![poll()]]);
    for mode in ["yolo", "dry-run"] {
        sandbox.write("a.txt", "one\n");
        let answers = calls.iter().cloned().map(Answer::Calls).chain([Answer::Text("done")]).collect();
        let server = ModelServer::start(answers);
        let run = run(&sandbox, &server, &["--mode", mode]).expect_code(0);
        assert_eq!(run.report()["stop_reason"], "llm_done", "{mode}: polls are no loop");
        let results = run.results();
        assert_eq!(results[1], "background command 1 runs\nno new output", "{mode}: it waits for its start");
        let outdated = "not seeing this change: 1; stop and start it again";
        assert!(results[8].contains(outdated), "{mode}: {}", results[8]);
        assert!(!results[9].contains(outdated), "{mode}: once: {}", results[9]);
        assert!(results[10].contains("files have changed since it started"), "{mode}: {}", results[10]);
    }
}

#[test]
fn answer_to_the_checklist_is_added_to_the_final_answer() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let todo = (
        "todo",
        json!({"items": [{"task": "first", "status": "done"}, {"task": "second", "status": "open"}]}),
    );
    let server = ModelServer::start(vec![
        Answer::Calls(vec![edit("one", "two"), todo]),
        Answer::Text("a.txt says two now, because three is too many."),
        Answer::Text("1. yes"),
    ]);
    let run = run(&sandbox, &server, &["--mode", "yolo"]).expect_code(0);
    assert_eq!(run.stdout, "a.txt says two now, because three is too many.\n\n1. yes\n");
    let asked = last_text(&server.bodies()[2]);
    assert!(asked.ends_with("\n\nStill open on your list:\n[ ] second"), "{asked}");
}

/// The agent does not see what a sub-agent does in Git's own folder; the sub-agent sees what the agent has done there.
#[test]
fn records_of_a_subagent_end_with_its_command() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let command =
        |id: &str, line: &str| json!([{"id": id, "name": "run_command", "arguments": {"command": line}}]);
    let look = "git branch; git tag; git config user.name; git status --short";
    let spoil =
        format!("{look}; git checkout -q -b evil; git tag evil; git config user.name evil; git rm -q a.txt");
    let dispatch =
        json!([{"id": "d", "name": "dispatch_subagent", "arguments": {"task": "Try", "agent_type": "test"}}]);
    let lines = [
        json!({"type": "reply", "agent": "build", "step": 1, "calls": command("a", "git checkout -q -b mine")}),
        json!({"type": "reply", "agent": "build", "step": 2, "calls": dispatch}),
        json!({"type": "reply", "agent": "test-1", "step": 1, "calls": command("b", &spoil)}),
        json!({"type": "reply", "agent": "test-1", "step": 2, "calls": command("c", look)}),
        json!({"type": "reply", "agent": "test-1", "step": 3, "text": "tried"}),
        json!({"type": "reply", "agent": "build", "step": 3, "calls": command("e", look)}),
        json!({"type": "reply", "agent": "build", "step": 4, "text": "done"}),
    ];
    let path = sandbox.path().join("script.jsonl");
    std::fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).expect("a script");
    let model = format!("replay::{}", path.display());
    for mode in ["yolo", "dry-run"] {
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        let results = run.results();
        for at in [2, results.len() - 1] {
            assert!(results[at].contains("* mine") && !results[at].contains("evil"), "{mode}: {results:#?}");
            assert!(!results[at].contains("a.txt"), "{mode}: {results:#?}");
        }
        assert!(results[1].contains("* mine"), "{mode}: it meets what the agent did: {results:#?}");
    }
}
