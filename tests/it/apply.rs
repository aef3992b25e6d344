//! A reviewed plan becomes real: exactly, all of it or nothing, also when the process or the disk gives out.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use workspace::{ChangeSet, DiskWorkspace, FileChange, FileState, Mode, Workspace, WorkspacePath};

use crate::support::{Run, Sandbox, tree};
use architect_ci::git::Repository;
use architect_ci::plan::{Applied, JournalFolder, Plan, Planned, recover};
use serde_json::{Value, json};

const CONFIG: &str = "workspace: { allow_delete: true }\ncommands: { dev_commands: [bash .s/1] }\n";

/// A run that plans; gives the place of its plan.json.
fn plan(sandbox: &Sandbox, turns: &[Vec<(&str, Value)>]) -> PathBuf {
    let model = sandbox.script(turns, "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let place = sandbox.path().join("plan.json");
    fs::copy(run.out.join("plan.json"), &place).unwrap();
    place
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

#[test]
fn apply_on_fresh_clone_matches_real_edits() {
    let (planned, real, fresh) = (Sandbox::new(&FILES), Sandbox::new(&FILES), Sandbox::new(&FILES));
    let place = plan(&planned, &session());
    let model = real.script(&session(), "done");
    real.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let digest =
        planned.run(&["--model", &planned.script(&session(), "done")], &[]).json("plan.json")["digest"]
            .as_str()
            .unwrap()
            .to_owned();
    // The checkout may have moved on elsewhere.
    fresh.write("other.txt", "moved on\n");
    fresh.commit("later");
    let run = apply(&fresh, &place, &["--digest", &digest]).expect_code(0);
    let mut expected = real.tree();
    expected.insert("other.txt".to_owned(), b"moved on\n".to_vec());
    assert_eq!(fresh.tree(), expected);
    let report = run.report();
    assert_eq!(
        (report["mode"].as_str(), report["status"].as_str(), report["stop_reason"].as_str()),
        (Some("apply"), Some("success"), Some("applied"))
    );
    let files: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["a.txt", "empty.txt", "gone.txt", "new/deep/b.txt"]);
    assert!(run.stdout.contains(&format!("Applied the plan {}: 4 files.", &digest[..12])), "{}", run.stdout);
    assert!(
        run.file("junit.xml").contains("modify a.txt") && run.file("comment.md").contains("Changes: 4 files")
    );
    assert!(!fresh.repo().join(".git/architect-ci-apply").exists());
    // Twice is once.
    let run = apply(&fresh, &place, &[]).expect_code(0);
    assert!(run.stdout.contains("is already applied"), "{}", run.stdout);
    assert_eq!(fresh.tree(), expected);
}

type Change<'a> = &'a dyn Fn(&Sandbox, &mut Value);

#[test]
fn apply_refuses_mismatched_plan_without_writing() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let original: Value = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let digest = original["digest"].as_str().unwrap().to_owned();
    let cases: [(&str, Change<'_>, &str); 9] = [
        (
            "a file changed",
            &|sandbox, _| sandbox.write("a.txt", "one\ny\n"),
            "the plan is stale; make a new plan: a.txt (it has changed)",
        ),
        (
            "a file is gone",
            &|sandbox, _| fs::remove_file(sandbox.repo().join("a.txt")).unwrap(),
            "a.txt (it no longer exists)",
        ),
        (
            "a file is there",
            &|sandbox, _| sandbox.write("empty.txt", "not empty"),
            "empty.txt (it already exists)",
        ),
        (
            "a folder is in the way",
            &|sandbox, _| sandbox.write("empty.txt/x", "x"),
            "empty.txt/x (it is in the way of a planned file)",
        ),
        (
            "a folder is now a link",
            &|sandbox, _| std::os::unix::fs::symlink("..", sandbox.repo().join("new")).unwrap(),
            "new/deep/b.txt (a folder above it is now a link)",
        ),
        (
            "the content was changed",
            &|_, plan| plan["files"][0]["patch"] = json!("diff"),
            "it was changed after the review",
        ),
        (
            "the digest was changed",
            &|_, plan| plan["digest"] = json!("0".repeat(64)),
            "but the plan says 0000",
        ),
        (
            "another version",
            &|_, plan| plan["schema_version"] = json!(2),
            "its schema_version is 2, but this program supports 1",
        ),
        (
            "a path leads out",
            &|_, plan| plan["files"][0]["path"] = json!("../x"),
            "ACCESS DENIED: path escapes the workspace: ../x",
        ),
    ];
    for (name, change, says) in cases {
        let fresh = Sandbox::new(&FILES);
        let mut changed = original.clone();
        change(&fresh, &mut changed);
        fs::write(&place, changed.to_string()).unwrap();
        let before = fresh.tree();
        let run = apply(&fresh, &place, &[]);
        assert!(run.stderr.contains(says), "{name}: {}", run.stderr);
        let input = ["another version", "a path leads out"].contains(&name);
        assert_eq!(run.code, if input { 3 } else { 6 }, "{name}: {}", run.stderr);
        assert_eq!(fresh.tree(), before, "{name}");
    }
    fs::write(&place, original.to_string()).unwrap();
    let run = apply(&sandbox, &place, &["--digest", &"1".repeat(64)]).expect_code(6);
    assert!(run.stderr.contains(&format!("the plan has the digest {digest}, not 1111")), "{}", run.stderr);
    assert_eq!(run.report()["stop_reason"], "not_applied");
    // Rules of the checkout hold for plans as well.
    let strict = Sandbox::new(&FILES);
    strict.write(".architect.yml", "guardrails: { protected_files: [a.txt] }\n");
    let before = strict.tree();
    let run = apply(&strict, &place, &[]).expect_code(6);
    assert!(run.stderr.contains("a.txt is a protected file"), "{}", run.stderr);
    assert_eq!(strict.tree(), before);
    apply(&sandbox, Path::new("/no/such/plan.json"), &[]).expect_code(3);
}

#[test]
fn forged_plan_cannot_write_protected_files() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    for (path, says) in [
        (".git/hooks/pre-commit", "is in Git's own folder"),
        ("sub/.GIT/config", "is in Git's own folder"),
        (".github/workflows/ci.yml", "always protected"),
        (".architect.yml", "always protected"),
    ] {
        let mut forged = original.clone();
        let added = forged.files.iter().position(|file| file.path.as_str() == "empty.txt").unwrap();
        forged.files[added].path = WorkspacePath::parse(path).unwrap();
        forged.digest = forged.computed_digest();
        fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
        let before = sandbox.tree();
        let run = apply(&sandbox, &place, &[]).expect_code(6);
        assert!(run.stderr.contains(says), "{path}: {}", run.stderr);
        assert_eq!(sandbox.tree(), before, "{path}");
        assert!(!sandbox.repo().join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn forged_plan_stays_inside_workspace_and_is_shown_in_full() {
    let sandbox = Sandbox::new(&FILES);
    let mut turns = session();
    turns.push(vec![("run_command", json!({"command": "bash .s/1"}))]);
    let place = plan(&sandbox, &turns);
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let forge = |change: &dyn Fn(&mut Plan)| {
        let mut forged = original.clone();
        change(&mut forged);
        forged.digest = forged.computed_digest();
        fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
    };
    // Folders of the checkout that are links themselves.
    std::os::unix::fs::symlink("..", sandbox.repo().join("way")).unwrap();
    std::os::unix::fs::symlink(".git", sandbox.repo().join("git")).unwrap();
    let before = sandbox.tree();
    let refused = |says: &str| {
        let run = apply(&sandbox, &place, &["--run-commands"]).expect_code(6);
        assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
        assert_eq!(sandbox.tree(), before, "{says}");
    };
    forge(&|plan| plan.commands[0].input["command"] = json!("bash .s/1; bash .s/2"));
    refused("the plan shows the command `bash .s/1`, but its input runs a different one");
    forge(&|plan| plan.commands[0].command = "ls".to_owned());
    refused("the plan shows the command `ls`");
    forge(&|plan| plan.files.push(plan.files[0].clone()));
    refused("the plan has two entries for a.txt");
    for (path, target) in [
        ("link", "/etc/passwd"),
        ("link", "../x"),
        ("new/link", "../../x"),
        ("link", "a/../../x"),
        ("link", "other.txt/../../x"),
        ("new/link", "../.git/config"),
        ("link", "way/x"),
        ("new/link", "../way"),
        ("link", "git/config"),
    ] {
        let content = FileState { content: target.as_bytes().into(), mode: Mode::Link };
        let change = FileChange::new(WorkspacePath::parse(path).unwrap(), None, Some(content));
        let changes = ChangeSet::new(change.into_iter().collect());
        let base = original.base.clone();
        let planned =
            Planned { task: "t", agent: "build", model: "m", base, actions: vec![], changes: &changes };
        fs::write(&place, serde_json::to_string(&Plan::new(planned)).unwrap()).unwrap();
        refused("a link that may lead outside of the workspace");
    }
    let content = FileState { content: b"../other.txt".as_slice().into(), mode: Mode::Link };
    let change = FileChange::new(WorkspacePath::parse("new/link").unwrap(), None, Some(content));
    let changes = ChangeSet::new(change.into_iter().collect());
    let base = original.base.clone();
    let planned = Planned { task: "t", agent: "build", model: "m", base, actions: vec![], changes: &changes };
    fs::write(&place, serde_json::to_string(&Plan::new(planned)).unwrap()).unwrap();
    apply(&sandbox, &place, &[]).expect_code(0);
    assert_eq!(sandbox.read("new/link"), "o\n");
}

/// What sets variables decides what a command does, so whoever reads a plan sees it, and nothing else is run.
#[test]
fn plan_shows_and_compares_variables_of_commands() {
    let mut files = FILES;
    let config = format!("{CONFIG}dry_run: {{ commands: record }}\n");
    files[0].1 = &config;
    let sandbox = Sandbox::new(&files);
    let env = json!({"MAKEFILES": ".s/evil.mk", "NOTE": "it's; touch b"});
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let turns = [vec![edit, ("run_command", json!({"command": "bash .s/1", "env": env}))]];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let shown = "export MAKEFILES=.s/evil.mk NOTE=\"it's; touch b\"; bash .s/1";
    for file in ["comment.md", "report.md"] {
        assert!(run.file(file).contains(shown), "{file}: {}", run.file(file));
    }
    assert!(run.file("report.html").contains("export MAKEFILES=.s/evil.mk"), "{}", run.file("report.html"));
    let place = run.out.join("plan.json");
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    assert_eq!(original.commands[0].command, shown);
    let before = sandbox.tree();
    let hidden: [&dyn Fn(&mut Plan); 4] = [
        &|plan| plan.commands[0].command = "bash .s/1".to_owned(),
        &|plan| plan.commands[0].input["env"]["PYTEST_ADDOPTS"] = json!("-p evil"),
        &|plan| plan.commands[0].input["env"] = json!({}),
        // What else the tool takes for its variables.
        &|plan| {
            plan.commands[0].command = "bash .s/1".to_owned();
            plan.commands[0].input =
                json!({"command": "bash .s/1", "env_vars": {"MAKEFLAGS": "-f .s/evil.mk"}});
        },
    ];
    for (index, hide) in hidden.iter().enumerate() {
        let mut forged = original.clone();
        hide(&mut forged);
        forged.digest = forged.computed_digest();
        let forged_place = sandbox.path().join("forged.json");
        fs::write(&forged_place, serde_json::to_string(&forged).unwrap()).unwrap();
        let refused = apply(&sandbox, &forged_place, &["--run-commands"]).expect_code(6);
        assert!(refused.stderr.contains("the plan shows the command"), "{index}: {}", refused.stderr);
        assert_eq!(sandbox.tree(), before, "{index}");
    }
    let applied = apply(&sandbox, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(applied.report()["calls"][0]["target"], shown);
    assert_eq!(sandbox.read("ran.txt"), "ran\n");
}

/// A plan whose content was forged together with its digest still has to lead where it says.
#[test]
fn apply_detects_damaged_patch_by_result_hash() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let mut forged: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    forged.files[0].after_sha256 = Some("0".repeat(64));
    forged.digest = forged.computed_digest();
    fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
    let before = sandbox.tree();
    let run = apply(&sandbox, &place, &[]).expect_code(6);
    assert!(run.stderr.contains("the result for a.txt does not match the plan"), "{}", run.stderr);
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn apply_runs_commands_on_request_and_gates() {
    let config = format!(
        "{CONFIG}guardrails: {{ quality_gates: [{{ name: ran, command: test -e ran.txt }}] }}\ndry_run: {{ commands: record }}\n"
    );
    let mut files = FILES;
    files[0].1 = &config;
    let sandbox = Sandbox::new(&files);
    let mut turns = session();
    turns.push(vec![("run_command", json!({"command": "bash .s/1", "timeout": 20}))]);
    // In the dry run the gate fails, because commands are recorded alone.
    let model = sandbox.script(&turns, "done");
    let path = model.trim_start_matches("replay::");
    let text = fs::read_to_string(path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    fs::write(path, format!("{text}{last}\n{last}\n")).unwrap();
    let run = sandbox.run(&["--model", &model], &[]).expect_code(1);
    let place = run.out.join("plan.json");
    let without = apply(&sandbox, &place, &[]).expect_code(1);
    assert_eq!(without.report()["stop_reason"], "gates_failed");
    assert_eq!(without.report()["gates"][0]["predicted"], false);
    assert_eq!(sandbox.read("a.txt"), "two\nx\n", "the files are applied all the same");
    let fresh = Sandbox::new(&files);
    let with = apply(&fresh, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(fresh.read("ran.txt"), "ran\n");
    assert_eq!(with.report()["calls"][0]["target"], "bash .s/1");
    assert!(with.report()["files"].to_string().contains("ran.txt"));
    // A command that is no longer allowed does not run.
    let stricter = Sandbox::new(&files);
    stricter.write(".architect.yml", "guardrails: { blocked_commands: ['^bash'] }\n");
    let run = apply(&stricter, &place, &["--run-commands"]).expect_code(1);
    assert!(run.report()["guardrails"][0]["reason"].as_str().unwrap().contains("blocked_commands"));
    assert!(!stricter.repo().join("ran.txt").exists());
}

#[test]
fn apply_does_not_repeat_commands_whose_changes_are_planned() {
    let sandbox = Sandbox::new(&[("notes.txt", "zero\n")]);
    let append = json!({"command": "echo one >> notes.txt && ln -s notes.txt link.txt"});
    let place = plan(&sandbox, &[vec![("run_command", append)]]);
    let written: Value = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    assert_eq!(written["commands"][0]["has_run"], true);
    let run = apply(&sandbox, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(sandbox.read("notes.txt"), "zero\none\n");
    assert_eq!(run.report()["calls"], json!([]), "nothing was left to run");
}

fn state(content: &[u8], mode: Mode) -> FileState {
    FileState { content: content.into(), mode }
}

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
    let changes = changes(disk);
    Plan::new(Planned { task: "t", agent: "a", model: "m", base: None, actions: vec![], changes: &changes })
}

pub fn journal(disk: &DiskWorkspace) -> JournalFolder {
    let repository = Repository::find(disk.path(), None).expect("a usable repository");
    JournalFolder::of(disk.path(), repository.as_ref(), &std::collections::BTreeMap::new())
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
    command.args(["--exact", "apply::dies", "--ignored", "--nocapture", "--test-threads=1"]);
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
        .args([env!("CARGO_BIN_EXE_architect-ci"), "apply"])
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

#[test]
fn apply_refuses_plan_of_unfinished_run() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let write = |path: &str| vec![("write_file", json!({"path": path, "content": "x\n"}))];
    let model = sandbox.script(&[write("b.txt"), write("c.txt"), write("d.txt")], "Done.");
    let run = sandbox.run(&["--model", &model, "--mode", "dry-run", "--max-steps", "2"], &[]).expect_code(2);
    let report = run.report();
    assert_eq!(report["plan"]["incomplete"], "the step limit was reached");
    assert!(!run.file("comment.md").contains("apply plan.json"), "{}", run.file("comment.md"));
    let refused = apply(&sandbox, &run.out.join("plan.json"), &[]).expect_code(6);
    assert!(
        refused.stderr.contains("the plan is incomplete: the step limit was reached"),
        "{}",
        refused.stderr
    );
    assert!(!sandbox.repo().join("b.txt").exists());
    // Nobody can strike it out.
    let mut plan: Value = serde_json::from_str(&run.file("plan.json")).unwrap();
    plan.as_object_mut().unwrap().remove("incomplete");
    let forged = sandbox.path().join("forged.json");
    fs::write(&forged, plan.to_string()).unwrap();
    let refused = apply(&sandbox, &forged, &[]).expect_code(6);
    assert!(refused.stderr.contains("was changed after the review"), "{}", refused.stderr);
}

#[test]
fn apply_knows_whether_checkout_was_dirty() {
    let files: Vec<(String, String)> = (0..200).map(|n| (format!("f{n}.txt"), "one\n".to_owned())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = Sandbox::new(&files);
    let edits: Vec<(&str, Value)> =
        (0..200).map(|n| ("write_file", json!({"path": format!("f{n}.txt"), "content": "two\n"}))).collect();
    let plan = plan(&sandbox, &[edits]);
    for dirty in [false, false, false, true] {
        sandbox.git(&["checkout", "--quiet", "--force", "."]);
        if dirty {
            sandbox.write("other.txt", "x");
            sandbox.git(&["add", "--intent-to-add", "other.txt"]);
        }
        let run = apply(&sandbox, &plan, &[]).expect_code(0);
        assert_eq!(run.report()["base"]["dirty"], dirty);
    }
}
