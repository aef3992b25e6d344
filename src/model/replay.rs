//! Model `replay::FILE`: plays a transcript back, for tests, demos and exact repetitions.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use regex::Regex;

use super::{ChatModel, Completion, Message, ModelError, Request};
use crate::event::{Event, Line, Reply};

/// Reason why a transcript cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("could not read the transcript {path}: {error}; check the file after `replay::`")]
    Unreadable {
        /// Path of the transcript.
        path: PathBuf,
        /// I/O error.
        error: std::io::Error,
    },
    /// A line is not an event.
    #[error("{path}:{line}: not a transcript line: {error}")]
    Invalid {
        /// Path of the transcript.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Parser's error.
        error: serde_json::Error,
    },
    /// The transcript has no answer of a model.
    #[error("the transcript {0} contains no model reply; use the transcript of a run")]
    Empty(PathBuf),
}

/// Model that answers with the recorded replies, in order, for each agent separately.
pub struct ReplayModel {
    name: String,
    strict: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    replies: HashMap<String, VecDeque<Reply>>,
    /// Recorded results by agent and call ID.
    results: HashMap<(String, String), String>,
}

impl ReplayModel {
    /// Reads a transcript. With `strict`, a tool result that differs from the recorded one fails the run. For
    /// each agent, as many answers are skipped as `past` has replies of it.
    pub fn open(path: &Path, strict: bool, past: &[Line]) -> Result<Self, ReplayError> {
        let unreadable = |error| ReplayError::Unreadable { path: path.to_owned(), error };
        let file = File::open(path).map_err(unreadable)?;
        let mut state = State::default();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(unreadable)?;
            if line.trim().is_empty() {
                continue;
            }
            let parsed: Line = serde_json::from_slice(line.as_bytes())
                .map_err(|error| ReplayError::Invalid { path: path.to_owned(), line: index + 1, error })?;
            match parsed.event {
                Event::Reply(reply) => state.replies.entry(reply.agent.clone()).or_default().push_back(reply),
                Event::Call(call) => {
                    state.results.insert((call.agent, call.id), call.result);
                }
                _ => {}
            }
        }
        if state.replies.is_empty() {
            return Err(ReplayError::Empty(path.to_owned()));
        }
        for line in past {
            if let Event::Reply(reply) = &line.event
                && let Some(replies) = state.replies.get_mut(&reply.agent)
            {
                replies.pop_front();
            }
        }
        Ok(Self { name: format!("replay::{}", path.display()), strict, state: Mutex::new(state) })
    }

    fn answer(&self, request: Request<'_>) -> Result<Completion, ModelError> {
        let mut state = self.state.lock();
        if self.strict {
            compare(&state, request)?;
        }
        let reply = state.replies.get_mut(request.agent).and_then(VecDeque::pop_front).ok_or_else(|| {
            let agent = request.agent;
            ModelError::Replay(format!("the transcript has no further reply for the agent {agent:?}"))
        })?;
        let Reply { text, calls, usage, continues, .. } = reply;
        Ok(Completion { text, calls, usage: Some(usage), continues, ..Completion::default() })
    }
}

/// Compares the results since the last answer with the recorded ones. Returns an error for the first that
/// differs.
fn compare(state: &State, request: Request<'_>) -> Result<(), ModelError> {
    // Behind the results may stand what came up meanwhile.
    let latest = request.messages.iter().rev().skip_while(|message| matches!(message, Message::User(_)));
    for message in latest {
        let Message::Tool { id, name, content, .. } = message else { break };
        let Some(recorded) = state.results.get(&(request.agent.to_owned(), id.clone())) else { continue };
        // The loop detector may have appended a remark, and durations are never the same twice.
        if !without_time(content).starts_with(&*without_time(recorded)) {
            return Err(ModelError::Replay(format!(
                "the result of {name} ({id}) differs from the recorded one\nrecorded: {recorded}\nnow: {content}"
            )));
        }
    }
    Ok(())
}

fn without_time(result: &str) -> Cow<'_, str> {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(r"(?m)^((?:Error: )?(?:exit code|ended by signal) \d+) after \d+\.\d s")
            .expect("a valid pattern")
    });
    // Where outputs are kept differs as well.
    static KEPT: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(r"\[all (\d+) lines: \S*/command-output/").expect("a valid pattern")
    });
    match TIME.replace_all(result, "$1") {
        Cow::Borrowed(text) => KEPT.replace_all(text, "[all $1 lines: "),
        Cow::Owned(text) => Cow::Owned(KEPT.replace_all(&text, "[all $1 lines: ").into_owned()),
    }
}

impl ChatModel for ReplayModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn has_further_answer(&self, agent: &str) -> bool {
        let state = self.state.lock();
        state.replies.get(agent).is_some_and(|replies| !replies.is_empty())
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>> {
        async move { self.answer(request) }.boxed()
    }
}
