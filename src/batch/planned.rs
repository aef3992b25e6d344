//! Plans that another job of the same workflow run has made for the tasks of a batch. A job that can write takes these plans;
//! it has no model and executes nothing of the checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use sanitize::Masker;
use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::attempt::{BatchContext, LOG, TASKS, title};
use super::manifest::{Manifest, Task};
use super::merge::link;
use super::request::BatchRequest;
use super::start_error::StartError;
use super::task_paths::TaskPaths;
use super::verify_reports::{ReportDigests, VerifiedReport, verify};
use crate::event::{Exit, Notice, NoticeLevel};
use crate::plan::Plan;
use crate::publish::RunResult;
use crate::report::{TaskEnd, TaskReport, file_log};
use crate::request::{ApplyRequest, InputError, read_plan};
use crate::run::apply;

/// The name of a plan's file.
pub(super) const PLAN: &str = "plan.json";

/// The reports of the job that has planned, and where its files are.
#[derive(Debug)]
pub(super) struct PlannedTasks {
    tasks: BTreeMap<String, PlannedTask>,
}

/// A planned task.
#[derive(Debug)]
struct PlannedTask {
    report: TaskReport,
    /// The paths at which its plan may be.
    plans: Vec<PathBuf>,
}

impl PlannedTasks {
    /// Reads the reports below a folder. They have to be of the batch that the manifest lists. Returns what is told of those
    /// that are left out as well.
    fn read(
        folder: &Path,
        manifest: &Manifest,
        digests: Option<&ReportDigests>,
    ) -> Result<(Self, Vec<String>), StartError> {
        let verified = verify(folder, manifest, digests).map_err(StartError::Unverified)?;
        let mut tasks = BTreeMap::new();
        for VerifiedReport { report, folders, .. } in verified.reports {
            for report in report.tasks {
                let below = link("", &report.folder);
                let below = percent_decode_str(&below).decode_utf8_lossy().into_owned();
                let plans = folders.iter().map(|folder| folder.join(&below).join(PLAN)).collect();
                tasks.insert(report.id.clone(), PlannedTask { report, plans });
            }
        }
        Ok((Self { tasks }, verified.messages))
    }

    /// Reads what a request names, and reports what is left out; `None` if the batch is worked on here.
    pub(super) fn of(
        request: &BatchRequest,
        manifest: &Manifest,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Self>, StartError> {
        let Some(folder) = &request.plans else { return Ok(None) };
        let (planned, messages) = Self::read(folder, manifest, request.report_digests.as_ref())?;
        let warning = |message| Notice { level: NoticeLevel::Warning, message };
        notices.extend(messages.into_iter().map(warning));
        Ok(Some(planned))
    }
}

impl PlannedTask {
    /// Reads the plan: that which has the digest of the report, as long as there is one.
    fn plan(&self) -> Result<Plan, InputError> {
        let mut first = None;
        for path in &self.plans {
            let plan = read_plan(path);
            if plan
                .as_ref()
                .is_ok_and(|plan| self.report.plan_digest.as_ref() == Some(&plan.computed_digest()))
            {
                return plan;
            }
            first.get_or_insert(plan);
        }
        first.unwrap_or(Err(InputError::NoDigest))
    }
}

impl BatchContext {
    /// Writes the plan of a task, if it was planned with success. What became of it elsewhere stays in its report.
    pub(super) async fn write_planned(&self, task: &Task, planned: &PlannedTasks) -> TaskReport {
        let Some(planned) = planned.tasks.get(&task.id) else {
            let lost = "no artifact of this workflow run contains its report";
            return TaskReport::without_run(&task.id, &title(&task.entry), TaskEnd::Lost, lost);
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
                    &title(&task.entry),
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
