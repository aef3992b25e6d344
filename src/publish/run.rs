//! Publishes a run that has ended.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use sanitize::Masker;
use sanitize::invisible::is_invisible;
use sanitize::untrusted::{log_lines, visible};
use tokio_util::sync::CancellationToken;
use workspace::ChangeSet;

use super::github::Publication;
use super::output_files::{OutputFiles, PlanFileError};
use super::progress_comment::ProgressComment;
use super::publisher::{TIME, plan_mark};
use super::secret_watch::SecretSearch;
use super::step_outputs::{OUTPUTS, StepOutputs, annotate};
use crate::base::env::is_in_actions;
use crate::base::integrity::HashWriter;
use crate::base::time_limit::TimeLimit;
use crate::config::DEFAULT_KEY;
use crate::event::{Exit, Notice, NoticeLevel, RunMode, Status, StopReason};
use crate::github::{Environment, ReviewedMark, Subject, hidden_lines, marker_key};
use crate::plan::{Plan, WholePatch};
use crate::report::masked::{Format, MaskError, masked};
use crate::report::{
    CommentFrame, Diagnostic, Lists, RunReport, TerminalFrame, annotations, comment, diagnostics, of_gates,
    sarif, summary, terminal,
};
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
        let is_result = plan.is_some() || request.deliver == Deliver::Patch || !request.alone;
        let is_late = matches!(error, PlanFileError::TimeUp);
        if is_withheld && (is_result || is_late) && report.stop_reason.yields() {
            report.end(if is_late { StopReason::Timeout } else { StopReason::PlanWithheld });
        }
        warn(&mut report, error.to_string());
    }
    drop(patch);
    // Of thousands of actions, one copy less.
    lists.actions = plan.map(|plan| plan.actions).unwrap_or_default();
    if let Err(error) = lists.masked(&mut report, masker) {
        files.remove_plan();
        return Err(error);
    }
    if let Some(failed) = matches.and_then(|table| files.write_matches(&table, masker).err()) {
        warn(&mut report, failed.to_string());
    }
    let step = StepOutputs::open(&request.variables);
    let write = |report: &mut RunReport, comment_url: Option<&str>| {
        let sarif = |report: &RunReport| sarif(report, &prefix, &gates_of(request, report, &prefix));
        let failed = files.write_report(report, masker, |report| comment_of(request, report), sarif);
        let summary = masker.mask_rendered(&summary(report)).into_owned();
        let is_review = request.config().review.pull_requests && report.mode == RunMode::DryRun;
        let has_all_findings = !is_review || report.review.is_some();
        for failed in step.write(Some(&summary), &fields(report, files, comment_url, has_all_findings)) {
            warn(report, failed);
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
        warn(
            &mut report,
            format!("the run failed, because these files could not be written: {}", missing.join(", ")),
        );
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
    if request.alone {
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

/// Lines that gates speak of, in files that there are.
pub(super) fn diagnostics_of(request: &JobRequest, report: &RunReport, prefix: &str) -> Vec<Diagnostic> {
    diagnostics(report, &request.workspace, prefix, &is_file(request))
}

/// Lines that failed gates speak of.
fn gates_of(request: &JobRequest, report: &RunReport, prefix: &str) -> Vec<Diagnostic> {
    let mut remarks = Vec::new();
    of_gates(&report.gates, &request.workspace, prefix, &is_file(request), &mut remarks);
    remarks
}

fn is_file(request: &JobRequest) -> impl Fn(&str) -> bool {
    move |path: &str| request.workspace.join(path).is_file()
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

pub(super) fn comment_of(request: &JobRequest, report: &RunReport) -> String {
    let pending = || request.applies.clone().filter(|_| report.status != Status::Success);
    let mark = plan_mark(request.github.as_ref(), report).or_else(pending);
    let key = &request.config().github.comment_key;
    let github = request.github.as_ref();
    let head = github.and_then(|github| match &github.subject {
        Subject::PullRequest { head, .. } => head.as_ref().map(|head| head.sha.clone()),
        Subject::Issue { .. } | Subject::Repository => None,
    });
    let reviewed = report.reviewed.clone().zip(report.reviewed_base.clone());
    let reviewed = reviewed.map_or_else(String::new, |(head, base)| ReviewedMark { head, base }.line());
    let frame = CommentFrame {
        hidden: format!("{}{reviewed}", hidden_lines(key, mark.as_ref())),
        name: (key != DEFAULT_KEY).then(|| marker_key(key)),
        can_order: mark.is_some(),
        order: github.map(Environment::order_line).unwrap_or_default(),
        task: request.short_task(),
        repository_url: github.map(Environment::repository_url),
        commit: head.or_else(|| report.base.as_ref().map(|base| base.commit.clone())),
    };
    comment(report, &frame)
}

pub(super) fn warn(report: &mut RunReport, message: String) {
    tracing::warn!("warning: {message}");
    report.notices.push(Notice { level: NoticeLevel::Warning, message });
}

/// Returns a file name for a list with one on each line, which programs read and people see. A name with a character that
/// breaks lines, or that nobody sees, is a string of JSON with that character escaped, and so is one that looks like one.
fn on_one_line(name: &str) -> Cow<'_, str> {
    let is_unclear = |c: char| c.is_control() || is_invisible(c);
    if !name.starts_with('"') && !name.chars().any(is_unclear) {
        return Cow::Borrowed(name);
    }
    let mut quoted = String::new();
    for c in serde_json::Value::from(name).to_string().chars() {
        if is_unclear(c) {
            let units =
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            quoted += &units;
        } else {
            quoted.push(c);
        }
    }
    Cow::Owned(quoted)
}

/// Returns the digest of the plan that lies next to the report: of a dry run, of changes that are held, or of the plan that was
/// applied in place of another one.
fn plan_digest(report: &RunReport) -> Option<&str> {
    let planned = report.plan.as_ref().map(|plan| &plan.digest);
    let held = || report.held.as_ref().map(|held| &held.digest);
    let carried = || report.carried_over.as_ref().map(|carried| &carried.digest);
    planned.or_else(held).or_else(carried).map(String::as_str)
}

/// Returns the outputs of the step.
fn fields(
    report: &RunReport,
    files: &OutputFiles,
    comment_url: Option<&str>,
    has_all_findings: bool,
) -> Vec<(&'static str, String)> {
    let shown = |path: &Path| if path.exists() { path.display().to_string() } else { String::new() };
    let changed: Vec<Cow<'_, str>> =
        report.files.iter().map(|file| on_one_line(file.path.as_str())).collect();
    let usage = report.usage;
    let delivery = report.delivery.as_ref();
    let values: [String; OUTPUTS.len()] = [
        report.status.to_string(),
        report.exit_code.to_string(),
        changed.join("\n"),
        shown(&files.plan),
        plan_digest(report).unwrap_or_default().to_owned(),
        shown(&files.patch),
        shown(&files.junit),
        // Code scanning takes what it does not name for mended, so it names all or is nowhere.
        if has_all_findings { shown(&files.sarif) } else { String::new() },
        shown(&files.report),
        // The comment always lies there; the configuration may have others elsewhere.
        files.comment.parent().map(shown).unwrap_or_default(),
        comment_url.unwrap_or_default().to_owned(),
        delivery.map(|delivery| delivery.branch.clone()).unwrap_or_default(),
        delivery
            .and_then(|delivery| delivery.commit.clone().or(delivery.existing.clone()))
            .unwrap_or_default(),
        delivery.and_then(|delivery| Some(delivery.pull_request.as_ref()?.url.clone())).unwrap_or_default(),
        report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default(),
        (usage.input + usage.output).to_string(),
        visible(&report.message),
        report.structured_output.as_ref().map(ToString::to_string).unwrap_or_default(),
    ];
    OUTPUTS.into_iter().zip(values).collect()
}
