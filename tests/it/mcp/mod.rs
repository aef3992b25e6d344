//! MCP servers, good and bad, as real processes and over HTTP: their tools go through the pipeline, and no
//! fault of theirs costs the run.

mod bounds;
mod changes;
mod faults;
mod guardrails;
mod http;
mod tools;

use crate::support::processes::{Process, find};
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox};
use serde_json::Value;

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
    let is_server =
        |process: &Process| process.line.contains("mcp_server.py") && process.folder().starts_with(&folder);
    wait_until("no server is left", || find(is_server).is_empty());
}
