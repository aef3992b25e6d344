//! Examples of a recipe: each is run in a folder of its own, above which edits are planned and nothing is written.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use outline::first_syntax_error;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use workspace::{ChangeSet, DiskWorkspace, FileChange, FileError, OverlayWorkspace, Workspace};

use super::RecipePlayer;
use super::file::{Example, Recipe};
use super::match_table::MatchTable;
use crate::config;
use crate::event::{Effects, ToolCall};
use crate::guardrails::{GuardrailContext, Guardrails, InvalidGuardrail};
use crate::model::{ChatModel, Message, ModelError, Request};
use crate::tool::{Access, Context, Registry, SeenContents, ToolError};

/// Maximum size of a tool's result, in tokens; nobody reads it but the recipe.
const RESULT_TOKENS: usize = 10_000;

/// What came of an example.
#[derive(Clone, Debug, Serialize)]
pub struct ExampleResult {
    /// Its name.
    pub name: String,
    /// What is not as it should be; empty if it passed.
    pub faults: Vec<ExampleFault>,
    /// Tools that the recipe calls and that examples do not run, such as commands.
    pub not_run: Vec<String>,
}

/// Something that is not as an example has it.
#[derive(Clone, Debug, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ExampleFault {
    /// The recipe failed.
    #[error("the recipe failed: {message}")]
    Failed {
        /// Reason.
        message: String,
    },
    /// A file has another text than the example says.
    #[error("{path} is not as expected:\n{diff}")]
    Differs {
        /// Path of the file.
        path: String,
        /// Difference between what was expected and what there is, as a unified diff.
        diff: String,
    },
    /// The recipe deletes a file that the example keeps.
    #[error("{path} is deleted; if that is intended, list it in `deleted`")]
    Deleted {
        /// Path of the file.
        path: String,
    },
    /// The recipe keeps a file that the example lists as deleted.
    #[error("{path} is listed in `deleted`, but the recipe does not delete it")]
    NotDeleted {
        /// Path of the file.
        path: String,
    },
    /// The recipe changes more when it is done a second time.
    #[error("{path} changes again when the recipe runs a second time:\n{diff}")]
    Repeats {
        /// Path of the file.
        path: String,
        /// What the second time changes.
        diff: String,
    },
    /// A file that could be parsed before cannot be parsed any more.
    #[error("{path} no longer parses, from line {line}")]
    Broken {
        /// Path of the file.
        path: String,
        /// Line of the first error.
        line: usize,
    },
}

/// Reason why an example could not be run.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The folder of its files could not be made.
    #[error("could not prepare the test {name:?}")]
    Folder {
        /// Name of the example.
        name: String,
        /// I/O error.
        #[source]
        error: io::Error,
    },
    /// A file of the workspace could not be read.
    #[error("could not read the files of the test {name:?}")]
    File {
        /// Name of the example.
        name: String,
        /// What failed.
        #[source]
        error: FileError,
    },
}

impl Recipe {
    /// Runs the examples of the recipe. Returns one result for each, in their order.
    pub async fn test(&self) -> Result<Vec<ExampleResult>, TestError> {
        let mut results = Vec::new();
        for example in &self.tests {
            results.push(run(self, example).await?);
        }
        Ok(results)
    }

    /// Returns whether any of its tests shows that the recipe changes something: without one, a recipe that does nothing passes.
    pub fn shows_a_change(&self) -> bool {
        let changes = |test: &Example| {
            !test.deleted.is_empty()
                || test.after.iter().any(|(path, text)| test.before.get(path) != Some(text))
        };
        self.tests.iter().any(changes)
    }

    /// Returns what a recipe that somebody else is to rely on has to show, and does not.
    pub fn missing_tests(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.shows_a_change() {
            missing.push(
                "no test shows what the recipe changes; add `tests` with `before` and `after`".to_owned(),
            );
        }
        let stays = |test: &Example| {
            test.before.keys().any(|path| !test.after.contains_key(path) && !test.deleted.contains(path))
        };
        if !self.tests.iter().any(stays) {
            missing.push(
                "no test shows what must not match; add a file to `before` that `after` does not name"
                    .to_owned(),
            );
        }
        missing
    }

    /// Follows the recipe on a workspace, without its commands. Returns the number of places that it changes.
    pub async fn count_places(&self, context: Context) -> Result<usize, ModelError> {
        let table = Arc::new(MatchTable::default());
        let context = Context { seen: Arc::new(SeenContents::default()), ..context };
        follow(self, &context, &Guardrails::default(), &table, &mut Vec::new()).await?;
        Ok(table.matches().map_or(0, |matches| matches.total))
    }
}

async fn run(recipe: &Recipe, example: &Example) -> Result<ExampleResult, TestError> {
    let folder = |error| TestError::Folder { name: example.name.clone(), error };
    let file = |error| TestError::File { name: example.name.clone(), error };
    let home = tempfile::tempdir().map_err(folder)?;
    for (path, text) in &example.before {
        write(home.path(), path, text).map_err(folder)?;
    }
    // The rules that hold where nothing is configured: what a run refuses does not pass here.
    let rules = guardrails().map_err(|error| folder(io::Error::other(error)))?;
    let disk = Arc::new(DiskWorkspace::open(home.path()).map_err(folder)?);
    let workspace: Arc<dyn Workspace> = Arc::new(OverlayWorkspace::new(disk));
    let context = Context {
        workspace: Arc::clone(&workspace),
        allow_delete: true,
        sensitive: rules.sensitive(),
        seen: Arc::new(SeenContents::default()),
        access: Access::Full,
        explains_edits: false,
        max_result_tokens: RESULT_TOKENS,
        cancel: CancellationToken::new(),
    };
    let mut result = ExampleResult { name: example.name.clone(), faults: Vec::new(), not_run: Vec::new() };
    if let Err(error) = follow(recipe, &context, &rules, &Arc::default(), &mut result.not_run).await {
        result.faults.push(ExampleFault::Failed { message: error.to_string() });
        return Ok(result);
    }
    let first = workspace.changes().map_err(file)?;
    result.faults.extend(compare(example, &first));
    result.faults.extend(first.iter().filter_map(broken));
    if !example.repeats {
        if let Err(error) = follow(recipe, &context, &rules, &Arc::default(), &mut result.not_run).await {
            result.faults.push(ExampleFault::Failed { message: format!("the second time: {error}") });
            return Ok(result);
        }
        let second = workspace.changes().map_err(file)?;
        result.faults.extend(repeated(&first, &second));
    }
    result.not_run.sort();
    result.not_run.dedup();
    Ok(result)
}

fn write(home: &Path, path: &str, text: &str) -> io::Result<()> {
    // The path has been parsed with the recipe, so that it leads nowhere else.
    let path = home.join(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}

/// Follows a recipe to its end. Tools that work on files are run; others are listed in `not_run`.
async fn follow(
    recipe: &Recipe,
    context: &Context,
    rules: &Guardrails,
    table: &Arc<MatchTable>,
    not_run: &mut Vec<String>,
) -> Result<(), ModelError> {
    const AGENT: &str = "test";
    let registry = Registry::with_built_in();
    let player = RecipePlayer::new("recipe", AGENT, recipe, context.clone(), Arc::clone(table));
    let mut messages = Vec::new();
    loop {
        let request = Request {
            agent: AGENT,
            system: "",
            tools: &[],
            may_call: true,
            max_output: None,
            messages: &messages,
        };
        let answer = player.complete(request).await?;
        if answer.calls.is_empty() {
            return Ok(());
        }
        messages.clear();
        for call in answer.calls {
            messages.push(perform(&registry, context, rules, call, not_run).await);
        }
    }
}

async fn perform(
    registry: &Registry,
    context: &Context,
    rules: &Guardrails,
    call: ToolCall,
    not_run: &mut Vec<String>,
) -> Message {
    let (success, content) = match registry.get(&call.name) {
        None => {
            not_run.push(call.name.clone());
            (true, String::new())
        }
        Some(tool) => match Arc::clone(tool).prepare(&call.arguments) {
            Err(error) => (false, error.to_string()),
            Ok(prepared) => {
                if let Some(why) = refusal(prepared.effects(context), rules) {
                    (false, why)
                } else {
                    let done = prepared.run(context.clone()).await;
                    (done.success, done.text())
                }
            }
        },
    };
    Message::Tool { id: call.id, name: call.name, content, success }
}

fn guardrails() -> Result<Guardrails, InvalidGuardrail> {
    Guardrails::new(&config::Guardrails::default(), GuardrailContext::default())
}

/// Returns why a call is refused, as in a run; `None` if it is not.
fn refusal(effects: Result<Effects, ToolError>, rules: &Guardrails) -> Option<String> {
    match effects {
        Ok(effects) => rules.check(&effects).err().map(|refusal| refusal.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Compares what became of the files with what the example says.
fn compare(example: &Example, changes: &ChangeSet) -> Vec<ExampleFault> {
    let mut found: BTreeMap<&str, Option<String>> =
        example.before.iter().map(|(path, text)| (path.as_str(), Some(text.clone()))).collect();
    for change in changes {
        let after = change.after.as_ref().map(|state| String::from_utf8_lossy(&state.content).into_owned());
        found.insert(change.path.as_str(), after);
    }
    let mut expected: BTreeMap<&str, Option<&str>> =
        example.before.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
    expected.extend(example.after.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))));
    expected.extend(example.deleted.iter().map(|path| (path.as_str(), None)));
    let paths: std::collections::BTreeSet<&str> = found.keys().chain(expected.keys()).copied().collect();
    let fault = |path: &str| {
        let found = found.get(path).cloned().flatten();
        let expected = expected.get(path).copied().flatten();
        let (is_before, path) = (example.before.contains_key(path), path.to_owned());
        match (found, expected) {
            (found, expected) if found.as_deref() == expected => None,
            (None, _) if is_before => Some(ExampleFault::Deleted { path }),
            (Some(_), None) if is_before => Some(ExampleFault::NotDeleted { path }),
            (found, expected) => {
                let found = found.unwrap_or_default();
                let diff = diff(["expected", "got"], expected.unwrap_or_default(), &found);
                Some(ExampleFault::Differs { path, diff })
            }
        }
    };
    paths.into_iter().filter_map(fault).collect()
}

fn diff([from, to]: [&'static str; 2], before: &str, after: &str) -> String {
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(from).set_modified_filename(to);
    options.create_patch(before, after).to_string()
}

fn broken(change: &FileChange) -> Option<ExampleFault> {
    let name = change.path.file_name()?;
    let text = |state: &workspace::FileState| String::from_utf8_lossy(&state.content).into_owned();
    let line = first_syntax_error(name, &text(change.after.as_ref()?))?;
    let was_clean =
        change.before.as_ref().is_none_or(|before| first_syntax_error(name, &text(before)).is_none());
    was_clean.then(|| ExampleFault::Broken { path: change.path.to_string(), line })
}

/// Returns what a second time has changed.
fn repeated(first: &ChangeSet, second: &ChangeSet) -> Vec<ExampleFault> {
    let texts = |changes: &ChangeSet| -> BTreeMap<String, String> {
        let text = |change: &FileChange| {
            change
                .after
                .as_ref()
                .map_or_else(String::new, |state| String::from_utf8_lossy(&state.content).into_owned())
        };
        changes.iter().map(|change| (change.path.to_string(), text(change))).collect()
    };
    let (first, second) = (texts(first), texts(second));
    let fault = |(path, text): (&String, &String)| {
        let before = first.get(path).cloned().unwrap_or_default();
        (before != *text).then(|| ExampleFault::Repeats {
            path: path.clone(),
            diff: diff(["once", "twice"], &before, text),
        })
    };
    second.iter().filter_map(fault).collect()
}
