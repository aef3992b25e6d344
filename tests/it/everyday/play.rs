//! A session: command lines and other calls of a scripted model, played in a mode, and what came of each.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::checkout::Checkout;
use crate::support::program::program;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not the binary at all: bash in a copy, which shows what a line does by itself.
    Bare,
    DryRun,
    Yolo,
}

/// What came of a call.
#[derive(Debug)]
pub struct Answer {
    pub refused: bool,
    pub exit: Option<i64>,
    pub text: String,
}

/// A finished run.
pub struct Session {
    pub answers: Vec<Answer>,
    pub code: Option<i32>,
    pub log: String,
    pub plan: PathBuf,
}

/// Runs the lines one after another in bash.
pub fn bare(checkout: &Checkout, lines: &[String]) -> Vec<Answer> {
    let answer = |line: &String| {
        let output = checkout.bash(line);
        Answer {
            refused: false,
            exit: output.status.code().map(i64::from),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    };
    lines.iter().map(answer).collect()
}

/// Plays calls of tools, one a turn, in a real run.
pub fn session(checkout: &Checkout, mode: Mode, calls: &[(&str, Value)]) -> Session {
    let script = checkout.path().join("script.jsonl");
    fs::write(&script, transcript(calls)).expect("a script");
    let out = checkout.path().join("out");
    let output = checkout
        .command(program())
        .args(["run", "--task", "Everyday work", "--max-steps", "1000", "--model"])
        .arg(format!("replay::{}", script.display()))
        .args(["--mode", if mode == Mode::Yolo { "yolo" } else { "dry-run" }])
        .args(["--workspace".as_ref(), checkout.repo().as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .output()
        .expect("the binary runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let written =
        fs::read_to_string(out.join("transcript.jsonl")).unwrap_or_else(|error| panic!("{error}: {log}"));
    let events = written.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let answers = events.filter(|event| event["type"] == "call").map(|call| Answer {
        refused: call["outcome"] == "refused",
        exit: call["exit_code"].as_i64(),
        text: call["result"].as_str().expect("a result").to_owned(),
    });
    Session { answers: answers.collect(), code: output.status.code(), log, plan: out.join("plan.json") }
}

/// Applies the plan of a dry run; an error holds what the binary said.
pub fn apply(checkout: &Checkout, session: &Session) -> Result<(), String> {
    let output = checkout
        .command(program())
        .arg("apply")
        .arg(&session.plan)
        .args(["--workspace".as_ref(), checkout.repo().as_os_str()])
        .args(["--out".as_ref(), checkout.path().join("applied").as_os_str()])
        .output()
        .expect("the binary runs");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn transcript(calls: &[(&str, Value)]) -> String {
    let reply = |step: usize, answer: Value| {
        let mut reply = json!({"type": "reply", "agent": "build", "step": step});
        reply.as_object_mut().expect("an object").extend(answer.as_object().expect("an object").clone());
        format!("{reply}\n")
    };
    let turns = calls.iter().enumerate().map(|(index, (tool, arguments))| {
        let call = json!({"id": format!("call_{index}"), "name": tool, "arguments": arguments});
        reply(index + 1, json!({"calls": [call]}))
    });
    turns.collect::<String>() + &reply(calls.len() + 1, json!({"text": "done"}))
}
