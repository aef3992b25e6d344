//! Git's records of worktrees, and the lock on them, where another process was killed or hangs.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{ends, slow, worktrees};
use crate::support::Sandbox;
use crate::support::wait::{wait_until, wait_until_or};

/// What a batch may take after its end, in a debug build beside other tests.
const MOST: Duration = Duration::from_secs(20);

fn start(sandbox: &Sandbox, more: &[&str]) -> Child {
    let out = sandbox.out();
    let args = ["batch", "batch.yml", "--out", out.to_str().unwrap()];
    let mut command = sandbox.command(&[&args[..], more].concat());
    command.current_dir(sandbox.repo()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary runs")
}

/// Waits for the end of a process, and kills one that does not end.
fn code(mut child: Child) -> Option<i32> {
    let since = Instant::now();
    while since.elapsed() < MOST {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("killed");
    child.wait().expect("an end").code()
}

#[test]
fn batch_ends_although_another_process_keeps_lock_on_worktrees() {
    let sandbox = Sandbox::new(&[]);
    slow(&sandbox, 2);
    let lock = File::create(sandbox.repo().join(".git/architect-ci-worktrees.lock")).expect("a file");
    lock.lock().expect("a lock");
    assert_eq!(code(start(&sandbox, &["--timeout", "2"])), Some(5));
    let child = start(&sandbox, &["--resume"]);
    let journal = || fs::read_to_string(sandbox.out().join("journal.jsonl")).unwrap_or_default();
    wait_until_or(
        || format!("the batch starts again: {}", journal()),
        || journal().matches("\"type\":\"batch\"").count() > 1,
    );
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    assert_eq!(code(child), Some(143));
    lock.unlock().expect("unlocked");
    sandbox.batch(&["--resume"]).expect_code(0);
}

#[test]
fn batch_clears_records_that_killed_git_left() {
    let sandbox = Sandbox::new(&[]);
    let log = slow(&sandbox, 4);
    // Another batch is killed before this one begins, and a third one while it is at work.
    let records = sandbox.repo().join(".git/worktrees");
    let half_made = |name: &str| {
        let out = sandbox.path().join(format!("{name}-out"));
        fs::create_dir_all(out.join(".worktrees").join(name)).unwrap();
        fs::write(out.join("journal.jsonl"), "").unwrap();
        let record = records.join(name);
        fs::create_dir_all(&record).unwrap();
        fs::write(record.join("locked"), "initializing").unwrap();
        fs::write(record.join("gitdir"), format!("{}/.worktrees/{name}/.git\n", out.display())).unwrap();
        fs::write(record.join("HEAD"), "0000000000000000000000000000000000000000\n").unwrap();
        fs::write(record.join("commondir"), "").unwrap();
    };
    half_made("t0");
    let child = start(&sandbox, &["--jobs", "1"]);
    wait_until("a task gets on", || log.exists());
    half_made("t9");
    assert_eq!(child.wait_with_output().expect("an end").status.code(), Some(0));
    let report = fs::read_to_string(sandbox.out().join("batch.json")).expect("a report");
    let ends = ends(&serde_json::from_str(&report).expect("JSON"));
    assert!(ends.len() == 4 && ends.values().all(|end| end == "success"), "{ends:?}");
    assert_eq!(worktrees(&sandbox), 0);
    sandbox.git(&["gc", "--quiet"]);
}
