//! Limits of a run, and of what a model can read at once.

use std::time::{Duration, Instant};

use super::{every_way, with};
use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::json;

#[test]
fn model_context_overflow_is_summarized_in_every_protocol() {
    every_way(|way| {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &way.config(""))]);
        let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n}))]);
        let error = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens > 200000 maximum"}}"#;
        let edit = Answer::Calls(vec![("write_file", json!({"path": "b.txt", "content": "b\n"}))]);
        let mut answers: Vec<Answer> = (1..=6).map(read).collect();
        answers.extend([
            Answer::Status(400, vec![], error),
            Answer::Text("SUMMARY of reading"),
            edit,
            Answer::Text("done"),
        ]);
        let server = ModelServer::start(answers);
        let run = sandbox.run(&way.args(&server, &["--mode", "yolo"]), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (0, "done\n"), "{way:?}: {}", run.stderr);
        assert_eq!(sandbox.read("b.txt"), "b\n");
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 10, "{way:?}");
        let after = way.protocol.prompt(&bodies[8]);
        assert!(after.contains("[Summary of the work so far]\\nSUMMARY of reading"), "{way:?}: {after}");
        assert!(after.len() < way.protocol.prompt(&bodies[6]).len(), "{way:?}");
    });
}

#[test]
fn model_limits_end_run_as_partial() {
    let list = || Answer::Calls(vec![("list_files", json!({}))]);
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let server = ModelServer::start(vec![
        list(),
        Answer::Calls(vec![("read_file", json!({"path": "a.txt"}))]),
        Answer::Text("so far"),
    ]);
    let run = sandbox.run(&with(&server, &["--max-steps", "2"]), &[]).expect_code(2);
    assert_eq!((run.stdout.as_str(), run.report()["stop_reason"].as_str()), ("so far\n", Some("max_steps")));
    let closing = server.bodies().pop().expect("a request");
    assert_eq!(closing["tool_choice"], "none", "the closing call is without tools");
    assert!(closing["messages"].to_string().contains("You have to stop now"), "{closing}");

    let server = ModelServer::start(vec![list()]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "loop");
    assert_eq!(run.calls().len(), 5);

    let server = ModelServer::start(vec![Answer::Silence(Duration::from_mins(5))]);
    let started = Instant::now();
    let config = sandbox.path().join("slow.yml");
    std::fs::write(&config, "llm:\n  timeout: 300\n  retries: 0\n").unwrap();
    let run = sandbox
        .run(&with(&server, &["--timeout", "1", "--config", config.to_str().unwrap()]), &[])
        .expect_code(5);
    assert_eq!(run.report()["stop_reason"], "timeout");
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());

    // What the agent is told first cannot be made shorter.
    let sandbox = Sandbox::new(&[
        ("big.txt", &"a line of words\n".repeat(2_000)),
        (".architect.yml", "context:\n  max_context_tokens: 3000\n  refresh_files: [big.txt]\n"),
    ]);
    let server = ModelServer::start(vec![Answer::Text("full")]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(2);
    assert_eq!((run.stdout.as_str(), run.report()["stop_reason"].as_str()), ("full\n", Some("context_full")));
}
