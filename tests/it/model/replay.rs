//! Transcripts as models.

use super::with;
use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::json;

#[test]
fn replay_reproduces_run_and_strict_mode_detects_difference() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let edit = json!({"path": "a.txt", "old_str": "one", "new_str": "two"});
    let server = ModelServer::start(vec![
        Answer::Calls(vec![("read_file", json!({"path": "a.txt"}))]),
        Answer::Calls(vec![("edit_file", edit)]),
        Answer::Text("done"),
    ]);
    let recorded = sandbox.run(&with(&server, &[]), &[]).expect_code(0);
    let transcript = sandbox.path().join("recorded.jsonl");
    std::fs::copy(recorded.out.join("transcript.jsonl"), &transcript).unwrap();
    let model = format!("replay::{}", transcript.display());
    let replayed = sandbox.run(&["--model", &model, "--strict-replay"], &[]).expect_code(0);
    assert_eq!(replayed.report()["plan"]["digest"], recorded.report()["plan"]["digest"]);
    sandbox.write("a.txt", "one, or so\n");
    sandbox.run(&["--model", &model], &[]).expect_code(0);
    let run = sandbox.run(&["--model", &model, "--strict-replay"], &[]).expect_code(1);
    assert!(run.stderr.contains("differs from the recorded one"), "{}", run.stderr);
}
