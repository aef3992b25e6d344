//! `run_command` through the real binary: what runs, what it sees, how it ends, what it leaves behind.
#![cfg(target_os = "linux")]

mod environment;
mod files;
mod powershell;
mod processes;
mod results;

use std::process::{Child, Stdio};

use crate::support::{Run, Sandbox, command};
use serde_json::Value;

/// Scripts of these names may run: a project would say so of its own.
const CONFIG: &str = "commands: { dev_commands: [bash probe.sh] }\n";

fn yolo(sandbox: &Sandbox, calls: Vec<(&str, Value)>) -> Run {
    let turns: Vec<Vec<(&str, Value)>> = calls.into_iter().map(|call| vec![call]).collect();
    let model = sandbox.script(&turns, "done");
    sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0)
}

/// Runs a script as the agent's command and gives the run and what the model was told.
fn probe(script: &str) -> (Run, Sandbox, String) {
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", script)]);
    let run = yolo(&sandbox, vec![command("bash probe.sh")]);
    let result = run.results().remove(0);
    (run, sandbox, result)
}

/// A result without the time that it took.
fn timeless(result: &str) -> String {
    let (first, rest) = result.split_once('\n').unwrap_or((result, ""));
    let first = first.split(" after ").next().unwrap_or_default();
    format!("{first}|{}", rest.replace('\n', "|"))
}

fn start(sandbox: &Sandbox, script: &str) -> Child {
    let model = sandbox.script(&[vec![command(script)]], "done");
    sandbox
        .run_command(&["--mode", "yolo", "--model", &model])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}
