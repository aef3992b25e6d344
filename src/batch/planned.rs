//! Plans that another job of the same workflow run has made for the tasks of a batch. A job that can write takes these plans;
//! it has no model and executes nothing of the checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::manifest::Manifest;
use super::merge::link;
use super::request::BatchRequest;
use super::start_error::StartError;
use super::verify_reports::{ReportDigests, VerifiedReport, verify};
use crate::event::{Notice, NoticeLevel};
use crate::plan::Plan;
use crate::report::TaskReport;
use crate::request::{InputError, read_plan};

/// The name of a plan's file.
pub(super) const PLAN: &str = "plan.json";

/// The reports of the job that has planned, and where its files are.
#[derive(Debug)]
pub(super) struct PlannedTasks {
    pub(super) tasks: BTreeMap<String, PlannedTask>,
}

/// A planned task.
#[derive(Debug)]
pub(super) struct PlannedTask {
    pub(super) report: TaskReport,
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
    pub(super) fn plan(&self) -> Result<Plan, InputError> {
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
