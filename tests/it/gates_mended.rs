//! Result of the last run of the gates, and the agent's view of those that fail.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};

fn edit(path: &str, old: &str, new: &str) -> Answer {
    Answer::Calls(vec![("edit_file", json!({"path": path, "old_str": old, "new_str": new}))])
}

/// Runs a model that gives these answers, and then says that it is done.
fn run(sandbox: &Sandbox, mode: &str, mut answers: Vec<Answer>) -> (Run, Vec<Value>) {
    answers.extend((0..4).map(|_| Answer::Text("done")));
    let server = ModelServer::start(answers);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Do it", "--mode", mode];
    (sandbox.run(&args, &[]), server.bodies())
}

fn last_text(body: &Value) -> String {
    let messages = body["messages"].as_array().expect("messages");
    messages.last().expect("a message")["content"].as_str().unwrap_or_default().to_owned()
}

fn gates(command: &str) -> String {
    format!("guardrails:\n  quality_gates:\n    - {{ name: g, command: '{command}' }}\n")
}

#[test]
fn gate_that_is_mended_after_the_first_answer_is_green() {
    let config = gates("grep -q three a.txt || { echo a.txt:1:1: E1 bad; exit 1; }");
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
        let answers = vec![edit("a.txt", "one", "two"), Answer::Text("done"), edit("a.txt", "two", "three")];
        let (run, _) = run(&sandbox, mode, answers);
        let report = run.expect_code(0).report();
        assert_eq!(report["stop_reason"], "llm_done", "{mode}: {}", report["gates"]);
        let all = report["gates"].as_array().expect("gates");
        assert_eq!(
            (all.len(), &all[0]["verdict"], &all[0]["round"]),
            (1, &json!("mended"), &json!(2)),
            "{mode}"
        );
    }
}

#[test]
fn tests_that_are_restored_are_not_lost() {
    let config = "evaluation: off\n".to_owned() + &gates("cat results.txt");
    for mode in ["yolo", "dry-run"] {
        let all = "test a ... ok\ntest b ... ok\n";
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("results.txt", all), ("a.txt", "one\n")]);
        let answers = vec![
            edit("results.txt", "test b ... ok\n", ""),
            Answer::Text("done"),
            Answer::Calls(vec![
                ("write_file", json!({"path": "results.txt", "content": all})),
                ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"})),
            ]),
        ];
        let (run, bodies) = run(&sandbox, mode, answers);
        let report = run.expect_code(0).report();
        assert!(last_text(&bodies[2]).contains("no longer run"), "{mode}");
        assert_eq!(report["stop_reason"], "llm_done", "{mode}: {}", report["gates"]);
    }
}

#[test]
fn first_failure_of_a_long_gate_is_told_with_a_file_that_has_all() {
    let script = "if grep -q two a.txt; then\n  seq -f 'tests/t.py::test_%.0f PASSED' 3000\n  echo 'E   assert 1 == FIRST'\n  \
                  seq -f 'tests/t.py::test_%.0f PASSED' 3001 6000\n  exit 1\nfi\n";
    let config = "evaluation: off\n".to_owned() + &gates("sh run.sh");
    for mode in ["yolo", "dry-run"] {
        let files = [(".architect.yml", config.as_str()), ("run.sh", script), ("a.txt", "one\n")];
        let sandbox = Sandbox::new(&files);
        let (_, bodies) = run(&sandbox, mode, vec![edit("a.txt", "one", "two")]);
        let told = last_text(&bodies[2]);
        assert!(told.contains(" 3001: E   assert 1 == FIRST"), "{mode}: {told}");
        assert!(told.ends_with("; read or search that file]\n") && told.len() < 25_000, "{mode}: {told}");
        let (_, rest) = told.split_once("[all 6,001 lines: ").expect("the file");
        let (path, _) = rest.split_once(';').expect("its path");
        let kept = std::fs::read_to_string(path).expect("the whole output");
        assert_eq!(kept.lines().count(), 6_001, "{mode}");
    }
}
