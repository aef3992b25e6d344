//! Writes the report of a batch and tells the runner and GitHub of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::event::{Notice, NoticeLevel};
use crate::github::{Api, ApiError, Environment, StepFile, Sticky, outputs};
use crate::inputs::{InputError, Telling};
use crate::report::masked::{Format, masked};
use crate::report::secrets::Masker;
use crate::report::{
    BatchReport, batch_annotations, batch_comment, batch_headline, batch_html, batch_junit, batch_markdown,
    batch_summary, marker,
};
use crate::run::Files;

/// How long GitHub may take for the comment.
const TIME: Duration = Duration::from_mins(2);

/// A report that was told.
pub struct Told {
    /// As it was written.
    pub report: BatchReport,
    /// Where it lies.
    pub path: PathBuf,
}

/// Files and the runner first, then the network.
pub async fn tell(report: BatchReport, telling: &Telling, masker: &Masker) -> Result<Told, InputError> {
    let mut report = masked(&report, Format::BatchReport, masker)?;
    let key = telling.key.clone().unwrap_or_else(|| report.batch.clone());
    write(&report, telling, masker, &key)?;
    let mut url = None;
    match comment(&report, telling, masker, &key).await {
        Ok(posted) => url = posted,
        Err(error) => {
            let message = format!("{error}; the comment is in {}", telling.out.join("comment.md").display());
            tracing::warn!("warning: {message}");
            report.notices.push(Notice { level: NoticeLevel::Warning, message });
            report = masked(&report, Format::BatchReport, masker)?;
            write(&report, telling, masker, &key)?;
        }
    }
    tell_runner(&report, telling, url.as_deref());
    Ok(Told { path: telling.out.join("batch.json"), report })
}

fn write(report: &BatchReport, telling: &Telling, masker: &Masker, key: &str) -> Result<(), InputError> {
    let junit = batch_junit(report).map_err(InputError::Unusable)?;
    for (name, text) in [
        ("batch.json", report.json()),
        ("batch.md", batch_markdown(report)),
        ("batch.html", batch_html(report)),
        ("comment.md", batch_comment(report, key)),
        ("summary.md", batch_summary(report)),
        ("junit.xml", junit),
    ] {
        let path = telling.out.join(name);
        // JSON keeps its form; renderings may bring together what was apart.
        let text = if name == "batch.json" { text.as_str().into() } else { masker.mask_rendered(&text) };
        Files::write(&path, text.as_bytes())
            .map_err(|error| InputError::Write { path: path.clone(), error })?;
    }
    Ok(())
}

async fn comment(
    report: &BatchReport,
    telling: &Telling,
    masker: &Masker,
    key: &str,
) -> Result<Option<String>, ApiError> {
    // A part of a batch has no comment of its own: who merges the parts tells of all.
    let whole = telling.comment && report.shard.is_none();
    let about = telling.github.as_ref().filter(|github| whole && github.token.is_some());
    let Some((github, number)) = about.and_then(|github| Some((github, Environment::number(github)?))) else {
        return Ok(None);
    };
    let body = masker.mask_rendered(&batch_comment(report, key)).into_owned();
    let sticky = Sticky::new(Api::new(github)?, number, github.is_on_pull(), marker(key));
    match tokio::time::timeout(TIME, sticky.put(&body)).await {
        Ok(posted) => posted.map(Some),
        Err(_) => Err(ApiError::Unusable("GitHub did not answer in time".to_owned())),
    }
}

fn tell_runner(report: &BatchReport, telling: &Telling, comment_url: Option<&str>) {
    let shown = |name: &str| telling.out.join(name).display().to_string();
    let fields = [
        ("status", report.status.to_string()),
        ("exit-code", report.exit_code.to_string()),
        ("junit-path", shown("junit.xml")),
        ("report-path", shown("batch.json")),
        ("out-path", telling.out.display().to_string()),
        ("comment-url", comment_url.unwrap_or_default().to_owned()),
        ("cost-usd", report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default()),
        ("tokens", (report.usage.input + report.usage.output).to_string()),
        ("summary", batch_headline(report)),
    ];
    let put = |variable: &str, text: &str| {
        let path = telling.variables.get(variable).filter(|path| !path.is_empty());
        let done = path.map(|path| StepFile::open(Path::new(path).to_owned()).put(text));
        if let Some(Err(error)) = done {
            tracing::warn!("warning: could not write to {variable}: {error}");
        }
    };
    if telling.variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        let mut stderr = std::io::stderr().lock();
        for command in batch_annotations(report) {
            // A closed log must not fail the batch.
            let _ = writeln!(stderr, "{command}");
        }
    }
    put("GITHUB_OUTPUT", &outputs(&fields));
    put("GITHUB_STEP_SUMMARY", &format!("{}\n", batch_summary(report)));
}
