//! Ends of commands: with everything that they have started.

use std::time::{Duration, Instant};

use super::{CONFIG, probe, start, timeless, yolo};
use crate::support::Sandbox;
use crate::support::processes::{is_alive, unique_seconds};
use crate::support::wait::wait_until;
use serde_json::json;

#[test]
fn command_timeout_kills_descendants() {
    let (far, near) = (unique_seconds(), unique_seconds());
    let script = format!(
        "trap '' TERM\nsetsid bash -c \"trap '' TERM; touch far; sleep {far}\" &\n(sleep {near} & touch near)\nsleep 300\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", &script)]);
    let started = Instant::now();
    let call = ("run_command", json!({"command": "bash probe.sh", "timeout": 1}));
    let run = yolo(&sandbox, vec![call]);
    assert!(
        run.results()[0]
            .starts_with("Error: timed out: stopped after 1 s, with everything that it had started")
    );
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    assert!(sandbox.repo().join("far").exists() && sandbox.repo().join("near").exists());
    assert!(!is_alive(&far) && !is_alive(&near));
}

#[test]
fn command_background_processes_end() {
    let (far, near) = (unique_seconds(), unique_seconds());
    let script = format!(
        "setsid nohup sleep {far} >/dev/null 2>&1 &\nsleep {near} &\nread x && echo got $x\nps ax | grep -c [s]leep\n"
    );
    let (_, _sandbox, result) = probe(&script);
    assert_eq!(timeless(&result), "exit code 0|2", "both were there");
    assert!(!is_alive(&far) && !is_alive(&near));
}

#[test]
fn command_ends_with_killed_runner() {
    let (far, main) = (unique_seconds(), unique_seconds());
    let script = format!("setsid sleep {far} &\nsleep {main}\n");
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", &script)]);
    let mut runner = start(&sandbox, "bash probe.sh");
    wait_until("both processes start", || is_alive(&main) && is_alive(&far));
    runner.kill().expect("SIGKILL");
    runner.wait().expect("the end");
    wait_until("both processes end", || !is_alive(&main) && !is_alive(&far));
}
