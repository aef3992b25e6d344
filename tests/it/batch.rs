//! Batches: tasks in worktrees of their own, one report, interruptions, shards.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::scene::scene;
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

const RECIPE: &str =
    "steps:\n- files: ['*.py', '**/*.py']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n";

/// `architect-ci` on the repository.
fn program(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = sandbox
        .command(args)
        .current_dir(sandbox.repo())
        .envs(variables.iter().copied())
        .output()
        .expect("the binary runs");
    Run::new(&output, sandbox.out())
}

fn batch(sandbox: &Sandbox, more: &[&str]) -> Run {
    let out = sandbox.out();
    program(sandbox, &[&["batch", "batch.yml", "--out", out.to_str().unwrap()], more].concat(), &[])
}

/// How each task ended.
fn ends(report: &Value) -> BTreeMap<String, String> {
    let text = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
    report["tasks"].as_array().unwrap().iter().map(|task| (text(task, "id"), text(task, "end"))).collect()
}

fn worktrees(sandbox: &Sandbox) -> usize {
    sandbox.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
}

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
fn batch_continues_after_task_failure() {
    let file = r#"
name: mixed
defaults: { mode: yolo, agent: build }
tasks:
  - { id: recipe, recipe: recipe.yml }
  - { id: planned, recipe: recipe.yml, mode: dry-run }
  - { id: model, task: "Greet {{nobody}}", model: "replay::greet.jsonl" }
  - { id: "pack {folder}", recipe: recipe.yml, folder: "{folder}", for_each: { folder: { folders_with: [setup.cfg] } } }
  - { id: missing, recipe: none.yml }
  - { id: gate, recipe: recipe.yml, gates: [{ name: never, command: "false" }] }
  - { id: blocked, recipe: evil.yml }
"#;
    let greet = [
        json!({"type": "reply", "agent": "build", "step": 1, "calls": [{"id": "1", "name": "write_file", "arguments": {"path": "hello.txt", "content": "hello\n"}}]}),
        json!({"type": "reply", "agent": "build", "step": 2, "text": "Greeted."}),
    ];
    let greet: String = greet.iter().map(|line| format!("{line}\n")).collect();
    let evil = "steps:\n- do: [{tool: write_file, with: {path: ../../../escaped, content: x}}]\n";
    let sandbox = Sandbox::new(&[
        ("batch.yml", file),
        ("recipe.yml", RECIPE),
        ("evil.yml", evil),
        ("greet.jsonl", &greet),
        ("a.py", "old\n"),
        ("one/setup.cfg", ""),
        ("one/b.py", "old\n"),
        ("two/setup.cfg", ""),
        ("two/c.py", "nothing\n"),
    ]);
    let before = sandbox.tree();
    let run = batch(&sandbox, &[]).expect_code(1);
    assert_eq!(sandbox.tree(), before);
    assert_eq!(worktrees(&sandbox), 0);
    let report = run.json("batch.json");
    let expected = [
        ("blocked", "failed"),
        ("gate", "failed"),
        ("missing", "failed"),
        ("model", "success"),
        ("pack-one", "success"),
        ("pack-two", "success"),
        ("planned", "success"),
        ("recipe", "success"),
    ];
    assert_eq!(ends(&report), expected.map(|(id, end)| (id.to_owned(), end.to_owned())).into());
    assert!(run.stdout.starts_with("❌ mixed: 5 of 8 tasks done, 3 failed\n"), "{}", run.stdout);
    // Each patch is of its own task alone, and applies.
    for (id, files) in [
        ("recipe", "a.py one/b.py"),
        ("planned", "a.py one/b.py"),
        ("model", "hello.txt"),
        ("pack-one", "one/b.py"),
    ] {
        let patch = run.out.join("tasks").join(id).join("plan.patch");
        let stat = sandbox.git(&["apply", "--numstat", patch.to_str().unwrap()]);
        let names: Vec<&str> = stat.lines().filter_map(|line| line.split('\t').nth(2)).collect();
        assert_eq!(names.join(" "), files, "{id}");
        sandbox.git(&["apply", "--check", patch.to_str().unwrap()]);
    }
    assert!(run.file("tasks/model/log.txt").contains("write_file hello.txt"));
    assert_eq!(run.json("tasks/model/report.json")["task"], "Greet {nobody}");
    let comment = run.file("comment.md");
    assert!(comment.contains("2 files changed by more than one task"), "{comment}");
    let xml = run.file("junit.xml");
    let xml = roxmltree::Document::parse(&xml).expect("XML");
    let suite = xml.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!((suite.attribute("tests"), suite.attribute("failures")), (Some("8"), Some("3")));
    // The page's links lead to pages.
    let html = run.file("batch.html");
    let links: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links.len(), 7);
    assert!(links.iter().all(|link| run.out.join(link).is_file()), "{links:?}");
}

/// Tasks that each append their name to a file outside, then wait a little.
fn slow(sandbox: &Sandbox, count: usize) -> std::path::PathBuf {
    let log = sandbox.path().join("worked");
    let recipe = "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n";
    sandbox.write("recipe.yml", recipe);
    let gate = format!("echo {{n}} >> {}; sleep 0.05", log.display());
    let file = json!({
        "name": "slow",
        "defaults": {"mode": "yolo", "gates": [{"name": "work", "command": gate}]},
        "tasks": [{"id": "t{n}", "recipe": "recipe.yml", "for_each": {"n": {"values": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()}}}],
    });
    // JSON is YAML; a placeholder of the defaults is one of each task.
    sandbox.write("batch.yml", file.to_string());
    sandbox.write(".architect.yml", sandbox.opened());
    sandbox.commit("tasks");
    log
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
        let started = Instant::now();
        while noted(&out, "ended").len() < kills * 5 {
            let log = || fs::read_to_string(sandbox.path().join("log")).unwrap();
            assert!(started.elapsed() < Duration::from_mins(1), "it does not get on: {}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("a kill");
        child.wait().expect("an end");
    }
    let before: BTreeSet<String> = noted(&out, "ended").into_iter().collect();
    let begun_before = noted(&out, "begun").len();
    assert!(before.len() >= 15 && before.len() < 24, "{before:?}");
    let run = batch(&sandbox, &["--resume"]).expect_code(0);
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
    batch(&sandbox, &["--resume"]).expect_code(0);
    assert_eq!(noted(&out, "ended").len(), 24);
}

#[test]
fn batch_runs_many_tasks_concurrently() {
    let sandbox = Sandbox::new(&[]);
    sandbox.write("recipe.yml", RECIPE);
    let values: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    let file = json!({"name": "many", "jobs": 24, "tasks": [{"id": "t{n}", "recipe": "recipe.yml", "for_each": {"n": {"values": values}}}]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let run = batch(&sandbox, &[]).expect_code(0);
    assert!(ends(&run.json("batch.json")).values().all(|end| end == "success"));
    assert_eq!(worktrees(&sandbox), 0);
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
    let started = Instant::now();
    while noted(&out, "ended").len() < 3 {
        assert!(started.elapsed() < Duration::from_mins(1), "it does not get on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    let run = Run::new(&output, sandbox.out()).expect_code(143);
    let report = run.json("batch.json");
    assert_eq!(ends(&report).len(), 40);
    assert!(ends(&report).values().any(|end| end == "not_run"));
    assert_eq!(worktrees(&sandbox), 0);
    let run = batch(&sandbox, &["--resume"]).expect_code(0);
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
    let started = Instant::now();
    while noted(&out, "begun").is_empty() {
        assert!(started.elapsed() < Duration::from_mins(1), "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = batch(&sandbox, &[]).expect_code(3);
    assert!(run.stderr.contains("another batch is using"), "{}", run.stderr);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let original = sandbox.read("batch.yml");
    let other = original.replace("t{n}", "u{n}");
    sandbox.write("batch.yml", &other);
    let run = batch(&sandbox, &["--resume"]).expect_code(3);
    assert!(run.stderr.contains("belongs to a different batch"), "{}", run.stderr);
    // What somebody else has written into the list of tasks is not obeyed.
    let list = out.join("manifest.json");
    let tampered = fs::read_to_string(&list).unwrap().replace("recipe.yml", "other.yml");
    fs::write(&list, tampered).unwrap();
    sandbox.write("batch.yml", &original);
    let run = batch(&sandbox, &["--resume"]).expect_code(3);
    assert!(run.stderr.contains("was changed after this user's batch wrote it"), "{}", run.stderr);
    sandbox.write("batch.yml", other);
    // Anew it is the new one, of a commit that has it.
    sandbox.commit("other names");
    let run = batch(&sandbox, &["--jobs", "8"]).expect_code(0);
    assert!(ends(&run.json("batch.json")).keys().all(|id| id.starts_with('u')));
}

/// A model that fails until its `times`-th start.
fn moody(sandbox: &Sandbox, times: u32) -> String {
    let script = format!(
        "#!/bin/sh\nread -r x\necho x >> {0}/starts\n[ \"$(wc -l < {0}/starts)\" -ge {times} ] || {{ echo '{{\"error\": \"not today\"}}'; exit; }}\n\
         echo '{{\"text\": \"Done.\", \"usage\": {{\"input\": 1000000, \"output\": 0}}}}'\n",
        sandbox.path().display()
    );
    sandbox.write("moody.sh", script);
    sandbox.write(".architect.yml", sandbox.opened());
    "exec::sh moody.sh".to_owned()
}

#[test]
fn batch_retries_failed_task_as_configured() {
    for (times, on, code, attempts) in [(2, "failed", 0, 3), (1, "failed", 1, 2), (5, "partial", 1, 1)] {
        let sandbox = Sandbox::new(&[]);
        let model = moody(&sandbox, 3);
        let file = json!({"name": "n", "tasks": [{"id": "a", "task": "x", "model": model, "retry": {"times": times, "on": [on]}}]});
        sandbox.write("batch.yml", file.to_string());
        sandbox.commit("tasks");
        let run = batch(&sandbox, &[]).expect_code(code);
        assert_eq!(run.json("batch.json")["tasks"][0]["attempts"], attempts, "{times} {on}");
    }
}

#[test]
fn batch_budget_and_timeout_cover_all_tasks() {
    let sandbox = Sandbox::new(&[]);
    let model = moody(&sandbox, 1);
    let name = model.trim_start_matches("exec::");
    sandbox.write(".architect.yml", format!("{}costs: {{prices_file: prices.yml}}\n", sandbox.opened()));
    sandbox.write("prices.yml", format!("'{name}': {{input: 1, output: 1}}\n"));
    let tasks: Vec<Value> =
        (0..8).map(|n| json!({"id": format!("t{n}"), "task": "x", "model": model})).collect();
    sandbox.write("batch.yml", json!({"name": "n", "jobs": 1, "budget_usd": 3, "tasks": tasks}).to_string());
    sandbox.commit("tasks");
    let run = batch(&sandbox, &[]).expect_code(2);
    let report = run.json("batch.json");
    assert_eq!(report["cost_usd"], 3.0);
    assert_eq!(ends(&report).values().filter(|end| *end == "not_run").count(), 5);
    assert!(run.file("batch.md").contains("not started: the batch's budget was used up"));
    // What was spent before counts when it goes on.
    let run = batch(&sandbox, &["--resume", "--budget-usd", "5"]).expect_code(2);
    assert_eq!(run.json("batch.json")["cost_usd"], 5.0);

    // Shards have a part of it each, and an answer is never longer than what is left pays for.
    let talker = "import json, sys\nfor line in sys.stdin:\n  most = json.loads(line)['max_output']\n  print(json.dumps({'text': 'Done.', 'usage': {'input': 0, 'output': min(15000, most)}}), flush=True)\n";
    sandbox.write("talker.py", talker);
    sandbox.write("prices.yml", "'python3 talker.py': {input: 0, output: 20}\n");
    let tasks: Vec<Value> = (0..8)
        .map(|n| json!({"id": format!("t{n}"), "task": "x", "model": "exec::python3 talker.py"}))
        .collect();
    sandbox.write("batch.yml", json!({"name": "n", "jobs": 3, "budget_usd": 1, "tasks": tasks}).to_string());
    sandbox.commit("several at a time");
    let costs = ["1/3", "2/3", "3/3"].map(|shard| {
        let run = batch(&sandbox, &["--shard", shard]);
        run.json("batch.json")["cost_usd"].as_f64().unwrap_or_default()
    });
    let sum = costs.iter().sum::<f64>();
    assert!(sum <= 1.0 && sum > 0.5, "{costs:?}");

    let sandbox = Sandbox::new(&[]);
    // All of them take five seconds at the least; some are done in four however busy the machine is.
    slow(&sandbox, 200);
    let run = batch(&sandbox, &["--timeout", "4", "--jobs", "2"]).expect_code(5);
    let ends = ends(&run.json("batch.json"));
    assert!(
        ends.values().any(|end| end == "not_run") && ends.values().any(|end| end == "success"),
        "{ends:?}"
    );
}

/// A model whose every answer costs a dollar; before the second it waits for a file to appear.
const DEAR: &str = r#"
import json, os, sys, time
for line in sys.stdin:
    turns = len(json.loads(line)["messages"])
    while turns > 1 and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    call = {"name": "read_file", "arguments": {"path": "dear.py"}}
    reply = {"calls": [call]} if turns == 1 else {"text": "Done."}
    print(json.dumps({**reply, "usage": {"input": 0, "output": 1000000}}), flush=True)
"#;

#[test]
fn batch_budget_counts_killed_attempts() {
    let sandbox = Sandbox::new(&[("dear.py", DEAR)]);
    sandbox.write(".architect.yml", format!("{}costs: {{prices_file: prices.yml}}\n", sandbox.opened()));
    let go = sandbox.path().join("go");
    let model = format!("python3 dear.py {}", go.display());
    // A price is found by what follows the last slash.
    let name = model.rsplit('/').next().unwrap();
    sandbox.write("prices.yml", format!("'{name}': {{input: 1, output: 1}}\n"));
    let task = |id: &str| json!({"id": id, "task": "x", "model": format!("exec::{model}")});
    let file = json!({"name": "dear", "jobs": 1, "budget_usd": 3, "tasks": [task("one"), task("two")]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let out = sandbox.out();
    let mut child = sandbox
        .command(&["batch", "batch.yml", "--out", out.to_str().unwrap()])
        .current_dir(sandbox.repo())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let transcript = || fs::read_to_string(out.join("tasks/one/transcript.jsonl")).unwrap_or_default();
    let started = Instant::now();
    while !transcript().contains("\"type\":\"call\"") {
        assert!(started.elapsed() < Duration::from_mins(1), "it does not get on: {}", transcript());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a kill");
    child.wait().expect("an end");
    fs::write(&go, "").unwrap();
    // One dollar is gone, two are left: enough for the first task alone.
    let run = batch(&sandbox, &["--resume"]).expect_code(2);
    let ends = ends(&run.json("batch.json"));
    assert_eq!((ends["one"].as_str(), ends["two"].as_str()), ("success", "not_run"), "{}", run.stderr);
}

#[test]
fn batch_shards_share_manifest_and_merge() {
    let file = "name: wide\ndefaults: {mode: yolo}\ntasks:\n- id: 'f {file_stem}'\n  recipe: recipe.yml\n  for_each: {file: {files: ['*.py']}}\n- {id: red, recipe: none.yml}\n";
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE), ("batch.yml", file)]);
    for n in 0..9 {
        sandbox.write(&format!("f{n}.py"), "old\n".repeat(n + 1));
    }
    sandbox.commit("files");
    let output = sandbox.path().join("output");
    let (out, put) = (sandbox.out(), [("GITHUB_OUTPUT", output.to_str().unwrap())]);
    let run = program(
        &sandbox,
        &["batch", "batch.yml", "--matrix", "--shards", "4", "--out", out.to_str().unwrap()],
        &put,
    )
    .expect_code(0);
    let matrix: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let shards: Vec<String> = matrix["include"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["shard"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(shards, ["1/4", "2/4", "3/4", "4/4"]);
    let told = crate::support::outputs(&fs::read_to_string(&output).unwrap());
    assert_eq!(serde_json::from_str::<Value>(&told["matrix"]).unwrap(), matrix);
    let manifest = told["manifest-path"].clone();
    let parts = sandbox.path().join("artifacts");
    for (index, shard) in shards.iter().enumerate() {
        let out = parts.join(format!("batch-{}", index + 1));
        let out = out.to_str().unwrap();
        program(&sandbox, &["batch", "--manifest", &manifest, "--shard", shard, "--out", out], &[]);
    }
    let merged = sandbox.path().join("merged");
    let merge = |more: &[&str]| {
        let args =
            [&["report", "merge", parts.to_str().unwrap(), "--out", merged.to_str().unwrap()], more].concat();
        let mut run = program(&sandbox, &args, &[]);
        run.out.clone_from(&merged);
        run
    };
    let run = merge(&["--manifest", &manifest]).expect_code(1);
    let report = run.json("batch.json");
    assert_eq!(ends(&report).len(), 10);
    assert_eq!(ends(&report).values().filter(|end| *end == "success").count(), 9);
    let ids: Vec<&str> =
        report["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[9]), ("f-f0", "red"));
    let folder = report["tasks"][0]["folder"].as_str().unwrap();
    assert!(parts.join(folder).join("report.json").is_file(), "{folder}");
    assert!(report["lost_shards"].is_null());
    // A lost shard, and one whose report was cut.
    fs::remove_dir_all(parts.join("batch-2")).unwrap();
    fs::write(parts.join("batch-3/batch.json"), "{\"schema_version\": 1,").unwrap();
    let report = merge(&["--manifest", &manifest]).expect_code(1).json("batch.json");
    assert_eq!(report["lost_shards"], json!([2, 3]));
    let lost = ends(&report).values().filter(|end| *end == "lost").count();
    assert!((4..=6).contains(&lost), "{lost}");
    assert!(report["notices"][0]["message"].as_str().unwrap().contains("batch-3/batch.json: "));
    let report = merge(&[]).expect_code(1).json("batch.json");
    assert_eq!((&report["lost_shards"], ends(&report).len()), (&json!([2, 3]), 10 - lost));
    // One that says it is of more shards than there can be is none.
    let mut vast: Value =
        serde_json::from_str(&fs::read_to_string(parts.join("batch-1/batch.json")).unwrap()).unwrap();
    vast["shard"]["of"] = json!(u32::MAX);
    fs::write(parts.join("batch-3/batch.json"), vast.to_string()).unwrap();
    let told = merge(&["--manifest", &manifest]).expect_code(1).json("batch.json");
    assert!(told["notices"][0]["message"].as_str().unwrap().contains("invalid shard"), "{told}");
    // Another batch's report does not belong.
    let other = report.to_string().replace(report["manifest"].as_str().unwrap(), "0");
    fs::create_dir_all(parts.join("other")).unwrap();
    fs::write(parts.join("other/batch.json"), other).unwrap();
    assert!(merge(&[]).expect_code(3).stderr.contains("different batches"));
}

#[test]
fn batch_merges_single_run_reports() {
    let sandbox = Sandbox::new(&[("a.py", "old\n"), ("recipe.yml", RECIPE)]);
    for job in ["linux", "windows"] {
        let out = sandbox.path().join("artifacts").join(job);
        program(&sandbox, &["run", "--model", "recipe::recipe.yml", "--out", out.to_str().unwrap()], &[])
            .expect_code(0);
    }
    let out = sandbox.out();
    let run = program(&sandbox, &["report", "merge", "../artifacts", "--out", out.to_str().unwrap()], &[])
        .expect_code(0);
    assert_eq!(ends(&run.json("batch.json")).into_keys().collect::<Vec<_>>(), ["linux", "windows"]);
    assert!(run.stdout.starts_with("✅ runs: 2 of 2 tasks done"), "{}", run.stdout);
    let run =
        program(&sandbox, &["report", "merge", "src", "--out", out.to_str().unwrap()], &[]).expect_code(3);
    assert!(run.stderr.contains("there is no batch.json"), "{}", run.stderr);
}

#[test]
fn batch_hostile_values_stay_literal() {
    let names = [
        "a; touch pwned.py",
        "$(touch pwned).py",
        "::error::x.py",
        "-rf.py",
        "ünï\u{202e}.py",
        "a'b.py",
        "`touch pwned`.py",
    ];
    let file = "name: n\ntasks:\n- id: 'x {file}'\n  task: 'See {file}'\n  model: 'exec::sh model.sh {file}'\n  mode: yolo\n  \
                for_each: {file: {files: ['*.py']}}\n  gates: [{name: 'there {file}', command: 'test -f ./{file}'}]\n";
    let model = "read -r x; test -f \"./$1\" || exit 1; echo '{\"text\": \"::set-output name=x::y\"}'\n";
    let sandbox = Sandbox::new(&[("batch.yml", file), ("model.sh", model)]);
    for name in names {
        sandbox.write(name, "x\n");
    }
    sandbox.commit("names");
    let run = program(
        &sandbox,
        &["batch", "batch.yml", "--out", sandbox.out().to_str().unwrap()],
        &[("GITHUB_ACTIONS", "true")],
    )
    .expect_code(0);
    let report = run.json("batch.json");
    assert_eq!(report["tasks"].as_array().unwrap().len(), names.len());
    assert!(!sandbox.repo().join("pwned").exists() && !sandbox.path().join("pwned").exists());
    // One that fails is an annotation.
    fs::remove_file(sandbox.repo().join("model.sh")).unwrap();
    sandbox.commit("without the model");
    let failed = program(
        &sandbox,
        &["batch", "batch.yml", "--out", sandbox.path().join("failed").to_str().unwrap()],
        &[("GITHUB_ACTIONS", "true")],
    )
    .expect_code(1);
    let annotations: Vec<&str> = failed.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(annotations.len(), names.len(), "{}", failed.stderr);
    assert!(annotations.iter().all(|line| line.starts_with("::error title=Task x-")), "{annotations:?}");
    for line in run.stderr.lines().filter(|line| line.trim_start().starts_with("::")) {
        assert!(line.starts_with("::group::") || line == "::endgroup::", "{line}");
    }
    assert!(run.stderr.contains("::group::[1/7]"), "{}", run.stderr);
    let shown = run.file("batch.md") + &run.file("tasks/x-n-py/report.md");
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn batch_rejects_invalid_input_before_start() {
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE)]);
    for (file, told) in [
        ("name: n\ntasks: [{id: a}]\n", "batch.yml: tasks[0]: nothing to do; set `task`"),
        ("name: n\ntasks: [{id: '{x}', task: y, for_each: {x: {lines: 'exit 3'}}}]\n", "`exit 3` failed"),
        (
            "name: n\ntasks: [{id: '{x}', task: y, for_each: {x: {lines: 'yes | head -n 900000'}}}]\n",
            "is too long",
        ),
        ("tasks: []\n", "missing field `name`"),
        ("name: n\nname: m\ntasks: []\n", "duplicate"),
    ] {
        sandbox.write("batch.yml", file);
        let run = batch(&sandbox, &[]).expect_code(3);
        assert!(run.stderr.contains(told), "{file}\n{}", run.stderr);
    }
    sandbox.write("batch.yml", "name: n\ntasks: []\n");
    assert!(batch(&sandbox, &[]).expect_code(0).stdout.starts_with("✅ n: 0 of 0 tasks done"));
    for (args, told) in [
        (vec!["--shard", "3/2"], "I/N"),
        (vec!["--manifest", "m.json"], "remove one of them"),
        (vec!["--jobs", "0"], "a whole number from 1 to 64"),
    ] {
        let run = batch(&sandbox, &args).expect_code(3);
        assert!(run.stderr.contains(told), "{args:?}\n{}", run.stderr);
    }
    // As a log of JSON, a line for each task; and nobody is asked anything.
    sandbox.write(
        "batch.yml",
        "name: n\ntasks: [{id: a, recipe: recipe.yml}, {id: b, recipe: recipe.yml, mode: confirm-all}]\n",
    );
    let run = batch(&sandbox, &["--log-format", "json"]).expect_code(1);
    let lines: Vec<Value> =
        run.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let tasks: Vec<&str> = lines.iter().filter_map(|line| line["task"].as_str()).collect();
    assert_eq!(tasks.len(), 2, "{}", run.stderr);
    assert!(run.stderr.contains("`mode` is `confirm-all`"), "{}", run.stderr);
    let run = program(&sandbox, &["batch", "none.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("the batch file none.yml does not exist"), "{}", run.stderr);
    // A list that somebody has tampered with.
    let task = |id: &str| json!({"id": id, "size": 1, "entry": {"recipe": "recipe.yml"}});
    for ids in [vec!["../x"], vec!["a", "a"], vec![""]] {
        let tasks: Vec<Value> = ids.iter().map(|id| task(id)).collect();
        let list = json!({"schema_version": 1, "name": "n", "commit": "a".repeat(40), "file_sha256": "", "budget_usd": null, "timeout": null, "tasks": tasks});
        sandbox.write("m.json", list.to_string());
        let run = program(&sandbox, &["batch", "--manifest", "m.json"], &[]).expect_code(3);
        assert!(run.stderr.contains("invalid or duplicate id"), "{}", run.stderr);
    }
    let elsewhere = Sandbox::without_git(&[("batch.yml", "name: n\ntasks: []\n")]);
    let run = batch(&elsewhere, &[]).expect_code(3);
    assert!(run.stderr.contains("a batch needs a Git repository"), "{}", run.stderr);
}

const NIGHTLY: &[(&str, &str)] = &[
    (
        "batch.yml",
        "name: nightly\ndefaults: {mode: yolo, deliver: pull-request}\ntasks:\n- {id: 'fix {n}', recipe: 'r{n}.yml', for_each: {n: {values: ['1', '2']}}}\n",
    ),
    ("b.txt", "five\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn batch_task_keeps_branch_and_pull_request() {
    scene(NIGHTLY, |scene| {
        let scene = scene.on_main();
        for (n, file) in [(1, "a.txt"), (2, "b.txt")] {
            let recipe = format!("description: Shout in {file}\nsteps:\n- files: [{file}]\n  do: [{{replace: {{pattern: five, with: FIVE}}}}]\n");
            scene.sandbox.write(&format!("r{n}.yml"), recipe);
        }
        // The recipes are on the commit that the batch is about, and on GitHub.
        scene.sandbox.commit("recipes");
        scene.github.serve(&scene.sandbox.repo());
        let event = scene.event("schedule", &[]);
        let variables: Vec<(String, String)> = scene.variables("schedule");
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let night = || {
            let args = ["batch", "batch.yml", "--event", event.to_str().unwrap(), "--out", scene.sandbox.out().to_str().unwrap()].map(str::to_owned);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            program(&scene.sandbox, &args, &variables).expect_code(0)
        };
        let report = night().json("batch.json");
        let branch = |n: usize| report["tasks"][n]["delivery"]["branch"].as_str().unwrap().to_owned();
        let titles: Vec<String> = scene.github.world().pulls.values().map(|pull| pull.title.clone()).collect();
        assert!(titles.contains(&"Shout in a.txt (fix-1)".to_owned()) && titles.contains(&"Shout in b.txt (fix-2)".to_owned()), "{titles:?}");
        assert_eq!((branch(0).as_str(), branch(1).as_str()), ("architect-ci/nightly-fix-1", "architect-ci/nightly-fix-2"));
        let tips = |scene: &crate::support::scene::Scene| {
            let world = scene.github.world();
            let repository = world.repository.as_ref().unwrap();
            [repository.branch("architect-ci/nightly-fix-1"), repository.branch("architect-ci/nightly-fix-2")]
        };
        let first = tips(&scene);
        assert!(first.iter().all(Option::is_some));
        night();
        assert_eq!(tips(&scene), first);
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 2);
        // A comment starts no batch.
        let (event, _) = scene.comment_event(7, "dev", "/architect run");
        let variables: Vec<(String, String)> = scene.variables("issue_comment");
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let run = program(&scene.sandbox, &["batch", "batch.yml", "--event", event.to_str().unwrap()], &variables).expect_code(3);
        assert!(run.stderr.contains("the event issue_comment, which anybody can cause, cannot start a batch"), "{}", run.stderr);
    })
    .await;
}

const ON_PULL: &[(&str, &str)] = &[
    ("batch.yml", "name: pull\ntasks:\n- {id: one, recipe: r.yml}\n- {id: two, recipe: none.yml}\n"),
    ("r.yml", "steps:\n- do: [{tool: write_file, with: {path: new.txt, content: x}}]\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn batch_posts_one_comment_and_ignores_strangers() {
    scene(ON_PULL, |scene| {
        let run = |event: &Path, name: &str, args: &[&str]| {
            let variables: Vec<(String, String)> = scene.variables(name);
            let variables: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let out = scene.sandbox.out();
            let all = [args, &["--event", event.to_str().unwrap(), "--out", out.to_str().unwrap()]].concat();
            program(&scene.sandbox, &all, &variables)
        };
        let event = scene.pull_event(7, "dev");
        for _ in 0..2 {
            let done = run(&event, "pull_request", &["batch", "batch.yml"]).expect_code(1);
            assert!(done.file("comment.md").contains("1 of 2 tasks done, 1 failed"));
        }
        // A merge brings the same comment up to date; a shard has none.
        let copy = scene.sandbox.path().join("artifacts/one");
        fs::create_dir_all(&copy).unwrap();
        fs::copy(scene.sandbox.out().join("batch.json"), copy.join("batch.json")).unwrap();
        let artifacts = scene.sandbox.path().join("artifacts");
        run(&event, "pull_request", &["report", "merge", artifacts.to_str().unwrap()]).expect_code(1);
        run(&event, "pull_request", &["batch", "batch.yml", "--shard", "1/2", "--comment-key", "part"]);
        {
            let world = scene.github.world();
            let ours: Vec<&String> = world
                .comments
                .values()
                .map(|comment| &comment.body)
                .filter(|body| body.contains("architect-ci comment:"))
                .collect();
            assert_eq!(ours.len(), 1, "{ours:?}");
            assert!(ours[0].starts_with("<!-- architect-ci comment: pull -->"));
        }
        let event = scene.pull_event(7, "stranger");
        let refused = run(&event, "pull_request_target", &["batch", "batch.yml"]).expect_code(3);
        assert!(refused.stderr.contains("stranger has no write permission"), "{}", refused.stderr);
    })
    .await;
}

#[test]
fn batch_tells_files_of_different_folders_apart() {
    let file = "name: folders\ndefaults: {mode: dry-run}\ntasks:\n- id: 'f {file_dir}'\n  recipe: recipe.yml\n  folder: '{file_dir}'\n  for_each: {file: {files: ['*/mod.py']}}\n";
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: one, with: two}}]\n";
    let sandbox = Sandbox::new(&[
        ("recipe.yml", recipe),
        ("batch.yml", file),
        ("pkg0/mod.py", "one\n"),
        ("pkg1/mod.py", "one\n"),
    ]);
    let run = batch(&sandbox, &[]).expect_code(0);
    let report = run.json("batch.json");
    assert_eq!(report["tasks"][0]["files"][0]["path"], "pkg0/mod.py");
    assert_eq!(report["tasks"][1]["files"][0]["path"], "pkg1/mod.py");
    assert!(!run.file("batch.md").contains("changed by more than one task"), "{}", run.file("batch.md"));
}

#[test]
fn batch_protects_files_whatever_folder_a_task_has() {
    let file = "name: actions\ndefaults: {mode: dry-run}\ntasks:\n- id: 'p {folder}'\n  recipe: recipe.yml\n  folder: '{folder}'\n  for_each: {folder: {folders_with: [package.json]}}\n";
    let recipe = "steps:\n- files: ['*.js']\n  do: [{replace: {pattern: one, with: two}}]\n";
    let sandbox = Sandbox::new(&[
        ("recipe.yml", recipe),
        ("batch.yml", file),
        (".github/actions/build/package.json", "{}\n"),
        (".github/actions/build/index.js", "one\n"),
        ("web/package.json", "{}\n"),
        ("web/index.js", "one\n"),
    ]);
    let run = batch(&sandbox, &[]);
    let report = run.json("batch.json");
    let tasks = report["tasks"].as_array().unwrap();
    let files = tasks.iter().filter_map(|task| task["files"].as_array()).flatten();
    let changed: Vec<&serde_json::Value> = files.map(|file| &file["path"]).collect();
    assert_eq!(changed, ["web/index.js"], "{report}");
    let transcript = |task: &serde_json::Value| {
        let id = task["id"].as_str().unwrap();
        run.file(&format!("tasks/{id}/transcript.jsonl"))
    };
    let refused: String = tasks.iter().map(transcript).collect();
    assert!(refused.contains("always protected"), "{refused}");
}
