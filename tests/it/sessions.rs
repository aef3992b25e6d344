//! Runs that were cut off go on with their conversation; sessions are listed, shown and cleared away.
#![cfg(unix)]

use std::fs;
use std::process::Stdio;

use crate::support::wait::wait_until_or;
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

/// Writes three files, one a turn; before the third it waits for a file to appear.
const MODEL: &str = r#"
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    done = [m for m in asked["messages"] if m["role"] == "tool" and m["success"]]
    if len(done) == 2:
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
    if len(done) < 3:
        path = ["a.txt", "b.txt", "a.txt"][len(done)]
        call = {"name": "write_file", "arguments": {"path": path, "content": f"{path} {len(done)}\n"}}
        reply = {"calls": [call]}
    else:
        roles = " ".join(m["role"][0] for m in asked["messages"])
        reply = {"text": f"Said: {roles}"}
    reply["usage"] = {"input": 100, "output": 10}
    print(json.dumps(reply), flush=True)
"#;

fn program(sandbox: &Sandbox, args: &[&str]) -> Run {
    let output = sandbox.command(args).output().expect("the binary runs");
    Run::new(&output, sandbox.out())
}

/// Starts a run and kills it where it waits.
fn interrupted(mode: &str) -> Sandbox {
    let sandbox =
        Sandbox::new(&[("model.py", MODEL), ("a.txt", "before\n"), (".architect.yml", "evaluation: off\n")]);
    let go = sandbox.path().join("go");
    let model = format!("exec::python3 model.py {}", go.display());
    let out = sandbox.out();
    let args = ["--mode", mode, "--task", "Write three files", "--model", &model];
    let mut child = sandbox
        .run_command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let transcript = || fs::read_to_string(sandbox.out().join("transcript.jsonl")).unwrap_or_default();
    wait_until_or(
        || format!("two calls: {}", transcript()),
        || transcript().matches("\"type\":\"call\"").count() >= 2 && out.join("session.json").exists(),
    );
    let listed =
        program(&sandbox, &["sessions", "list", "--in", sandbox.path().to_str().unwrap()]).expect_code(0);
    assert!(
        listed.stdout.contains("running") && listed.stdout.contains("Write three files"),
        "{}",
        listed.stdout
    );
    let refused = program(&sandbox, &["sessions", "resume", out.to_str().unwrap()]).expect_code(3);
    assert!(refused.stderr.contains("is in use"), "{}", refused.stderr);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    fs::write(go, "").unwrap();
    sandbox
}

#[test]
fn session_resumes_killed_run() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = interrupted(mode);
        let folder = sandbox.path().to_str().unwrap().to_owned();
        let listed = program(&sandbox, &["sessions", "list", "--in", &folder]).expect_code(0);
        assert!(listed.stdout.contains("unfinished"), "{}", listed.stdout);
        let id = &listed.stdout[..8];
        let shown = program(&sandbox, &["sessions", "show", id, "--in", &folder]).expect_code(0);
        assert!(shown.stdout.contains("  1  write_file a.txt\n  2  write_file b.txt\n"), "{}", shown.stdout);
        let run = program(&sandbox, &["sessions", "resume", id, "--in", &folder]).expect_code(0);
        // The task, two turns with their results, that it goes on, and the third.
        assert_eq!(run.stdout.trim(), "Said: u a t a t u a t", "{mode}: {}", run.stderr);
        let report = run.report();
        assert!(report["id"].as_str().unwrap().starts_with(id));
        let steps: Vec<u64> =
            report["steps"].as_array().unwrap().iter().map(|step| step["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, [1, 2, 3, 4]);
        assert_eq!(report["usage"]["input"], 400);
        assert_eq!(report["calls"].as_array().unwrap().len(), 3);
        let files: Vec<(&str, &str)> = report["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| (file["path"].as_str().unwrap(), file["diff"].as_str().unwrap()))
            .collect();
        assert_eq!(files.len(), 2, "{mode}: {files:?}");
        assert_eq!(files[0], ("a.txt", "@@ -1 +1 @@\n-before\n+a.txt 2\n"));
        if mode == "dry-run" {
            assert_eq!(sandbox.read("a.txt"), "before\n");
            assert_eq!(report["plan"]["actions"].as_array().unwrap().len(), 3);
        } else {
            sandbox.git(&["checkout", "--quiet", "."]);
            fs::remove_file(sandbox.repo().join("b.txt")).unwrap();
        }
        sandbox.git(&["apply", "--check", run.out.join("plan.patch").to_str().unwrap()]);
        // The transcript is one, and plays the whole session.
        let transcript = run.file("transcript.jsonl");
        assert_eq!(
            (
                transcript.matches("\"type\":\"session\"").count(),
                transcript.matches("\"type\":\"end\"").count()
            ),
            (1, 1)
        );
        let times: Vec<u64> = transcript
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["at_ms"].as_u64().unwrap())
            .collect();
        assert!(times.is_sorted(), "{times:?}");
        let again = sandbox.path().join("again");
        let (repo, model) =
            (sandbox.repo(), format!("replay::{}", run.out.join("transcript.jsonl").display()));
        let args = [
            "run",
            "--task",
            "x",
            "--model",
            &model,
            "--workspace",
            repo.to_str().unwrap(),
            "--out",
            again.to_str().unwrap(),
        ];
        program(&sandbox, &args).expect_code(0);
        assert_eq!(
            fs::read(again.join("plan.patch")).unwrap(),
            fs::read(run.out.join("plan.patch")).unwrap()
        );
        let over = program(&sandbox, &["sessions", "resume", id, "--in", &folder]).expect_code(3);
        assert!(over.stderr.contains("succeeded"), "{}", over.stderr);
        // The log of changes holds files as they are; the seals that stay hold none.
        let state = fs::read_dir(sandbox.path().join("state/architect-ci/sessions")).expect("the seals");
        let left: Vec<_> = state.map(|entry| entry.unwrap().path()).collect();
        assert!(
            !left.is_empty() && left.iter().all(|path| path.extension() != Some("changes".as_ref())),
            "{left:?}"
        );
    }
}

#[test]
fn session_at_limit_resumes_with_new_limit() {
    let sandbox = Sandbox::new(&[("model.py", MODEL)]);
    fs::write(sandbox.path().join("go"), "").unwrap();
    let model = format!("exec::python3 model.py {}", sandbox.path().join("go").display());
    let run = sandbox.run(&["--mode", "yolo", "--model", &model, "--max-steps", "2"], &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "max_steps");
    let out = sandbox.out();
    let run =
        program(&sandbox, &["sessions", "resume", out.to_str().unwrap(), "--max-steps", "5"]).expect_code(0);
    assert_eq!(run.report()["status"], "success");
    assert_eq!(sandbox.read("a.txt"), "a.txt 2\n");
    // What somebody else has written has no effect.
    let sandbox = interrupted("dry-run");
    let file = sandbox.out().join("session.json");
    let text = fs::read_to_string(&file).unwrap();
    for other in [text.replace("dry-run", "yolo"), text.replace(&text[12..20], "00000000")] {
        assert_ne!(other, text);
        fs::write(&file, other).unwrap();
        let refused =
            program(&sandbox, &["sessions", "resume", sandbox.out().to_str().unwrap()]).expect_code(3);
        assert!(refused.stderr.contains("was changed after this user's run wrote it"), "{}", refused.stderr);
    }
    // Another commit is another checkout.
    let sandbox = interrupted("yolo");
    sandbox.commit("something else");
    let moved = program(&sandbox, &["sessions", "resume", sandbox.out().to_str().unwrap()]).expect_code(3);
    assert!(moved.stderr.contains("check out that commit to resume"), "{}", moved.stderr);
}

#[test]
fn session_with_forged_transcript_is_not_resumed() {
    let sandbox = interrupted("dry-run");
    let path = sandbox.out().join("transcript.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let resume = || program(&sandbox, &["sessions", "resume", sandbox.out().to_str().unwrap()]);
    let first = text.split_inclusive('\n').take(2).collect::<String>();
    for forged in
        [text.replace("\"input\":100", "\"input\":0"), text.replace("a.txt", "c.txt"), first, String::new()]
    {
        assert_ne!(forged, text);
        fs::write(&path, forged).unwrap();
        let refused = resume().expect_code(3);
        assert!(refused.stderr.contains("was changed after this user's run wrote it"), "{}", refused.stderr);
    }
    // What somebody has added is no part of it.
    let reply = text.lines().find(|line| line.contains("\"type\":\"reply\"")).unwrap();
    fs::write(&path, format!("{text}{}\n", reply.replace("\"step\":1", "\"step\":9"))).unwrap();
    let run = resume().expect_code(0);
    assert_eq!(run.stdout.trim(), "Said: u a t a t u a t");
    assert_eq!(run.report()["usage"]["input"], 400);
}

#[test]
fn session_resumes_with_the_commands_that_were_run() {
    let model = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    told = [m["content"] for m in asked["messages"] if m["role"] == "tool"]
    call = {"name": "run_command", "arguments": {"command": f"echo number {len(told)}"}}
    print(json.dumps({"calls": [call]} if len(told) < 3 and asked["may_call"] else {"text": told[-1]}), flush=True)
"#;
    for mode in ["yolo", "dry-run"] {
        let config = "evaluation: off\nguardrails: { max_commands_executed: 2 }\n";
        let sandbox = Sandbox::new(&[("model.py", model), (".architect.yml", config)]);
        let args = ["--mode", mode, "--model", "exec::python3 model.py", "--max-steps", "2"];
        let run = sandbox.run(&args, &[]).expect_code(2);
        assert!(run.results().iter().all(|result| result.contains("number")), "{mode}: {:?}", run.results());
        let out = sandbox.out();
        let args = ["sessions", "resume", out.to_str().unwrap(), "--max-steps", "6"];
        let run = program(&sandbox, &args).expect_code(0);
        assert!(run.stdout.contains("max_commands_executed"), "{mode}: {}", run.stdout);
    }
}

#[test]
fn sessions_are_listed_and_cleaned() {
    let sandbox = Sandbox::new(&[]);
    let model = sandbox.script(&[], "Done.");
    sandbox.run(&["--model", &model], &[]).expect_code(0);
    let folder = sandbox.path().to_str().unwrap().to_owned();
    let at = |args: &[&str]| program(&sandbox, &[&["sessions"], args, &["--in", &folder]].concat());
    let listed = at(&["list"]).expect_code(0).stdout;
    assert!(listed.contains("success") && listed.contains("Do it"), "{listed}");
    assert!(at(&["show", &listed[..8]]).expect_code(0).stdout.starts_with("## ✅ plan: no changes"));
    assert!(at(&["show", "nope"]).expect_code(3).stderr.contains("there is no session nope"));
    assert_eq!(at(&["clean"]).expect_code(0).stdout, "0 removed, 0 kB\n");
    assert!(at(&["clean", "--older-than", "0"]).expect_code(0).stdout.starts_with("1 removed, "));
    assert!(!sandbox.out().exists());
    assert!(at(&["list"]).expect_code(0).stdout.starts_with("No sessions found"));
}

/// A repository, and a model that makes two edits in it.
fn edits() -> (Sandbox, String) {
    let sandbox =
        Sandbox::new(&[("a.txt", "one\n"), ("b.txt", "two\n"), (".architect.yml", "evaluation: off\n")]);
    let write = |path: &str| vec![("write_file", json!({"path": path, "content": "new\n"}))];
    let model = sandbox.script(&[write("a.txt"), write("b.txt")], "Both.");
    (sandbox, model)
}

/// A run that stops after the first of two edits.
fn stopped(mode: &str) -> Sandbox {
    let (sandbox, model) = edits();
    sandbox.run(&["--mode", mode, "--model", &model, "--max-steps", "1"], &[]).expect_code(2);
    sandbox
}

fn go_on(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Run {
    let out = sandbox.out();
    let mut command = sandbox.command(&["sessions", "resume", out.to_str().unwrap(), "--max-steps", "9"]);
    Run::new(&command.envs(variables.iter().copied()).output().expect("the binary runs"), out)
}

#[test]
fn session_keeps_the_inputs_of_its_first_start() {
    for variables in [
        [("INPUT_MODE", "yolo"), ("INPUT_TASK", "Something else"), ("INPUT_AGENT", "review")],
        [("ARCHITECT_MODE", "yolo"), ("ARCHITECT_TASK_FILE", "a.txt"), ("ARCHITECT_EXPECT", "no-changes")],
    ] {
        let sandbox = stopped("dry-run");
        let run = go_on(&sandbox, &variables).expect_code(0);
        let report = run.report();
        assert_eq!((&report["mode"], &report["task"]), (&json!("dry-run"), &json!("Do it")));
        assert!(run.file("plan.patch").contains("a.txt") && run.file("plan.patch").contains("b.txt"));
        assert_eq!(sandbox.read("a.txt") + &sandbox.read("b.txt"), "one\ntwo\n");
    }
}

#[test]
fn run_that_was_forced_to_be_a_dry_run_resumes_as_one() {
    let (sandbox, model) = edits();
    let event = sandbox.path().join("event.json");
    let repository =
        |name: &str, fork: bool| json!({"full_name": name, "fork": fork, "default_branch": "main"});
    let sha = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let pull = json!({
        "number": 7, "title": "t", "body": "", "state": "open", "draft": false,
        "user": {"login": "stranger", "type": "User"},
        "head": {"sha": sha, "ref": "x", "repo": repository("stranger/r", true)},
        "base": {"sha": sha, "ref": "main", "repo": repository("o/r", false)},
    });
    let text = json!({
        "action": "opened", "number": 7, "pull_request": pull, "repository": repository("o/r", false),
        "sender": {"login": "stranger", "type": "User"},
    });
    fs::write(&event, text.to_string()).unwrap();
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", event.to_str().unwrap()),
        ("GITHUB_REPOSITORY", "o/r"),
        ("GITHUB_SHA", &sha),
    ];
    let args = ["--mode", "yolo", "--model", &model, "--max-steps", "1"];
    sandbox.run(&args, &variables).expect_code(2);
    let run = go_on(&sandbox, &[]).expect_code(0);
    assert_eq!(run.report()["mode"], "dry-run", "{}", run.stderr);
    assert_eq!(sandbox.read("a.txt") + &sandbox.read("b.txt"), "one\ntwo\n");
    assert!(run.file("plan.patch").contains("b.txt"));
}

#[test]
fn resumed_dry_run_does_not_plan_over_the_work_of_others() {
    let sandbox = stopped("dry-run");
    sandbox.write("a.txt", "one\nsomebody else's\n");
    let run = go_on(&sandbox, &[]).expect_code(0);
    let told = "changed by somebody else since the interruption, so left as they are: a.txt";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let patch = run.file("plan.patch");
    assert!(!patch.contains("a.txt") && patch.contains("b.txt"), "{patch}");
}

#[test]
fn session_with_its_state_in_the_checkout_is_not_resumed() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\n"),
        (".gitignore", ".local\n"),
        ("a.txt", "one\n"),
    ]);
    let state = sandbox.repo().join(".local/state");
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let write = vec![("write_file", json!({"path": "a.txt", "content": "new\n"}))];
    let model = sandbox.script(&[write], "Done.");
    let run =
        sandbox.run(&["--mode", "yolo", "--model", &model, "--max-steps", "1"], &variables).expect_code(2);
    assert!(run.stderr.contains("this run cannot be resumed"), "{}", run.stderr);
    assert!(!state.join("architect-ci/sessions").exists());
    let run = go_on(&sandbox, &variables).expect_code(3);
    assert!(run.stderr.contains("are not trusted"), "{}", run.stderr);
}
