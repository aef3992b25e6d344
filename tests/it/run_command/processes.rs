//! How commands end: with all that they have started.

use std::fs;
use std::time::{Duration, Instant};

use super::{CONFIG, probe, start, timeless, until, yolo};
use crate::support::Sandbox;
use serde_json::json;

/// Whether a process runs whose command line holds a text: its number is another one in its own world.
fn is_alive(marker: &str) -> bool {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    all.into_iter().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let ended = fs::read_to_string(process.path().join("stat")).is_ok_and(|stat| stat.contains(") Z "));
        !ended && String::from_utf8_lossy(&line).replace('\0', " ").contains(marker)
    })
}

/// So many seconds as nobody else sleeps: by them a process is known again.
fn seconds() -> String {
    format!("3{}.{}", std::process::id() % 1000, uuid::Uuid::new_v4().as_u128() % 1_000_000)
}

#[test]
fn command_timeout_kills_descendants() {
    let (far, near) = (seconds(), seconds());
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
    let (far, near) = (seconds(), seconds());
    let script = format!(
        "setsid nohup sleep {far} >/dev/null 2>&1 &\nsleep {near} &\nread x && echo got $x\nps ax | grep -c [s]leep\n"
    );
    let (_, _sandbox, result) = probe(&script);
    assert_eq!(timeless(&result), "exit code 0|2", "both were there");
    assert!(!is_alive(&far) && !is_alive(&near));
}

#[test]
fn command_ends_with_killed_runner() {
    let (far, main) = (seconds(), seconds());
    let script = format!("setsid sleep {far} &\nsleep {main}\n");
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", &script)]);
    let mut runner = start(&sandbox, "bash probe.sh");
    until(|| is_alive(&main) && is_alive(&far));
    runner.kill().expect("SIGKILL");
    runner.wait().expect("the end");
    until(|| !is_alive(&main) && !is_alive(&far));
}
