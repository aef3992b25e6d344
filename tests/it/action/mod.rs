//! action.yml: it says what the program takes and gives, and its scripts do what they say.
#![cfg(unix)]

mod download;
mod inputs;
mod steps;

use std::path::Path;
use std::process::{Command, Output};

use crate::support::Sandbox;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn action() -> Value {
    let text = std::fs::read_to_string(root().join("action.yml")).expect("action.yml");
    serde_yaml::from_str(&text).expect("YAML")
}

/// Runs a script of the action as the runner does.
fn script(sandbox: &Sandbox, script: &str, variables: &[(&str, &str)]) -> (Output, String) {
    let output_file = sandbox.path().join("step-output");
    let _ = std::fs::remove_file(&output_file);
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a PATH"))
        .env("ACTION_PATH", root())
        .env("GITHUB_OUTPUT", &output_file)
        .env("RUNNER_TEMP", sandbox.path())
        .envs(variables.iter().copied())
        .output()
        .expect("bash runs");
    (output, std::fs::read_to_string(output_file).unwrap_or_default())
}
