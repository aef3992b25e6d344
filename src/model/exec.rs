//! A program of the user's as a model: it is asked and answers in JSON, a line each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::{ChatModel, Completion, Message, ModelError, Request, ToolSchema};
use crate::command::{Shell, Talk, Talking};
use crate::event::{ToolCall, Usage};

/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 32 * 1024 * 1024;

/// What is written to the program: one line for each question, with all that there is to know.
#[derive(Serialize)]
struct Question<'a> {
    agent: &'a str,
    system: &'a str,
    tools: &'a [ToolSchema],
    messages: Vec<Turn<'a>>,
    may_call: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Turn<'a> {
    User { content: &'a str },
    Assistant { content: &'a str, calls: &'a [ToolCall] },
    Tool { id: &'a str, name: &'a str, content: &'a str, success: bool },
}

impl<'a> Turn<'a> {
    fn of(message: &'a Message) -> Self {
        match message {
            Message::User(content) => Turn::User { content },
            Message::Assistant { text, calls, .. } => Turn::Assistant { content: text, calls },
            Message::Tool { id, name, content, success } => {
                Turn::Tool { id, name, content, success: *success }
            }
        }
    }
}

/// What the program writes: one line for each answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Asked>,
    #[serde(default)]
    usage: Usage,
    /// Why there is no answer.
    #[serde(default)]
    error: Option<String>,
}

/// A call as the program wants it; it need not name it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    id: String,
    name: String,
    arguments: serde_json::Value,
}

/// A program that answers.
pub struct ExecModel {
    name: String,
    command: Vec<String>,
    shell: Shell,
    root: PathBuf,
    variables: BTreeMap<String, String>,
    /// Whether it may write to the checkout.
    writes: bool,
    silence: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: Talking,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// How the program is started.
pub struct Start {
    /// The command line, for the shell.
    pub command: String,
    /// Walls and variables, as for any command.
    pub shell: Shell,
    /// Where it runs.
    pub root: PathBuf,
    /// Variables that no other child sees: the model's key.
    pub variables: BTreeMap<String, String>,
    /// Whether it may write to the checkout.
    pub writes: bool,
    /// How long an answer may take.
    pub silence: Duration,
}

impl ExecModel {
    /// A model by that name; the program starts with the first question.
    pub fn new(name: &str, start: Start) -> Self {
        let Start { command, shell, root, variables, writes, silence } = start;
        let command = shell.flags.iter().cloned().chain([command]).collect();
        Self {
            name: name.to_owned(),
            command,
            shell,
            root,
            variables,
            writes,
            silence,
            running: Mutex::new(None),
        }
    }

    async fn ask(&self, request: Request<'_>) -> Result<Completion, ModelError> {
        let mut running = self.running.lock().await;
        if running.is_none() {
            *running = Some(self.start().await?);
        }
        let Some(program) = running.as_mut() else {
            return Err(unavailable("it was not started".to_owned()));
        };
        let question = serde_json::to_string(&question(request)).map_err(|error| malformed(&error))?;
        let asked = tokio::time::timeout(self.silence, program.ask(&question)).await;
        let trouble = match asked {
            Ok(Ok(line)) => return completion(&line),
            Ok(Err(trouble)) => trouble,
            Err(_) => format!("no answer within {} s (llm.timeout)", self.silence.as_secs()),
        };
        // It may be in the middle of anything: the next try gets a new one.
        let Some(Running { child, stdin, stdout }) = running.take() else { return Err(unavailable(trouble)) };
        drop((stdin, stdout));
        let said = child.end().await.text();
        let said = said.trim();
        let more =
            if said.is_empty() { String::new() } else { format!("; its output: {}", last_lines(said)) };
        Err(unavailable(format!("{trouble}{more}")))
    }

    async fn start(&self) -> Result<Running, ModelError> {
        let talk = Talk {
            program: &self.shell.program,
            arguments: &self.command,
            variables: &self.variables,
            cwd: &self.root,
            writes: self.writes,
        };
        let started = self.shell.converse(talk).await;
        let (child, stdin, stdout) =
            started.map_err(|error| unavailable(format!("could not start it: {error}")))?;
        Ok(Running { child, stdin, stdout: BufReader::new(stdout) })
    }
}

impl Running {
    async fn ask(&mut self, question: &str) -> Result<String, String> {
        let Self { stdin, stdout, .. } = self;
        let write = async {
            stdin.write_all(question.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        let mut line = Vec::new();
        let mut limited = stdout.take(MAX_ANSWER);
        // Beside each other: it may answer before it has read all.
        let (written, read) = tokio::join!(write, limited.read_until(b'\n', &mut line));
        read.map_err(|error| format!("could not read its answer: {error}"))?;
        if line.last() == Some(&b'\n') {
            return String::from_utf8(line).map_err(|_| "its answer is not UTF-8".to_owned());
        }
        if line.len() as u64 >= MAX_ANSWER {
            return Err(format!("its answer is longer than {MAX_ANSWER} bytes"));
        }
        let how = written.err().map_or_else(String::new, |error| format!(" ({error})"));
        Err(format!("it exited before it answered{how}"))
    }
}

fn question(request: Request<'_>) -> Question<'_> {
    Question {
        agent: request.agent,
        system: request.system,
        tools: request.tools,
        messages: request.messages.iter().map(Turn::of).collect(),
        may_call: request.may_call,
    }
}

fn completion(line: &str) -> Result<Completion, ModelError> {
    let answer: Answer = serde_json::from_slice(line.as_bytes()).map_err(|error| malformed(&error))?;
    if let Some(error) = answer.error {
        return Err(ModelError::Refused { status: 0, message: error });
    }
    let call = |Asked { id, name, arguments }| ToolCall { id, name, arguments };
    let calls = answer.calls.into_iter().map(call).collect();
    Ok(Completion { text: answer.text, calls, usage: answer.usage, ..Completion::default() })
}

fn malformed(error: &serde_json::Error) -> ModelError {
    ModelError::Malformed(format!("{error}; answer with one line: {{\"text\": …, \"calls\": […]}}"))
}

fn unavailable(message: String) -> ModelError {
    ModelError::Unavailable { message, retry_after: None }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" ⏎ ")
}

impl ChatModel for ExecModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>> {
        self.ask(request).boxed()
    }
}
