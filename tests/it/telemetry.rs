//! Traces: what is sent, what is not, and that a receiver in trouble changes nothing.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::Sandbox;
use serde_json::{Value, json};

/// A receiver: what it was sent, head and body.
struct Receiver {
    port: u16,
    taken: Arc<Mutex<Vec<(String, String)>>>,
}

impl Receiver {
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&taken);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
                while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                    if let Some(count) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = count.trim().parse().unwrap();
                    }
                    head += &std::mem::take(&mut line);
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                all.lock().unwrap().push((head, String::from_utf8(body).unwrap()));
                let _ =
                    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            }
        });
        Self { port, taken }
    }

    fn config(&self, more: &str) -> String {
        format!(
            "telemetry: {{enabled: true, endpoint: 'http://127.0.0.1:{}'{more}}}\n\
             guardrails: {{quality_gates: [{{name: there, command: 'echo gate-output; test -f a.txt'}}]}}\n\
             hooks: {{pre_tool_use: [{{name: look, command: 'true'}}]}}\n",
            self.port
        )
    }
}

const SECRET: &str = "s3cr3t-header-value";

fn run(sandbox: &Sandbox) -> crate::support::Run {
    let calls = vec![
        ("write_file", json!({"path": "a.txt", "content": "the words of the file\n"})),
        ("read_file", json!({"path": "missing.txt"})),
    ];
    let model = sandbox.script(&[calls], &format!("The words of the model, {SECRET}."));
    let headers = format!("api-key={SECRET}");
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", headers.as_str()),
        ("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("GITHUB_WORKFLOW", "Nightly"),
    ];
    sandbox.run(&["--mode", "yolo", "--model", &model], &variables).expect_code(0)
}

fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let pairs = span["attributes"].as_array().unwrap().iter();
    pairs
        .map(|pair| {
            let (_, value) = pair["value"].as_object().unwrap().iter().next().unwrap();
            (pair["key"].as_str().unwrap().to_owned(), value.clone())
        })
        .collect()
}

#[test]
fn telemetry_trace_has_no_text_or_secrets() {
    let receiver = Receiver::start("200 OK");
    let sandbox = Sandbox::new(&[(".architect.yml", &receiver.config(""))]);
    run(&sandbox);
    let taken = receiver.taken.lock().unwrap();
    let [(head, body)] = &taken[..] else { panic!("{taken:?}") };
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    assert!(
        head.contains(&format!("api-key: {SECRET}")) && head.contains("content-type: application/json"),
        "{head}"
    );
    for word in ["words of", "missing.txt", "a.txt", "gate-output", SECRET, "Do it"] {
        assert!(!body.contains(word), "{word}: {body}");
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let resource = &body["resourceSpans"][0];
    assert_eq!(attributes(&resource["resource"])["service.name"], "architect-ci");
    assert_eq!(attributes(&resource["resource"])["cicd.pipeline.name"], "Nightly");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let mut names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "chat script.jsonl",
            "chat script.jsonl",
            "execute_tool read_file",
            "execute_tool write_file",
            "gate there",
            "hook look",
            "hook look",
            "invoke_agent build"
        ]
    );
    let root = spans.iter().find(|span| span["name"] == "invoke_agent build").unwrap();
    assert_eq!(root["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(attributes(root)["gen_ai.operation.name"], "invoke_agent");
    for span in spans {
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        let time = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
        assert!(time("startTimeUnixNano") >= root["startTimeUnixNano"].as_str().unwrap().parse().unwrap());
        if span["name"] != root["name"] {
            assert_eq!(span["parentSpanId"], root["spanId"]);
        }
    }
    let failed = spans.iter().find(|span| span["name"] == "execute_tool read_file").unwrap();
    assert_eq!(
        (&failed["status"]["code"], &attributes(failed)["error.type"]),
        (&json!(2), &json!("tool_error"))
    );
    let chat = spans.iter().find(|span| span["name"] == "chat script.jsonl").unwrap();
    assert_eq!((&chat["kind"], &attributes(chat)["gen_ai.operation.name"]), (&json!(3), &json!("chat")));
    assert_eq!(attributes(chat)["gen_ai.provider.name"], "replay");
}

#[test]
fn telemetry_text_is_opt_in_and_masked() {
    let receiver = Receiver::start("200 OK");
    let sandbox = Sandbox::new(&[(".architect.yml", &receiver.config(", content: true"))]);
    run(&sandbox);
    let taken = receiver.taken.lock().unwrap();
    let body = &taken[0].1;
    assert!(body.contains("The words of the model, ***.") && body.contains("gate-output"), "{body}");
    assert!(!body.contains(SECRET));
}

#[test]
fn telemetry_is_opt_in_and_endpoint_failure_is_warning() {
    let receiver = Receiver::start("503 Service Unavailable");
    let sandbox = Sandbox::new(&[]);
    let endpoint = format!("http://127.0.0.1:{}", receiver.port);
    let model = sandbox.script(&[], "Done.");
    sandbox.run(&["--model", &model], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]).expect_code(0);
    assert!(receiver.taken.lock().unwrap().is_empty());
    sandbox.write(".architect.yml", receiver.config(""));
    let told = run(&sandbox).stderr;
    assert!(told.contains("could not send telemetry to") && told.contains("HTTP 503"), "{told}");
    sandbox.write(".architect.yml", "telemetry: {enabled: true, endpoint: 'http://127.0.0.1:1'}\n");
    assert!(run(&sandbox).stderr.contains("could not send telemetry to"));
    sandbox.write(".architect.yml", "telemetry: {enabled: true}\n");
    let told = sandbox.run(&["--model", &model], &[]).expect_code(3);
    assert!(
        told.stderr.contains("set `telemetry.endpoint` or `OTEL_EXPORTER_OTLP_ENDPOINT`"),
        "{}",
        told.stderr
    );
}
