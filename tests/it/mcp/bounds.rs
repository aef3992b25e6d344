//! MCP servers without measure: what they say is bounded, and so are the time and the memory that it takes.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;

use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_endless.py");

/// The run with such a server, and the sandbox that holds what it has written.
fn run_of(mode: &str, calls: &[(&str, Value)]) -> (Sandbox, Run) {
    let config = format!(
        "mcp:\n  servers:\n    - {{ name: test, command: python3, args: [-I, {SERVER}, {mode}], timeout: 3 }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
    let turns: Vec<_> = calls.iter().map(|call| vec![call.clone()]).collect();
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model, "--timeout", "60"], &[]).expect_code(0);
    (sandbox, run)
}

fn notices(run: &Run) -> String {
    run.report()["notices"].to_string()
}

#[test]
fn schemas_without_end_are_refused() {
    let call = |tool: &'static str| (tool, json!({"a": "x"}));
    let (_sandbox, run) = run_of("laughs", &[call("mcp_test_t"), call("mcp_test_u")]);
    assert!(run.results()[0].starts_with("Error: Tool not found: mcp_test_t"), "{:?}", run.results());
    assert_eq!(run.results()[1], "ok");
    let told = notices(&run);
    assert!(told.contains("is left out: its schema expands to more than 10000 values"), "{told}");
    // What the server promises of its results is not worth the time either; the results are there.
    let (_sandbox, run) = run_of("outlaughs", &[call("mcp_test_t")]);
    assert_eq!(run.results()[0], "ok");
    let told = notices(&run);
    assert!(told.contains("are not checked: its schema expands to more than 10000 values"), "{told}");
}

#[test]
fn validation_without_end_is_given_up() {
    let mut value = json!({});
    for _ in 0..60 {
        value = json!({ "a": value });
    }
    let (_sandbox, run) = run_of("recursive", &[("mcp_test_t", value.clone()), ("mcp_test_t", value)]);
    for result in run.results() {
        assert!(result.contains("took more than 2 s"), "{result}");
    }
}

#[test]
fn lists_of_tools_without_end_are_refused() {
    let (_sandbox, run) = run_of("pages", &[("read_file", json!({"path": "a.txt"}))]);
    let told = notices(&run);
    assert!(told.contains("its list of tools has more than 50 pages"), "{told}");
    assert_eq!(run.results().len(), 1);
}

#[test]
fn a_server_that_only_asks_is_not_listened_to() {
    let (_sandbox, run) =
        run_of("ping", &[("mcp_test_t", json!({})), ("read_file", json!({"path": "a.txt"}))]);
    assert!(run.results()[0].contains("did not answer within 3 s"), "{:?}", run.results());
    assert!(run.results()[1].contains("one"), "{:?}", run.results());
}

#[test]
fn a_line_without_end_is_not_read_on() {
    let (_sandbox, run) =
        run_of("line", &[("mcp_test_t", json!({})), ("read_file", json!({"path": "a.txt"}))]);
    assert!(run.results()[0].starts_with("Error: "), "{:?}", run.results());
    assert!(run.results()[1].contains("one"), "{:?}", run.results());
    assert!(run.stderr.contains("a message of an MCP server is longer than 16 MB"), "{}", run.stderr);
}

#[test]
fn secrets_of_an_address_are_masked() {
    let address = "http://127.0.0.1:1/mcp?api_key=a-key-of-an-address&more=second%2Fone-more";
    let program = "command: /nonexistent/a-secret-of-a-program, env: { MY_API_KEY: a-secret-of-a-program }";
    let config = format!(
        "mcp:\n  servers:\n    - {{ name: far, url: '{address}', timeout: 5 }}\n    - {{ name: near, {program} }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
    let model =
        sandbox.script(&[], "The keys are a-key-of-an-address, second/one-more, a-secret-of-a-program.");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let told = notices(&run);
    assert!(told.contains("far is left out") && told.contains("near is left out"), "{told}");
    for text in [&run.stderr, &run.stdout, &run.file("report.json"), &run.file("comment.md")] {
        for secret in ["a-key-of-an-address", "second/one-more", "second%2Fone-more", "a-secret-of-a-program"]
        {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    let config =
        "mcp: { servers: [{ name: far, url: 'ftp://u:a-password1@x/y?api_key=a-key-of-an-address' }] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    let run = sandbox.run(&["--model", &model], &[]).expect_code(3);
    assert!(run.stderr.contains("ftp://") && !run.stderr.contains("api_key"), "{}", run.stderr);
    assert!(!run.stderr.contains("a-password1"), "{}", run.stderr);
}

/// A server that sends every request to `elsewhere`.
fn redirecting(elsewhere: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{elsewhere}/x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = vec![0; 65536];
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(answer.as_bytes());
            // What is still on its way would otherwise reset the connection.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read(&mut buffer);
        }
    });
    address
}

#[test]
fn redirections_lead_no_key_elsewhere() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere = other.local_addr().unwrap().to_string();
    let server = redirecting(&elsewhere);
    let untouched = || assert_eq!(other.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    for model in ["openai::gpt-5", "anthropic::claude-haiku-4-5"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
        let url = format!("http://{server}/v1/");
        let keys =
            [("OPENAI_API_KEY", "the-key-of-the-model"), ("ANTHROPIC_API_KEY", "the-key-of-the-model")];
        let run = sandbox.run(&["--model", model, "--base-url", &url], &keys);
        assert_ne!(run.code, 0);
        let expected = format!("http://{server} redirects to http://{elsewhere}");
        assert!(run.stderr.contains(&expected), "{model}: {}", run.stderr);
        assert!(run.stderr.contains("`llm.base_url`"), "{model}: {}", run.stderr);
        untouched();
    }
    let config = format!(
        "mcp:\n  servers:\n    - {{ name: far, url: 'http://{server}/mcp', token_env: MCP_ACCESS, timeout: 5 }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
    let model = sandbox.script(&[], "done");
    let run = sandbox.run(&["--model", &model], &[("MCP_ACCESS", "the-token")]).expect_code(0);
    let expected = format!("http://{server} redirects to http://{elsewhere}");
    assert!(run.stderr.contains(&expected) && run.stderr.contains("`mcp.servers[].url`"), "{}", run.stderr);
    assert!(notices(&run).contains("the MCP server far is left out"), "{}", notices(&run));
    untouched();
}

#[test]
fn addresses_with_a_query_are_refused_without_telling_it() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let url = "http://127.0.0.1:1/v1/?token=a-token-of-an-address";
    let run = sandbox.run(&["--model", "openai::gpt-5", "--base-url", url], &[("OPENAI_API_KEY", "k")]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("`base_url`: an address with a query"), "{}", run.stderr);
    assert!(!run.stderr.contains("a-token-of-an-address"), "{}", run.stderr);
}

#[test]
fn a_turn_makes_a_bounded_number_of_calls() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let calls: Vec<_> =
        (0..2_000).map(|n| ("read_file", json!({"path": "a.txt", "start_line": n % 7}))).collect();
    let model = sandbox.script(&[calls], "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert_eq!(run.results().len(), 1_000);
}
