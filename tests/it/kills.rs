//! Batches and applies that are killed at random moments, and gone on with on another machine: other state folder, other path.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::kills::{kill, kills, seed, signals};
use crate::support::{Run, Sandbox};

const KEY: (&str, &str) = ("ARCHITECT_CI_SEAL_KEY", "c2Vzc2lvbnMgYXJlIHNlYWxlZCB3aXRoIHRoaXMga2U=");

const BATCH: &str = r#"
name: nightly
jobs: 3
defaults: { mode: dry-run }
tasks:
  - id: "recipe {file_dir}"
    recipe: recipe.yml
    folder: "{file_dir}"
    for_each: { file: { files: ["p*/a.txt"] } }
  - id: "model {file_dir}"
    task: "Do it"
    model: exec::python3 model.py
    folder: "{file_dir}"
    for_each: { file: { files: ["q*/a.txt"] } }
"#;

const RECIPE: &str = r#"
steps:
  - files: ["*.txt"]
    do:
      - replace: { pattern: "line", with: "line line" }
"#;

/// Makes one call a turn, the next one as soon as the last has succeeded.
const MODEL: &str = r#"
import json, sys
CALLS = [
    ("write_file", {"path": "b.txt", "content": "b\n"}),
    ("run_command", {"command": "cat b.txt >> a.txt"}),
]
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

/// A repository with the tasks of a batch.
fn origin_of_batch() -> Sandbox {
    let folder = |letter: char, number: usize| {
        let model =
            if letter == 'q' { Some((format!("q{number}/model.py"), MODEL.to_owned())) } else { None };
        [(format!("{letter}{number}/a.txt"), format!("line {number}\n"))].into_iter().chain(model)
    };
    let files: Vec<(String, String)> =
        (0..8).flat_map(|n| folder('p', n)).chain((0..4).flat_map(|n| folder('q', n))).collect();
    let mut all = vec![
        ("nightly.yml", BATCH),
        ("recipe.yml", RECIPE),
        ("model.py", MODEL),
        (".architect.yml", "evaluation: off\n"),
    ];
    all.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    Sandbox::new(&all)
}

fn batch(machine: &Sandbox) -> Command {
    let (repo, out) = (machine.repo(), machine.out());
    let args = ["batch", "nightly.yml", "--resume", "--workspace", repo.to_str().unwrap(), "--out"];
    let mut command = machine.command(&[&args[..], &[out.to_str().unwrap()]].concat());
    command.current_dir(machine.repo()).env(KEY.0, KEY.1);
    command
}

fn spawn(mut command: Command, machine: &Sandbox) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(machine.path().join("log")).unwrap();
    command.stdout(Stdio::null()).stderr(log).spawn().expect("the binary runs")
}

/// The plan of each task, by its digest.
fn plans(run: &Run) -> BTreeMap<String, (String, String)> {
    let report = run.json("batch.json");
    let plan = |task: &serde_json::Value| {
        assert_eq!(task["end"], "success", "{task:#}");
        let id = task["id"].as_str().expect("an id").to_owned();
        let patch = run.file(&format!("{}/plan.patch", task["folder"].as_str().expect("a folder")));
        (id, (task["plan_digest"].as_str().expect("a digest").to_owned(), patch))
    };
    report["tasks"].as_array().expect("tasks").iter().map(plan).collect()
}

/// What an artifact takes along: the sealed journal, and none of what the machine knows.
fn take_along(from: &Path, to: &Path) {
    let sealed = from.join("sealed");
    if sealed.exists() {
        fs::create_dir_all(to).unwrap();
        let copied = Command::new("cp").arg("-r").arg(sealed).arg(to).status().unwrap();
        assert!(copied.success());
    }
}

#[test]
fn killed_batches_end_on_another_machine_as_if_undisturbed() {
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let origin = origin_of_batch();
    let undisturbed = Sandbox::clone_of(&origin);
    let started = Instant::now();
    let run = Run::new(&batch(&undisturbed).output().unwrap(), undisturbed.out()).expect_code(0);
    let (expected, length) = (plans(&run), started.elapsed());
    assert!(
        expected.len() == 12
            && expected.values().all(|(digest, patch)| digest.len() == 64 && !patch.is_empty())
    );
    for number in 0..kills() {
        let mut here = Sandbox::clone_of(&origin);
        for signal in signals(&mut random) {
            kill(&mut spawn(batch(&here), &here), signal, length, &mut random);
            // Its disk is lost more often than not.
            if random.u8(..3) > 0 {
                let there = Sandbox::clone_of(&origin);
                take_along(&here.out(), &there.out());
                here = there;
            }
        }
        let run = Run::new(&batch(&here).output().unwrap(), here.out()).expect_code(0);
        assert_eq!(plans(&run), expected, "kill {number} of seed {seed}");
        assert_eq!(here.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
        assert_eq!(here.git(&["status", "--porcelain"]), "", "kill {number} of seed {seed}");
    }
}

/// Changes, adds and removes files, and makes one executable.
const WIDE: &str = r#"
steps:
  - files: ["t*.txt"]
    do:
      - replace: { pattern: "line", with: "line line" }
      - tool: write_file
        with: { path: "new/{file}", content: "new\n" }
  - do:
      - { tool: delete_file, with: { path: gone.txt } }
"#;

#[test]
fn killed_applies_end_on_another_machine_as_if_undisturbed() {
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let many: Vec<(String, String)> =
        (0..150).map(|number| (format!("t{number}.txt"), "line\n".repeat(number + 1))).collect();
    let mut files = vec![
        ("recipe.yml", WIDE),
        ("gone.txt", "gone\n"),
        (".architect.yml", "evaluation: off\nworkspace: { allow_delete: true }\n"),
    ];
    files.extend(many.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let origin = Sandbox::new(&files);
    let planned = Sandbox::clone_of(&origin);
    let run = planned.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(0);
    let (plan, digest) = (run.out.join("plan.json"), run.json("plan.json")["digest"].clone());
    let before = origin.tree();
    let apply = |machine: &Sandbox| {
        let (repo, out) = (machine.repo(), machine.out());
        let args = ["apply", plan.to_str().unwrap(), "--digest", digest.as_str().unwrap(), "--workspace"];
        let places = [repo.to_str().unwrap(), "--out", out.to_str().unwrap()];
        machine.command(&[&args[..], &places].concat())
    };
    let undisturbed = Sandbox::clone_of(&origin);
    let started = Instant::now();
    let run = Run::new(&apply(&undisturbed).output().unwrap(), undisturbed.out()).expect_code(0);
    let length: Duration = started.elapsed();
    let (expected, patch) = (undisturbed.tree(), run.file("plan.patch"));
    assert!(expected.len() == before.len() + 149 && patch.len() > 10_000, "{}", expected.len());
    for number in 0..kills() {
        let mut here = Sandbox::clone_of(&origin);
        for signal in signals(&mut random) {
            let ended = kill(&mut spawn(apply(&here), &here), signal, length, &mut random);
            let now = here.tree();
            let is_open = here.repo().join(".git/architect-ci-apply/journal.json").exists();
            let is_whole = now == before || now == expected;
            assert!(
                is_whole || is_open,
                "kill {number} of seed {seed}: {ended}, half applied and no journal"
            );
            // The checkout is gone on with at another path, by a user who knows nothing of the first one.
            let there = Sandbox::without_git(&[]);
            fs::remove_dir(there.repo()).unwrap();
            fs::rename(here.repo(), there.repo()).unwrap();
            here = there;
        }
        let run = Run::new(&apply(&here).output().unwrap(), here.out()).expect_code(0);
        assert_eq!(here.tree(), expected, "kill {number} of seed {seed}");
        assert!(run.stdout.contains(&digest.as_str().unwrap()[..12]), "{}", run.stdout);
        assert!(!here.repo().join(".git/architect-ci-apply").exists());
    }
}
