//! The end of a run: files first, then the runner's own channels, then the network.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::interrupt::Signal;
use crate::config::{self, Comment};
use crate::event::{Notice, NoticeLevel, Status};
use crate::exit::Exit;
use crate::github::{Environment, append_summary, post_comment, write_outputs};
use crate::inputs::{InputError, RunRequest};
use crate::plan::Plan;
use crate::report::secrets::Masker;
use crate::report::untrusted::{log_lines, visible};
use crate::report::{RunReport, annotations, comment, html, junit, markdown, marker, summary, terminal};

/// How long the comment may take, and how long when the run was interrupted: the runner kills soon.
const COMMENT_TIME: Duration = Duration::from_mins(1);
const COMMENT_TIME_INTERRUPTED: Duration = Duration::from_secs(2);

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
    pub(super) patch: Vec<u8>,
    pub(super) exit: Exit,
}

/// Writes everything.
pub(super) async fn finish(
    request: &RunRequest,
    reported: Reported,
    files: &Files,
    masker: &Masker,
    signal: Signal,
) -> Finished {
    let Reported { mut report, plan, patch, exit } = reported;
    mask(&mut report, masker);
    if let Err(message) = write_plan(plan.as_ref(), &patch, files, masker) {
        warn(&mut report, message);
    }
    write_files(&mut report, request, files, masker);
    let posted = post(request, &report, files, &signal).await;
    let comment_url = match posted {
        Ok(url) => url,
        Err(message) => {
            warn(&mut report, message);
            // The files tell of it as well.
            write_files(&mut report, request, files, masker);
            None
        }
    };
    for (kind, told) in [
        ("GITHUB_STEP_SUMMARY", tell_summary(request, files)),
        ("GITHUB_OUTPUT", tell_outputs(request, &report, files, comment_url)),
    ] {
        if let Err(error) = told {
            warn(&mut report, format!("{kind} could not be written: {error}"));
        }
    }
    if in_actions(request) {
        let mut stderr = std::io::stderr().lock();
        for command in annotations(&report) {
            // A closed log must not fail the run.
            let _ = writeln!(stderr, "{command}");
        }
    }
    let screen = terminal(&report, files.report.parent().unwrap_or(Path::new(".")));
    Finished { message: log_lines(&visible(&report.message)), screen, exit, report }
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

/// The plan is written as it is, or not at all: a masked one could not be applied.
fn write_plan(plan: Option<&Plan>, patch: &[u8], files: &Files, masker: &Masker) -> Result<(), String> {
    let Some(plan) = plan else { return Ok(()) };
    let json = serde_json::to_vec_pretty(plan).map_err(|error| error.to_string())?;
    if masker.knows_of(&json) || masker.knows_of(patch) {
        return Err("the plan holds a secret of this job, so plan.json and plan.patch were not written; \
                    remove the secret from the checkout"
            .to_owned());
    }
    let failed = |path: &Path, error| format!("{} could not be written: {error}", path.display());
    Files::write(&files.plan, &json).map_err(|error| failed(&files.plan, error))?;
    Files::write(&files.patch, patch).map_err(|error| failed(&files.patch, error))
}

fn write_files(report: &mut RunReport, request: &RunRequest, files: &Files, masker: &Masker) {
    let key = &request.config().github.comment_key;
    let junit = junit(report).unwrap_or_else(|error| {
        warn(report, error);
        String::new()
    });
    let texts = [
        (&files.report, report.json()),
        (&files.markdown, markdown(report)),
        (&files.html, html(report)),
        (&files.comment, comment(report, key)),
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

fn tell_summary(request: &RunRequest, files: &Files) -> std::io::Result<()> {
    match runner_file(request, "GITHUB_STEP_SUMMARY") {
        Some(file) => append_summary(&file, &fs::read_to_string(&files.summary)?),
        None => Ok(()),
    }
}

fn tell_outputs(
    request: &RunRequest,
    report: &RunReport,
    files: &Files,
    comment_url: Option<String>,
) -> std::io::Result<()> {
    let Some(file) = runner_file(request, "GITHUB_OUTPUT") else { return Ok(()) };
    let shown = |path: &Path| if path.exists() { path.display().to_string() } else { String::new() };
    let changed: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    let usage = report.usage;
    let outputs = [
        ("status", report.status.to_string()),
        ("exit-code", report.exit_code.to_string()),
        ("changed-files", changed.join("\n")),
        ("plan-path", shown(&files.plan)),
        ("plan-digest", report.plan.as_ref().map(|plan| plan.digest.clone()).unwrap_or_default()),
        ("patch-path", shown(&files.patch)),
        ("junit-path", shown(&files.junit)),
        ("report-path", shown(&files.report)),
        ("comment-url", comment_url.unwrap_or_default()),
        ("cost-usd", report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default()),
        ("tokens", (usage.input + usage.output).to_string()),
        ("summary", report.message.clone()),
        ("structured-output", report.structured_output.as_ref().map(ToString::to_string).unwrap_or_default()),
    ];
    write_outputs(&file, &outputs)
}

fn runner_file(request: &RunRequest, variable: &str) -> Option<PathBuf> {
    request.variables.get(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Posts the comment where one is wanted and possible; the error says why it was not.
async fn post(
    request: &RunRequest,
    report: &RunReport,
    files: &Files,
    signal: &Signal,
) -> Result<Option<String>, String> {
    let wanted = match request.config().github.comment {
        Comment::Always => true,
        Comment::OnChange => report.has_changes() || report.status != Status::Success,
        Comment::Never => false,
    };
    let file = files.comment.display();
    let Some(github) = request.github.as_ref().filter(|_| wanted) else {
        tracing::info!("comment: in {file} alone ({})", if wanted { "not on GitHub" } else { "not wanted" });
        return Ok(None);
    };
    let Some(number) = github.number() else {
        tracing::info!(
            "comment: in {file} alone (the event {} is about no pull request or issue)",
            github.event
        );
        return Ok(None);
    };
    let Environment { token: Some(token), .. } = github else {
        tracing::info!("comment: in {file} alone (no token; set `github-token` or GITHUB_TOKEN)");
        return Ok(None);
    };
    let body = fs::read_to_string(&files.comment).map_err(|error| format!("{file}: {error}"))?;
    let time = if signal.is_set() { COMMENT_TIME_INTERRUPTED } else { COMMENT_TIME };
    let marker = marker(&request.config().github.comment_key);
    let posted = tokio::time::timeout(time, post_comment(github, token, number, &marker, &body)).await;
    match posted {
        Ok(Ok(url)) => {
            tracing::info!("comment: {url}");
            Ok(Some(url))
        }
        Ok(Err(error)) => Err(format!("{error}; the comment is in {file}")),
        Err(_) => Err(format!("GitHub did not answer within {} s; the comment is in {file}", time.as_secs())),
    }
}
