//! Settled tasks: what an earlier night did, and would do again just so, is not done again.
//!
//! A task's key is its definition (text, recipe, model, configuration) with the contents of all files that it read or
//! wrote, as they were in the commit. While it is the same, so is the task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use parking_lot::Mutex;

use super::estimate::Estimate;
use super::manifest::{Manifest, Task};
use super::merge::merge;
use super::request::BatchRequest;
use crate::base::integrity::digest;
use crate::event::{Event, Line, Notice, NoticeLevel, StopReason};
use crate::git::{GitError, Repository};
use crate::github::{Api, closed_pulls};
use crate::publish::TRANSCRIPT;
use crate::report::{SettledBecause, TaskEnd, TaskKey, TaskReport};
use crate::sessions::read_lines;

/// Begins the name of a model that is a program.
const PROGRAM: &str = "exec::";

/// Stands for the content of a path that the commit does not have.
const ABSENT: &str = "absent";

/// What keys are made from.
pub(super) struct KeyParts {
    /// IDs of all files of the commit, by path.
    ids: BTreeMap<String, String>,
    /// Digests of folders that were asked for.
    folders: Mutex<BTreeMap<String, String>>,
    /// What all tasks have in common.
    common: String,
}

/// Prepares keys for the tasks of a batch, and reads what an earlier night has settled. What goes wrong settles nothing,
/// with a warning.
pub(super) async fn prepare(
    request: &BatchRequest,
    git: &Repository,
    (manifest, tasks): (&Manifest, &[Task]),
    notices: &mut Vec<Notice>,
) -> (Option<KeyParts>, PreviousResults) {
    let mut earlier = match &request.previous {
        Some(path) => PreviousResults::read(path, &manifest.name, notices),
        None => PreviousResults::default(),
    };
    match KeyParts::new(request, git, &manifest.commit) {
        Ok(key_parts) => {
            earlier.look_for_closed(request, tasks, &key_parts, notices).await;
            (Some(key_parts), earlier)
        }
        Err(error) => {
            let message = format!("no task is settled for later nights: {error}");
            notices.push(Notice { level: NoticeLevel::Warning, message });
            (None, earlier)
        }
    }
}

impl KeyParts {
    fn new(request: &BatchRequest, git: &Repository, commit: &str) -> Result<Self, GitError> {
        let config = serde_json::to_string(&request.config).unwrap_or_default();
        let given = serde_json::to_string(request.given()).unwrap_or_default();
        let common = format!("{}\n{config}\n{given}", env!("CARGO_PKG_VERSION"));
        Ok(Self { ids: git.ids_of(commit)?, folders: Mutex::default(), common: digest(common.as_bytes()) })
    }

    /// Returns the key of a task whose files lie in `folder`; `None` if it reached what is outside of the checkout,
    /// or left no transcript.
    pub(super) fn key(&self, task: &Task, folder: &Path) -> Option<TaskKey> {
        let lines = read_lines(&folder.join(TRANSCRIPT)).ok()?;
        let mut files = BTreeMap::new();
        let own = task.entry.folder.as_deref().unwrap_or_default();
        let mut add = |path: String| {
            let id = self.id(&path);
            files.insert(path, id);
        };
        // Nobody knows what a command reads, and a recipe looks for files by their names.
        if task.entry.recipe.is_some() {
            add(join("", own));
        }
        let named = [task.entry.recipe.as_deref(), task.entry.task_file.as_deref(), Some("AGENTS.md")];
        for path in named.into_iter().flatten() {
            add(join("", path));
        }
        for Line { event, .. } in lines {
            let call = match event {
                Event::Call(call) => call,
                // What a program outside of the commit answers is decided by more than the key can hold.
                Event::Session(session) if session.model.starts_with(PROGRAM) => return None,
                _ => continue,
            };
            if call.effects.remote.is_some() {
                return None;
            }
            if call.effects.command.is_some() {
                add(join("", own));
            }
            for path in call.effects.reads.iter().chain(&call.effects.writes) {
                add(join(own, path.as_str()));
            }
        }
        Some(TaskKey { definition: self.definition(task), files })
    }

    fn definition(&self, task: &Task) -> String {
        let entry = serde_json::to_string(&task.entry).unwrap_or_default();
        digest(format!("{}\n{entry}", self.common).as_bytes())
    }

    fn is_same(&self, task: &Task, key: &TaskKey) -> bool {
        key.definition == self.definition(task) && key.files.iter().all(|(path, id)| self.id(path) == *id)
    }

    /// Returns what stands for the content of a file, or of all files below a folder.
    fn id(&self, path: &str) -> String {
        if let Some(id) = self.ids.get(path) {
            return id.clone();
        }
        let mut folders = self.folders.lock();
        let id = folders.entry(path.to_owned()).or_insert_with(|| {
            let below = if path.is_empty() { String::new() } else { format!("{path}/") };
            let within = self.ids.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
            let list: String = within.map(|(path, id)| format!("{id} {path}\n")).collect();
            if list.is_empty() { ABSENT.to_owned() } else { digest(list.as_bytes()) }
        });
        id.clone()
    }
}

/// Joins a folder and a path in it; the root is the empty path.
fn join(folder: &str, path: &str) -> String {
    let names = folder.split('/').chain(path.split('/')).filter(|name| !matches!(*name, "" | "."));
    names.collect::<Vec<_>>().join("/")
}

/// What an earlier night has left.
#[derive(Default)]
pub(super) struct PreviousResults {
    tasks: BTreeMap<String, TaskReport>,
    started_at: String,
    /// Pull requests that people have closed; `None` if GitHub was not asked, or did not say.
    closed: Option<BTreeSet<u64>>,
}

impl PreviousResults {
    /// Reads the reports of an earlier night. What cannot be read settles nothing, with a warning.
    pub(super) fn read(path: &Path, batch: &str, notices: &mut Vec<Notice>) -> Self {
        let mut warn = |message: String| {
            tracing::warn!("warning: {message}");
            notices.push(Notice { level: NoticeLevel::Warning, message });
        };
        if !path.exists() {
            warn(format!(
                "no task is settled: there is no {} (`previous`) yet, as on the first night",
                path.display()
            ));
            return Self::default();
        }
        match merge(&[path.to_owned()], None) {
            Ok(merged) if merged.report.batch == batch => {
                for problem in merged.invalid {
                    warn(format!("tasks of one report (`previous`) are done again: {problem}"));
                }
                let started_at = merged.report.started_at.clone();
                let tasks = merged.report.tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
                Self { tasks, started_at, closed: None }
            }
            Ok(merged) => {
                warn(format!(
                    "no task is settled: {} is the report of another batch, {}",
                    path.display(),
                    merged.report.batch
                ));
                Self::default()
            }
            Err(error) => {
                warn(format!(
                    "no task is settled (`previous`), so all of them are done, and paid for, again: {error}"
                ));
                Self::default()
            }
        }
    }

    /// Estimates what tasks will cost and take.
    pub(super) fn estimate<'a>(
        &self,
        tasks: impl Iterator<Item = &'a Task>,
        jobs: usize,
    ) -> Option<Estimate> {
        Estimate::new(tasks, &self.tasks, jobs)
    }

    /// Asks GitHub which pull requests of unchanged tasks people have closed. If it does not say, tasks are settled without that.
    async fn look_for_closed(
        &mut self,
        request: &BatchRequest,
        tasks: &[Task],
        key_parts: &KeyParts,
        notices: &mut Vec<Notice>,
    ) {
        let github = request.destination.github.as_ref().filter(|github| github.token.is_some());
        let Some(github) = github else { return };
        let unchanged = tasks.iter().filter_map(|task| self.unchanged(task, key_parts));
        let numbers: BTreeSet<u64> = unchanged.filter_map(|(earlier, _)| pull_of(earlier)).collect();
        if numbers.is_empty() {
            return;
        }
        match async { closed_pulls(&Api::new(github)?, &numbers).await }.await {
            Ok(closed) => self.closed = Some(closed),
            Err(error) => {
                let message = format!("which pull requests people have closed is not known: {error}");
                notices.push(Notice { level: NoticeLevel::Warning, message });
            }
        }
    }

    /// Returns the earlier report of a task that would be done just so again.
    fn unchanged(&self, task: &Task, key_parts: &KeyParts) -> Option<(&TaskReport, &TaskKey)> {
        let earlier = self.tasks.get(&task.id)?;
        let key = earlier.key.as_ref().filter(|key| key_parts.is_same(task, key))?;
        Some((earlier, key))
    }

    /// Returns the report of a task that is settled.
    pub(super) fn settle(&self, task: &Task, key_parts: &KeyParts) -> Option<TaskReport> {
        let (earlier, key) = self.unchanged(task, key_parts)?;
        let before = earlier.settled_because;
        let (because, why) = match (&self.closed, pull_of(earlier)) {
            (Some(closed), Some(number)) if closed.contains(&number) => (
                SettledBecause::Closed,
                format!(
                    "people closed its pull request #{number}, and nothing that it read or wrote has changed"
                ),
            ),
            // It was opened again.
            (Some(_), Some(_)) if before == Some(SettledBecause::Closed) => return None,
            _ if before.is_none() && !is_done(earlier) => return None,
            _ => {
                // The reason stays as it was told first.
                let told = earlier.notices.first().filter(|_| before.is_some()).map(|it| it.message.clone());
                let why = || format!("nothing that it read or wrote has changed since {}", self.started_at);
                (before.unwrap_or(SettledBecause::Unchanged), told.unwrap_or_else(why))
            }
        };
        let mut report = TaskReport::without_run(&task.id, &earlier.task, TaskEnd::Settled, &why);
        report.settled_because = Some(because);
        report.key = Some(key.clone());
        report.model.clone_from(&earlier.model);
        report.message.clone_from(&earlier.message);
        report.delivery.clone_from(&earlier.delivery);
        Some(report)
    }
}

/// Returns whether a task showed all that was asked of it.
fn is_done(earlier: &TaskReport) -> bool {
    earlier.end == TaskEnd::Success && earlier.stop_reason.is_some_and(StopReason::is_green)
}

/// Returns the pull request that a task has delivered to.
fn pull_of(earlier: &TaskReport) -> Option<u64> {
    Some(earlier.delivery.as_ref()?.pull_request.as_ref()?.number)
}
