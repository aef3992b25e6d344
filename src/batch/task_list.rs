//! The list of tasks of a batch: from the file that people wrote, from another job, or from an earlier start.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use workspace::WorkspacePath;

use super::expand::{ExpansionSources, expand};
use super::file::BatchFile;
use super::journal::{Journal, JournalError};
use super::manifest::Manifest;
use super::problem::LinesError;
use super::request::{BatchRequest, BatchStart, Tasks};
use super::start_error::StartError;
use crate::base::integrity::digest;
use crate::command::sandbox::Rights;
use crate::command::{Ended, LiveOutput, Retention};
use crate::event::Exit;
use crate::git::Repository;
use crate::isolation::{IsolatedCommand, Keep};
use crate::request::InputError;
use crate::run::{Signal, Throwaway};

/// How long a command may take whose lines are values.
const LINES_TIMEOUT: Duration = Duration::from_mins(5);

/// Returns the list of tasks, which is made from the file if there is none yet.
pub async fn load_manifest(request: &BatchRequest, signal: &Signal) -> Result<Manifest, InputError> {
    let (batch, shown, text) = match &request.tasks {
        Tasks::Manifest(manifest) => return Ok((**manifest).clone()),
        Tasks::Earlier => return Err(StartError::NoList.into()),
        Tasks::File { batch, shown, text } => (batch, shown, text),
    };
    let git = repository(request)?;
    let commit = git.head().ok_or(StartError::NoCommit)?;
    let files = git.files_of(&commit).map_err(StartError::Git)?;
    let printed = printed(request, batch, signal).await?;
    let lines = |command: &str| printed.get(command).cloned().unwrap_or_else(|| Ok(String::new()));
    let key_parts = ExpansionSources { files: &files, lines: &lines };
    Ok(expand(batch, &key_parts, (shown, text), &commit)?)
}

/// Returns the repository that worktrees are made from.
pub(super) fn repository(request: &BatchRequest) -> Result<&Repository, InputError> {
    Ok(request.repository.as_ref().ok_or(StartError::NoCommit)?)
}

/// Runs the `lines:` commands, and returns their output by command.
async fn printed(
    request: &BatchRequest,
    batch: &BatchFile,
    signal: &Signal,
) -> Result<BTreeMap<String, Result<String, LinesError>>, InputError> {
    let sources = batch.tasks.iter().flat_map(|entry| entry.for_each.values());
    let commands: Vec<&String> = sources.filter_map(|source| source.lines.as_ref()).collect();
    let mut printed = BTreeMap::new();
    if commands.is_empty() {
        return Ok(printed);
    }
    let keys: Vec<String> = request.config.llm.api_key_env.iter().cloned().collect();
    let variables = &request.destination.variables;
    let mut config = request.config.clone();
    if !request.is_checkout_trusted {
        // What a stranger may have proposed is worked on, so nothing is passed through.
        config.commands.env_passthrough.clear();
    }
    let state = Throwaway::new(&request.checkout, request.repository.as_ref(), &config, variables, &keys)?;
    let state = state.state(&[]).map_err(InputError::rules)?;
    for command in commands {
        // Of an output that is too long, nothing more need be waited for.
        let cancel = signal.token().child_token();
        let work = IsolatedCommand {
            command,
            pipe: None,
            cwd: &WorkspacePath::root(),
            variables: Vec::new(),
            stdin: None,
            merge: false,
            output: LiveOutput::new(Retention::List).cutting(cancel.clone()),
            timeout: time_left(request.deadline),
            cancel,
            rights: Rights::Work,
            keep: Keep::Nothing,
            moves: Vec::new(),
            owner: Some("lines".to_owned()),
        };
        let ran = state.run(work).await.map_err(StartError::from)?;
        let finished = ran.finished;
        let is_cut_off = matches!(finished.ended, Ended::Cancelled | Ended::TimedOut | Ended::StillRunning);
        if let Some(exit) = end(request, signal).filter(|_| is_cut_off && !finished.stdout.is_cut()) {
            return Err(InputError::NotListed { message: not_listed(command, exit), exit });
        }
        let output = match finished.ended {
            _ if finished.stdout.is_cut() => Err(LinesError::TooLong(command.clone())),
            Ended::Exited(0) => Ok(finished.stdout.text()),
            Ended::TimedOut => {
                Err(LinesError::TooSlow { command: command.clone(), minutes: LINES_TIMEOUT.as_secs() / 60 })
            }
            ended => Err(LinesError::Failed {
                command: command.clone(),
                ended,
                stderr: finished.stderr.text().trim().to_owned(),
            }),
        };
        printed.insert(command.clone(), output);
    }
    Ok(printed)
}

/// Returns how the batch ends if a signal came, or its time is up.
fn end(request: &BatchRequest, signal: &Signal) -> Option<Exit> {
    if signal.is_set() {
        return Some(if signal.is_terminate() { Exit::Terminated } else { Exit::Interrupted });
    }
    time_left(request.deadline).is_zero().then_some(Exit::Timeout)
}

/// Says why no task was listed, and what to do.
fn not_listed(command: &str, exit: Exit) -> String {
    let (why, cure) = match exit {
        Exit::Timeout => (
            "the batch's time limit was reached",
            "raise `timeout`, or let the command print its lines sooner",
        ),
        Exit::Terminated => ("the batch was terminated", "start it again"),
        _ => ("the batch was interrupted", "start it again"),
    };
    format!("{why} before `{command}` (`lines`) had listed its tasks, so none was started; {cure}")
}

/// Returns how long a command may take whose lines are values: no longer than the batch has left.
fn time_left(deadline: Option<Instant>) -> Duration {
    deadline.map_or(LINES_TIMEOUT, |deadline| {
        deadline.saturating_duration_since(Instant::now()).min(LINES_TIMEOUT)
    })
}

/// Returns the list of tasks: that of the earlier start if it is gone on with, else a new one.
pub(super) async fn earlier_or_new(
    request: &BatchRequest,
    journal: &Journal,
    signal: &Signal,
) -> Result<Manifest, InputError> {
    let variables = &request.destination.variables;
    let frozen = if request.resume { journal.manifest(variables)? } else { None };
    if request.start == BatchStart::DeliverHeld && frozen.is_none() {
        return Err(StartError::NothingHeld(request.destination.out.clone()).into());
    }
    match frozen {
        Some(frozen) => {
            let fits = match &request.tasks {
                Tasks::Earlier => true,
                Tasks::File { text, .. } => frozen.file_sha256 == digest(text.as_bytes()),
                Tasks::Manifest(given) => given.digest() == frozen.digest(),
            };
            if !fits {
                return Err(JournalError::Other(request.destination.out.clone()).into());
            }
            Ok(frozen)
        }
        None => load_manifest(request, signal).await,
    }
}
