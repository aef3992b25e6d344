//! A model's server that answers without end: it fills no memory, and the time that a run has is kept.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::Sandbox;

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
    let (repo, out) = (sandbox.repo(), sandbox.out());
    let shared = ["run", "--task", "Do it", "--model", "openai::gpt-5", "--base-url", url];
    let places = ["--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let mut command = sandbox.command(&shared);
    command.args(places).args(more).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().expect("the binary runs");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let held = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(held.and_then(|held| held.parse::<u64>().ok()).unwrap_or(0) / 1024);
        if let Some(status) = child.try_wait().expect("a child") {
            return (status.code(), began.elapsed(), most);
        }
        // Between two looks at its memory.
        std::thread::sleep(Duration::from_millis(20));
    }
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
    assert!(took < Duration::from_secs(2 + 2), "{took:?}");
    assert!(most < 200, "{most} MiB");
}
