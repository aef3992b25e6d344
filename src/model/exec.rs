//! Model `exec::COMMAND`: a program of the user that answers requests over its standard streams, one JSON
//! object per line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::usage::plausible;
use super::{ChatModel, Completion, Message, ModelError, Request, ToolSchema};
use crate::command::{BaseFiles, Shell, StdioChild, StdioCommand};
use crate::event::{ToolCall, Usage};

/// Maximum length of one answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;

/// One request, as a line to the program, with everything there is to know.
#[derive(Serialize)]
struct ExecRequest<'a> {
    agent: &'a str,
    system: &'a str,
    tools: &'a [ToolSchema],
    messages: Vec<ExecMessage<'a>>,
    may_call: bool,
    /// What the budget pays for, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<u64>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ExecMessage<'a> {
    User { content: &'a str },
    Assistant { content: &'a str, calls: &'a [ToolCall] },
    Tool { id: &'a str, name: &'a str, content: &'a str, success: bool },
}

impl<'a> ExecMessage<'a> {
    fn of(message: &'a Message) -> Self {
        match message {
            Message::User(content) => ExecMessage::User { content },
            Message::Assistant { text, calls, .. } => ExecMessage::Assistant { content: text, calls },
            Message::Tool { id, name, content, success } => {
                ExecMessage::Tool { id, name, content, success: *success }
            }
        }
    }
}

/// One answer, as a line from the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<RequestedCall>,
    #[serde(default)]
    usage: Usage,
    /// Reason why there is no answer.
    #[serde(default)]
    error: Option<String>,
}

/// Call requested by the program, which need not give it an ID.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestedCall {
    #[serde(default)]
    id: String,
    name: String,
    arguments: serde_json::Value,
}

/// Model that is a program; it is started with the first request and kept running.
pub struct ExecModel {
    name: String,
    command: Vec<String>,
    shell: Shell,
    root: PathBuf,
    base: Option<Arc<BaseFiles>>,
    variables: BTreeMap<String, String>,
    answer_timeout: Duration,
    running: Mutex<Option<Running>>,
}

struct Running {
    child: StdioChild,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// How the program is started.
pub struct ExecOptions {
    /// Command line for the shell.
    pub command: String,
    /// Shell with its sandbox and environment, as for any command.
    pub shell: Shell,
    /// The checkout, in which it starts.
    pub root: PathBuf,
    /// Where it starts instead, because it gets a key and the checkout is somebody else's.
    pub base: Option<Arc<BaseFiles>>,
    /// Variables that no other child sees, such as the model's key.
    pub variables: BTreeMap<String, String>,
    /// Time limit of one answer.
    pub answer_timeout: Duration,
}

impl ExecModel {
    /// Creates the model; the program is started with the first request.
    pub fn new(name: &str, options: ExecOptions) -> Self {
        let ExecOptions { command, shell, root, base, variables, answer_timeout } = options;
        let command = shell.flags.iter().cloned().chain([command]).collect();
        Self {
            name: name.to_owned(),
            command,
            shell,
            root,
            base,
            variables,
            answer_timeout,
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
        let question = serde_json::to_string(&exec_request(request)).map_err(|error| malformed(&error))?;
        let asked = tokio::time::timeout(self.answer_timeout, program.ask(&question)).await;
        let problem = match asked {
            Ok(Ok(line)) => return completion(&line),
            Ok(Err(problem)) => problem,
            Err(_) => AskError::TooSlow(self.answer_timeout.as_secs()),
        };
        // It may be in the middle of anything, so the next try gets a new process.
        let Some(program) = running.take() else {
            return Err(unavailable(problem.to_string()));
        };
        let said = program.end().await;
        let said = said.trim();
        if matches!(problem, AskError::Exited | AskError::ExitedWhileReading(_)) && is_missing(said) {
            // Another try would find as little.
            return Err(ModelError::UnknownModel(format!(
                "its program cannot be started: {}",
                last_lines(said)
            )));
        }
        let more =
            if said.is_empty() { String::new() } else { format!("; its output: {}", last_lines(said)) };
        Err(unavailable(format!("{problem}{more}")))
    }

    async fn start(&self) -> Result<Running, ModelError> {
        let command = StdioCommand {
            program: &self.shell.program,
            arguments: &self.command,
            variables: &self.variables,
            cwd: &self.root,
            // It answers questions; what is to be changed, it asks the run for.
            writes: false,
            base: self.base.as_deref(),
            sees_checkout: false,
        };
        let started = self.shell.spawn_stdio(command).await;
        let (child, stdin, stdout) =
            started.map_err(|error| unavailable(format!("could not start it: {error}")))?;
        Ok(Running { child, stdin, stdout: BufReader::new(stdout) })
    }
}

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("could not read its answer: {0}")]
    Read(#[source] std::io::Error),
    #[error("its answer is not UTF-8")]
    NotUtf8,
    #[error("its answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
    #[error("no answer within {0} s (llm.timeout)")]
    TooSlow(u64),
    #[error("it exited before it answered")]
    Exited,
    #[error("it exited before it answered ({0})")]
    ExitedWhileReading(#[source] std::io::Error),
}

impl Running {
    /// Ends the program. Returns what it wrote to its standard error.
    async fn end(self) -> String {
        let Self { child, stdin, stdout } = self;
        drop((stdin, stdout));
        child.end().await.text()
    }

    async fn ask(&mut self, question: &str) -> Result<String, AskError> {
        let Self { stdin, stdout, .. } = self;
        let write = async {
            stdin.write_all(question.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        let mut line = Vec::new();
        let mut limited = stdout.take(MAX_ANSWER_BYTES);
        // Written and read concurrently, because it may answer before it has read everything.
        let (written, read) = tokio::join!(write, limited.read_until(b'\n', &mut line));
        read.map_err(AskError::Read)?;
        if line.last() == Some(&b'\n') {
            return String::from_utf8(line).map_err(|_| AskError::NotUtf8);
        }
        if line.len() as u64 >= MAX_ANSWER_BYTES {
            return Err(AskError::TooLong);
        }
        Err(written.err().map_or(AskError::Exited, AskError::ExitedWhileReading))
    }
}

fn exec_request(request: Request<'_>) -> ExecRequest<'_> {
    ExecRequest {
        agent: request.agent,
        system: request.system,
        tools: request.tools,
        messages: request.messages.iter().map(ExecMessage::of).collect(),
        may_call: request.may_call,
        max_output: request.max_output,
    }
}

fn completion(line: &str) -> Result<Completion, ModelError> {
    let answer: Response = serde_json::from_slice(line.as_bytes()).map_err(|error| malformed(&error))?;
    if let Some(error) = answer.error {
        return Err(ModelError::Refused { status: 0, message: error });
    }
    let call = |RequestedCall { id, name, arguments }| ToolCall { id, name, arguments };
    let calls: Vec<ToolCall> = answer.calls.into_iter().map(call).collect();
    // A program of one's own may count only what it reads, or only what it writes.
    let usage = plausible(answer.usage, true);
    Ok(Completion { text: answer.text, calls, usage, ..Completion::default() })
}

fn malformed(error: &serde_json::Error) -> ModelError {
    ModelError::Malformed(format!("{error}; answer with one line: {{\"text\": …, \"calls\": […]}}"))
}

fn unavailable(message: String) -> ModelError {
    ModelError::Unavailable { message, retry_after: None }
}

/// Returns whether a shell says at last that there is no such program, or that it cannot be executed.
fn is_missing(said: &str) -> bool {
    let reasons = ["command not found", "No such file or directory", "Permission denied", "not found"];
    said.lines().last().is_some_and(|line| {
        line.contains(": line 1: ") && reasons.iter().any(|reason| line.trim_end().ends_with(reason))
    })
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

    fn end(&self) -> BoxFuture<'_, ()> {
        async {
            let running = self.running.lock().await.take();
            if let Some(program) = running {
                program.end().await;
            }
        }
        .boxed()
    }
}
