//! The binary against a loopback model server: a long session, faults, and limits.
#![allow(missing_docs, clippy::expect_used, clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use support::Sandbox;
use support::model::{Answer, ModelServer};

const MODEL: [&str; 3] = ["--model", "openai::gpt-5", "--base-url"];

fn with<'a>(server: &'a ModelServer, more: &[&'a str]) -> Vec<&'a str> {
    [&MODEL[..], &[&server.url], more].concat()
}

/// Forty steps: each turns one line of a file, and reads the file every tenth time.
fn forty_steps() -> Vec<Answer> {
    let mut answers: Vec<Answer> = (0..39)
        .map(|n| {
            let edit = ("edit_file", json!({"path": "lines.txt", "old_str": format!("line {n}\n"), "new_str": format!("turned {n}\n")}));
            let read = ("read_file", json!({"path": "lines.txt"}));
            Answer::Calls(if n % 10 == 0 { vec![read, edit] } else { vec![edit] })
        })
        .collect();
    answers.push(Answer::Text("All lines are turned."));
    answers
}

#[test]
fn a_session_of_forty_steps_streamed_and_not() {
    for (stream, mode) in [(true, "yolo"), (false, "yolo"), (true, "dry-run")] {
        let lines: String = (0..60).map(|n| format!("line {n}\n")).collect();
        let config = format!("llm:\n  stream: {stream}\n");
        let sandbox = Sandbox::new(&[("lines.txt", &lines), (".architect.yml", &config)]);
        let server = ModelServer::start(forty_steps());
        let run = sandbox.run(&with(&server, &["--mode", mode]), &[]).expect_code(0);
        let report = run.report();
        assert_eq!(report["steps"].as_array().map(Vec::len), Some(40));
        assert_eq!(report["usage"], json!({"input": 40_000, "cached": 24_000, "output": 2_000}));
        assert!(run.calls().iter().all(|call| call.ends_with("true")), "{:?}", run.calls());
        let turned: String =
            (0..60).map(|n| if n < 39 { format!("turned {n}\n") } else { format!("line {n}\n") }).collect();
        if mode == "dry-run" {
            assert_eq!(sandbox.read("lines.txt"), lines);
            let patch = run.out.join("plan.patch");
            sandbox.git(&["apply", patch.to_str().unwrap()]);
        }
        assert_eq!(sandbox.read("lines.txt"), turned);
        assert_eq!(run.stdout, "All lines are turned.\n");
        assert_eq!(server.bodies()[0]["stream"] == true, stream);
        let first = server.bodies()[0].to_string().len();
        assert!(first < 12_000, "the first request takes {first} bytes");
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    let status =
        |status, header: &'static str, value: String| Answer::Status(status, vec![(header, value)], "{}");
    let faults: [(&dyn Fn() -> Answer, Duration); 6] = [
        (&|| status(429, "retry-after", "1".into()), Duration::from_secs(1)),
        // A date has whole seconds, so this is one to two seconds from now.
        (
            &|| {
                status(
                    503,
                    "retry-after",
                    httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2)),
                )
            },
            Duration::from_millis(500),
        ),
        (&|| status(529, "retry-after-ms", "300".into()), Duration::from_millis(300)),
        (&|| Answer::Reset, Duration::ZERO),
        (&|| Answer::Cut, Duration::ZERO),
        (&|| Answer::Silence(Duration::from_secs(3)), Duration::from_secs(1)),
    ];
    for (fault, at_least) in faults {
        for stream in ["true", "false"] {
            let config = format!("llm:\n  timeout: 1\n  stream: {stream}\n");
            let sandbox = Sandbox::new(&[(".architect.yml", &config)]);
            let fault = fault();
            let server = ModelServer::start(vec![fault.clone(), Answer::Text("done")]);
            let run = sandbox.run(&with(&server, &[]), &[]).expect_code(0);
            assert_eq!(run.stdout, "done\n", "{fault:?}");
            let times = server.times();
            assert_eq!(times.len(), 2, "{fault:?} {stream}: {}", run.stderr);
            assert!(times[1] - times[0] >= at_least, "{fault:?}: {:?}", times[1] - times[0]);
            assert!(run.stderr.contains("trying again in"), "{}", run.stderr);
        }
    }
}

#[test]
fn what_cannot_pass_ends_the_run_with_its_reason() {
    let refused = |status, body| Answer::Status(status, vec![], body);
    for (answer, code, requests, says) in [
        (
            refused(401, r#"{"error":{"message":"Incorrect API key provided"}}"#),
            4,
            1,
            "the model provider refused the key (401): Incorrect API key provided",
        ),
        (refused(403, "{}"), 4, 1, "the model provider refused the key (403)"),
        (
            refused(
                404,
                r#"{"error":{"message":"The model `gpt-5` does not exist","code":"model_not_found"}}"#,
            ),
            3,
            1,
            "the provider does not know the model",
        ),
        (
            refused(
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            ),
            1,
            1,
            "out of credit",
        ),
        (
            refused(400, r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#),
            2,
            1,
            "longer than the model takes",
        ),
        (
            refused(400, r#"{"error":{"message":"no such parameter"}}"#),
            1,
            1,
            "refused the request (400): no such parameter",
        ),
        (refused(500, r#"{"error":{"message":"oops"}}"#), 1, 2, "status 500, oops"),
        (Answer::Reset, 1, 2, "the model provider is not available"),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", "llm:\n  retries: 1\n")]);
        let server = ModelServer::start(vec![answer.clone()]);
        let run =
            sandbox.run(&with(&server, &[]), &[("OPENAI_API_KEY", "secret-key-value")]).expect_code(code);
        assert_eq!(server.bodies().len(), requests, "{answer:?}");
        let notices = run.report()["notices"].to_string();
        assert!(notices.contains(says), "{answer:?}: {notices}");
        assert!(run.stderr.contains(says), "{answer:?}: {}", run.stderr);
    }
    let sandbox = Sandbox::new(&[(".architect.yml", "llm:\n  retries: 0\n")]);
    let unreachable = ["--model", "openai::gpt-5", "--base-url", "http://127.0.0.1:9/v1"];
    let run = sandbox.run(&unreachable, &[]).expect_code(1);
    assert!(run.stderr.contains("the connection could not be made"), "{}", run.stderr);
    assert_eq!(run.report()["stop_reason"], "llm_error");
}

#[test]
fn mistakes_of_the_model_come_back_to_it() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let server = ModelServer::start(vec![
        Answer::RawArguments("read_file", "{\"path\": \"a.txt\""),
        Answer::Calls(vec![("read_fil", json!({"path": "a.txt"}))]),
        Answer::Calls(vec![("read_file", json!({"path": 5}))]),
        Answer::Calls(vec![("read_file", json!({"path": "a.txt", "lines": 3}))]),
        Answer::Text(""),
        Answer::Text("done"),
    ]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(0);
    let results = run.results();
    assert!(results[0].starts_with("Error: Invalid arguments: not valid JSON"), "{}", results[0]);
    assert_eq!(results[1], "Error: Tool not found: read_fil; did you mean read_file?");
    assert!(
        results[2].contains("Invalid arguments: path: invalid type: integer `5`, expected a string"),
        "{}",
        results[2]
    );
    assert!(results[3].contains("unknown field `lines`"), "{}", results[3]);
    assert_eq!(run.stdout, "done\n", "an empty reply is asked about once");
}

#[test]
fn limits_end_with_a_summary_and_partial() {
    let list = || Answer::Calls(vec![("list_files", json!({}))]);
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let server = ModelServer::start(vec![
        list(),
        Answer::Calls(vec![("read_file", json!({"path": "a.txt"}))]),
        Answer::Text("so far"),
    ]);
    let run = sandbox.run(&with(&server, &["--max-steps", "2"]), &[]).expect_code(2);
    assert_eq!((run.stdout.as_str(), run.report()["stop_reason"].as_str()), ("so far\n", Some("max_steps")));
    let closing = server.bodies().pop().expect("a request");
    assert_eq!(closing["tool_choice"], "none", "the closing call is without tools");
    assert!(closing["messages"].to_string().contains("You have to stop now"), "{closing}");

    let server = ModelServer::start(vec![list()]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "loop");
    assert_eq!(run.calls().len(), 5);

    let server = ModelServer::start(vec![Answer::Silence(Duration::from_secs(8))]);
    let started = Instant::now();
    let config = sandbox.path().join("slow.yml");
    std::fs::write(&config, "llm:\n  timeout: 5\n  retries: 0\n").unwrap();
    let run = sandbox
        .run(&with(&server, &["--timeout", "1", "--config", config.to_str().unwrap()]), &[])
        .expect_code(5);
    assert_eq!(run.report()["stop_reason"], "timeout");
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());

    let sandbox = Sandbox::new(&[
        ("big.txt", &"word ".repeat(4_000)),
        (".architect.yml", "context:\n  max_context_tokens: 3000\n  max_tool_result_tokens: 5000\n"),
    ]);
    let read = Answer::Calls(vec![("read_file", json!({"path": "big.txt"}))]);
    let server = ModelServer::start(vec![read, Answer::Text("full")]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(2);
    assert_eq!((run.stdout.as_str(), run.report()["stop_reason"].as_str()), ("full\n", Some("context_full")));
}

#[test]
fn calls_of_one_turn_come_back_in_their_order() {
    let sandbox = Sandbox::new(&[("a.txt", "A\n"), ("b.txt", "B\n"), ("c.txt", "C\n")]);
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let write = |content: &str| ("write_file", json!({"path": "a.txt", "content": content}));
    let server = ModelServer::start(vec![
        Answer::Calls(vec![read("c.txt"), read("a.txt"), read("b.txt")]),
        Answer::Calls(vec![write("A2\n"), read("a.txt"), write("A3\n"), read("a.txt")]),
        Answer::Text("done"),
    ]);
    let run = sandbox.run(&with(&server, &[]), &[]).expect_code(0);
    assert_eq!(run.results()[..3], ["C\n", "A\n", "B\n"], "the transcript keeps their order as well");
    let tools = |body: &serde_json::Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap();
        messages
            .iter()
            .filter(|m| m["role"] == "tool")
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let bodies = server.bodies();
    assert_eq!(tools(&bodies[1]), ["C\n", "A\n", "B\n"]);
    let second = &tools(&bodies[2])[3..];
    assert_eq!((second[1].as_str(), second[3].as_str()), ("A2\n", "A3\n"));
    // The history only grows: what was sent before is sent again to the letter, so that caches hit.
    let start =
        |body: &serde_json::Value, count: usize| body["messages"].as_array().unwrap()[..count].to_vec();
    let count = bodies[1]["messages"].as_array().unwrap().len();
    assert_eq!(start(&bodies[1], count), start(&bodies[2], count));
    assert_eq!(bodies[0]["tools"], bodies[2]["tools"]);
}

#[test]
fn the_final_answer_can_be_bound_to_a_schema() {
    let schema = r#"{"type":"object","required":["risk"],"properties":{"risk":{"enum":["low","high"]}}}"#;
    let sandbox = Sandbox::new(&[]);
    let server =
        ModelServer::start(vec![Answer::Text("The risk is low."), Answer::Text("{\"risk\": \"low\"}")]);
    let output = sandbox.path().join("github-output");
    let variables = [("GITHUB_OUTPUT", output.to_str().unwrap())];
    let run = sandbox.run(&with(&server, &["--output-schema", schema]), &variables).expect_code(0);
    assert_eq!(run.report()["structured_output"], json!({"risk": "low"}));
    assert!(std::fs::read_to_string(&output).unwrap().contains("\n{\"risk\":\"low\"}\n"));
    let server = ModelServer::start(vec![Answer::Text("no")]);
    let run = sandbox.run(&with(&server, &["--output-schema", schema]), &[]).expect_code(1);
    assert_eq!((run.report()["stop_reason"].as_str(), server.bodies().len()), (Some("invalid_output"), 3));
}

#[test]
fn a_recorded_run_plays_back_and_strictness_notices_a_difference() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let edit = json!({"path": "a.txt", "old_str": "one", "new_str": "two"});
    let server = ModelServer::start(vec![
        Answer::Calls(vec![("read_file", json!({"path": "a.txt"}))]),
        Answer::Calls(vec![("edit_file", edit)]),
        Answer::Text("done"),
    ]);
    let recorded = sandbox.run(&with(&server, &[]), &[]).expect_code(0);
    let transcript = sandbox.path().join("recorded.jsonl");
    std::fs::copy(recorded.out.join("transcript.jsonl"), &transcript).unwrap();
    let model = format!("replay::{}", transcript.display());
    let replayed = sandbox.run(&["--model", &model, "--strict-replay"], &[]).expect_code(0);
    assert_eq!(replayed.report()["plan"]["digest"], recorded.report()["plan"]["digest"]);
    sandbox.write("a.txt", "one, or so\n");
    sandbox.run(&["--model", &model], &[]).expect_code(0);
    let run = sandbox.run(&["--model", &model, "--strict-replay"], &[]).expect_code(1);
    assert!(run.stderr.contains("differs from the recorded one"), "{}", run.stderr);
}
