//! Confirmation, answered by somebody at a (pseudo-)terminal.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// A terminal with the program at one end and this test at the other.
struct Terminal {
    keyboard: File,
    screen: std::sync::mpsc::Receiver<u8>,
    seen: String,
    child: Child,
}

impl Terminal {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
        let open = || File::options().read(true).write(true).open(&name).expect("the other end");
        let mut command = sandbox.run_command(args);
        command.env_remove("CI").env_remove("GITHUB_ACTIONS");
        let child =
            command.stdin(open()).stderr(open()).stdout(Stdio::null()).spawn().expect("the binary runs");
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().expect("a second handle");
        let (sender, screen) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut byte = [0];
            while reader.read(&mut byte).is_ok_and(|count| count == 1) && sender.send(byte[0]).is_ok() {}
        });
        Self { keyboard, screen, seen: String::new(), child }
    }

    /// Waits for a text on the screen and types an answer.
    fn answer(&mut self, question: &str, keys: &str) {
        let started = Instant::now();
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains(question) {
            let byte = self.screen.recv_timeout(Duration::from_secs(20));
            bytes.push(byte.unwrap_or_else(|_| {
                panic!(
                    "{question} never came after {:?}: {}{}",
                    started.elapsed(),
                    self.seen,
                    String::from_utf8_lossy(&bytes)
                )
            }));
        }
        self.seen += &String::from_utf8_lossy(&bytes);
        self.keyboard.write_all(format!("{keys}\n").as_bytes()).expect("typed");
    }

    fn end(mut self) -> i32 {
        self.child.wait().expect("the end").code().unwrap_or(-1)
    }
}

fn calls() -> Vec<Vec<(&'static str, Value)>> {
    vec![
        vec![("read_file", json!({"path": "a.txt"}))],
        vec![("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}))],
        vec![("run_command", json!({"command": "cat a.txt"}))],
        vec![("run_command", json!({"command": "echo x > b.txt"}))],
    ]
}

fn outcome(sandbox: &Sandbox) -> Vec<String> {
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.out().join("report.json")).unwrap()).unwrap();
    let calls = report["calls"].as_array().unwrap().iter();
    calls
        .map(|call| format!("{} {}", call["tool"].as_str().unwrap(), call["outcome"].as_str().unwrap()))
        .collect()
}

#[test]
fn confirm_sensitive_asks_for_sensitive_calls_only() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let model = sandbox.script(&calls(), "done");
    let mut terminal = Terminal::start(&sandbox, &["--model", &model, "--mode", "confirm-sensitive"]);
    terminal.answer(
        "Run edit_file(path=\"a.txt\", old_str=\"one\", new_str=\"two\")? [y]es, [n]o, [a]bort: ",
        "maybe",
    );
    // What is no answer is asked again.
    terminal.answer("[a]bort: ", "y");
    // A safe command is not asked about, one that writes is.
    terminal.answer("Run run_command(command=\"echo x > b.txt\")?", "n");
    assert_eq!(terminal.end(), 0);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    assert!(!sandbox.repo().join("b.txt").exists());
    assert_eq!(
        outcome(&sandbox),
        ["read_file executed", "edit_file executed", "run_command executed", "run_command refused"]
    );
}

#[test]
fn confirm_all_asks_for_every_call_and_abort_ends_run() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let model = sandbox.script(&calls(), "done");
    let mut terminal = Terminal::start(&sandbox, &["--model", &model, "--mode", "confirm-all"]);
    terminal.answer("Run read_file(path=\"a.txt\")?", "y");
    terminal.answer("Run edit_file", "a");
    assert_eq!(terminal.end(), 130);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(outcome(&sandbox), ["read_file executed", "edit_file refused"]);
    // The end of input is an abort as well.
    let mut terminal = Terminal::start(&sandbox, &["--model", &model, "--mode", "confirm-all"]);
    terminal.answer("Run read_file", "\u{4}");
    assert!(matches!(terminal.end(), 130));
}

#[test]
fn confirm_mode_of_agent_holds_where_none_is_given() {
    let config = "agents: { build: { confirm_mode: confirm-all } }\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", config)]);
    let model = sandbox.script(&calls(), "done");
    let mut terminal = Terminal::start(&sandbox, &["--model", &model]);
    terminal.answer("Run read_file(path=\"a.txt\")?", "a");
    assert_eq!(terminal.end(), 130);
    let terminal = Terminal::start(&sandbox, &["--model", &model, "--dry-run"]);
    assert_eq!(terminal.end(), 0);
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn confirm_mode_without_tty_fails() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let model = sandbox.script(&calls(), "done");
    let run = sandbox.run(&["--model", &model, "--mode", "confirm-all"], &[]).expect_code(3);
    assert!(
        run.stderr
            .contains("there is no TTY available for confirmation; in CI use --mode yolo or --mode dry-run"),
        "{}",
        run.stderr
    );
}
