//! The end of a run: files first, then the runner's own channels, then the network.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::interrupt::Signal;
use super::progress::Progress;
use super::publish::{self, Publisher, TIME, TIME_INTERRUPTED, Trouble, plan_mark, wants_comment};
use crate::config;
use crate::event::{Notice, NoticeLevel, RunMode, Status, StopReason};
use crate::exit::Exit;
use crate::github::{Api, LineRemark, StepFile, Sticky, Suggested, outputs};
use crate::inputs::{Deliver, InputError, RunRequest};
use crate::plan::Plan;
use crate::report::secrets::Masker;
use crate::report::untrusted::{log_lines, visible};
use crate::report::{
    RunReport, annotations, comment, html, junit, line_remarks, markdown, summary, terminal,
};
use crate::workspace::ChangeSet;

/// Where the files of a run lie.
#[derive(Clone, Debug)]
pub struct Files {
    pub(super) report: PathBuf,
    pub(super) markdown: PathBuf,
    pub(super) html: PathBuf,
    pub(super) comment: PathBuf,
    pub(super) summary: PathBuf,
    pub(super) junit: PathBuf,
    pub(super) plan: PathBuf,
    pub(super) patch: PathBuf,
    pub(super) transcript: PathBuf,
}

impl Files {
    /// The places, with their folders made, and without files of an earlier run.
    pub(super) fn new(out: &Path, config: &config::Report) -> Result<Self, InputError> {
        let place = |configured: &Option<String>, name: &str| out.join(configured.as_deref().unwrap_or(name));
        let files = Self {
            report: place(&config.json, "report.json"),
            markdown: place(&config.markdown, "report.md"),
            html: place(&config.html, "report.html"),
            comment: out.join("comment.md"),
            summary: out.join("summary.md"),
            junit: place(&config.junit, "junit.xml"),
            plan: place(&config.plan, "plan.json"),
            patch: place(&config.patch, "plan.patch"),
            transcript: place(&config.transcript, "transcript.jsonl"),
        };
        for path in files.all() {
            let parent = path.parent().unwrap_or(out);
            let clear = fs::create_dir_all(parent).and_then(|()| match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            });
            clear.map_err(|error| InputError::Write { path: path.clone(), error })?;
        }
        files.canonical()
    }

    /// The same places with every link in their folders followed, once and for all.
    fn canonical(mut self) -> Result<Self, InputError> {
        let Self { report, markdown, html, comment, summary, junit, plan, patch, transcript } = &mut self;
        for path in [report, markdown, html, comment, summary, junit, plan, patch, transcript] {
            if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                let folder =
                    folder.canonicalize().map_err(|error| InputError::Write { path: path.clone(), error })?;
                *path = folder.join(name);
            }
        }
        Ok(self)
    }

    /// Writes a file in place of whatever lies there: never through a link, which a command of the agent's
    /// could have planted, nor into a folder that was swapped.
    fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        if folder.canonicalize()? != folder {
            return Err(std::io::Error::other("its folder was replaced by a link"));
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        readable(file.as_file())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    fn all(&self) -> [&PathBuf; 9] {
        let Self { report, markdown, html, comment, summary, junit, plan, patch, transcript } = self;
        [report, markdown, html, comment, summary, junit, plan, patch, transcript]
    }
}

/// As files are made by default, and not as temporary ones are.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}

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

/// Writes everything.
pub(super) async fn finish(
    request: &RunRequest,
    reported: Reported,
    files: &Files,
    masker: &Masker,
    signal: Signal,
    progress: Option<Progress>,
) -> Finished {
    let Reported { mut report, plan, changes, prefix, mut exit } = reported;
    mask(&mut report, masker);
    if let Err(message) = write_plan(plan.as_ref(), &changes.git_patch(&prefix), files, masker) {
        warn(&mut report, message);
    }
    let step = |variable: &str| runner_file(request, variable).map(StepFile::open);
    let step_files = StepFiles { summary: step("GITHUB_STEP_SUMMARY"), outputs: step("GITHUB_OUTPUT") };
    // Before the network: whatever happens there, nothing is lost.
    write_files(&mut report, request, files, masker);
    tell_runner(&mut report, files, &step_files, None);
    let time = if signal.is_set() { TIME_INTERRUPTED } else { TIME };
    let interrupted = signal.is_set();
    let known = match progress {
        Some(progress) => progress.stop(if interrupted { TIME_INTERRUPTED / 4 } else { time }).await,
        None => None,
    };
    let before = report.clone();
    let publication =
        Publication { request, files, masker, changes: &changes, prefix: &prefix, time, interrupted };
    let comment_url = publication.publish(&mut report, &mut exit, known).await;
    if report != before || comment_url.is_some() {
        write_files(&mut report, request, files, masker);
        tell_runner(&mut report, files, &step_files, comment_url.as_deref());
    }
    if in_actions(request) {
        let mut stderr = std::io::stderr().lock();
        for command in annotations(&report, &remarks(request, &report, &prefix)) {
            // A closed log must not fail the run.
            let _ = writeln!(stderr, "{command}");
        }
    }
    let screen = terminal(&report, files.report.parent().unwrap_or(Path::new(".")));
    Finished { message: log_lines(&visible(&report.message)), screen, exit, report }
}

/// Lines that gates speak of, in files that there are.
fn remarks(request: &RunRequest, report: &RunReport, prefix: &str) -> Vec<LineRemark> {
    let exists = |path: &str| request.workspace.join(path).is_file();
    line_remarks(report, &request.workspace, prefix, &exists)
}

/// What is told where, and by what means.
struct Publication<'a> {
    request: &'a RunRequest,
    files: &'a Files,
    masker: &'a Masker,
    changes: &'a ChangeSet,
    prefix: &'a str,
    time: Duration,
    /// There is time for the comment alone.
    interrupted: bool,
}

impl Publication<'_> {
    /// Tells GitHub; answers with the address of the comment.
    async fn publish(
        &self,
        report: &mut RunReport,
        exit: &mut Exit,
        known: Option<Arc<Sticky>>,
    ) -> Option<String> {
        let Self { request, files, .. } = self;
        let config = &request.config().github;
        let delivers = !matches!(request.deliver, Deliver::Nowhere | Deliver::Patch);
        let github = match request.github.as_ref() {
            Some(github) if github.token.is_some() => github,
            other => {
                let why = if other.is_some() {
                    "no token; set `github-token` or GITHUB_TOKEN"
                } else {
                    "not on GitHub"
                };
                tracing::info!("comment: in {} alone ({why})", files.comment.display());
                if delivers && !self.changes.is_empty() {
                    self.not_delivered(report, exit, why, false);
                } else if config.required && other.is_some() {
                    let trouble =
                        Trouble { message: format!("GitHub cannot be told: {why}"), about_permission: true };
                    self.trouble(report, exit, trouble);
                }
                return None;
            }
        };
        let api = match Api::new(github) {
            Ok(api) => api,
            Err(error) => {
                self.trouble(report, exit, Trouble::from(&error));
                return None;
            }
        };
        let publisher = Publisher { github, config, api, time: self.time };
        if delivers {
            self.deliver(&publisher, report, exit).await;
        }
        let mut troubles = Vec::new();
        if config.inline_suggestions && report.mode == RunMode::DryRun && !self.interrupted {
            match publisher.suggest(report, self.changes, self.prefix).await {
                Ok(done) => {
                    let Suggested { posted, known, resolved, left_out } = done;
                    tracing::info!(
                        "suggestions: {posted} new, {known} known, {resolved} resolved, {left_out} left out"
                    );
                }
                Err(trouble) => troubles.push(trouble),
            }
        }
        if config.check_run && !self.interrupted {
            match publisher.check(report, remarks(request, report, self.prefix)).await {
                Ok(url) => {
                    tracing::info!("check run: {}", url.as_deref().unwrap_or("no commit to write it to"));
                }
                Err(trouble) => troubles.push(trouble),
            }
        }
        for trouble in troubles.drain(..) {
            self.trouble(report, exit, trouble);
        }
        let url = self.comment(&publisher, report, exit, known).await;
        if let Err(Trouble { message, .. }) = publisher.react(report.status == Status::Success).await {
            warn(report, message);
        }
        url
    }

    async fn deliver(&self, publisher: &Publisher<'_>, report: &mut RunReport, exit: &mut Exit) {
        if self.changes.is_empty() {
            tracing::info!("deliver: nothing changed, so there is nothing to deliver");
            return;
        }
        if report.status != Status::Success {
            let told = format!("the changes were not delivered, because the run ended as {}", report.status);
            report.notices.push(Notice { level: NoticeLevel::Warning, message: told });
            return;
        }
        let states = self.changes.iter().filter_map(|change| change.after.as_ref());
        if states.into_iter().any(|state| self.masker.knows_of(&state.content)) {
            let why = "they hold a secret of this job; remove it from the files";
            return self.not_delivered(report, exit, why, false);
        }
        match publisher.deliver(self.request, report, self.changes, self.prefix).await {
            Ok(Some(delivery)) => {
                tracing::info!("delivered to {}", delivery.branch);
                report.delivery = Some(delivery);
            }
            Ok(None) => {
                let told = "the branch has all of these changes already, so nothing was delivered".to_owned();
                report.notices.push(Notice { level: NoticeLevel::Info, message: told });
            }
            Err(Trouble { message, about_permission }) => {
                self.not_delivered(report, exit, &message, about_permission);
            }
        }
    }

    /// Changes that go nowhere are no success.
    fn not_delivered(&self, report: &mut RunReport, exit: &mut Exit, why: &str, about_permission: bool) {
        let message =
            format!("the changes were not delivered: {why}; they are in {}", self.files.patch.display());
        tracing::error!("error: {message}");
        report.notices.push(Notice { level: NoticeLevel::Error, message });
        fail(report, exit, about_permission);
    }

    /// A failed call is a warning, unless it was called required.
    fn trouble(&self, report: &mut RunReport, exit: &mut Exit, trouble: Trouble) {
        if self.request.config().github.required {
            tracing::error!("error: {}", trouble.message);
            report.notices.push(Notice { level: NoticeLevel::Error, message: trouble.message });
            fail(report, exit, trouble.about_permission);
        } else {
            warn(report, trouble.message);
        }
    }

    async fn comment(
        &self,
        publisher: &Publisher<'_>,
        report: &mut RunReport,
        exit: &mut Exit,
        known: Option<Arc<Sticky>>,
    ) -> Option<String> {
        let Self { request, files, .. } = self;
        let (config, file) = (publisher.config, files.comment.display());
        if !wants_comment(config, report) {
            tracing::info!("comment: in {file} alone (not wanted)");
            return None;
        }
        let sticky = match publish::known(known, publisher.github, &config.comment_key) {
            Ok(Some(sticky)) => sticky,
            Ok(None) => {
                let event = &publisher.github.event;
                tracing::info!(
                    "comment: in {file} alone (the event {event} is about no pull request or issue)"
                );
                return None;
            }
            Err(error) => {
                warn(report, error.to_string());
                return None;
            }
        };
        let body = self.masker.mask_known(&comment_of(request, report)).into_owned();
        match publisher.comment(&sticky, &body).await {
            Ok(url) => {
                tracing::info!("comment: {url}");
                Some(url)
            }
            Err(Trouble { message, about_permission }) => {
                let message = format!("{message}; the comment is in {file}");
                self.trouble(report, exit, Trouble { message, about_permission });
                None
            }
        }
    }
}

fn fail(report: &mut RunReport, exit: &mut Exit, about_permission: bool) {
    report.status = Status::Failed;
    if *exit == Exit::Success || *exit == Exit::Partial {
        *exit = if about_permission { Exit::Authentication } else { Exit::Failed };
        report.stop_reason = StopReason::NotPublished;
    }
    report.exit_code = exit.code();
}

fn comment_of(request: &RunRequest, report: &RunReport) -> String {
    let mark = plan_mark(request.github.as_ref(), report);
    comment(report, &request.config().github.comment_key, mark.as_ref())
}

pub(super) fn in_actions(request: &RunRequest) -> bool {
    request.variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Masks the report once, as a value, so that every rendering is masked; escaping in between could
/// otherwise hide a secret from the mask.
fn mask(report: &mut RunReport, masker: &Masker) {
    let Ok(value) = serde_json::to_value(&*report) else { return };
    if let Ok(masked) = serde_json::from_value(masked(value, masker)) {
        *report = masked;
    }
}

fn masked(value: serde_json::Value, masker: &Masker) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(masker.mask(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(|item| masked(item, masker)).collect(),
        Value::Object(object) => object.into_iter().map(|(key, item)| (key, masked(item, masker))).collect(),
        other => other,
    }
}

fn warn(report: &mut RunReport, message: String) {
    tracing::warn!("warning: {message}");
    report.notices.push(Notice { level: NoticeLevel::Warning, message });
}

/// Plan and patch are written as they are, or not at all: masked ones could not be applied.
fn write_plan(plan: Option<&Plan>, patch: &[u8], files: &Files, masker: &Masker) -> Result<(), String> {
    let json = match plan {
        Some(plan) => Some(serde_json::to_vec_pretty(plan).map_err(|error| error.to_string())?),
        None => None,
    };
    if json.iter().any(|json| masker.knows_of(json)) || masker.knows_of(patch) {
        return Err("the changes hold a secret of this job, so neither plan nor patch was written; \
                    remove the secret from the checkout"
            .to_owned());
    }
    let failed = |path: &Path, error| format!("{} could not be written: {error}", path.display());
    if let Some(json) = json {
        Files::write(&files.plan, &json).map_err(|error| failed(&files.plan, error))?;
    }
    if plan.is_some() || !patch.is_empty() {
        Files::write(&files.patch, patch).map_err(|error| failed(&files.patch, error))?;
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
        // Masked as a value before; renderings may bring together what was apart.
        if let Err(error) = Files::write(path, masker.mask_known(&text).as_bytes()) {
            warn(report, format!("{} could not be written: {error}", path.display()));
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
            warn(report, format!("{kind} could not be written: {error}"));
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
        ("out-path", files.report.parent().map(shown).unwrap_or_default()),
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
