//! Settled tasks: what an earlier night did, and would do again just so, is not done again.
//!
//! While a task's key is the same, so is the task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tokio::task::block_in_place;

use super::estimate::Estimate;
use super::manifest::{Manifest, Task};
use super::merge::merge;
use super::request::BatchRequest;
use super::task_key::KeyParts;
use crate::base::text::counted;
use crate::event::{Notice, NoticeLevel, StopReason};
use crate::git::Repository;
use crate::github::{Api, closed_pulls};
use crate::report::{LastWork, SettledBecause, TaskEnd, TaskKey, TaskReport};

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
    // Large folders take a moment.
    match block_in_place(|| KeyParts::new(request, git, (&manifest.commit, tasks))) {
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

/// Returns messages for people about tasks that no later night can settle, one for each reason, if there are such nights.
pub(super) fn unsettled(request: &BatchRequest, tasks: &[TaskReport]) -> Vec<Notice> {
    if request.previous.is_none() {
        return Vec::new();
    }
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for task in tasks {
        if let Some(why) = &task.unsettled {
            by_reason.entry(why).or_default().push(&task.id);
        }
    }
    let told = |(why, ids): (&str, Vec<&str>)| {
        let more = ids.len().saturating_sub(MAX_NAMED);
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        let count = counted(ids.len(), "task", "s");
        let named = ids.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let message =
            format!("the next night does {count} again, whatever stays the same: {why} ({named}{more})");
        Notice { level: NoticeLevel::Warning, message }
    };
    by_reason.into_iter().map(told).collect()
}

/// Most tasks that are named for one reason.
const MAX_NAMED: usize = 10;

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

    /// Returns what a task took when it was last worked on, if that is known.
    pub(super) fn last_work(&self, task: &Task) -> Option<LastWork> {
        self.tasks.get(&task.id)?.last_work()
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
        report.last_work = earlier.last_work();
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
