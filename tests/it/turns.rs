//! The bench of turns: its tasks are complete, and it notices what it is there to notice.
#![cfg(unix)]

use crate::support::program::program;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BENCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/turns");

/// Copies the small tasks, with one text of one file replaced. Returns their folder.
fn tasks(file: &str, old: &str, new: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(BENCH).join("fixture"), folder.path());
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{file} has {old:?} once");
    fs::write(path, text.replace(old, new)).unwrap();
    folder
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Plays one of the small tasks. Returns whether the bench is content, and what it printed.
fn play(tasks: &Path, name: &str) -> (bool, String) {
    let target = tempfile::tempdir().unwrap();
    let done = Command::new("python3")
        .arg(PathBuf::from(BENCH).join("run.py"))
        .args(["--check", "--program", program(), name, "--tasks"])
        .arg(tasks)
        .env("CARGO_TARGET_DIR", target.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.success(), text(&done.stdout) + &text(&done.stderr))
}

#[test]
fn turns_are_counted_and_results_checked() {
    for (name, requests, calls) in [("rename", "3", "2"), ("bug", "4", "3")] {
        let (content, said) = play(&Path::new(BENCH).join("fixture"), name);
        assert!(content, "{said}");
        let row = said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{said}"));
        let numbers: Vec<&str> = row.split_whitespace().filter(|word| word.parse::<u8>().is_ok()).collect();
        assert_eq!(numbers[..2], [requests, calls], "{row}");
    }
}

#[test]
fn turns_bench_refuses_what_does_not_count() {
    let faults = [
        // More than is allowed, by a limit and beside another agent.
        ("rename", "rename.toml", "typed = 300", "typed = 30", "rename: 205 typed, of 30 allowed"),
        ("rename", "rename.toml", "calls = 2, sent", "calls = 1, sent", "rename: 2 calls, of 1 allowed"),
        // A line, and a file, that no request has shown.
        (
            "bug",
            "bug.toml",
            "{ read_file = { path = \"shop/till.py\" } }",
            "{ list_files = {} }",
            "turn 2 types '    for item in basket:' in edit_file",
        ),
        (
            "bug",
            "bug.toml",
            "read_file = { path = \"shop/till.py\" }",
            "read_file = { path = \"shop/secret.py\" }",
            "turn 1 types 'shop/secret.py' in read_file",
        ),
        // A call that fails, a wrong result, a session that is too short, a source that is not what it was.
        (
            "rename",
            "rename.toml",
            "python3 -m unittest\" }",
            "python3 -m unittest none\" }",
            "calls failed: run_command",
        ),
        (
            "rename",
            "rename.toml",
            "replacement = \"add(\"",
            "replacement = \"insert(\"",
            "the result is wrong",
        ),
        (
            "rename",
            "rename.toml",
            "min_files = 5",
            "min_files = 5_000",
            "the source has 6 files, and 5000 were promised",
        ),
    ];
    for (name, file, old, new, expected) in faults {
        // The check of this project is what its task asks for.
        let tasks = tasks(file, old, new);
        if expected == "the result is wrong" {
            let path = tasks.path().join(file);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replace("! grep -rnw put", "grep -rnw add")).unwrap();
        }
        let (content, said) = play(tasks.path(), name);
        assert!(!content && said.contains(expected), "{old} → {new}: {said}");
    }
}

/// The tasks on real projects need a network and are not played here.
#[test]
fn turns_bench_covers_what_it_promises() {
    let script = "import json, run; print(json.dumps([dict(vars(task), allowed=task.allowed()) for task in \
                  map(run.Task.read, sorted((run.HERE / 'tasks').glob('*.toml')))]))";
    let done = Command::new("python3")
        .args(["-c", script])
        .current_dir(BENCH)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let tasks: Vec<serde_json::Value> = serde_json::from_slice(&done.stdout).unwrap();
    let all = |key: &str| tasks.iter().map(|task| task[key].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert!(tasks.len() >= 8 && all("kind").len() >= 4 && all("language").len() >= 4, "{tasks:#?}");
    assert!(tasks.iter().any(|task| task["min_files"].as_u64() >= Some(5_000)));
    for task in &tasks {
        let name = &task["name"];
        assert!(task["source"]["sha256"].as_str().is_some_and(|hash| hash.len() == 64), "{name}");
        for limit in ["requests", "calls", "typed", "first"] {
            assert!(task["allowed"][limit].is_u64(), "{name} has no limit of {limit}");
        }
        assert!(task["allowed"]["first"].as_u64() <= Some(12_000), "{name}");
        let turns = task["turns"].as_array().unwrap();
        assert!(turns.last().unwrap()["text"].is_string(), "{name} has no end");
    }
    let rename = tasks.iter().find(|task| task["name"] == "django-rename").unwrap();
    let allowed = &rename["allowed"];
    assert!(allowed["calls"].as_u64() <= Some(4) && allowed["typed"].as_u64() <= Some(1_000), "{allowed}");
}
