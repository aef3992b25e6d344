//! Faults that a night meets: limits of time and rate, two at once, a folder that vanishes. What happened is said, and
//! what did not come about is no success.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use workspace::DiskWorkspace;

use crate::support::limited_server::{LimitedServer, reads};
use crate::support::model::{Answer, ModelServer};
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox};
use architect_ci::plan::{Plan, Step};
use serde_json::{Value, json};

/// Longer than any of these tests may take.
const FOREVER: &str = "311";

pub(crate) fn batch(sandbox: &Sandbox, more: &[&str]) -> Run {
    let out = sandbox.out();
    let args = [&["batch", "batch.yml", "--out", out.to_str().unwrap()], more].concat();
    let output = sandbox.command(&args).current_dir(sandbox.repo()).output().expect("the binary runs");
    Run::new(&output, out)
}

pub(crate) fn ends(report: &Value) -> BTreeMap<String, usize> {
    let mut ends = BTreeMap::new();
    for task in report["tasks"].as_array().unwrap() {
        *ends.entry(task["end"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    ends
}

pub(crate) fn tasks(name: &str, count: usize, more: &Value) -> String {
    let mut entry = json!({"id": "t{n}", "for_each": {"n": {"values": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()}}});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"name": name, "tasks": [entry]}).to_string()
}

/// Starts a run that goes on until `released` exists, and waits until it is at work.
fn at_work(sandbox: &Sandbox, args: &[&str]) -> Child {
    let model = sandbox.script(&[vec![("read_file", json!({"path": "a.txt"}))]], "done");
    let child = sandbox
        .command(&["run", "--task", "x", "--model", &model])
        .current_dir(sandbox.repo())
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    wait_until("the run is at work", || sandbox.path().join("at-work").exists());
    child
}

const WAITING: &str = "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n    - { name: waits, command: 'touch ../at-work; until test -e ../released; do sleep 0.01; done', timeout: 120 }\n";

#[test]
fn timeout_ends_command_gate_and_hook() {
    let hook = |event: &str| {
        format!("hooks:\n  {event}: [{{ name: long, command: 'sleep {FOREVER}', timeout: 300 }}]\n")
    };
    let gate = format!(
        "guardrails: {{ quality_gates: [{{ name: long, command: 'sleep {FOREVER}', timeout: 300 }}] }}\n"
    );
    let command = format!("sleep {FOREVER}");
    let call = ("run_command", json!({"command": command, "timeout": 300}));
    let read = || ("read_file", json!({"path": "a.txt"}));
    for (config, turn) in [
        ("commands: { enabled: true }\n".to_owned(), call),
        (hook("pre_tool_use"), read()),
        (hook("session_start"), read()),
        (hook("session_end"), read()),
        (gate, read()),
    ] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &config)]);
        let model = sandbox.script(&[vec![turn]], "done");
        for mode in ["dry-run", "yolo"] {
            let began = Instant::now();
            let run = sandbox.run(&["--model", &model, "--mode", mode, "--timeout", "2"], &[]);
            assert!(began.elapsed() < Duration::from_mins(1), "{config}: {:?}", began.elapsed());
            // What is done before the last hook is done.
            if !config.contains("session_end") {
                assert_eq!(run.expect_code(5).report()["stop_reason"], "timeout", "{config}");
            }
        }
    }
}

/// Starts two runs on the same places, and returns what the second says.
fn second(first: &[&str], more: &[&str]) -> Run {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", WAITING)]);
    let (repo, out) = (sandbox.repo(), sandbox.out());
    let args = ["--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let mut child = at_work(&sandbox, &[&args[..], first].concat());
    let run = sandbox.run(&[&["--model", "replay::session.jsonl"], more].concat(), &[]);
    fs::write(sandbox.path().join("released"), "").unwrap();
    assert!(child.wait().expect("an end").success(), "the first run is none the worse");
    run
}

#[test]
fn run_refuses_output_folder_of_other_run() {
    let run = second(&[], &[]).expect_code(3);
    assert!(run.stderr.contains("another run is using the output folder"), "{}", run.stderr);
}

#[test]
fn run_refuses_checkout_that_other_run_changes() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", WAITING)]);
    let one = sandbox.path().join("one");
    let mut child = at_work(&sandbox, &["--mode", "yolo", "--out", one.to_str().unwrap()]);
    let model = sandbox.script(&[], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(3);
    assert!(run.stderr.contains("another run is changing the checkout"), "{}", run.stderr);
    // One that only plans has nothing to fear but its own proof.
    let planned = sandbox.run(&["--model", &model, "--mode", "dry-run"], &[]).expect_code(0);
    let (repo, plan) = (sandbox.repo(), planned.out.join("plan.json"));
    let args = ["apply", plan.to_str().unwrap(), "--workspace", repo.to_str().unwrap()];
    let applied = sandbox.command(&args).output().expect("the binary runs");
    let told = String::from_utf8_lossy(&applied.stderr);
    assert!(
        applied.status.code() == Some(3) && told.contains("another run is changing the checkout"),
        "{told}"
    );
    fs::write(sandbox.path().join("released"), "").unwrap();
    assert!(child.wait().expect("an end").success());
}

#[test]
fn run_fails_if_output_folder_vanishes() {
    let config = "commands: { writable_paths: ['..'] }\nhooks:\n  session_end: [{ name: cleaner, command: 'rm -rf ../out' }]\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", config)]);
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let model = sandbox.script(&[vec![edit]], "done");
    for mode in ["dry-run", "yolo"] {
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(1);
        assert!(run.stderr.contains("these files could not be written"), "{}", run.stderr);
    }
}

#[test]
fn run_fails_after_two_empty_answers() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let args = |server: &ModelServer| {
        ["--model".to_owned(), "openai::gpt-5".into(), "--base-url".into(), server.url.clone()]
    };
    for (answers, told) in [
        (vec![Answer::Text(""), Answer::Text("")], "empty_answer"),
        (vec![Answer::Finish("content_filter", "")], "answer_refused"),
    ] {
        let server = ModelServer::start(answers);
        let args = args(&server);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = sandbox.run(&args, &[]).expect_code(1);
        assert_eq!(run.report()["stop_reason"], told, "{}", run.stderr);
    }
}

#[test]
fn apply_keeps_file_that_is_saved_meanwhile() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let edit = |path: &str| ("edit_file", json!({"path": path, "old_str": "one", "new_str": "two"}));
    let create = ("write_file", json!({"path": "new.txt", "content": "new\n"}));
    let model = sandbox.script(&[vec![edit("a.txt"), edit("b.txt"), edit("c.txt"), create]], "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let plan: Plan = serde_json::from_str(&run.file("plan.json")).unwrap();
    for saved in ["a.txt", "b.txt", "c.txt", "new.txt"] {
        sandbox.git(&["checkout", "--quiet", "."]);
        let _ = fs::remove_file(sandbox.repo().join("new.txt"));
        let disk = DiskWorkspace::open(&sandbox.repo()).unwrap();
        let checked = plan.check(&disk, None, |_| Ok(())).expect("it fits");
        // Each of the others is changed before or after: saved as an editor does it, behind the check.
        let save = |step| {
            if step == Step::Commit {
                fs::write(sandbox.path().join("temporary"), "of a person\n").unwrap();
                fs::rename(sandbox.path().join("temporary"), sandbox.repo().join(saved)).unwrap();
            }
        };
        let error = checked
            .apply(&disk, &crate::apply::journal(&disk), &save)
            .expect_err("it does not fit any more")
            .to_string();
        assert!(error.contains("it was changed while the plan was applied"), "{error}");
        for file in ["a.txt", "b.txt", "c.txt", "new.txt"] {
            let expected = if file == saved { "of a person\n" } else { "one\n" };
            match fs::read_to_string(sandbox.repo().join(file)) {
                Ok(text) => assert_eq!(text, expected, "{file} while {saved} is saved"),
                Err(_) => assert_eq!(file, "new.txt"),
            }
        }
    }
}

pub(crate) fn request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

pub(crate) fn respond(mut stream: &TcpStream, status: &str, headers: &str, body: &Value) {
    let body = body.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
}

#[test]
fn batch_keeps_to_rate_limit_of_model() {
    let config = "llm: { stream: false }\nevaluation: off\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\ntwo\nthree\n"), (".architect.yml", config)]);
    sandbox.write("batch.yml", tasks("paced", 16, &json!({"task": "Read", "mode": "dry-run"})));
    sandbox.commit("tasks");
    let server = LimitedServer::start(4, 3, reads);
    let began = Instant::now();
    let args = ["--jobs", "16", "--model", "openai::gpt-5", "--base-url", &server.url];
    let run = batch(&sandbox, &args).expect_code(0);
    assert_eq!(ends(&run.json("batch.json")), BTreeMap::from([("success".to_owned(), 16)]));
    let (refused, _) = server.refusals();
    // Ideal: 48 requests in 12 s. The first burst of 16 is refused but for four.
    eprintln!("48 requests took {:?}, {refused} were refused", began.elapsed());
    assert!(refused < 48, "{refused} requests were refused");
}

#[test]
fn batch_stops_when_key_is_refused() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    sandbox.write("batch.yml", tasks("refused", 20, &json!({"task": "Read"})));
    sandbox.commit("tasks");
    let server =
        ModelServer::start(vec![Answer::Status(401, Vec::new(), "{\"error\": {\"message\": \"no\"}}")]);
    let args = ["--jobs", "2", "--model", "openai::gpt-5", "--base-url", &server.url];
    let run = batch(&sandbox, &args).expect_code(1);
    let ends = ends(&run.json("batch.json"));
    assert!(ends["failed"] <= 4 && ends["not_run"] >= 16, "{ends:?}");
    assert!(server.bodies().len() <= 4, "{}", server.bodies().len());
    assert!(run.file("batch.md").contains("was refused for 3 tasks in a row"), "{}", run.file("batch.md"));
}

#[test]
fn batch_repeats_failed_tasks_if_told() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let recipe = "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n";
    sandbox.write("recipe.yml", recipe);
    sandbox.write(".architect.yml", sandbox.opened());
    let gate = format!("test -e {}", sandbox.path().join("tool").display());
    let more = json!({"recipe": "recipe.yml", "mode": "yolo", "gates": [{"name": "tool", "command": gate}]});
    sandbox.write("batch.yml", tasks("again", 3, &more));
    sandbox.commit("tasks");
    assert_eq!(ends(&batch(&sandbox, &[]).expect_code(1).json("batch.json"))["failed"], 3);
    fs::write(sandbox.path().join("tool"), "").unwrap();
    assert_eq!(ends(&batch(&sandbox, &["--resume"]).expect_code(1).json("batch.json"))["failed"], 3);
    let told = batch(&sandbox, &["--resume", "--retry", "late"]).expect_code(3).stderr;
    assert!(told.contains("use a comma-separated list of failed, partial and timeout"), "{told}");
    let told = batch(&sandbox, &["--retry", "failed"]).expect_code(3).stderr;
    assert!(told.contains("set `resume` as well"), "{told}");
    let report =
        batch(&sandbox, &["--resume", "--retry", "failed,timeout"]).expect_code(0).json("batch.json");
    assert_eq!((ends(&report)["success"], &report["tasks"][0]["attempts"]), (3, &json!(2)));
}

#[test]
fn batches_side_by_side_share_repository() {
    let sandbox = Sandbox::new(&[("a.py", "old\n")]);
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n";
    sandbox.write("recipe.yml", recipe);
    sandbox.write("batch.yml", tasks("side", 30, &json!({"recipe": "recipe.yml", "mode": "yolo"})));
    sandbox.commit("tasks");
    let start = |out: &str| {
        let out = sandbox.path().join(out);
        let mut command =
            sandbox.command(&["batch", "batch.yml", "--jobs", "4", "--out", out.to_str().unwrap()]);
        command.current_dir(sandbox.repo()).stdout(Stdio::null()).stderr(Stdio::null());
        (command.spawn().expect("the binary runs"), out)
    };
    for (mut child, out) in ["one", "two", "three"].map(start) {
        let code = child.wait().expect("an end").code();
        let text = fs::read_to_string(out.join("batch.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((code, ends(&report).get("success")), (Some(0), Some(&30)), "{:?}", ends(&report));
    }
    assert_eq!(sandbox.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn merge_keeps_what_interrupted_rerun_had_not_begun() {
    let sandbox = Sandbox::new(&[("a.py", "old\n")]);
    sandbox
        .write("recipe.yml", "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n");
    sandbox.write("batch.yml", tasks("twice", 3, &json!({"recipe": "recipe.yml"})));
    sandbox.commit("tasks");
    let first = batch(&sandbox, &[]).expect_code(0).json("batch.json");
    let mut rerun = first.clone();
    rerun["started_at"] = json!("2999-01-01T00:00:00Z");
    for (index, task) in rerun["tasks"].as_array_mut().unwrap().iter_mut().enumerate() {
        task["end"] = json!(if index == 0 { "failed" } else { "not_run" });
    }
    for (name, report) in [("a", &first), ("b", &rerun)] {
        let folder = sandbox.path().join("artifacts").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("batch.json"), report.to_string()).unwrap();
    }
    let out = sandbox.path().join("merged");
    let args = ["report", "merge", "../artifacts", "--out", out.to_str().unwrap()];
    let output = sandbox.command(&args).current_dir(sandbox.repo()).output().expect("the binary runs");
    let merged = Run::new(&output, out).expect_code(1).json("batch.json");
    let expected = BTreeMap::from([("failed".to_owned(), 1), ("success".to_owned(), 2)]);
    assert_eq!(ends(&merged), expected, "the later one counts where it ran");
}
