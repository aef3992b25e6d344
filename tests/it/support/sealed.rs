//! Runs and batches that are sealed with a key, interrupted, and gone on with on another machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Run, Sandbox};

/// The variable with a key, as `openssl rand -base64 32` prints one.
pub const KEY: (&str, &str) = ("ARCHITECT_CI_SEAL_KEY", "c2Vzc2lvbnMgYXJlIHNlYWxlZCB3aXRoIHRoaXMga2U=");

/// A key that opens nothing which [`KEY`] has sealed.
pub const OTHER_KEY: (&str, &str) = (KEY.0, "YW5vdGhlciBrZXkgdGhhdCBvcGVucyBub3RoaW5nIQ0=");

/// Returns a program as a model: it makes these calls, which are written as a list of Python, one a turn, and the next one as
/// soon as the last has succeeded.
pub fn model(calls: &str) -> String {
    format!("{MODEL_START}CALLS = {calls}\n{MODEL_LOOP}")
}

/// Returns the same, but it waits for ever before the answer that follows so many calls.
pub fn model_that_waits(calls: &str, after: usize) -> String {
    let wait = format!("    if len(done) == {after}: import time; time.sleep(3600)\n    if len(done) <");
    model(calls).replace("    if len(done) <", &wait)
}

const MODEL_START: &str = r#"
import json, sys
def write(path, content): return ("write_file", {"path": path, "content": content})
def command(line): return ("run_command", {"command": line})
"#;

const MODEL_LOOP: &str = r#"
for line in sys.stdin:
    asked = json.loads(line)
    done = [m for m in asked["messages"] if m["role"] == "tool" and m["success"]]
    if len(done) < len(CALLS):
        name, arguments = CALLS[len(done)]
        reply = {"calls": [{"name": name, "arguments": arguments}]}
    else:
        reply = {"text": "Done."}
    reply["usage"] = {"input": 100, "output": 10}
    print(json.dumps(reply), flush=True)
"#;

/// Starts a command whose log is kept beside the checkout, in `log`, in a process group of its own.
pub fn start(mut command: Command, machine: &Sandbox) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(machine.path().join("log")).unwrap();
    command.process_group(0).stdout(Stdio::null()).stderr(log).spawn().expect("the binary runs")
}

/// Returns a command that starts or resumes the batch of `nightly.yml`, with the key.
pub fn batch(machine: &Sandbox, more: &[&str]) -> Command {
    let (repo, out) = (machine.repo(), machine.out());
    let args =
        ["batch", "nightly.yml", "--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let mut command = machine.command(&[&args[..], more].concat());
    command.current_dir(repo).env(KEY.0, KEY.1);
    command
}

/// Copies what an artifact takes along: the sealed journal, if there is one, and none of what the machine knows.
pub fn take_along(from: &Sandbox, to: &Sandbox) {
    copy(&from.out().join("sealed"), &to.out());
}

/// Copies a folder or a file into a folder; what is not there is passed over.
pub fn copy(from: &Path, to: &Path) {
    if from.exists() {
        fs::create_dir_all(to).unwrap();
        assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
    }
}

/// Returns the digest and the patch of each task's plan; all tasks have succeeded.
pub fn plans(run: &Run) -> BTreeMap<String, (String, String)> {
    let report = run.json("batch.json");
    let plan = |task: &serde_json::Value| {
        assert_eq!(task["end"], "success", "{task:#}");
        let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        (text("id"), (text("plan_digest"), run.file(&format!("{}/plan.patch", text("folder")))))
    };
    report["tasks"].as_array().expect("tasks").iter().map(plan).collect()
}
