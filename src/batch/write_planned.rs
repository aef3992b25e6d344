//! Writes what another job of the same workflow run has planned for the tasks of a batch.

use std::path::Path;
use std::sync::Arc;

use sanitize::Masker;
use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::context::{BatchContext, LOG, TASKS};
use super::manifest::Task;
use super::planned::{PlannedTask, PlannedTasks};
use super::task_paths::TaskPaths;
use crate::event::Exit;
use crate::publish::RunResult;
use crate::report::{TaskEnd, TaskReport, file_log};
use crate::request::{ApplyRequest, InputError};
use crate::run::apply;

impl BatchContext {
    /// Writes the plan of a task, if it was planned with success. What became of it elsewhere stays in its report.
    pub(super) async fn write_planned(&self, task: &Task, planned: &PlannedTasks) -> TaskReport {
        let Some(planned) = planned.tasks.get(&task.id) else {
            let lost = "no artifact of this workflow run contains its report";
            return TaskReport::without_run(&task.id, &task.entry.title(), TaskEnd::Lost, lost);
        };
        let report = &planned.report;
        if report.end != TaskEnd::Success || report.changed_files == 0 {
            return TaskReport { folder: String::new(), ..report.clone() };
        }
        let ended = self.write_plan(task, planned).await;
        block_in_place(|| self.worktrees.remove(&task.id));
        match ended {
            Ok(finished) => {
                let folder = format!("{TASKS}/{}", task.id);
                let written = TaskReport::of_run(&task.id, &finished.report, &folder);
                self.seal_held(&written);
                TaskReport {
                    model: report.model.clone(),
                    attempts: report.attempts,
                    steps: report.steps,
                    usage: report.usage,
                    cost_usd: report.cost_usd,
                    message: if written.end == TaskEnd::Success {
                        report.message.clone()
                    } else {
                        written.message.clone()
                    },
                    plan_digest: report.plan_digest.clone(),
                    key: report.key.clone().filter(|_| written.end == TaskEnd::Success),
                    ..written
                }
            }
            Err(error) => {
                let failed = TaskReport::without_run(
                    &task.id,
                    &task.entry.title(),
                    TaskEnd::Failed,
                    &error.explained(),
                );
                let exit = if error.is_fault_of_machine() { Exit::Failed } else { error.exit() };
                TaskReport { attempts: report.attempts, exit_code: Some(exit.code()), ..failed }
            }
        }
    }

    async fn write_plan(&self, task: &Task, planned: &PlannedTask) -> Result<RunResult, InputError> {
        let out = self.request.destination.out.join(TASKS).join(&task.id);
        let digest = planned.report.plan_digest.clone().ok_or(InputError::NoDigest)?;
        self.apply_plan(task, &out, |place| {
            self.request.of_planned_task(&self.manifest.name, task, place, planned.plan()?, digest)
        })
        .await
    }

    /// Applies the plan of a task on a checkout of its own, whose path `request` receives. `out` is the folder for its files.
    pub(super) async fn apply_plan(
        &self,
        task: &Task,
        out: &Path,
        request: impl FnOnce(&TaskPaths<'_>) -> Result<ApplyRequest, InputError>,
    ) -> Result<RunResult, InputError> {
        let request = block_in_place(|| {
            let checkout = self.make_room(task, out)?;
            request(&TaskPaths::without_model(&checkout, out, self.deadline_of(task)))
        })?;
        let job = &request.job;
        let masker = Arc::new(Masker::from_environment(&job.variables, &[], &job.secrets));
        let log = file_log(&out.join(LOG), Arc::clone(&masker))
            .map_err(|error| InputError::Write { path: out.join(LOG), error })?;
        Box::pin(apply(&request, masker, self.signal.clone()).with_subscriber(log)).await
    }
}
