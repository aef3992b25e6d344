//! Recipe player: a [`ChatModel`] that answers with the next calls of a recipe.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use workspace::{Spool, Spooled, WorkspacePath};

use super::arguments::Template;
use super::edit::{Edit, EditOutcome};
use super::file::{Action, Recipe};
use super::match_table::MatchTable;
use super::passed_over::PassedOver;
use super::select::{SelectError, select};
use crate::base::blocking::in_place;
use crate::base::error::chain;
use crate::base::text::counted;
use crate::event::{ToolCall, Usage};
use crate::model::{ChatModel, Completion, Message, ModelError, Request};
use crate::tool::Context;

/// Maximum number of calls of one answer, and of bytes that they write: an action over thousands of files is handed out bit by
/// bit, so that what has been done can be forgotten.
const MAX_CALLS: usize = 100;
const MAX_BYTES: usize = 1024 * 1024;

/// Maximum number of failed calls listed at the end.
const MAX_LISTED_FAILURES: usize = 20;

/// Model that follows a recipe.
pub struct RecipePlayer {
    name: String,
    /// Agent whose calls it makes; it answers no other.
    agent: String,
    context: Context,
    state: Mutex<State>,
    table: Arc<MatchTable>,
}

#[derive(Default)]
struct State {
    /// Steps that have not begun, with their indexes.
    steps: VecDeque<(usize, super::file::Step)>,
    /// Remaining actions of the current step, with their positions for messages.
    actions: VecDeque<(String, Action)>,
    /// Files that the actions are for; a single `None` for a step that is done once.
    targets: Vec<Option<WorkspacePath>>,
    /// Calls of the current action that are still to be made, and the texts that they write.
    waiting: VecDeque<Waiting>,
    spool: Spool,
    /// Calls of the last answer.
    pending: Option<PendingCalls>,
    files: usize,
    calls: usize,
    /// Places that edits have changed.
    matches: usize,
    skipped: Vec<String>,
    passed_over: PassedOver,
}

/// Call of an action that is still to be made.
enum Waiting {
    /// A file is written that an edit has changed.
    Write(WorkspacePath, Spooled),
    /// A tool is called, for a file or once.
    Tool(String, Arc<Template>, Option<WorkspacePath>),
}

/// Calls whose results are awaited.
#[derive(Default)]
struct PendingCalls {
    place: String,
    optional: bool,
    /// Files by call ID.
    targets: BTreeMap<String, Option<WorkspacePath>>,
}

impl RecipePlayer {
    /// Creates a player for `recipe`, which only answers `agent`. Files are selected and read through
    /// `context`, and the places that are changed are added to `table`.
    pub fn new(name: &str, agent: &str, recipe: &Recipe, context: Context, table: Arc<MatchTable>) -> Self {
        let steps = recipe.steps.iter().cloned().enumerate().collect();
        let (name, agent) = (name.to_owned(), agent.to_owned());
        Self { name, agent, context, state: Mutex::new(State { steps, ..State::default() }), table }
    }

    fn answer(&self, request: Request<'_>) -> Result<Completion, ModelError> {
        if request.agent != self.agent {
            return Err(ModelError::Recipe(format!("a recipe cannot act as the agent {}", request.agent)));
        }
        let mut state = self.state.lock();
        if !request.may_call {
            return Ok(final_answer(state.summary("Stopped early")));
        }
        state.take_results(request.messages)?;
        loop {
            if let Some(answer) = state.next_calls()? {
                return Ok(answer);
            }
            let Some((place, action)) = state.actions.pop_front() else {
                let Some((index, step)) = state.steps.pop_front() else {
                    return Ok(final_answer(state.summary("Completed")));
                };
                let here = format!("steps[{index}]");
                let failed = |error: SelectError| ModelError::Recipe(format!("{here}: {}", chain(&error)));
                let mut is_empty = false;
                state.targets = if step.is_for_files() {
                    let selected = select(&step, &self.context).map_err(failed)?;
                    is_empty = selected.files.is_empty() && selected.excluded.is_empty();
                    state.passed_over.excluded.extend(selected.excluded);
                    selected.files.into_iter().map(Some).collect()
                } else {
                    vec![None]
                };
                if is_empty {
                    state.passed_over.steps.push(here.clone());
                }
                state.files += state.targets.iter().flatten().count();
                state.actions = step
                    .actions
                    .into_iter()
                    .enumerate()
                    .map(|(number, action)| (format!("{here}.do[{number}]"), action))
                    .collect();
                continue;
            };
            self.prepare(&mut state, &place, &action)?;
        }
    }

    /// Prepares the calls of one action, one for each file. All edits are made before the first of them is written, so that one
    /// that fails leaves all files as they are.
    fn prepare(&self, state: &mut State, place: &str, action: &Action) -> Result<(), ModelError> {
        state.pending = Some(PendingCalls {
            place: place.to_owned(),
            optional: action.optional,
            ..PendingCalls::default()
        });
        let targets = state.targets.clone();
        if let Some(tool) = &action.tool {
            let arguments = Template::parse(tool, &action.with)
                .map_err(|error| ModelError::Recipe(format!("{place}: {error}")))?;
            let arguments = Arc::new(arguments);
            let call = |file| Waiting::Tool(tool.clone(), Arc::clone(&arguments), file);
            state.waiting = targets.into_iter().map(call).collect();
            return Ok(());
        }
        let files: Vec<WorkspacePath> = targets.into_iter().flatten().collect();
        let edit = Edit::of(action)
            .map_err(|problem| ModelError::Recipe(format!("{place}: {}", chain(&problem))))?;
        state.spool = Spool::default();
        for (file, edited) in edit.apply_to(&files, &self.context, &state.spool) {
            let edited = edited.map(|(edited, left)| {
                let places = left.into_iter().map(|line| format!("{file}:{line}"));
                state.passed_over.left.extend(places);
                edited
            });
            match edited {
                Ok(EditOutcome::Unchanged) => {}
                Ok(EditOutcome::NotText) => drop(state.passed_over.not_text.insert(file)),
                Ok(EditOutcome::DoesNotParse) => drop(state.passed_over.not_parsed.insert(file)),
                Ok(EditOutcome::Edited(edited)) => {
                    state.matches += edited.places.len();
                    self.table.add(place, &file, edited.places);
                    state.waiting.push_back(Waiting::Write(file, edited.text));
                }
                Err(error) => {
                    let failure = format!("{place}: {file}: {}", chain(&error));
                    if !action.optional {
                        return Err(ModelError::Recipe(failure));
                    }
                    state.skipped.push(failure);
                    state.targets.retain(|other| other.as_ref() != Some(&file));
                }
            }
        }
        Ok(())
    }
}

impl State {
    /// Returns the next calls of the current action; `None` once all of them are made.
    fn next_calls(&mut self) -> Result<Option<Completion>, ModelError> {
        let Some(mut pending) = self.pending.take() else { return Ok(None) };
        pending.targets.clear();
        let (mut calls, mut bytes) = (Vec::new(), 0);
        while calls.len() < MAX_CALLS && bytes < MAX_BYTES {
            let (name, arguments, target) = match self.waiting.pop_front() {
                None => break,
                Some(Waiting::Write(file, spooled)) => {
                    bytes += spooled.length();
                    let content = spooled.get().map_err(|error| {
                        ModelError::Recipe(format!("{}: {file}: {}", pending.place, chain(&error)))
                    })?;
                    let content = String::from_utf8_lossy(&content);
                    let arguments = json!({"path": file, "content": content, "mode": "exact"});
                    ("write_file".to_owned(), arguments, Some(file))
                }
                Some(Waiting::Tool(tool, arguments, file)) => (tool, arguments.for_file(file.as_ref()), file),
            };
            self.calls += 1;
            let id = format!("recipe_{}", self.calls);
            pending.targets.insert(id.clone(), target);
            calls.push(ToolCall { id, name, arguments });
        }
        let continues = !self.waiting.is_empty();
        self.pending = (!calls.is_empty()).then_some(pending);
        Ok((!calls.is_empty()).then(|| Completion { calls, continues, ..free() }))
    }

    /// Checks the results of the last calls. A file whose optional action failed is excluded from then on.
    fn take_results(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let Some(pending) = &self.pending else { return Ok(()) };
        for message in messages.iter().rev() {
            let Message::Tool { id, name, content, success } = message else { continue };
            let Some(target) = pending.targets.get(id).filter(|_| !success) else { continue };
            let on = target.as_ref().map_or(String::new(), |file| format!(" on {file}"));
            let failure = format!("{}: {name}{on}: {content}", pending.place);
            if !pending.optional {
                return Err(ModelError::Recipe(failure));
            }
            self.skipped.push(failure);
            self.targets.retain(|other| other != target);
        }
        Ok(())
    }

    fn summary(&self, how: &str) -> String {
        let mut text =
            format!("{how}: {}, {}", counted(self.files, "file", "s"), counted(self.calls, "call", "s"));
        if self.matches > 0 {
            text += &format!(", {}", counted(self.matches, "match", "es"));
        }
        text.push('.');
        text += &self.passed_over.to_string();
        if !self.skipped.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n\nFailed optional actions:\n");
            for failure in self.skipped.iter().take(MAX_LISTED_FAILURES) {
                let _ = writeln!(text, "- {}", failure.lines().next().unwrap_or_default());
            }
            if self.skipped.len() > MAX_LISTED_FAILURES {
                let _ = writeln!(text, "- … {} more", self.skipped.len() - MAX_LISTED_FAILURES);
            }
        }
        text
    }
}

fn final_answer(text: String) -> Completion {
    Completion { text, ..free() }
}

/// Returns an empty answer that costs nothing.
fn free() -> Completion {
    Completion { usage: Some(Usage::default()), ..Completion::default() }
}

impl ChatModel for RecipePlayer {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns `false`: a recipe has said all that it has to say.
    fn has_further_answer(&self, _: &str) -> bool {
        false
    }

    /// Returns `false`: it looks at the results of its last calls alone.
    fn reads_history(&self) -> bool {
        false
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>> {
        async move { in_place(|| self.answer(request)) }.boxed()
    }
}
