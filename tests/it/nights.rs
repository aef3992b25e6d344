//! Nights that cost only what changed: settled tasks, pilots, tries that learn.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::faults::{batch, ends, request, respond, tasks};
use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::{Value, json};

const CONFIG: &str = "llm: { stream: false }\nevaluation: off\n";

/// A model that reads the file that its task names, and is done. Counts requests.
struct Reader {
    url: String,
    requests: Arc<Mutex<usize>>,
}

impl Reader {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let requests = Arc::<Mutex<usize>>::default();
        let count = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || {
                    while let Some(body) = request(&stream) {
                        *count.lock().unwrap() += 1;
                        let messages = body["messages"].as_array().unwrap();
                        let is_last = messages.iter().any(|message| message["role"] == "tool");
                        let task = messages.iter().find(|message| message["role"] == "user").unwrap();
                        let file = task["content"].as_str().unwrap().split_whitespace().nth(1).unwrap();
                        let call = json!({"id": "c", "type": "function", "function": {"name": "read_file", "arguments": json!({"path": file}).to_string()}});
                        let (message, finish) = if is_last {
                            (json!({"role": "assistant", "content": "nothing to do"}), "stop")
                        } else {
                            (json!({"role": "assistant", "content": "", "tool_calls": [call]}), "tool_calls")
                        };
                        let answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5",
                            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
                        respond(&stream, "200 OK", "", &answer);
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// The number of requests since this was last asked.
    fn count(&self) -> usize {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

#[test]
fn batch_does_not_settle_what_showed_nothing() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", CONFIG)]);
    let task = json!({"id": "a", "task": "Change a.txt", "mode": "yolo", "deliver": "patch"});
    sandbox.write("batch.yml", json!({"name": "nightly", "tasks": [task]}).to_string());
    sandbox.commit("tasks");
    let missed = json!({"path": "a.txt", "old_str": "not there", "new_str": "two"});
    let mut last = None;
    for night in ["first", "second"] {
        let server = ModelServer::start(vec![
            Answer::Calls(vec![("edit_file", missed.clone())]),
            Answer::Text("Nothing to do."),
        ]);
        let mut args = vec!["--model", "openai::gpt-5", "--base-url", &server.url];
        args.extend(last.iter().flat_map(|last: &String| ["--previous", last]));
        let run = batch(&sandbox, &args).expect_code(0);
        let report = run.json("batch.json");
        assert_eq!(report["tasks"][0]["stop_reason"], "nothing_worked", "{night}: {report}");
        assert_eq!(report["tasks"][0]["key"], Value::Null, "{night}");
        let row = "⚠️ [`a`](tasks/a/report.md) | `no changes; every edit or every call that the agent tried failed, and nothing changed`";
        assert!(run.file("batch.md").contains(row), "{}", run.file("batch.md"));
        let copy = sandbox.path().join("last.json");
        fs::copy(run.out.join("batch.json"), &copy).unwrap();
        last = Some(copy.display().to_string());
    }
}

#[test]
fn batch_tells_that_a_cut_report_settles_nothing() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", CONFIG)]);
    sandbox.write("batch.yml", tasks("nightly", 1, &json!({"task": "Look"})));
    sandbox.commit("tasks");
    let cut = sandbox.path().join("cut.json");
    for previous in [None, Some(&cut)] {
        let server = ModelServer::start(vec![Answer::Text("Nothing to do.")]);
        let mut args = vec!["--model", "openai::gpt-5", "--base-url", &server.url];
        args.extend(previous.iter().flat_map(|cut| ["--previous", cut.to_str().expect("a path")]));
        let run = batch(&sandbox, &args).expect_code(0);
        let report = run.json("batch.json");
        assert_eq!(ends(&report)["success"], 1);
        let told = "no task is settled (`previous`), so all of them are done, and paid for, again: invalid report cut.json: EOF";
        assert_eq!(run.stderr.contains(told), previous.is_some(), "{}", run.stderr);
        assert_eq!(report["notices"].to_string().contains("invalid report cut.json"), previous.is_some());
        let whole = fs::read(run.out.join("batch.json")).unwrap();
        fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    }
}

#[test]
fn batch_skips_what_earlier_night_settled() {
    // `just nights` has more of them.
    let count = std::env::var("NIGHT_TASKS").ok().and_then(|count| count.parse().ok()).unwrap_or(66);
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG)]);
    for n in 0..count {
        sandbox.write(&format!("f{n}.txt"), format!("{n}\n"));
    }
    sandbox.write("batch.yml", tasks("nightly", count, &json!({"task": "Read f{n}.txt now"})));
    sandbox.commit("tasks");
    let server = Reader::start();
    let last = sandbox.path().join("last-night");
    let night = |more: &[&str]| {
        let shared = ["--jobs", "8", "--model", "openai::gpt-5", "--base-url", &server.url];
        let report = batch(&sandbox, &[&shared[..], more].concat()).expect_code(0);
        fs::create_dir_all(&last).unwrap();
        fs::copy(report.out.join("batch.json"), last.join("batch.json")).unwrap();
        report
    };
    let previous = ["--previous", last.to_str().unwrap()];
    // The first night has nothing to go by, which is told.
    let first = night(&previous).json("batch.json");
    assert!(
        first["notices"][0]["message"].as_str().unwrap().starts_with("no task is settled"),
        "{}",
        first["notices"]
    );
    assert_eq!((server.count(), ends(&first)["success"]), (2 * count, count));
    assert_eq!(
        first["tasks"][0]["key"]["files"].as_object().unwrap().len(),
        4,
        "{}",
        first["tasks"][0]["key"]
    );
    // Three in a hundred have changed.
    let changed: Vec<usize> = (7..count).step_by(34).collect();
    for n in &changed {
        sandbox.write(&format!("f{n}.txt"), "changed\n");
    }
    sandbox.write("unrelated.txt", "of nobody\n");
    sandbox.commit("changes");
    let run = night(&previous);
    let second = run.json("batch.json");
    let requests = server.count();
    assert!(requests * 100 <= 4 * 2 * count, "{requests} requests");
    assert_eq!(
        ends(&second),
        BTreeMap::from([
            ("settled".to_owned(), count - changed.len()),
            ("success".to_owned(), changed.len())
        ])
    );
    let why = second["tasks"][0]["notices"][0]["message"].as_str().unwrap();
    assert_eq!(
        why,
        format!("nothing that it read or wrote has changed since {}", first["started_at"].as_str().unwrap())
    );
    let (again, settled) = (changed.len(), count - changed.len());
    let told = format!("{again} of {count} tasks done, {settled} settled");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    let told = format!("estimate from the earlier night: {again} tasks, about ");
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    // Nights go on from each other, with the reason of the first.
    let third = night(&previous).json("batch.json");
    assert_eq!((server.count(), ends(&third)["settled"]), (0, count));
    assert_eq!(third["tasks"][0]["notices"][0]["message"], *why);
    // Another configuration, other flags or `--fresh` settle nothing.
    assert_eq!(ends(&night(&[&previous[..], &["--fresh"]].concat()).json("batch.json"))["success"], count);
    assert_eq!(server.count(), 2 * count);
    assert_eq!(
        ends(&night(&[&previous[..], &["--max-steps", "9"]].concat()).json("batch.json"))["success"],
        count
    );
}

#[test]
fn batch_settles_only_what_depends_on_checkout_alone() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\n"),
        ("a/one.txt", "old\n"),
        ("b/other.txt", "old\n"),
        ("recipe.yml", "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n"),
    ]);
    let file = json!({"name": "recipes", "tasks": [
        {"id": "a", "recipe": "recipe.yml", "folder": "a"},
        {"id": "b", "recipe": "recipe.yml", "folder": "b"},
        {"id": "failing", "recipe": "recipe.yml", "folder": "b", "gates": [{"name": "no", "command": "false"}]},
    ]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let last = sandbox.path().join("last.json");
    let night = |expected: &[(&str, &str)]| {
        let run = batch(&sandbox, &["--previous", last.to_str().unwrap()]).expect_code(1);
        let report = run.json("batch.json");
        let found: Vec<(&str, &str)> = report["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| (task["id"].as_str().unwrap(), task["end"].as_str().unwrap()))
            .collect();
        assert_eq!(found, expected);
        fs::copy(run.out.join("batch.json"), &last).unwrap();
    };
    night(&[("a", "success"), ("b", "success"), ("failing", "failed")]);
    night(&[("a", "settled"), ("b", "settled"), ("failing", "failed")]);
    // A recipe looks for files by name, so that a new one counts.
    sandbox.write("a/two.txt", "old\n");
    sandbox.commit("one more");
    night(&[("a", "success"), ("b", "settled"), ("failing", "failed")]);
    sandbox.write(
        "recipe.yml",
        "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: 'old', with: 'newer'}}]\n",
    );
    sandbox.commit("another recipe");
    night(&[("a", "success"), ("b", "success"), ("failing", "failed")]);
}

#[test]
fn batch_pilot_stops_before_money_is_spent() {
    let sandbox = Sandbox::new(&[("a.txt", "old\n")]);
    sandbox.write(
        "recipe.yml",
        "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n",
    );
    let gate = json!({"recipe": "recipe.yml", "gates": [{"name": "no", "command": "test {n} != 1"}]});
    let mut file: Value = serde_json::from_str(&tasks("pilot", 12, &gate)).unwrap();
    for (stop_above, expected) in [
        ("40%", [("failed", 1), ("not_run", 10), ("success", 1)]),
        ("50%", [("failed", 1), ("not_run", 0), ("success", 11)]),
    ] {
        file["pilot"] = json!({"tasks": 2, "stop_above": stop_above});
        sandbox.write("batch.yml", file.to_string());
        sandbox.commit("tasks");
        let run = batch(&sandbox, &["--jobs", "4"]).expect_code(1);
        let ends = ends(&run.json("batch.json"));
        for (end, count) in expected {
            assert_eq!(ends.get(end).copied().unwrap_or(0), count, "{stop_above}: {ends:?}");
        }
        assert_eq!(
            run.file("batch.md").contains("1 of the 2 tasks of the pilot failed, which is more than 40%"),
            stop_above == "40%"
        );
    }
}

#[test]
fn batch_retry_learns_from_failed_try() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\nguardrails: { max_gate_rounds: 1 }\n"),
        ("a.txt", "old\n"),
    ]);
    let file = json!({"name": "learning", "tasks": [{
        "id": "t", "task": "Mend a.txt", "mode": "yolo",
        "gates": [{"name": "check", "command": "grep -q good a.txt || { echo 'a.txt: not good'; false; }"}],
        "retry": {"times": 2, "with": ["output", "diff"], "models": ["openai::gpt-5-large"]},
    }]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let edit = |to: &str| {
        Answer::Calls(vec![("edit_file", json!({"path": "a.txt", "old_str": "old", "new_str": to}))])
    };
    let server =
        ModelServer::start(vec![edit("bad"), Answer::Text("done"), edit("good"), Answer::Text("done")]);
    let report = batch(&sandbox, &["--base-url", &server.url, "--model", "openai::gpt-5"])
        .expect_code(0)
        .json("batch.json");
    assert_eq!(
        (&report["tasks"][0]["attempts"], &report["tasks"][0]["model"]),
        (&json!(2), &json!("openai::gpt-5-large"))
    );
    let bodies = server.bodies();
    let told = |body: &Value| {
        let messages = body["messages"].as_array().unwrap();
        messages.iter().find(|message| message["role"] == "user").unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!((&bodies[0]["model"], &bodies[2]["model"]), (&json!("gpt-5"), &json!("gpt-5-large")));
    assert!(told(&bodies[0]).starts_with("Mend a.txt"), "{}", told(&bodies[0]));
    let second = told(&bodies[2]);
    assert!(second.starts_with("[EARLIER ATTEMPT] An earlier attempt at this task failed"), "{second}");
    for part in ["check (`grep -q", "a.txt: not good", "-old\n+bad", "[END OF EARLIER ATTEMPT]\n\nMend a.txt"]
    {
        assert!(second.contains(part), "{part}\n{second}");
    }
}

#[test]
fn batch_task_works_in_rounds_until_check_passes() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\nguardrails: { max_gate_rounds: 1 }\n"),
        ("a.txt", "old\n"),
    ]);
    let file = json!({"name": "rounds", "tasks": [{"id": "t", "task": "Make it", "until": ["test -e made.txt"], "max_rounds": 3}]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let make = Answer::Calls(vec![("write_file", json!({"path": "made.txt", "content": "x"}))]);
    let server = ModelServer::start(vec![Answer::Text("nothing to do"), make, Answer::Text("done")]);
    let run = batch(&sandbox, &["--base-url", &server.url, "--model", "openai::gpt-5"]).expect_code(0);
    let gates = run.json("tasks/t/report.json")["gates"].clone();
    assert_eq!((&gates[0]["passed"], &gates[0]["round"]), (&json!(true), &json!(2)), "{gates}");
    assert_eq!(server.bodies().len(), 3);
}

#[test]
fn ledger_keeps_budget_of_day_over_many_runs() {
    // Each answer of the server counts 1000 tokens in (600 of them cached) and 50 out: $0.0013 by these prices.
    let config = "evaluation: off\ncosts: { budget_per_day: 0.006, prices_file: prices.yml }\n";
    let prices = "gpt-5: { input: 1, cached: 0.5, output: 12 }\n";
    let sandbox =
        Sandbox::new(&[(".architect.yml", config), ("prices.yml", prices), ("a.txt", "one\ntwo\nthree\n")]);
    let ledger = sandbox.path().join("costs.jsonl");
    let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n}))]);
    let night = |model: &str, answers: Vec<Answer>, code: i32| {
        let server = ModelServer::start(answers);
        let args = ["--model", model, "--base-url", &server.url, "--ledger", ledger.to_str().unwrap()];
        let run = sandbox.run(&args, &[]).expect_code(code);
        (run, server.bodies().len())
    };
    let (first, requests) = night("openai::gpt-5", vec![read(1), Answer::Text("done")], 0);
    assert_eq!((requests, &first.report()["cost_usd"]), (2, &json!(0.0026)));
    // The second one reaches the limit of the day in its midst, and is not asked to sum up.
    let (second, requests) = night("openai::gpt-5", (1..9).map(read).collect(), 2);
    let report = second.report();
    assert_eq!((requests, &report["stop_reason"]), (3, &json!("budget_exceeded")));
    assert!(second.stdout.contains("(`costs.budget_per_day`)"), "{}", second.stdout);
    // The third one does not begin.
    let (third, requests) = night("openai::gpt-5", vec![Answer::Text("done")], 2);
    assert_eq!(requests, 0);
    assert!(
        third.stderr.contains("is spent: $0.0065 of $0.0060 (`costs.budget_per_day`)"),
        "{}",
        third.stderr
    );
    // Nor does one whose cost nobody knows.
    let (unknown, requests) = night("openai::mystery", vec![Answer::Text("done")], 3);
    assert_eq!(requests, 0);
    assert!(unknown.stderr.contains("no price is known for openai::mystery"), "{}", unknown.stderr);
    // The ledger's sum is that of the reports.
    let costs = |args: &[&str]| {
        let all = [&["costs", "--ledger", ledger.to_str().unwrap()], args].concat();
        let output = sandbox.command(&all).output().expect("the binary runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = costs(&["--by", "model", "--json"]);
    let sums: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, &sums["openai::gpt-5"]["answers"]), (Some(0), &json!(5)));
    let sum = sums["openai::gpt-5"]["usd"].as_f64().unwrap();
    assert!((sum - (0.0026 + report["cost_usd"].as_f64().unwrap())).abs() < 1e-9, "{sum}");
    let (_, text) = costs(&[]);
    assert!(text.ends_with("all: $0.0065\n") && text.contains("5 answers  ██"), "{text}");
    // Before the first run, a user has none; a ledger that is named has to be there.
    let of_user = sandbox.command(&["costs"]).env("XDG_STATE_HOME", sandbox.path().join("state")).output();
    let of_user = String::from_utf8_lossy(&of_user.expect("the binary runs").stdout).into_owned();
    assert!(of_user.starts_with("nothing is recorded in "), "{of_user}");
    let named = sandbox.command(&["costs", "--ledger", "missing.jsonl"]).output().expect("the binary runs");
    assert_eq!(named.status.code(), Some(3));
    // What is not a ledger bars every run, and one in the checkout could be written by it.
    fs::write(&ledger, "not JSON\n").unwrap();
    assert_eq!(costs(&[]).0, Some(3));
    let (run, _) = night("openai::gpt-5", vec![Answer::Text("done")], 3);
    assert!(run.stderr.contains("costs.jsonl, line 1"), "{}", run.stderr);
    let inside = sandbox.repo().join("costs.jsonl");
    let args = [
        "--model",
        "openai::gpt-5",
        "--base-url",
        "http://127.0.0.1:9",
        "--ledger",
        inside.to_str().unwrap(),
    ];
    let run = sandbox.run(&args, &[]).expect_code(3);
    assert!(run.stderr.contains("is a file of the checkout"), "{}", run.stderr);
}
