//! Batches: tasks in worktrees of their own, one report, interruptions, shards.
#![cfg(unix)]

mod github;
mod limits;
mod resume;
mod shards;
mod shared_folders;
mod tasks;
mod worktrees;

use std::collections::BTreeMap;

use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

const RECIPE: &str =
    "steps:\n- files: ['*.py', '**/*.py']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n";

/// `architect-ci` on the repository.
fn program(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = sandbox
        .command(args)
        .current_dir(sandbox.repo())
        .envs(variables.iter().copied())
        .output()
        .expect("the binary runs");
    Run::new(&output, sandbox.out())
}

/// How each task ended.
fn ends(report: &Value) -> BTreeMap<String, String> {
    let text = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
    report["tasks"].as_array().unwrap().iter().map(|task| (text(task, "id"), text(task, "end"))).collect()
}

fn worktrees(sandbox: &Sandbox) -> usize {
    sandbox.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
}

/// Tasks that each append their name to a file outside, then wait a little.
fn slow(sandbox: &Sandbox, count: usize) -> std::path::PathBuf {
    let log = sandbox.path().join("worked");
    let recipe = "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n";
    sandbox.write("recipe.yml", recipe);
    let gate = format!("echo {{n}} >> {}; sleep 0.05", log.display());
    let file = json!({
        "name": "slow",
        "defaults": {"mode": "yolo", "gates": [{"name": "work", "command": gate}]},
        "tasks": [{"id": "t{n}", "recipe": "recipe.yml", "for_each": {"n": {"values": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()}}}],
    });
    // JSON is YAML; a placeholder of the defaults is one of each task.
    sandbox.write("batch.yml", file.to_string());
    sandbox.write(".architect.yml", sandbox.opened());
    sandbox.commit("tasks");
    log
}
