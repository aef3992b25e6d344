//! The end of a run: files first, then the runner's own channels, then the network.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::files::Files;
use super::interrupt::Signal;
use super::progress::Progress;
use super::publish::{TIME, TIME_INTERRUPTED, plan_mark};
use super::tell::Publication;
use crate::event::{Notice, NoticeLevel, Status};
use crate::exit::Exit;
use crate::github::{LineRemark, StepFile, outputs};
use crate::inputs::RunRequest;
use crate::plan::Plan;
use crate::report::masked::{Format, MaskError, holds_secret, masked};
use crate::report::secrets::Masker;
use crate::report::untrusted::{log_lines, visible};
use crate::report::{
    RunReport, annotations, comment, html, junit, line_remarks, markdown, summary, terminal,
};
use crate::workspace::ChangeSet;

/// A run that is over and reported.
#[derive(Debug)]
pub struct Finished {
    /// The report as it was written.
    pub report: RunReport,
    /// How the process ends.
    pub exit: Exit,
    /// What stdout gets: the final message, made harmless.
    pub message: String,
    /// What a person at a terminal wants to see last.
    pub screen: String,
}

/// What a run leaves behind.
pub(super) struct Reported {
    pub(super) report: RunReport,
    pub(super) plan: Option<Plan>,
    /// What changed, or in a dry run would.
    pub(super) changes: ChangeSet,
    /// The way from the repository to the workspace: empty, or ending in `/`.
    pub(super) prefix: String,
    pub(super) exit: Exit,
}

/// The runner's command files.
struct StepFiles {
    summary: Option<StepFile>,
    outputs: Option<StepFile>,
}

/// Writes everything, or nothing if secrets cannot be masked in the report.
pub(super) async fn finish(
    request: &RunRequest,
    reported: Reported,
    files: &Files,
    masker: &Masker,
    signal: Signal,
    progress: Option<Progress>,
) -> Result<Finished, MaskError> {
    let Reported { report, plan, changes, prefix, mut exit } = reported;
    // Masked once, as a value, so that every rendering is masked; escaping in between could otherwise hide a
    // secret from the mask.
    let mut report = masked(&report, Format::Report, masker)?;
    if let Err(message) = write_plan(plan.as_ref(), &changes.git_patch(&prefix), files, masker) {
        warn(&mut report, message);
    }
    let step = |variable: &str| runner_file(request, variable).map(StepFile::open);
    let step_files = StepFiles { summary: step("GITHUB_STEP_SUMMARY"), outputs: step("GITHUB_OUTPUT") };
    // Before the network: whatever happens there, nothing is lost.
    write_files(&mut report, request, files, masker);
    tell_runner(&mut report, files, &step_files, None);
    let known = match progress {
        Some(progress) => progress.stop(if signal.is_set() { TIME_INTERRUPTED / 4 } else { TIME }).await,
        None => None,
    };
    let before = report.clone();
    let cancel = signal.token();
    let publication = Publication { request, files, masker, changes: &changes, prefix: &prefix, cancel };
    let comment_url = publication.publish(&mut report, &mut exit, known).await;
    // What publishing added is text of others as well.
    let mut report = masked(&report, Format::Report, masker)?;
    if report != before || comment_url.is_some() {
        write_files(&mut report, request, files, masker);
        tell_runner(&mut report, files, &step_files, comment_url.as_deref());
    }
    if request.alone && request.variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        let mut stderr = std::io::stderr().lock();
        for command in annotations(&report, &remarks(request, &report, &prefix)) {
            // A closed log must not fail the run.
            let _ = writeln!(stderr, "{command}");
        }
    }
    let screen = terminal(&report, files.report.parent().unwrap_or(Path::new(".")));
    Ok(Finished { message: log_lines(&visible(&report.message)), screen, exit, report })
}

/// Lines that gates speak of, in files that there are.
pub(super) fn remarks(request: &RunRequest, report: &RunReport, prefix: &str) -> Vec<LineRemark> {
    let exists = |path: &str| request.workspace.join(path).is_file();
    line_remarks(report, &request.workspace, prefix, &exists)
}

pub(super) fn comment_of(request: &RunRequest, report: &RunReport) -> String {
    let pending = || request.applies.clone().filter(|_| report.status != Status::Success);
    let mark = plan_mark(request.github.as_ref(), report).or_else(pending);
    comment(report, &request.config().github.comment_key, mark.as_ref())
}

pub(super) fn warn(report: &mut RunReport, message: String) {
    tracing::warn!("warning: {message}");
    report.notices.push(Notice { level: NoticeLevel::Warning, message });
}

/// Plan and patch are written as they are, or not at all: masked ones could not be applied.
fn write_plan(plan: Option<&Plan>, patch: &[u8], files: &Files, masker: &Masker) -> Result<(), String> {
    let json = match plan {
        Some(plan) => Some(serde_json::to_vec_pretty(plan).map_err(|error| error.to_string())?),
        None => None,
    };
    let in_plan = match plan {
        Some(plan) => holds_secret(plan, Format::Plan, masker)
            .map_err(|error| format!("the plan was not written: {error}"))?,
        None => false,
    };
    if in_plan || masker.knows_of(patch) {
        return Err("the changes contain one of this job's secrets, so neither the plan nor the patch was \
                    written; remove the secret from the checkout"
            .to_owned());
    }
    let failed = |path: &Path, error| format!("could not write {}: {error}", path.display());
    if let Some(json) = json {
        Files::write_private(&files.plan, &json).map_err(|error| failed(&files.plan, error))?;
    }
    if plan.is_some() || !patch.is_empty() {
        Files::write_private(&files.patch, patch).map_err(|error| failed(&files.patch, error))?;
    }
    Ok(())
}

fn write_files(report: &mut RunReport, request: &RunRequest, files: &Files, masker: &Masker) {
    let junit = junit(report).unwrap_or_else(|error| {
        warn(report, error);
        String::new()
    });
    let texts = [
        (&files.report, report.json()),
        (&files.markdown, markdown(report)),
        (&files.html, html(report)),
        (&files.comment, comment_of(request, report)),
        (&files.summary, summary(report)),
        (&files.junit, junit),
    ];
    for (path, text) in texts {
        // Masked as a value before; renderings may bring together what was apart. JSON keeps its form.
        let text = if *path == files.report { text.as_str().into() } else { masker.mask_rendered(&text) };
        if let Err(error) = Files::write(path, text.as_bytes()) {
            warn(report, format!("could not write {}: {error}", path.display()));
        }
    }
}

fn tell_runner(report: &mut RunReport, files: &Files, step_files: &StepFiles, comment_url: Option<&str>) {
    let summary = step_files.summary.as_ref().map(|file| {
        let text = fs::read_to_string(&files.summary)?;
        file.put(&format!("{text}\n"))
    });
    let outputs = step_files.outputs.as_ref().map(|file| file.put(&outputs_of(report, files, comment_url)));
    for (kind, told) in [("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", outputs)] {
        if let Some(Err(error)) = told {
            warn(report, format!("could not write {kind}: {error}"));
        }
    }
}

fn outputs_of(report: &RunReport, files: &Files, comment_url: Option<&str>) -> String {
    let shown = |path: &Path| if path.exists() { path.display().to_string() } else { String::new() };
    let changed: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    let usage = report.usage;
    let delivery = report.delivery.as_ref();
    outputs(&[
        ("status", report.status.to_string()),
        ("exit-code", report.exit_code.to_string()),
        ("changed-files", changed.join("\n")),
        ("plan-path", shown(&files.plan)),
        ("plan-digest", report.plan.as_ref().map(|plan| plan.digest.clone()).unwrap_or_default()),
        ("patch-path", shown(&files.patch)),
        ("junit-path", shown(&files.junit)),
        ("report-path", shown(&files.report)),
        // The comment always lies there; the configuration may have others elsewhere.
        ("out-path", files.comment.parent().map(shown).unwrap_or_default()),
        ("comment-url", comment_url.unwrap_or_default().to_owned()),
        ("branch", delivery.map(|delivery| delivery.branch.clone()).unwrap_or_default()),
        ("commit", delivery.and_then(|delivery| delivery.commit.clone()).unwrap_or_default()),
        (
            "pull-request-url",
            delivery
                .and_then(|delivery| Some(delivery.pull_request.as_ref()?.url.clone()))
                .unwrap_or_default(),
        ),
        ("cost-usd", report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default()),
        ("tokens", (usage.input + usage.output).to_string()),
        ("summary", report.message.clone()),
        ("structured-output", report.structured_output.as_ref().map(ToString::to_string).unwrap_or_default()),
    ])
}

fn runner_file(request: &RunRequest, variable: &str) -> Option<PathBuf> {
    request.variables.get(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}
