//! SIGINT and SIGTERM: children end, the partial report is written, all within five seconds.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::model::{Answer, ModelServer};
use crate::support::wait::wait_until_or;
use crate::support::{Run, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// Starts a run, waits until it is `ready` (told the log so far), sends the signal, waits for the end.
fn interrupt(
    sandbox: &Sandbox,
    args: &[&str],
    ready: impl Fn(&str) -> bool,
    signal: Signal,
) -> (Run, Duration) {
    let mut child = sandbox
        .run_command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let log = Arc::new(Mutex::new(String::new()));
    let reader = std::thread::spawn({
        let (log, stderr) = (Arc::clone(&log), child.stderr.take().expect("stderr"));
        move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *log.lock().unwrap() += &format!("{line}\n");
            }
        }
    });
    wait_until_or(|| format!("it is ready: {}", log.lock().unwrap()), || ready(&log.lock().unwrap()));
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    let sent = Instant::now();
    kill_process(pid, signal).expect("the signal is sent");
    let output = child.wait_with_output().expect("the end");
    let took = sent.elapsed();
    reader.join().expect("the log");
    let mut run = Run::new(&output, sandbox.out());
    run.stderr.clone_from(&log.lock().unwrap());
    (run, took)
}

#[test]
fn sigint_during_model_request_ends_run() {
    for (signal, code, reason, sentence) in [
        (Signal::INT, 130, "user_interrupt", "the run was interrupted"),
        (Signal::TERM, 143, "terminated", "the run was terminated"),
    ] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
        let edit = json!({"path": "a.txt", "old_str": "one", "new_str": "two"});
        let server = ModelServer::start(vec![
            Answer::Calls(vec![("edit_file", edit)]),
            Answer::Silence(Duration::from_mins(5)),
        ]);
        let args = ["--model", "openai::gpt-5", "--base-url", &server.url];
        let (run, took) = interrupt(&sandbox, &args, |log| log.contains("edit_file"), signal);
        let run = run.expect_code(code);
        assert!(took < Duration::from_mins(1), "{took:?}");
        let report = run.report();
        assert_eq!(
            (report["status"].as_str(), report["stop_reason"].as_str()),
            (Some("partial"), Some(reason))
        );
        assert_eq!(report["files"][0]["path"], "a.txt", "what was planned so far is in the report");
        assert_eq!(report["plan"]["incomplete"], sentence);
        assert!(run.file("comment.md").contains(sentence));
        assert!(run.file("plan.patch").contains("+two"));
    }
}

#[test]
fn sigint_kills_hook_that_ignores_sigterm() {
    let config = "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n    - { name: stubborn, command: \"exec 9>../held; flock 9; trap '' TERM INT; touch ../hook-started; sleep 300\", timeout: 300 }\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", config)]);
    let model = sandbox.script(&[vec![("read_file", json!({"path": "a.txt"}))]], "done");
    let (run, took) = interrupt(
        &sandbox,
        &["--model", &model],
        |_| sandbox.path().join("hook-started").exists(),
        Signal::INT,
    );
    assert!(took < Duration::from_mins(1), "{took:?}");
    assert_eq!(run.expect_code(130).report()["stop_reason"], "user_interrupt");
    // The hook's child inherits the lock: it is free only when no process of the hook is left.
    let held = std::fs::File::open(sandbox.path().join("held")).expect("the hook created its lock");
    held.try_lock().expect("no child of the hook lives on");
}

#[test]
fn sigint_during_gate_or_review_interrupts_run() {
    let gate = "evaluation: off\ncommands: { writable_paths: ['..'] }\nguardrails:\n  quality_gates:\n    - { name: slow, command: \"touch ../gate-started; sleep 300\" }\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", gate)]);
    let edit = || ("write_file", json!({"path": "b.txt", "content": "x\n"}));
    let model = sandbox.script(&[vec![edit()]], "Done.");
    let started = sandbox.path().join("gate-started");
    let args = ["--model", &model, "--mode", "dry-run"];
    let (run, _) = interrupt(&sandbox, &args, |_| started.exists(), Signal::INT);
    let run = run.expect_code(130);
    let report = run.report();
    assert_eq!(report["stop_reason"], "user_interrupt", "no gate failed: {report}");
    // Neither has the one that was cut off, nor does anything of its end stand in its output.
    let gate = &report["gates"][0];
    assert_eq!((&gate["verdict"], &gate["output"]), (&json!("not-run"), &json!("")), "{gate}");
    assert_eq!(gate["ending"], "the run was interrupted");
    let (junit, comment) = (run.file("junit.xml"), run.file("comment.md"));
    assert!(junit.contains("<skipped") && !junit.contains("<failure"), "{junit}");
    assert!(comment.contains("did not run"), "{comment}");
    assert!(!run.stderr.contains("::error"), "{}", run.stderr);

    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: basic\n")]);
    let server = ModelServer::start(vec![
        Answer::Calls(vec![edit()]),
        Answer::Text("Done."),
        Answer::Silence(Duration::from_mins(5)),
    ]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--mode", "dry-run"];
    let asked = |_: &str| server.bodies().len() == 3;
    let (run, _) = interrupt(&sandbox, &args, asked, Signal::INT);
    let report = run.expect_code(130).report();
    assert_eq!(report["stop_reason"], "user_interrupt", "{report}");
}
