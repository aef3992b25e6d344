//! Batches and applies that are killed at random moments, and gone on with on another machine: other state folder, other path.
#![cfg(unix)]

use std::fs;
use std::time::{Duration, Instant};

use crate::support::kills::{kill, others, play, signals};
use crate::support::sealed::{batch, model, plans, start, take_along};
use crate::support::{Run, Sandbox};

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

/// The calls of the model.
const CALLS: &str = r#"[write("b.txt", "b\n"), command("cat b.txt >> a.txt")]"#;

/// A repository with the tasks of a batch.
fn origin_of_batch() -> Sandbox {
    let model = model(CALLS);
    let folder = |letter: char, number: usize| {
        let own = (letter == 'q').then(|| (format!("q{number}/model.py"), model.clone()));
        [(format!("{letter}{number}/a.txt"), format!("line {number}\n"))].into_iter().chain(own)
    };
    let files: Vec<(String, String)> =
        (0..8).flat_map(|n| folder('p', n)).chain((0..4).flat_map(|n| folder('q', n))).collect();
    let mut all = vec![
        ("nightly.yml", BATCH),
        ("recipe.yml", RECIPE),
        ("model.py", model.as_str()),
        (".architect.yml", "evaluation: off\n"),
    ];
    all.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    Sandbox::new(&all)
}

#[test]
fn killed_batches_end_on_another_machine_as_if_undisturbed() {
    let origin = origin_of_batch();
    let undisturbed = Sandbox::clone_of(&origin);
    let started = Instant::now();
    let run =
        Run::new(&batch(&undisturbed, &["--resume"]).output().unwrap(), undisturbed.out()).expect_code(0);
    let (expected, length) = (plans(&run), started.elapsed());
    assert!(
        expected.len() == 12
            && expected.values().all(|(digest, patch)| digest.len() == 64 && !patch.is_empty())
    );
    play("batches", others(), |random| {
        let mut here = Sandbox::clone_of(&origin);
        for signal in signals(random) {
            kill(&mut start(batch(&here, &["--resume"]), &here), signal, length, random);
            // Its disk is lost more often than not.
            if random.u8(..3) > 0 {
                let there = Sandbox::clone_of(&origin);
                take_along(&here, &there);
                here = there;
            }
        }
        let run = Run::new(&batch(&here, &["--resume"]).output().unwrap(), here.out()).expect_code(0);
        assert_eq!(plans(&run), expected);
        assert_eq!(here.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
        assert_eq!(here.git(&["status", "--porcelain"]), "");
    });
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
    play("applies", others(), |random| {
        let mut here = Sandbox::clone_of(&origin);
        for signal in signals(random) {
            let ended = kill(&mut start(apply(&here), &here), signal, length, random);
            let now = here.tree();
            let is_open = here.repo().join(".git/architect-ci-apply/journal.json").exists();
            let is_whole = now == before || now == expected;
            assert!(is_whole || is_open, "{ended}, half applied and no journal");
            // The checkout is gone on with at another path, by a user who knows nothing of the first one.
            let there = Sandbox::without_git(&[]);
            fs::remove_dir(there.repo()).unwrap();
            fs::rename(here.repo(), there.repo()).unwrap();
            here = there;
        }
        let run = Run::new(&apply(&here).output().unwrap(), here.out()).expect_code(0);
        assert_eq!(here.tree(), expected);
        assert!(run.stdout.contains(&digest.as_str().unwrap()[..12]), "{}", run.stdout);
        assert!(!here.repo().join(".git/architect-ci-apply").exists());
    });
}
