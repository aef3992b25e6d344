//! Batches that are killed, stopped or started twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{ends, slow, worktrees};
use crate::support::wait::{wait_until, wait_until_or};
use crate::support::{Run, Sandbox};
use serde_json::Value;

/// Lines of the journal of a kind: the tasks' ids.
fn noted(out: &Path, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| line["type"] == kind)
        .map(|line| line["id"].as_str().or(line["report"]["id"].as_str()).unwrap().to_owned())
        .collect()
}

#[test]
fn batch_resumes_after_kills_without_repeating_tasks() {
    let sandbox = Sandbox::new(&[]);
    let log = slow(&sandbox, 24);
    let out = sandbox.out();
    for kills in 1..=3 {
        let mut child = sandbox
            .command(&["batch", "batch.yml", "--resume", "--jobs", "4", "--out", out.to_str().unwrap()])
            .current_dir(sandbox.repo())
            .stdout(Stdio::null())
            .stderr(fs::File::create(sandbox.path().join("log")).expect("a log"))
            .spawn()
            .expect("the binary runs");
        let log = || fs::read_to_string(sandbox.path().join("log")).unwrap();
        wait_until_or(|| format!("tasks end: {}", log()), || noted(&out, "ended").len() >= kills * 5);
        child.kill().expect("a kill");
        child.wait().expect("an end");
    }
    let before: BTreeSet<String> = noted(&out, "ended").into_iter().collect();
    let begun_before = noted(&out, "begun").len();
    assert!(before.len() >= 15 && before.len() < 24, "{before:?}");
    let run = sandbox.batch(&["--resume"]).expect_code(0);
    let begun: Vec<String> = noted(&out, "begun").split_off(begun_before);
    assert!(begun.iter().all(|id| !before.contains(id)), "{begun:?} of {before:?}");
    assert_eq!(begun.len(), 24 - before.len());
    assert_eq!(ends(&run.json("batch.json")).values().filter(|end| *end == "success").count(), 24);
    assert_eq!(worktrees(&sandbox), 0);
    assert!(!out.join(".worktrees").exists());
    // What had ended was worked on once.
    let worked = fs::read_to_string(log).unwrap();
    for id in before {
        let times = worked.lines().filter(|line| format!("t{line}") == id).count();
        assert!(times >= 1, "{id}");
    }
    let ended = noted(&out, "ended");
    assert_eq!(ended.len(), ended.iter().collect::<BTreeSet<_>>().len());
    // Once more there is nothing to do.
    sandbox.batch(&["--resume"]).expect_code(0);
    assert_eq!(noted(&out, "ended").len(), 24);
}

#[test]
fn batch_does_again_whose_results_are_gone() {
    let sandbox = Sandbox::new(&[]);
    slow(&sandbox, 3);
    let out = sandbox.out();
    sandbox.batch(&["--mode", "dry-run"]).expect_code(0);
    fs::remove_dir_all(out.join("tasks/t1")).unwrap();
    fs::remove_file(out.join("tasks/t2/plan.json")).unwrap();
    let begun = noted(&out, "begun").len();
    // A start that only delivers does no work, and is not green.
    let held = sandbox.command(&["batch", "deliver", "--out", out.to_str().unwrap()]);
    let held = { held }.current_dir(sandbox.repo()).output().expect("the binary runs");
    let report = Run::new(&held, out.clone()).expect_code(2).json("batch.json");
    assert_eq!(ends(&report).values().filter(|end| *end == "not_run").count(), 2);
    let told = report["tasks"][1]["notices"][0]["message"].as_str().unwrap();
    assert!(told.starts_with("its results in tasks/t1 were removed"), "{told}");
    let run = sandbox.batch(&["--mode", "dry-run", "--resume"]).expect_code(0);
    assert_eq!(noted(&out, "begun")[begun..].iter().collect::<BTreeSet<_>>().len(), 2);
    assert!(out.join("tasks/t1/report.json").exists() && out.join("tasks/t2/plan.json").exists());
    assert_eq!(run.json("batch.json")["tasks"][1]["attempts"], 1);
}

#[test]
fn batch_signal_writes_report_and_restarts_begun_tasks() {
    let sandbox = Sandbox::new(&[]);
    slow(&sandbox, 40);
    let out = sandbox.out();
    let child = sandbox
        .command(&["batch", "batch.yml", "--jobs", "2", "--out", out.to_str().unwrap()])
        .current_dir(sandbox.repo())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    wait_until("three tasks end", || noted(&out, "ended").len() >= 3);
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    let run = Run::new(&output, sandbox.out()).expect_code(143);
    let report = run.json("batch.json");
    assert_eq!(ends(&report).len(), 40);
    assert!(ends(&report).values().any(|end| end == "not_run"));
    assert_eq!(worktrees(&sandbox), 0);
    let run = sandbox.batch(&["--resume"]).expect_code(0);
    assert!(ends(&run.json("batch.json")).values().all(|end| end == "success"));
}

#[test]
fn batch_locks_folder_and_refuses_other_batch() {
    let sandbox = Sandbox::new(&[]);
    slow(&sandbox, 30);
    let out = sandbox.out();
    let mut child = sandbox
        .command(&["batch", "batch.yml", "--jobs", "1", "--out", out.to_str().unwrap()])
        .current_dir(sandbox.repo())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    wait_until("a task begins", || !noted(&out, "begun").is_empty());
    let run = sandbox.batch(&[]).expect_code(3);
    assert!(run.stderr.contains("another batch is using"), "{}", run.stderr);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let original = sandbox.read("batch.yml");
    let other = original.replace("t{n}", "u{n}");
    sandbox.write("batch.yml", &other);
    let run = sandbox.batch(&["--resume"]).expect_code(3);
    assert!(run.stderr.contains("belongs to a different batch"), "{}", run.stderr);
    // What somebody else has written into the list of tasks has no effect.
    let list = out.join("manifest.json");
    let tampered = fs::read_to_string(&list).unwrap().replace("recipe.yml", "other.yml");
    fs::write(&list, tampered).unwrap();
    sandbox.write("batch.yml", &original);
    let run = sandbox.batch(&["--resume"]).expect_code(3);
    assert!(run.stderr.contains("was changed after this user's batch wrote it"), "{}", run.stderr);
    sandbox.write("batch.yml", other);
    // Anew it is the new one, of a commit that has it.
    sandbox.commit("other names");
    let run = sandbox.batch(&["--jobs", "8"]).expect_code(0);
    assert!(ends(&run.json("batch.json")).keys().all(|id| id.starts_with('u')));
}
