//! Publishes a run that has ended.

use std::path::Path;
use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible};
use tokio_util::sync::CancellationToken;
use workspace::ChangeSet;

use super::github::Publication;
use super::output_files::{OutputFiles, PlanFileError};
use super::progress_comment::ProgressComment;
use super::publisher::TIME;
use super::run_outputs::RunOutputs;
use super::run_texts::{comment_of, diagnostics_of, gates_of};
use super::secret_watch::SecretSearch;
use super::step_outputs::{StepOutputs, annotate};
use crate::base::env::is_in_actions;
use crate::base::integrity::HashWriter;
use crate::base::time_limit::TimeLimit;
use crate::event::{Exit, RunMode, StopReason};
use crate::plan::{Plan, WholePatch};
use crate::report::masked::{Format, MaskError, masked};
use crate::report::{Lists, RunReport, TerminalFrame, annotations, sarif, summary, terminal};
use crate::request::{Deliver, JobRequest};

/// How long an update of the progress may still take once a signal has come.
const TIME_OF_PROGRESS: Duration = Duration::from_millis(500);

/// A run that is over and reported.
#[derive(Debug)]
pub struct RunResult {
    /// The report as it was written.
    pub report: RunReport,
    /// How the process ends.
    pub exit: Exit,
    /// What stdout gets: the final message, made harmless.
    pub message: String,
    /// What a person at a terminal wants to see last, harmless for a log.
    pub screen: String,
}

/// What a run leaves behind.
pub(crate) struct RunArtifacts {
    /// The report, whole.
    pub(crate) report: RunReport,
    /// The plan, where this was a dry run.
    pub(crate) plan: Option<Plan>,
    /// Patch of what changed, or in a dry run would.
    pub(crate) patch: WholePatch,
    /// The changes themselves, if they are to be published.
    pub(crate) changes: ChangeSet,
    /// The way from the repository to the workspace: empty, or ending in `/`.
    pub(crate) prefix: String,
    /// Places that a recipe changed, as a CSV file.
    pub(crate) matches: Option<String>,
    /// The time of the run, after which there is little left for all this.
    pub(crate) time_limit: TimeLimit,
}

/// Publishes a run: writes everything, or nothing if secrets cannot be masked in the report.
pub(crate) async fn publish_run(
    request: &JobRequest,
    artifacts: RunArtifacts,
    files: &OutputFiles,
    masker: &Masker,
    cancel: CancellationToken,
    progress: Option<ProgressComment>,
) -> Result<RunResult, MaskError> {
    let RunArtifacts { report: mut unmasked, mut plan, patch, changes, prefix, matches, time_limit } =
        artifacts;
    let mut lists = Lists::take(&mut unmasked);
    // Masked once, as a value, so that every rendering is masked; escaping in between could otherwise hide a
    // secret from the mask.
    let mut report = masked(&unmasked, Format::Report, masker)?;
    drop(unmasked);
    let mut has_no_plan = plan.is_none();
    let search = SecretSearch { masker, time_limit: &time_limit };
    if let Err(error) = files.write_plan(plan.as_mut(), &patch, search) {
        let is_withheld = !matches!(error, PlanFileError::Write { .. });
        has_no_plan |= is_withheld;
        // Without its plan or patch, such a run has no result.
        let is_result = plan.is_some() || request.deliver == Deliver::Patch || !request.standalone;
        let is_late = matches!(error, PlanFileError::TimeUp);
        if is_withheld && (is_result || is_late) && report.stop_reason.yields() {
            report.end(if is_late { StopReason::Timeout } else { StopReason::PlanWithheld });
        }
        report.warn(error.to_string());
    }
    drop(patch);
    // Of thousands of actions, one copy less.
    lists.actions = plan.map(|plan| plan.actions).unwrap_or_default();
    if let Err(error) = lists.masked(&mut report, masker) {
        files.remove_plan();
        return Err(error);
    }
    if let Some(failed) = matches.and_then(|table| files.write_matches(&table, masker).err()) {
        report.warn(failed.to_string());
    }
    let step = StepOutputs::open(&request.variables);
    let write = |report: &mut RunReport, comment_url: Option<&str>| {
        let sarif = |report: &RunReport| sarif(report, &prefix, &gates_of(request, report, &prefix));
        let failed = files.write_report(report, masker, |report| comment_of(request, report), sarif);
        let summary = masker.mask_rendered(&summary(report)).into_owned();
        let is_review = request.config().review.pull_requests && report.mode == RunMode::DryRun;
        let has_all_findings = !is_review || report.review.is_some();
        let outputs = RunOutputs { report, files, comment_url, has_all_findings };
        for failed in step.write(Some(&summary), &outputs.fields()) {
            report.warn(failed);
        }
        failed
    };
    // A run is done when people can see what it did.
    let end_unwritten = |report: &mut RunReport| {
        if report.stop_reason.yields() {
            report.end(StopReason::NotWritten);
        }
    };
    // Before the network: whatever happens there, nothing is lost.
    let failed = write(&mut report, None);
    let missing = files.missing(has_no_plan, &failed);
    if !missing.is_empty() {
        end_unwritten(&mut report);
        report.warn(format!(
            "the run failed, because these files could not be written: {}",
            missing.join(", ")
        ));
        write(&mut report, None);
    }
    let known = match progress {
        Some(progress) => progress.stop(if cancel.is_cancelled() { TIME_OF_PROGRESS } else { TIME }).await,
        None => None,
    };
    let before = digest_of(&mut report);
    let publication = Publication { request, files, masker, changes: &changes, prefix: &prefix, cancel };
    let comment_url = Box::pin(publication.publish(&mut report, known)).await;
    let is_changed = digest_of(&mut report) != before;
    if is_changed {
        // What publishing added is text of others as well.
        let lists = Lists::take(&mut report);
        report = masked(&report, Format::Report, masker)?;
        lists.put_back(&mut report);
    }
    if (is_changed || comment_url.is_some()) && !write(&mut report, comment_url.as_deref()).is_empty() {
        end_unwritten(&mut report);
        write(&mut report, comment_url.as_deref());
    }
    if request.standalone {
        annotate(&request.variables, || annotations(&report, &diagnostics_of(request, &report, &prefix)));
    }
    let frame = TerminalFrame {
        folder: files.report.parent().unwrap_or(Path::new(".")),
        workspace: &request.workspace,
        has_groups: is_in_actions(&request.variables),
    };
    let screen = terminal(&report, frame);
    let exit = report.stop_reason.clause().exit;
    Ok(RunResult { message: log_lines(&visible(&report.message)), screen, exit, report })
}

/// Returns a digest of what publishing may change of a report, by which it is known to have changed: all but the lists.
fn digest_of(report: &mut RunReport) -> String {
    let lists = Lists::take(report);
    let mut hash = HashWriter::default();
    // A hash takes everything.
    let _ = report.write_json(&mut hash);
    lists.put_back(report);
    hash.digest()
}
