//! `architect-ci explain`: what a command line is taken for, and why.

use std::io::{BufRead, BufWriter, Write};
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::{Deserialize, Serialize};

use super::print;
use crate::command::{Class, Verdict, analysis, blocked, classify};
use crate::exit::Exit;

pub(super) const NAME: &str = "explain";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Say what class a shell command is of, whether it is blocked, why, and what it touches")
        .arg(Arg::new("command").value_name("COMMAND").required_unless_present("jsonl"))
        .arg(
            Arg::new("jsonl")
                .long("jsonl")
                .action(ArgAction::SetTrue)
                .conflicts_with("command")
                .help("Read lines like {\"command\": \"ls\"} and answer each with a line of JSON"),
        )
}

#[derive(Deserialize)]
struct Question {
    command: String,
}

/// What there is to say of a command.
#[derive(Serialize)]
struct Answer<'a> {
    command: &'a str,
    class: Class,
    blocked: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    reads: Vec<&'a str>,
    writes: Vec<&'a str>,
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    let root = std::env::current_dir().unwrap_or_default();
    if matches.get_flag("jsonl") {
        return lines(&root);
    }
    let text = matches.get_one::<String>("command").map(String::as_str).unwrap_or_default();
    with_answer(text, &root, |answer| {
        let state = if answer.blocked { "blocked" } else { "not blocked" };
        let reason =
            if answer.reason.is_empty() { String::new() } else { format!("\nreason: {}", answer.reason) };
        let touched = |name: &str, files: &[&str]| {
            if files.is_empty() { String::new() } else { format!("\n{name}: {}", files.join(", ")) }
        };
        print(&format!(
            "{}, {state}{reason}{}{}\n",
            answer.class,
            touched("reads", &answer.reads),
            touched("writes", &answer.writes)
        ));
    });
    Exit::Success
}

fn lines(root: &Path) -> Exit {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (index, line) in std::io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let question: Question = match serde_json::from_str(&line) {
            Ok(question) => question,
            Err(error) => {
                eprintln!("error: line {} is no {{\"command\": …}}: {error}", index + 1);
                return Exit::Configuration;
            }
        };
        let written = with_answer(&question.command, root, |answer| {
            serde_json::to_writer(&mut out, answer)
                .map_err(std::io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
        });
        if written.is_err() {
            // Whoever read has gone away.
            return Exit::Success;
        }
    }
    let _ = out.flush();
    Exit::Success
}

fn with_answer<T>(command: &str, root: &Path, tell: impl FnOnce(&Answer<'_>) -> T) -> T {
    let analysis = analysis::analyse(command);
    let Verdict { class, reason } = classify(&analysis, root);
    let block = blocked(command, &analysis);
    let redirects = || analysis.commands.iter().flat_map(|simple| &simple.redirects);
    let files = |writes: bool| {
        let wanted = redirects().filter(move |redirect| redirect.writes == writes);
        wanted.filter_map(|redirect| redirect.target.text()).collect()
    };
    let answer = Answer {
        command,
        class,
        blocked: block.is_some(),
        reason: block.unwrap_or(reason),
        reads: files(false),
        writes: files(true),
    };
    tell(&answer)
}
