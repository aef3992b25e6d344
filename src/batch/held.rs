//! Held deliveries: finished work that could not be handed over, because of a rate limit or an outage.
//!
//! The plan that a run then leaves beside its report is delivered by a later start, without a model and without executing
//! anything. It is sealed when the run ends, because commands of later tasks may be able to write to the output folder.

use std::path::{Path, PathBuf};

use tokio::task::block_in_place;

use super::attempt::TaskResult;
use super::context::{BatchContext, TASKS};
use super::manifest::Task;
use super::planned::PLAN;
use crate::base::env::Variables;
use crate::base::integrity::{Seal, digest};
use crate::event::{Notice, NoticeLevel};
use crate::publish::RunResult;
use crate::report::{HeldDelivery, TaskEnd, TaskReport};
use crate::request::{InputError, read_plan};

/// The folder of a later delivery's files, in that of the task.
const DELIVERY: &str = "delivery";

/// Why a held delivery is not made.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// Somebody else may have written the plan.
    #[error(
        "the plan {} was not sealed by this user's batch, so it is not delivered; review it, then use \
         `architect-ci apply`, or repeat the task with `--resume --retry failed`",
        .0.display()
    )]
    Unsealed(PathBuf),
}

impl From<HeldError> for InputError {
    fn from(error: HeldError) -> Self {
        Self::Batch(Box::new(error))
    }
}

/// Returns the seal of the plan that a task in this folder holds.
fn seal(variables: &Variables, folder: &Path) -> Seal {
    Seal::new(variables, &format!("held/{}", digest(folder.to_string_lossy().as_bytes())))
}

/// Seals the plan of a task that came from another machine, if its report holds a delivery.
pub(super) fn seal_again(variables: &Variables, folder: &Path, report: &TaskReport) -> std::io::Result<()> {
    let Some(held) = &report.held else { return Ok(()) };
    seal(variables, folder).put(held.digest.as_bytes())
}

/// Returns a message for people about held deliveries, if there are any.
pub(super) fn notice(tasks: &[TaskReport], out: &Path) -> Option<Notice> {
    let count = tasks.iter().filter(|task| task.held.is_some()).count();
    let tasks = if count == 1 { "task is done, but was" } else { "tasks are done, but were" };
    (count > 0).then(|| Notice {
        level: NoticeLevel::Warning,
        message: format!(
            "{count} {tasks} not delivered; `architect-ci batch deliver --out {}` delivers their changes",
            out.display()
        ),
    })
}

impl BatchContext {
    /// Seals the plan of a task, if its report holds a delivery.
    pub(super) fn seal_held(&self, report: &TaskReport) {
        let Some(held) = &report.held else { return };
        let folder = self.request.destination.out.join(TASKS).join(&report.id);
        if let Err(error) = seal(&self.request.destination.variables, &folder).put(held.digest.as_bytes()) {
            tracing::warn!("warning: could not seal the plan of {}: {error}", report.id);
        }
    }

    /// Makes the delivery that an earlier start held. What the task was and cost stays in its report.
    pub(super) async fn deliver_held(
        &self,
        task: &Task,
        report: TaskReport,
        held: &HeldDelivery,
    ) -> TaskResult {
        let folder = self.request.destination.out.join(TASKS).join(&task.id);
        let ended = self.apply_held(task, held, &folder).await;
        block_in_place(|| self.worktrees.remove(&task.id));
        let report = match ended {
            Ok(result) => {
                let written = TaskReport::of_run(&task.id, &result.report, &report.folder);
                let is_delivered = written.end == TaskEnd::Success;
                let (key, unsettled) = if is_delivered { self.key_of(task, &folder) } else { (None, None) };
                TaskReport {
                    end: written.end,
                    stop_reason: written.stop_reason,
                    exit_code: written.exit_code,
                    key,
                    unsettled,
                    notices: written.notices,
                    delivery: written.delivery,
                    // It goes on to be held if GitHub is the reason again; a plan that does not fit is of no use later.
                    held: written.held.map(|_| held.clone()),
                    ..report
                }
            }
            Err(error) => {
                let message = error.explained();
                tracing::error!("error: {}: {message}", task.id);
                // A plan that cannot be used is of no use later: the task can be repeated.
                let is_fault_of_machine = error.is_fault_of_machine();
                let notices = vec![Notice { level: NoticeLevel::Error, message }];
                TaskReport { notices, held: report.held.clone().filter(|_| is_fault_of_machine), ..report }
            }
        };
        TaskResult { report, over: true, dearest_answer: 0.0, spent: None }
    }

    async fn apply_held(
        &self,
        task: &Task,
        held: &HeldDelivery,
        folder: &Path,
    ) -> Result<RunResult, InputError> {
        let path = folder.join(PLAN);
        if !seal(&self.request.destination.variables, folder).holds(held.digest.as_bytes()) {
            return Err(HeldError::Unsealed(path).into());
        }
        // Beside the plan, which stays until it is delivered.
        let out = folder.join(DELIVERY);
        self.apply_plan(task, &out, |place| {
            self.request.of_held_task(&self.manifest.name, task, place, read_plan(&path)?, held)
        })
        .await
    }
}
