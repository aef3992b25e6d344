//! Retries, budgets and time limits cover the batch as a whole.

use std::time::{Duration, Instant};

use std::fs;
use std::process::Stdio;

use super::ends;
use crate::support::processes::{is_alive, unique_seconds};
use crate::support::wait::wait_until_or;
use crate::support::{Run, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

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
        let run = sandbox.batch(&[]).expect_code(code);
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
    let run = sandbox.batch(&[]).expect_code(2);
    let report = run.json("batch.json");
    assert_eq!(report["cost_usd"], 3.0);
    assert_eq!(ends(&report).values().filter(|end| *end == "not_run").count(), 5);
    assert!(run.file("batch.md").contains("not started: the batch's budget was used up"));
    // What was spent before counts when it goes on.
    let run = sandbox.batch(&["--resume", "--budget-usd", "5"]).expect_code(2);
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
        let run = sandbox.batch(&["--shard", shard]);
        run.json("batch.json")["cost_usd"].as_f64().unwrap_or_default()
    });
    let sum = costs.iter().sum::<f64>();
    assert!(sum <= 1.0 && sum > 0.5, "{costs:?}");

    let sandbox = Sandbox::new(&[]);
    // The first task is done at once, however busy the machine is; the others never end by themselves, and take what is left of the time.
    let gate = |command: &str| json!([{"name": "work", "command": command}]);
    sandbox
        .write("recipe.yml", "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n");
    sandbox.write(".architect.yml", sandbox.opened());
    let task = |id: &str, command: &str| json!({"id": id, "recipe": "recipe.yml", "mode": "yolo", "gates": gate(command)});
    let endless = (0..10).map(|n| task(&format!("endless-{n}"), "sleep 3600"));
    let tasks: Vec<Value> = std::iter::once(task("quick", "true")).chain(endless).collect();
    sandbox.write("batch.yml", json!({"name": "n", "jobs": 1, "tasks": tasks}).to_string());
    sandbox.commit("tasks");
    let run = sandbox.batch(&["--timeout", "15"]).expect_code(5);
    let ends = ends(&run.json("batch.json"));
    assert_eq!((ends["quick"].as_str(), ends["endless-9"].as_str()), ("success", "not_run"), "{ends:?}");
    assert!(["partial", "failed"].contains(&ends["endless-0"].as_str()), "{ends:?}");
}

#[test]
fn batch_time_limit_covers_last_tasks_and_waits_before_retries() {
    for (gate, code, end, attempts) in [("false", 1, "failed", 1), ("sleep 3600", 5, "partial", 1)] {
        let sandbox = Sandbox::new(&[]);
        sandbox.write(
            "recipe.yml",
            "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n",
        );
        sandbox.write(".architect.yml", sandbox.opened());
        let retry = json!({"times": 2, "wait": 300, "on": ["failed", "partial", "timeout"]});
        let gates = json!([{"name": "work", "command": gate, "timeout": 3000}]);
        let task = json!({"id": "a", "recipe": "recipe.yml", "mode": "yolo", "gates": gates, "retry": retry});
        sandbox.write("batch.yml", json!({"name": "n", "tasks": [task]}).to_string());
        sandbox.commit("tasks");
        let began = Instant::now();
        let report = sandbox.batch(&["--timeout", "15"]).expect_code(code).json("batch.json");
        assert!(began.elapsed() < Duration::from_mins(2), "{gate}: {:?}", began.elapsed());
        let task = &report["tasks"][0];
        assert_eq!((task["end"].as_str(), task["attempts"].as_u64()), (Some(end), Some(attempts)), "{gate}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn batch_that_ends_while_its_tasks_are_listed_says_so() {
    let listed = "before `sleep SECONDS` (`lines`) had listed its tasks, so none was started";
    let again = format!("{listed}; start it again");
    for (end, code, told) in [
        (None, 5, format!("error: the batch's time limit was reached {listed}; raise `timeout`")),
        (Some(Signal::INT), 130, format!("error: the batch was interrupted {again}")),
        (Some(Signal::TERM), 143, format!("error: the batch was terminated {again}")),
    ] {
        for kind in ["batch", "matrix"] {
            let (sandbox, seconds) = (Sandbox::new(&[]), unique_seconds());
            let values = json!({"n": {"lines": format!("sleep {seconds}")}});
            let tasks = json!([{"id": "{n}", "task": "x", "for_each": values}]);
            sandbox.write("batch.yml", json!({"name": "n", "tasks": tasks}).to_string());
            sandbox.commit("tasks");
            let out = sandbox.out();
            let mut args = vec!["batch", "batch.yml", "--out", out.to_str().unwrap()];
            args.extend((kind == "matrix").then_some("--matrix"));
            args.extend(if end.is_none() { &["--timeout", "3"][..] } else { &[] });
            let mut command = sandbox.command(&args);
            command.current_dir(sandbox.repo()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            if let Some(signal) = end {
                wait_until_or(|| "the command runs".to_owned(), || is_alive(&seconds));
                kill_process(Pid::from_child(&child), signal).unwrap();
            }
            let run = Run::new(&child.wait_with_output().unwrap(), out).expect_code(code);
            let told = told.replace("SECONDS", &seconds);
            assert!(run.stderr.contains(&told), "{kind}: {}", run.stderr);
            assert!(!is_alive(&seconds), "{kind}: {end:?}");
        }
    }
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
    let is_called = || transcript().contains("\"type\":\"call\"");
    wait_until_or(|| format!("a call: {}", transcript()), is_called);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    fs::write(&go, "").unwrap();
    // One dollar is gone, two are left: enough for the first task alone.
    let run = sandbox.batch(&["--resume"]).expect_code(2);
    let ends = ends(&run.json("batch.json"));
    assert_eq!((ends["one"].as_str(), ends["two"].as_str()), ("success", "not_run"), "{}", run.stderr);
}
