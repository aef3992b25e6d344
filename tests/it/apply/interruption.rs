//! All of a plan or nothing of it, also when the process is killed or the disk is full.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{FILES, apply, journal, plan, plan_of, session, state};
use crate::support::program::program;
use crate::support::{Sandbox, tree};
use architect_ci::plan::{Applied, Plan, recover};
use serde_json::json;
use workspace::{ChangeSet, DiskWorkspace, FileChange, FileState, Mode, Workspace, WorkspacePath};

/// Everything that can happen to a file, in one plan.
fn changes(disk: &DiskWorkspace) -> ChangeSet {
    let after: [(&str, Option<FileState>); 10] = [
        ("a.txt", Some(state(b"two\nx\n", Mode::Regular))),
        ("bin", Some(state(b"\0\xff\0", Mode::Regular))),
        ("gone.txt", None),
        ("link", Some(state(b"other.txt", Mode::Link))),
        ("tool", Some(state(b"#!/bin/sh\n", Mode::Executable))),
        ("file", None),
        ("file/inside.txt", Some(state(b"i\n", Mode::Regular))),
        ("folder/one.txt", None),
        ("folder", Some(state(b"a file now\n", Mode::Regular))),
        ("was-link", Some(state(b"a file now\n", Mode::Regular))),
    ];
    let change = |(path, after): (&str, Option<FileState>)| {
        let path = WorkspacePath::parse(path).unwrap();
        let before = disk.state_of(&path).unwrap();
        FileChange::new(path, before, after)
    };
    ChangeSet::new(after.into_iter().filter_map(change).collect())
}

fn crash_site() -> Sandbox {
    let sandbox = Sandbox::new(&[
        ("a.txt", "one\nx\n"),
        ("gone.txt", "g\n"),
        ("other.txt", "o\n"),
        ("tool", "#!/bin/sh\n"),
        ("file", "f\n"),
        ("folder/one.txt", "1\n"),
    ]);
    std::os::unix::fs::symlink("a.txt", sandbox.repo().join("was-link")).unwrap();
    sandbox.commit("with a link");
    sandbox
}

fn crash_plan(disk: &DiskWorkspace) -> Plan {
    plan_of(&changes(disk), None)
}

/// Not a test by itself: the process that dies, started by the test below.
#[test]
#[ignore = "run by apply_killed_at_any_step_is_all_or_nothing"]
fn dies() {
    let (Ok(root), Ok(plan), Ok(at)) =
        (std::env::var("DIES_IN"), std::env::var("DIES_WITH"), std::env::var("DIES_AT"))
    else {
        return;
    };
    let (at, recovering): (usize, bool) = (at.parse().unwrap(), std::env::var("DIES_RECOVERING").is_ok());
    let disk = DiskWorkspace::open(Path::new(&root)).unwrap();
    let steps = AtomicUsize::new(0);
    let observe = |_| {
        if steps.fetch_add(1, Ordering::Relaxed) == at {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    };
    let journal = journal(&disk);
    if recovering {
        recover(&disk, &journal, |_| Ok(()), &observe).expect("recovers");
    } else {
        let plan: Plan = serde_json::from_str(&fs::read_to_string(plan).unwrap()).unwrap();
        plan.check(&disk, None, |_| Ok(()))
            .expect("it fits")
            .apply(&disk, &journal, &observe)
            .expect("it is applied");
    }
}

/// Whether the process was killed at that step (and did not come to its end before).
fn die(sandbox: &Sandbox, plan: &Path, at: usize, recovering: bool) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "apply::interruption::dies", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("DIES_IN", sandbox.repo()).env("DIES_WITH", plan).env("DIES_AT", at.to_string());
    if recovering {
        command.env("DIES_RECOVERING", "1");
    }
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the test runs itself");
    assert!(status.success() || status.signal() == Some(9), "{status:?}");
    status.signal() == Some(9)
}

#[test]
fn apply_killed_at_any_step_is_all_or_nothing() {
    let before = crash_site().tree();
    let mut after = None;
    let mut steps = 0;
    loop {
        let sandbox = crash_site();
        let disk = DiskWorkspace::open(&sandbox.repo()).unwrap();
        let place = sandbox.path().join("plan.json");
        fs::write(&place, serde_json::to_string(&crash_plan(&disk)).unwrap()).unwrap();
        let killed = die(&sandbox, &place, steps, false);
        if !killed {
            after = Some(sandbox.tree());
        } else if steps % 3 == 0 {
            // The one who comes to put things back dies as well, at every other step.
            let mut again = 0;
            while die(&sandbox, &place, again, true) {
                again += 2;
            }
        }
        // The next run that may change anything; a dry run would only say so.
        let model = sandbox.script(&[], "nothing to do");
        if sandbox.repo().join(".git/architect-ci-apply/journal.json").exists() && steps % 5 == 0 {
            let half = sandbox.tree();
            let run = sandbox.run(&["--model", &model], &[]).expect_code(6);
            assert!(
                run.stderr.contains("an earlier apply to this checkout was interrupted"),
                "{}",
                run.stderr
            );
            assert!(run.stderr.contains("architect-ci run --mode yolo"), "{}", run.stderr);
            assert_eq!(sandbox.tree(), half, "killed at step {steps}: a dry run changes nothing");
        }
        sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
        let now = sandbox.tree();
        if let Some(after) = &after {
            assert_eq!(now, *after);
            assert!(after.contains_key("file/inside.txt") && after["folder"] == b"a file now\n");
            break;
        }
        // The last steps come after the plan is done.
        let done = now.get("folder").is_some_and(|text| text == b"a file now\n");
        if done {
            assert_eq!(now["a.txt"], b"two\nx\n", "killed at step {steps}: all of it");
            assert!(!now.contains_key("gone.txt") && now.contains_key("bin"), "killed at step {steps}");
        } else {
            assert_eq!(now, before, "killed at step {steps}: nothing of it");
        }
        assert!(!sandbox.repo().join(".git/architect-ci-apply").exists(), "killed at step {steps}");
        assert!(sandbox.repo().join("folder").exists());
        steps += 1;
    }
    assert!(steps > 20, "{steps}");
}

#[test]
fn apply_on_full_disk_changes_nothing() {
    let config = "context: { max_context_tokens: 10000000 }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n"), ("b.txt", "b\n")]);
    let large = "x".repeat(900_000);
    let place = plan(
        &sandbox,
        &[
            vec![("write_file", json!({"path": "a.txt", "content": "two\n"}))],
            vec![("write_file", json!({"path": "large.txt", "content": large}))],
        ],
    );
    // A checkout on a file system of 800 kB, in a mount namespace of its own.
    let script = "mkdir \"$1/small\" && mount -t tmpfs -o size=800k none \"$1/small\" && cp -a \"$1/repo/.\" \"$1/small/\" && shift && \"$@\"; code=$?; \
                  (cd small && cat a.txt && ls -A .git | grep architect; ls) ; exit $code";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(sandbox.path())
        .args([program(), "apply"])
        .arg(&place)
        .args(["--workspace", "small", "--out", "applied", "--quiet"])
        .current_dir(sandbox.path())
        .env("CI", "true")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .expect("unshare runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(6), "{stdout}\n{stderr}");
    assert!(stderr.contains("nothing was written") && stderr.contains("No space left on device"), "{stderr}");
    assert!(stdout.ends_with("one\na.txt\nb.txt\n"), "{stdout}");
}

#[test]
fn apply_locks_out_second_run_and_refuses_planted_journal() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let folder = sandbox.repo().join(".git/architect-ci-apply");
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let run = apply(&sandbox, &place, &[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert!(run.stderr.contains("another apply is running"), "{}", run.stderr);
    drop(lock);
    for (path, says) in
        [(".github/workflows/evil.yml", "always protected"), (".git/hooks/pre-commit", "Git's own folder")]
    {
        let entry = json!([{"path": path, "before": ["100644", "0"], "comes": false, "folders": []}]);
        fs::write(folder.join("journal.json"), entry.to_string()).unwrap();
        fs::write(folder.join("old-0"), "planted\n").unwrap();
        let run = apply(&sandbox, &place, &[]);
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!sandbox.repo().join(path).exists());
    }
    assert!(!sandbox.repo().join(".github").exists());
    let disk = DiskWorkspace::open(&sandbox.repo()).unwrap();
    let journal = journal(&disk);
    assert!(recover(&disk, &journal, |path| Err(path.to_string().into()), &|_| {}).is_err());
    // Content that is not what was saved is not put in place.
    let entry =
        json!([{"path": "a.txt", "before": ["100644", "0".repeat(64)], "comes": false, "folders": []}]);
    fs::write(folder.join("journal.json"), entry.to_string()).unwrap();
    let error = recover(&disk, &journal, |_| Ok(()), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("its saved content was changed or is missing"), "{error}");
    assert_eq!(sandbox.read("a.txt"), "one\nx\n");
    fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(recover(&disk, &journal, |_| Ok(()), &|_| {}), Ok(false)));
    let plan: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let checked = plan.check(&disk, None, |_| Ok(())).expect("it fits");
    assert!(
        matches!(checked.apply(&disk, &journal, &|_| {}), Ok(Applied::Done(changes)) if changes.len() == 4)
    );
    assert_eq!(tree(&sandbox.repo())["a.txt"], b"two\nx\n");
    let _: &dyn Workspace = &workspace::TrackedWorkspace::new(disk.into());
}
