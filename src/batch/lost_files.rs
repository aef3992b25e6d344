//! Lost files: tasks that are done, but whose results somebody has removed since.
//!
//! What such a task came to is nowhere any more, unless it was delivered, so it has to begin again.

use std::collections::BTreeMap;
use std::path::Path;

use super::planned::PLAN;
use super::request::BatchRequest;
use crate::event::{Notice, NoticeLevel};
use crate::report::{TaskEnd, TaskReport};

/// The file that every task leaves that ran.
const REPORT: &str = "report.json";

/// Marks tasks whose results are gone as not run.
pub(super) fn mark(reports: &mut [TaskReport], request: &BatchRequest) {
    for report in reports.iter_mut().filter(|report| is_lost_here(report, request)) {
        *report = begun_again(report);
    }
}

/// Takes such tasks out of those that ended; what they have cost stays known.
pub(super) fn set_aside(
    ended: &mut BTreeMap<String, TaskReport>,
    tried: &mut BTreeMap<String, TaskReport>,
    request: &BatchRequest,
) {
    let lost = ended.extract_if(.., |_, report| is_lost_here(report, request));
    tried.extend(lost.map(|(id, report)| (id, begun_again(&report))));
}

/// Returns whether a task's results are gone that this job has worked for: those of another job's plans are with that job.
fn is_lost_here(report: &TaskReport, request: &BatchRequest) -> bool {
    request.plans.is_none() && is_lost(report, &request.destination.out)
}

fn is_lost(report: &TaskReport, out: &Path) -> bool {
    let folder = out.join(&report.folder);
    let is_missing = |name: &str| !folder.join(name).exists();
    report.end == TaskEnd::Success
        && !report.folder.is_empty()
        && report.delivery.is_none()
        && (is_missing(REPORT) || report.plan_digest.is_some() && is_missing(PLAN))
}

/// Returns the report of a task that has to begin again, from its first attempt on.
fn begun_again(report: &TaskReport) -> TaskReport {
    let folder = &report.folder;
    let message = format!("its results in {folder} were removed, so it has to begin again (`--resume`)");
    let mut again = TaskReport::without_run(&report.id, &report.task, TaskEnd::NotRun, &message);
    again.notices = vec![Notice { level: NoticeLevel::Error, message }];
    again.model.clone_from(&report.model);
    TaskReport { steps: report.steps, usage: report.usage, cost_usd: report.cost_usd, ..again }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_without_results_is_lost_unless_it_was_delivered() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join("tasks/t");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(REPORT), "{}").unwrap();
        let done = TaskReport {
            attempts: 1,
            cost_usd: Some(0.5),
            folder: "tasks/t".to_owned(),
            ..TaskReport::without_run("t", "t", TaskEnd::Success, "")
        };
        let planned = TaskReport { plan_digest: Some("x".to_owned()), ..done.clone() };
        let failed = TaskReport { end: TaskEnd::Failed, ..planned.clone() };
        let settled = TaskReport::without_run("t", "t", TaskEnd::Settled, "");
        assert!(!is_lost(&done, out.path()));
        assert!(is_lost(&planned, out.path()), "its plan is gone");
        assert!(!is_lost(&failed, out.path()) && !is_lost(&settled, out.path()));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(is_lost(&done, out.path()));
        let again = begun_again(&done);
        assert_eq!((again.end, again.attempts), (TaskEnd::NotRun, 0));
        assert_eq!(again.cost_usd, Some(0.5), "money that was spent stays spent");
    }
}
