//! Errors of a server and mistakes of a model: tried again, told to the model, or the end of the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use super::every_way;
use crate::support::Sandbox;
use crate::support::model::protocol::PROTOCOLS;
use crate::support::model::{Answer, ModelServer};
use serde_json::json;

#[test]
fn model_transient_errors_are_retried() {
    let status = |status, header: &'static str, value: &str| {
        Answer::Status(status, vec![(header, value.to_owned())], "{}")
    };
    // A date has whole seconds, so this is three to four seconds from now.
    let soon = || httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(4));
    let faults: [(&(dyn Fn() -> Answer + Sync), Duration); 13] = [
        (&|| status(429, "retry-after", "1"), Duration::from_secs(1)),
        (&|| status(503, "retry-after", &soon()), Duration::from_millis(500)),
        (&|| status(529, "retry-after-ms", "300"), Duration::from_millis(300)),
        (&|| status(408, "x", "y"), Duration::ZERO),
        (&|| status(500, "x", "y"), Duration::ZERO),
        (&|| status(502, "x", "y"), Duration::ZERO),
        (&|| Answer::Reset, Duration::ZERO),
        (&|| Answer::ResetAfterHeaders, Duration::ZERO),
        (&|| Answer::Cut, Duration::ZERO),
        (&|| Answer::CutInCall, Duration::ZERO),
        (&|| Answer::Page, Duration::ZERO),
        (&|| Answer::Silence(Duration::from_secs(3)), Duration::from_secs(1)),
        (&|| Answer::SilenceAfterHeaders(Duration::from_secs(3)), Duration::from_secs(1)),
    ];
    every_way(|way| {
        let sandbox = Sandbox::new(&[(".architect.yml", &way.config(", timeout: 1"))]);
        for (fault, at_least) in faults {
            let fault = fault();
            let server = ModelServer::start(vec![fault.clone(), Answer::Text("done")]);
            let run = sandbox.run(&way.args(&server, &["--mode", "yolo"]), &[]);
            assert_eq!((run.code, run.stdout.as_str()), (0, "done\n"), "{fault:?} {way:?}: {}", run.stderr);
            let times = server.times();
            assert_eq!(times.len(), 2, "{fault:?} {way:?}: {}", run.stderr);
            assert!(times[1] - times[0] >= at_least, "{fault:?} {way:?}: {:?}", times[1] - times[0]);
            assert!(run.stderr.contains("trying again in"), "{}", run.stderr);
            assert!(!sandbox.repo().join("cut.txt").exists(), "{fault:?} {way:?}: half a call was made");
        }
    });
}

#[test]
fn model_permanent_errors_end_run() {
    let refused = |status, body| Answer::Status(status, vec![], body);
    every_way(|way| {
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
                "unknown model",
            ),
            (
                refused(
                    429,
                    r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                ),
                1,
                1,
                "no credit left",
            ),
            (
                refused(400, r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#),
                2,
                1,
                "too long for the model",
            ),
            (
                refused(
                    400,
                    r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens"}}"#,
                ),
                2,
                1,
                "too long for the model",
            ),
            (
                refused(400, r#"{"error":{"message":"no such parameter"}}"#),
                1,
                1,
                "refused the request (400): no such parameter",
            ),
            (refused(500, r#"{"error":{"message":"oops"}}"#), 1, 2, "status 500, oops"),
            (refused(502, "<html>Bad gateway</html>"), 1, 2, "status 502"),
            (refused(429, "{}"), 1, 2, "rate-limited by the model provider"),
            (Answer::Reset, 1, 2, "the model provider is not available"),
            (Answer::Page, 1, 2, "the model"),
            (Answer::CutInCall, 1, 2, "the model"),
        ] {
            let sandbox = Sandbox::new(&[(".architect.yml", &way.config(", retries: 1"))]);
            let server = ModelServer::start(vec![answer.clone()]);
            let keys = [("OPENAI_API_KEY", "secret-key-value"), ("ANTHROPIC_API_KEY", "secret-key-value")];
            let run = sandbox.run(&way.args(&server, &[]), &keys);
            assert_eq!(run.code, code, "{answer:?} {way:?}: {}", run.stderr);
            assert_eq!(server.bodies().len(), requests, "{answer:?} {way:?}: {}", run.stderr);
            let notices = run.report()["notices"].to_string();
            assert!(notices.contains(says), "{answer:?} {way:?}: {notices}");
            assert!(run.stderr.contains(says), "{answer:?} {way:?}: {}", run.stderr);
            assert!(!run.file("comment.md").is_empty() && !run.file("junit.xml").is_empty());
        }
    });
    let sandbox = Sandbox::new(&[(".architect.yml", "llm:\n  retries: 0\n")]);
    let unreachable = ["--model", "openai::gpt-5", "--base-url", "http://127.0.0.1:9/v1"];
    let run = sandbox.run(&unreachable, &[]).expect_code(1);
    assert!(run.stderr.contains("could not connect"), "{}", run.stderr);
    assert_eq!(run.report()["stop_reason"], "llm_error");
}

#[test]
fn model_mistakes_are_returned_to_model() {
    every_way(|way| {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &way.config(""))]);
        let server = ModelServer::start(vec![
            Answer::RawArguments("read_file", "{\"path\": \"a.txt\""),
            Answer::Calls(vec![("read_fil", json!({"path": "a.txt"}))]),
            Answer::Calls(vec![("read_file", json!({"path": 5}))]),
            Answer::Calls(vec![("read_file", json!({"path": "a.txt", "colour": 3}))]),
            Answer::Text(""),
            Answer::Text("done"),
        ]);
        let run = sandbox.run(&way.args(&server, &[]), &[]);
        assert_eq!(run.code, 0, "{way:?}: {}", run.stderr);
        let results = run.results();
        let cut = "Error: Invalid arguments: not valid JSON: the call was cut off after 16 characters of arguments, and nothing";
        assert!(results[0].starts_with(cut), "{way:?}: {}", results[0]);
        assert!(!run.stderr.contains("trying again"), "{way:?}: {}", run.stderr);
        assert_eq!(results[1], "1\tone\n");
        assert!(results[2].contains("5 does not exist"), "{}", results[2]);
        assert_eq!(results[3], "1\tone\n[ignored, because read_file has no such argument: colour]\n");
        assert_eq!(run.stdout, "done\n", "{way:?}: an empty reply is asked about once");
    });
}

#[test]
fn model_truncated_answer_is_reported() {
    for (protocol, finish) in [(0, "length"), (2, "max_tokens")] {
        let (_, model) = PROTOCOLS[protocol];
        let sandbox = Sandbox::new(&[]);
        let server = ModelServer::start(vec![Answer::Finish(finish, "half of what")]);
        let run = sandbox.run(&["--model", model, "--base-url", &server.url], &[]).expect_code(2);
        assert_eq!(run.report()["stop_reason"], "answer_cut");
        let notices = run.report()["notices"].to_string();
        assert!(
            notices.contains("the answer of build in step 1 was cut off at the model's token limit"),
            "{notices}"
        );
    }
}

#[test]
fn model_program_that_does_not_exist_is_asked_once() {
    let sandbox = Sandbox::new(&[]);
    let run = sandbox.run(&["--model", "exec::no-such-program-anywhere"], &[]).expect_code(3);
    assert_eq!(run.report()["stop_reason"], "llm_unknown");
    assert!(run.stderr.contains("its program cannot be started: "), "{}", run.stderr);
    assert!(!run.stderr.contains("trying again"), "{}", run.stderr);
}

/// Starts a server that answers every request with these bytes, and returns its address.
fn server(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                let (name, value) = line.split_once(':').unwrap_or_default();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

/// A server whose answer asks the parser for more memory than any machine has: the run ends with a report.
#[test]
fn model_calls_of_absurd_numbers_are_no_answer() {
    let call = json!({"index": 4_000_000_000_u64, "id": "1", "type": "function",
        "function": {"name": "list_files", "arguments": "{}"}});
    let frame = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let body = format!("data: {frame}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let url = server(format!("{head}{body}"));
    let config = format!("llm:\n  retries: 0\n  base_url: {url}\n");
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &config)]);
    let args = ["--task", "t", "--model", "openai::gpt-4o"];
    let run = sandbox.run(&args, &[("OPENAI_API_KEY", "k")]).expect_code(1);
    assert_eq!(run.report()["stop_reason"], "llm_error");
    assert!(run.stderr.contains("it calls tool number 4000000001"), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

/// The address of a server may contain a key that nothing else shows.
#[test]
fn model_errors_that_break_off_do_not_name_the_server() {
    for answer in [
        "HTTP/1.1 401 X\r\ncontent-length: 500\r\n\r\nno",
        "HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 500\r\n\r\ndata: {",
        "nothing that is HTTP\r\n\r\n",
    ] {
        let url = server(answer.to_owned());
        let config = format!("llm:\n  retries: 0\n  base_url: {url}/of-ours\n");
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &config)]);
        let run = sandbox.run(&["--task", "t", "--model", "openai::gpt-4o"], &[("OPENAI_API_KEY", "k")]);
        let told = run.stderr.clone() + &run.report().to_string();
        assert!(!told.contains("of-ours") && !told.contains(&url), "{answer}: {told}");
    }
}
