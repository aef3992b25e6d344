//! A reviewed plan becomes real: exactly, all of it or nothing, also when the process or the disk gives out.
#![cfg(unix)]

mod exactness;
mod interruption;
mod journal;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, Sandbox};
use architect_ci::event::Base;
use architect_ci::git::Repository;
use architect_ci::plan::{JournalFolder, Plan, PlanFile, Planned};
use serde_json::{Value, json};
use workspace::{ChangeSet, DiskWorkspace, FileState, Mode};

const CONFIG: &str = "workspace: { allow_delete: true }\ncommands: { dev_commands: [bash .s/1] }\n";

/// A run that plans; gives the place of its plan.json.
fn plan(sandbox: &Sandbox, turns: &[Vec<(&str, Value)>]) -> PathBuf {
    let model = sandbox.script(turns, "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let place = sandbox.path().join("plan.json");
    fs::copy(run.out.join("plan.json"), &place).unwrap();
    place
}

/// A plan of these changes, on a base.
fn plan_of(changes: &ChangeSet, base: Option<Base>) -> Plan {
    let files = changes.iter().map(PlanFile::new).collect();
    Plan::new(Planned { task: "t", agent: "build", model: "m", base, actions: vec![], files })
}

fn apply(sandbox: &Sandbox, plan: &Path, args: &[&str]) -> Run {
    let (repo, out) = (sandbox.repo(), sandbox.path().join("applied"));
    let shared = [
        "apply",
        plan.to_str().unwrap(),
        "--workspace",
        repo.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    Run::new(&sandbox.command(&shared).args(args).output().expect("the binary runs"), out)
}

fn session() -> Vec<Vec<(&'static str, Value)>> {
    vec![
        vec![("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}))],
        vec![("write_file", json!({"path": "new/deep/b.txt", "content": "b"}))],
        vec![("delete_file", json!({"path": "gone.txt"}))],
        vec![("write_file", json!({"path": "empty.txt", "content": ""}))],
    ]
}

const FILES: [(&str, &str); 5] = [
    (".architect.yml", CONFIG),
    ("a.txt", "one\nx\n"),
    ("gone.txt", "g\n"),
    ("other.txt", "o\n"),
    (".s/1", "echo ran > ran.txt\n"),
];

fn state(content: &[u8], mode: Mode) -> FileState {
    FileState { content: content.into(), mode }
}

pub fn journal(disk: &DiskWorkspace) -> JournalFolder {
    let repository = Repository::find(disk.path(), None).expect("a usable repository");
    JournalFolder::of(disk.path(), repository.as_ref(), &std::collections::BTreeMap::new())
}
