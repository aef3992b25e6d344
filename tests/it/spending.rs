//! Costs that cannot be measured still count: answers that do not say what they used, answers that are lost, ledgers that
//! cannot be used.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::faults::{batch, ends, request, respond, tasks};
use crate::support::model::{Answer, ModelServer};
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

// With the usage that the scripted server counts, an answer costs $0.0013.
const PRICES: &str = "gpt-5: { input: 1, cached: 0.5, output: 12 }\n";

fn sandbox(costs: &str, llm: &str) -> Sandbox {
    let config = format!(
        "evaluation: off\ncosts: {{ {costs}prices_file: prices.yml }}\nllm: {{ retries: 1, {llm} }}\n"
    );
    Sandbox::new(&[(".architect.yml", &config), ("prices.yml", PRICES), ("a.txt", "one\ntwo\nthree\n")])
}

/// Serves every connection on a thread of its own, and returns the address.
fn serve(answer: impl Fn(&TcpStream) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || answer(&stream));
        }
    });
    url
}

/// A model that reads a file again and again, and reports this usage.
fn reporting(usage: Value) -> String {
    serve(move |stream| {
        let mut turn = 0;
        while request(stream).is_some() {
            turn += 1;
            let arguments = json!({"path": "a.txt", "end_line": turn}).to_string();
            let call = json!({"id": format!("c{turn}"), "type": "function", "function": {"name": "read_file", "arguments": arguments}});
            let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
            let mut answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5",
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
            if !usage.is_null() {
                answer["usage"] = usage.clone();
            }
            respond(stream, "200 OK", "", &answer);
        }
    })
}

fn run(sandbox: &Sandbox, url: &str, more: &[&str]) -> Run {
    let args = [&["--model", "openai::gpt-5", "--base-url", url], more].concat();
    sandbox.run(&args, &[])
}

fn entries(ledger: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(ledger).expect("a ledger");
    text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect()
}

#[test]
fn answer_without_usage_costs_its_reservation() {
    for usage in [
        Value::Null,
        json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        json!({"prompt_tokens": -1_000_000, "completion_tokens": -5, "total_tokens": -1_000_005}),
        json!({"prompt_tokens": 1_000_000_000_000_000_u64, "completion_tokens": 7, "total_tokens": 7}),
    ] {
        let url = reporting(usage.clone());
        let sandbox = sandbox("", "stream: false");
        let ledger = sandbox.path().join("costs.jsonl");
        let named = ["--ledger", ledger.to_str().unwrap()];
        // 16,000 tokens out cost $0.192: after two answers, the rest pays for a shorter one.
        let ended = run(&sandbox, &url, &[&named[..], &["--budget-usd", "0.5"]].concat()).expect_code(2);
        let report = ended.report();
        assert_eq!(report["stop_reason"], "budget_exceeded", "{usage}: {report}");
        let cost = report["cost_usd"].as_f64().unwrap();
        assert!((0.4..=0.5).contains(&cost), "{usage}: {cost}");
        let told = ended.stderr.matches("does not say how many tokens its answers use").count();
        assert_eq!(told, 1, "{usage}: {}", ended.stderr);
        let sum: f64 = entries(&ledger).iter().map(|entry| entry["usd"].as_f64().unwrap()).sum();
        assert!((sum - cost).abs() < 1e-9, "{usage}: {sum} and {cost}");
    }
}

#[test]
fn answer_without_usage_bars_next_one_where_days_are_limited() {
    let url = reporting(Value::Null);
    for (unmeasured, answers) in [("", 1), ("unmeasured: warn, ", 3)] {
        let sandbox = sandbox(&format!("budget_per_day: 5, {unmeasured}"), "stream: false");
        let ledger = sandbox.path().join("costs.jsonl");
        let args = ["--ledger", ledger.to_str().unwrap(), "--max-steps", "2"];
        let ended = run(&sandbox, &url, &args).expect_code(2);
        let found = entries(&ledger);
        assert_eq!(found.len(), answers, "{unmeasured}: {}", ended.stderr);
        assert!(found[0]["usd"].as_f64().unwrap() > 0.19, "{unmeasured}: {}", found[0]);
        assert_eq!(
            ended.stdout.contains("`costs.unmeasured: warn`"),
            unmeasured.is_empty(),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn answer_that_is_lost_costs_what_arrived() {
    // 4,000 bytes, and the connection ends, twice.
    let lost = Arc::new(AtomicUsize::default());
    let url = serve(move |mut stream| {
        while request(stream).is_some() {
            let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
            if lost.fetch_add(1, Ordering::SeqCst) >= 2 {
                let message = json!({"role": "assistant", "content": "done"});
                let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": usage,
                    "choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]});
                let text = format!("data: {chunk}\n\ndata: [DONE]\n\n");
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
                    text.len()
                );
                let _ = write!(stream, "{head}{text}");
                continue;
            }
            let delta = json!({"role": "assistant", "content": "word ".repeat(800)});
            let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n";
            let _ = write!(stream, "{head}data: {chunk}\n\n");
            return;
        }
    });
    let sandbox = sandbox("", "stream: true");
    let ledger = sandbox.path().join("costs.jsonl");
    let ended = run(&sandbox, &url, &["--ledger", ledger.to_str().unwrap(), "--budget-usd", "1"]);
    let report = ended.report();
    assert_eq!(report["stop_reason"], "llm_error", "{report}");
    let found = entries(&ledger);
    let usd: Vec<f64> = found.iter().map(|entry| entry["usd"].as_f64().unwrap()).collect();
    // 2,000 tokens out, $0.024, and the request.
    assert!(usd.len() == 2 && usd.iter().all(|usd| (0.024..0.2).contains(usd)), "{found:?}");
    let before = usd.iter().sum::<f64>();
    assert!((report["cost_usd"].as_f64().unwrap() - before).abs() < 1e-9, "{report}");
    // When the run is resumed, what was lost still counts, and only the new answer is added.
    let out = ended.out.to_str().expect("a path");
    let resumed =
        sandbox.command(&["sessions", "resume", out]).env("OPENAI_API_KEY", "key").output().expect("it runs");
    let resumed = Run::new(&resumed, ended.out.clone()).expect_code(0);
    let cost = resumed.report()["cost_usd"].as_f64().unwrap();
    assert!((before + 0.0001..before + 0.01).contains(&cost), "{before} and {cost}: {}", resumed.stderr);
}

#[test]
fn ledger_that_others_lock_does_not_keep_run_from_its_end() {
    let sandbox = sandbox("budget_per_day: 5, ", "stream: false");
    let ledger = sandbox.path().join("costs.jsonl");
    let file = File::create(&ledger).expect("a file");
    file.lock().expect("a lock");
    let server = ModelServer::start(vec![Answer::Text("done")]);
    let began = Instant::now();
    let args = ["--ledger", ledger.to_str().unwrap(), "--timeout", "2"];
    let ended = run(&sandbox, &server.url, &args).expect_code(3);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(ended.stderr.contains("another process keeps it locked"), "{}", ended.stderr);
    assert_eq!(server.bodies().len(), 0);
    file.unlock().expect("unlocked");
    run(&sandbox, &server.url, &args[..2]).expect_code(0);
}

#[test]
fn ledger_that_is_no_file_is_refused() {
    let sandbox = sandbox("budget_per_day: 5, ", "stream: false");
    let pipe = sandbox.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let link = sandbox.path().join("link");
    std::os::unix::fs::symlink("/dev/full", &link).expect("a link");
    for path in [&pipe, &link] {
        let path = path.to_str().unwrap();
        let ended = run(&sandbox, "http://127.0.0.1:9/v1", &["--ledger", path]).expect_code(3);
        assert!(ended.stderr.contains("it is not a file"), "{path}: {}", ended.stderr);
        let costs = sandbox.command(&["costs", "--ledger", path]).output().expect("it runs");
        assert_eq!(costs.status.code(), Some(3), "{path}");
    }
}

#[test]
fn ledger_with_unknown_costs_bars_unless_told_otherwise() {
    let now = time::OffsetDateTime::from(std::time::SystemTime::now())
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap();
    let line =
        |usd: &str| format!(r#"{{"at": "{now}", "usd": {usd}, "input": 1, "output": 1, "model": "m"}}"#);
    for (unmeasured, usd, code) in [("", "null", 3), ("unmeasured: warn, ", "null", 0), ("", "0.1", 0)] {
        let sandbox = sandbox(&format!("budget_per_month: 5, {unmeasured}"), "stream: false");
        let ledger = sandbox.path().join("costs.jsonl");
        fs::write(&ledger, line(usd) + "\r\n\r\n").expect("a write");
        let server = ModelServer::start(vec![Answer::Text("done")]);
        let ended = run(&sandbox, &server.url, &["--ledger", ledger.to_str().unwrap()]).expect_code(code);
        let told = ended.stderr.contains("whose cost is not known (`usd` is null)");
        assert_eq!(told, usd == "null", "{unmeasured}: {}", ended.stderr);
    }
}

#[test]
fn batch_stops_at_limit_of_day_and_goes_on_next_day() {
    let sandbox = sandbox("budget_per_day: 0.002, ", "stream: false");
    sandbox.write("batch.yml", tasks("nightly", 5, &json!({"task": "Look at {n}"})));
    sandbox.commit("tasks");
    let ledger = sandbox.path().join("costs.jsonl");
    let server = ModelServer::start(vec![Answer::Text("nothing to do")]);
    let night = |more: &[&str]| {
        let args = ["--jobs", "1", "--model", "openai::gpt-5", "--base-url", &server.url, "--ledger"];
        batch(&sandbox, &[&args[..], &[ledger.to_str().unwrap()], more].concat())
    };
    let first = night(&[]).expect_code(2);
    let report = first.json("batch.json");
    let found = ends(&report);
    assert_eq!((found.get("success"), found.get("not_run")), (Some(&2), Some(&3)), "{found:?}");
    let why = report["tasks"][4]["notices"][0]["message"].as_str().unwrap();
    assert!(why.starts_with("not started: the budget of ") && why.contains("budget_per_day"), "{why}");
    assert_eq!(server.bodies().len(), 2);
    // The next day.
    let yesterday = fs::read_to_string(&ledger).unwrap().replace("\"at\":\"20", "\"at\":\"19");
    fs::write(&ledger, yesterday).unwrap();
    let second = ends(&night(&["--resume"]).expect_code(2).json("batch.json"));
    assert_eq!((second.get("success"), second.get("not_run")), (Some(&4), Some(&1)), "{second:?}");
}

#[test]
fn task_without_answer_at_spent_limit_is_not_run_and_goes_on_next_day() {
    let sandbox = sandbox("budget_per_day: 0.001, ", "stream: false");
    sandbox.write("batch.yml", tasks("nightly", 2, &json!({"task": "Look at {n}"})));
    sandbox.commit("tasks");
    let ledger = sandbox.path().join("costs.jsonl");
    let (out, asked) = (sandbox.out(), Arc::new(AtomicUsize::default()));
    let count = Arc::clone(&asked);
    let url = serve(move |stream| {
        while request(stream).is_some() {
            count.fetch_add(1, Ordering::SeqCst);
            // Both tasks have passed the look at the day before the first one costs more than it may.
            let has_begun = |n: u32| {
                fs::metadata(out.join(format!("tasks/t{n}/transcript.jsonl")))
                    .is_ok_and(|file| file.len() > 0)
            };
            wait_until("both tasks begin", || has_begun(0) && has_begun(1));
            let message = json!({"role": "assistant", "content": "nothing to do"});
            let answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}});
            respond(stream, "200 OK", "", &answer);
        }
    });
    let night = |more: &[&str]| {
        let args = ["--jobs", "2", "--model", "openai::gpt-5", "--base-url", &url, "--ledger"];
        ends(
            &batch(&sandbox, &[&args[..], &[ledger.to_str().unwrap()], more].concat())
                .expect_code(if more.is_empty() { 2 } else { 0 })
                .json("batch.json"),
        )
    };
    let first = night(&[]);
    assert_eq!((first.get("success"), first.get("not_run")), (Some(&1), Some(&1)), "{first:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // The next day.
    let yesterday = fs::read_to_string(&ledger).unwrap().replace("\"at\":\"20", "\"at\":\"19");
    fs::write(&ledger, yesterday).unwrap();
    let second = night(&["--resume"]);
    assert_eq!(second.get("success"), Some(&2), "{second:?}");
}
