//! A model's server that answers without end: it fills no memory, and the time that a run has is kept.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::support::processes::status_kb;
use crate::support::wait::wait_until;

/// A server that sends `head`, and then `piece` for ever.
fn server(head: &'static str, piece: &str) -> String {
    let block = piece.repeat((64 * 1024 / piece.len()).max(1));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let answer = move |mut stream: TcpStream, block: &str| {
        let mut request = BufReader::new(stream.try_clone().expect("a socket"));
        let mut line = String::new();
        while request.read_line(&mut line).is_ok_and(|read| read > 2) {
            line.clear();
        }
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{head}").as_bytes());
        while stream.write_all(block.as_bytes()).is_ok() {}
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let block = block.clone();
            std::thread::spawn(move || answer(stream, &block));
        }
    });
    url
}

/// Runs a task; gives the exit code, how long it took, and the most memory that the process held, in MiB.
fn run(url: &str, more: &[&str]) -> (Option<i32>, Duration, u64) {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let mut command = sandbox.run_command(&["--model", "openai::gpt-5", "--base-url", url]);
    command.args(more).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().expect("the binary runs");
    let mut most = 0;
    wait_until("the run ends", || {
        most = most.max(status_kb(child.id(), "VmHWM") / 1024);
        child.try_wait().expect("a child").is_some()
    });
    (child.wait().expect("an end").code(), began.elapsed(), most)
}

const EVENTS: &str = "content-type: text/event-stream\r\n\r\n";

const DELTA: &str = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-5\",\
     \"choices\":[{\"index\":0,\"delta\":{\"content\":\"more and more and more and more and more\"},\"finish_reason\":null}]}\n\n";

#[test]
fn model_endless_answer_is_bounded() {
    // Large pieces: what is meant is the bound, not the time that a debug build takes for many small ones.
    let url = server(EVENTS, &DELTA.replace("more and more", &"more and ".repeat(100)));
    let (code, took, most) = run(&url, &["--timeout", "60"]);
    assert_eq!(code, Some(1), "the answer is refused after {took:?}");
    assert!(most < 200, "{most} MiB");
}

#[test]
fn model_endless_answer_obeys_timeout() {
    let slow = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-5\",\"choices\":[]}\n\n";
    let url = server(EVENTS, slow);
    let (code, took, most) = run(&url, &["--timeout", "2"]);
    assert_eq!(code, Some(5), "{took:?}, {most} MiB");
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(most < 200, "{most} MiB");
}

#[test]
fn model_endless_line_obeys_timeout_and_signal() {
    let url = server(EVENTS, "data: more and more ");
    let (code, took, most) = run(&url, &["--timeout", "2"]);
    assert_eq!(code, Some(5), "{took:?}, {most} MiB");
    assert!(most < 300, "{most} MiB");
    // A signal ends it as well: sent as soon as the answer has begun.
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let mut command = sandbox.run_command(&["--model", "openai::gpt-5", "--base-url", &url]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let held = || status_kb(child.id(), "VmRSS");
    // The run has begun when it writes down what happens; then what it holds grows with the line.
    let mut at_start = None;
    wait_until("the answer comes", || {
        if at_start.is_none() && sandbox.out().join("transcript.jsonl").exists() {
            at_start = Some(held());
        }
        at_start.is_some_and(|start| held() >= start + 4_000)
    });
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("the signal is sent");
    let sent = Instant::now();
    assert_eq!(child.wait().expect("an end").code(), Some(143));
    assert!(sent.elapsed() < Duration::from_mins(1), "{:?}", sent.elapsed());
    assert!(sandbox.out().join("report.json").is_file());
}

#[test]
fn model_answer_that_never_ends_is_given_up_without_timeout() {
    let url = server(EVENTS, ": ping\n\n");
    let sandbox =
        Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "llm: { answer_timeout: 1, retries: 0 }\n")]);
    let run = sandbox.run(&["--model", "openai::gpt-5", "--base-url", &url], &[]).expect_code(1);
    assert!(run.stderr.contains("the answer took more than 1 s (`llm.answer_timeout`)"), "{}", run.stderr);
}
