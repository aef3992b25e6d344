//! Tool `background_command`, and the commands that it reads and stops: servers that tests need. They run within
//! the same limits as other commands, on a throw-away state of their own, and end with the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::command_output::OutputLimits;
use super::{ArgumentsError, AsyncTool, Progress, ToolInfo, ToolResult};
use crate::base::bounded::Bounded;
use crate::command::{Ended, Finished, LiveOutput, plain};
use crate::event::Effects;
use crate::isolation::IsolationError;

/// Maximum number of commands that run in the background at a time.
const MAX_RUNNING: usize = 8;
/// Time that a new command has to print something, and then to fail, so that its error is the answer to its start.
const SILENT: Duration = Duration::from_secs(3);
const START: Duration = Duration::from_secs(1);

type Task = JoinHandle<Result<Finished, IsolationError>>;

struct Running {
    task: Option<Task>,
    output: LiveOutput,
    cancel: CancellationToken,
    /// How it ended, and what it had printed.
    ended: Option<(String, String)>,
    /// Bytes of the output that have been shown.
    shown: usize,
    /// Whether files have changed since it was started, which it does not see.
    is_outdated: bool,
}

impl Running {
    /// Returns whether it has not ended, as far as is known.
    fn runs(&self) -> bool {
        self.ended.is_none() && self.task.as_ref().is_none_or(|task| !task.is_finished())
    }
}

/// Error for the number of a command that was never started.
#[derive(Debug, thiserror::Error)]
#[error("there is no background command {id}; there are: {known}")]
struct UnknownCommand {
    id: u32,
    known: String,
}

/// Commands that run in the background, by number.
#[derive(Default)]
pub struct BackgroundCommands(Mutex<BTreeMap<u32, Running>>);

impl BackgroundCommands {
    /// Adds a command that has been started, and returns its number or how it failed at once.
    pub(super) async fn add(
        &self,
        mut task: Task,
        output: LiveOutput,
        cancel: CancellationToken,
        limits: &OutputLimits,
    ) -> ToolResult {
        if self.lock().values().filter(|running| running.task.is_some()).count() >= MAX_RUNNING {
            cancel.cancel();
            return ToolResult::failed(format!(
                "{MAX_RUNNING} commands are already running in the background; stop one with background_command"
            ));
        }
        let begins = async {
            if tokio::time::timeout(SILENT, output.begins()).await.is_ok() {
                tokio::time::sleep(START).await;
            }
        };
        let ended = tokio::select! {
            ended = &mut task => Some(ended),
            () = begins => None,
        };
        if let Some(ended) = ended {
            return match ended {
                Ok(Ok(finished)) => {
                    let result = limits.result(&finished, None, 0);
                    ToolResult { output: format!("It ended at once.\n{}", result.output), ..result }
                }
                Ok(Err(error)) => ToolResult::failed(error.to_string()),
                Err(error) => ToolResult::failed(error.to_string()),
            };
        }
        let mut all = self.lock();
        let id = all.keys().next_back().map_or(1, |last| last + 1);
        let text = output.text();
        let shown = text.len();
        let text = plain(&text);
        all.insert(id, Running { task: Some(task), output, cancel, ended: None, shown, is_outdated: false });
        let said = if text.is_empty() { String::new() } else { format!("\n{}", limits.shown(&text)) };
        ToolResult::done(format!(
            "background command {id} is running; it sees files as they are now, and its changes to them are not kept. Read its output or stop it with background_command.{said}"
        ))
    }

    /// Notes that files have changed. Returns what the model is told of commands that run and do not see it, once of each.
    pub fn note_changes(&self) -> Option<String> {
        let mut all = self.lock();
        let outdated = all.iter_mut().filter(|(_, running)| running.runs() && !running.is_outdated);
        let outdated: Vec<String> = outdated
            .map(|(id, running)| {
                running.is_outdated = true;
                id.to_string()
            })
            .collect();
        (!outdated.is_empty()).then(|| {
            format!(
                "[running in the background and not seeing this change: {}; stop and start it again before you test with it]",
                outdated.join(", ")
            )
        })
    }

    /// Ends all commands, and waits for them.
    pub async fn stop_all(&self) {
        let tasks: Vec<Task> = {
            let mut all = self.lock();
            all.values().for_each(|running| running.cancel.cancel());
            all.values_mut().filter_map(|running| running.task.take()).collect()
        };
        for task in tasks {
            // One that panicked is over, too.
            let _ = task.await;
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, BTreeMap<u32, Running>> {
        self.0.lock()
    }

    /// Waits for a command to end, for at most `wait`; one that is to stop is ended.
    async fn settle(&self, id: u32, wait: Duration, stops: bool) -> Result<(), UnknownCommand> {
        let task = {
            let mut all = self.lock();
            let known: Vec<String> = all.keys().map(ToString::to_string).collect();
            let Some(running) = all.get_mut(&id) else {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(UnknownCommand { id, known });
            };
            if stops {
                running.cancel.cancel();
            }
            running.task.take()
        };
        let Some(mut task) = task else { return Ok(()) };
        let ended =
            if stops { Some((&mut task).await) } else { tokio::time::timeout(wait, &mut task).await.ok() };
        let mut all = self.lock();
        let Some(running) = all.get_mut(&id) else { return Ok(()) };
        running.ended = match ended {
            None => {
                running.task = Some(task);
                return Ok(());
            }
            Some(Ok(Ok(finished))) => {
                let how = match &finished.ended {
                    Ended::Exited(code) => format!("has ended with exit code {code}"),
                    Ended::Signaled(signal) => format!("was ended by signal {signal}"),
                    Ended::Cancelled => "was stopped".to_owned(),
                    Ended::TimedOut => "was stopped after its time limit".to_owned(),
                    Ended::StillRunning => "was told to stop, but some of its processes did not".to_owned(),
                    Ended::NotStarted(error) => format!("could not start: {error}"),
                };
                Some((how, finished.stdout.text()))
            }
            Some(Ok(Err(error))) => Some((error.to_string(), String::new())),
            Some(Err(error)) => Some((error.to_string(), String::new())),
        };
        Ok(())
    }

    /// Returns the state of a command, and what it has printed since it was last asked for.
    fn news(&self, id: u32, limits: &OutputLimits) -> ToolResult {
        let mut all = self.lock();
        let Some(running) = all.get_mut(&id) else { return ToolResult::done("") };
        let is_running = running.ended.is_none();
        let (how, text) = running.ended.clone().unwrap_or_else(|| ("runs".to_owned(), running.output.text()));
        let new = text.get(running.shown..).unwrap_or(&text).to_owned();
        running.shown = text.len();
        let new = limits.shown(&plain(&new));
        let new = if new.is_empty() { "no new output".to_owned() } else { new };
        let outdated = if is_running && running.is_outdated {
            "\n[files have changed since it started, and it does not see that; stop and start it again]"
        } else {
            ""
        };
        let output = format!("background command {id} {how}\n{new}{outdated}");
        let progress = if is_running { Progress::Pending } else { Progress::Ended };
        ToolResult { progress, ..ToolResult::done(output) }
    }
}

/// Tool that reads and stops commands in the background.
pub struct BackgroundCommand {
    /// The commands.
    pub commands: Arc<BackgroundCommands>,
    /// How much of their output is shown.
    pub limits: OutputLimits,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Read,
    Stop,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Number that `run_command` gave
    id: u32,
    #[serde(default)]
    action: Action,
    /// Seconds to wait for its end before reading
    #[serde(default)]
    wait: Option<Bounded<0, 120>>,
}

impl AsyncTool for BackgroundCommand {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "background_command",
            description: "Read what a background command printed since the last time, or stop it.",
            sensitive: false,
            successor: None,
        }
    }

    fn check(&self, _: &mut Args) -> Result<(), ArgumentsError> {
        Ok(())
    }

    /// Returns no effects: what the command may do was decided when it was started.
    fn effects(&self, _: &Args) -> Effects {
        Effects::default()
    }

    /// Returns `true`: the call before it may start what it is to read.
    fn keeps_order(&self) -> bool {
        true
    }

    fn run(self: Arc<Self>, args: Args) -> BoxFuture<'static, ToolResult> {
        async move {
            let wait = args.wait.map_or(Duration::ZERO, Bounded::seconds);
            match self.commands.settle(args.id, wait, args.action == Action::Stop).await {
                Ok(()) => self.commands.news(args.id, &self.limits),
                Err(error) => ToolResult::failed(error.to_string()),
            }
        }
        .boxed()
    }
}
