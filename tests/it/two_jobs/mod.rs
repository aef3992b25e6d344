//! Two jobs: one plans with the model's key and a token that only reads, the other writes without a key and executes
//! nothing. Whatever else than the plan of the job before arrives there is refused.
#![cfg(unix)]

mod again;
mod attested;
mod batch;
mod delivery;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Run;
use crate::support::github::READ_TOKEN;
use crate::support::scene::Scene;
use serde_json::Value;

const WORKFLOW: &str = "octo/demo/.github/workflows/nightly.yml@refs/heads/main";

/// A configuration that would execute something at every opportunity.
const CONFIG: &str = "hooks:\n  session_start: [{ name: start, command: 'true' }]\n  session_end: \
                      [{ name: end, command: 'true' }]\nguardrails:\n  quality_gates: [{ name: tests, \
                      command: 'grep -q uno a.txt' }]\n";

/// A recorded session whose only edit replaces a text.
fn planned(scene: &Scene, event: &str, model: &str) -> Run {
    let payload = if event == "schedule" { scene.event("schedule", &[]) } else { scene.pull_event(7, "dev") };
    let args = ["--model", model, "--mode", "dry-run", "--comment", "never"];
    let variables = [("GITHUB_TOKEN", READ_TOKEN), ("GITHUB_WORKFLOW_REF", WORKFLOW)];
    scene.run(event, &payload, &args, &variables)
}

/// Keeps the plan, as an artifact does, and returns its path and digest.
fn artifact(scene: &Scene) -> (PathBuf, String) {
    let place = scene.sandbox.path().join("artifact.json");
    fs::copy(scene.sandbox.out().join("plan.json"), &place).unwrap();
    let plan: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    (place, plan["digest"].as_str().unwrap().to_owned())
}

struct Second<'a> {
    event: &'a str,
    digest: &'a str,
    deliver: &'a str,
    variables: &'a [(&'a str, &'a str)],
}

/// Runs the second job.
fn write(scene: &Scene, plan: &Path, second: &Second<'_>) -> Run {
    let Second { event, digest, deliver, variables } = second;
    let payload =
        if *event == "schedule" { scene.event("schedule", &[]) } else { scene.pull_event(7, "dev") };
    let out = scene.sandbox.path().join("written");
    let (repo, plan) = (scene.sandbox.repo(), plan.to_str().unwrap());
    let args =
        ["write", plan, "--digest", digest, "--deliver", deliver, "--workspace", repo.to_str().unwrap()];
    let mut command = scene.sandbox.command(&args);
    command.args(["--out", out.to_str().unwrap(), "--event", payload.to_str().unwrap()]);
    command.envs(scene.variables(event)).env("GITHUB_WORKFLOW_REF", WORKFLOW);
    command.envs(variables.iter().copied());
    Run::new(&command.output().expect("the binary runs"), out)
}
