//! GitHub that is silent, or sends a byte now and then for ever: whoever waits for it obeys the time limit and signals all the same.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::Sandbox;

/// Longer than any of these may take on a machine that is busy, and shorter than any limit that would end them otherwise.
const LONG: Duration = Duration::from_secs(28);

/// Starts a server that takes every connection. Nothing comes from it but a body without end, if it is not `silent`. Returns its
/// URL, and what tells of each request.
fn server(silent: bool) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let sender = sender.clone();
            std::thread::spawn(move || {
                let _ = connection.read(&mut [0; 4_096]);
                let _ = sender.send(());
                if !silent {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{";
                    let _ = connection.write_all(head.as_bytes());
                }
                while silent || connection.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
        }
    });
    (url, requests)
}

fn sandbox() -> Sandbox {
    let batch = json!({"name": "silent", "tasks": [{"id": "a", "task": "x"}, {"id": "b", "task": "y"}]});
    let config = "costs: { budget_per_day: 5 }\ndeliver: { base: main }\n";
    Sandbox::new(&[("a.txt", "one\n"), ("batch.yml", &batch.to_string()), (".github/architect.yml", config)])
}

fn command(sandbox: &Sandbox, github: &str, args: &[&str]) -> Command {
    let out = sandbox.out();
    let mut command = sandbox.command(&[args, &["--out", out.to_str().expect("text")]].concat());
    let variables = [
        ("GITHUB_REPOSITORY", "octo/demo"),
        ("GITHUB_TOKEN", "ghs_1"),
        ("GITHUB_API_URL", github),
        ("GITHUB_SERVER_URL", github),
        ("OPENAI_API_KEY", "k"),
        ("ARCHITECT_CI_SEAL_KEY", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    ];
    command.envs(variables).current_dir(sandbox.repo()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn report(sandbox: &Sandbox, name: &str) -> Value {
    let text = std::fs::read_to_string(sandbox.out().join(name)).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Arguments, the file that is their report, and whether the work ends well before GitHub is waited for.
fn starts(model_url: &str) -> Vec<(Vec<String>, &'static str)> {
    let model = ["--model", "openai::gpt-5", "--base-url", model_url];
    let start =
        |args: &[&str], report| ([args, &model].concat().into_iter().map(str::to_owned).collect(), report);
    vec![
        start(&["run", "--task", "x", "--ledger", "branch"], "report.json"),
        start(&["batch", "batch.yml", "--ledger", "branch"], "batch.json"),
        start(&["batch", "batch.yml", "--journal", "branch"], "batch.json"),
    ]
}

#[test]
fn silent_github_does_not_outlast_time_limit() {
    let model_url = format!("{}/v1", server(true).0);
    for silent in [true, false] {
        let github = server(silent).0;
        for (args, name) in starts(&model_url) {
            let sandbox = sandbox();
            let args: Vec<&str> = args.iter().map(String::as_str).chain(["--timeout", "2"]).collect();
            let began = Instant::now();
            let status = command(&sandbox, &github, &args).status().expect("the binary runs");
            assert!(began.elapsed() < LONG, "{args:?}: {:?}", began.elapsed());
            assert_eq!(status.code(), Some(5), "{args:?}");
            assert_eq!(report(&sandbox, name)["exit_code"], 5, "{args:?}");
        }
    }
}

#[test]
fn silent_github_does_not_outlast_signals() {
    let model_url = format!("{}/v1", server(true).0);
    for (args, name) in starts(&model_url) {
        let (sandbox, (github, requests)) = (sandbox(), server(true));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut child = command(&sandbox, &github, &args).spawn().expect("the binary runs");
        requests.recv_timeout(Duration::from_mins(1)).expect("a request");
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it is there");
        let signalled = Instant::now();
        let status = child.wait().expect("it ends");
        assert!(signalled.elapsed() < LONG, "{args:?}: {:?}", signalled.elapsed());
        assert_eq!(status.code(), Some(143), "{args:?}");
        assert_eq!(report(&sandbox, name)["exit_code"], 143, "{args:?}");
    }
}

#[test]
fn delivery_ends_soon_after_time_limit() {
    let sandbox = sandbox();
    let model = sandbox.script(&[vec![("write_file", json!({"path": "b.txt", "content": "two"}))]], "done");
    let args = [
        "run",
        "--task",
        "x",
        "--mode",
        "yolo",
        "--deliver",
        "pull-request",
        "--model",
        &model,
        "--timeout",
        "4",
    ];
    let began = Instant::now();
    let status = command(&sandbox, &server(true).0, &args).status().expect("the binary runs");
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(1));
    let report = report(&sandbox, "report.json");
    assert!(report.to_string().contains("the changes were not delivered: GitHub did not answer in time"));
    assert!(report["held"].is_object(), "{report}");
}
