//! Publishes a batch that has ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::visible;

use super::batch_matches;
use super::step_outputs::{StepOutputs, annotate};
use crate::base::env::Variables;
use crate::base::fs::write_atomic;
use crate::base::integrity::digest;
use crate::config::Comment;
use crate::event::{Notice, NoticeLevel};
use crate::github::{Api, ApiError, Environment, Posted, StickyComment, comment_marker, hidden_lines};
use crate::report::masked::{Format, masked};
use crate::report::{
    BatchReport, batch_annotations, batch_comment, batch_headline, batch_html, batch_junit, batch_markdown,
    batch_summary,
};
use crate::request::{InputError, Inputs, RequestContext, credentials, out};

/// How long GitHub may take for the comment.
const TIME: Duration = Duration::from_mins(2);

/// Where the report of a batch goes.
#[derive(Debug)]
pub struct BatchDestination {
    /// The folder of all files.
    pub out: PathBuf,
    /// GitHub, if the batch is for it.
    pub github: Option<Environment>,
    /// All variables of the process.
    pub variables: Variables,
    /// Whether a comment is wanted, where there is something to comment on.
    pub comment: bool,
    /// The comment's key; else the batch's name.
    pub key: Option<String>,
    /// Credentials that the checkout keeps.
    pub secrets: Vec<String>,
}

impl BatchDestination {
    /// Returns where the report goes that is made from others.
    pub fn resolve(inputs: &Inputs) -> Result<Self, InputError> {
        Self::of(&RequestContext::read(inputs)?)
    }

    pub(crate) fn of(context: &RequestContext<'_>) -> Result<Self, InputError> {
        let inputs = context.inputs;
        Ok(Self {
            out: out(inputs)?,
            github: context.github.clone(),
            variables: inputs.variables.clone(),
            comment: inputs.comment.unwrap_or(context.origin.config.github.comment) != Comment::Never,
            key: inputs.comment_key.clone(),
            secrets: context.repository.as_ref().map(credentials::of_checkout).unwrap_or_default(),
        })
    }
}

/// A batch that was published.
pub struct PublishedBatch {
    /// The report as it was written.
    pub report: BatchReport,
    /// Where it lies.
    pub path: PathBuf,
}

/// Publishes a batch: the files first, then the network, and the runner last, which is told of both.
pub async fn publish_batch(
    report: BatchReport,
    destination: &BatchDestination,
    masker: &Masker,
) -> Result<PublishedBatch, InputError> {
    let mut report = masked(&report, Format::BatchReport, masker)?;
    let key = destination.key.clone().unwrap_or_else(|| report.batch.clone());
    let mut digest = write(&report, destination, masker, &key)?;
    if let Err(error) = batch_matches::write(&report, &destination.out) {
        let message = format!("could not write the table of matches: {error}");
        tracing::warn!("warning: {message}");
        report.notices.push(Notice { level: NoticeLevel::Warning, message });
        digest = write(&report, destination, masker, &key)?;
    }
    let mut url = None;
    match comment(&report, destination, masker, &key).await {
        Ok(posted) => url = posted,
        Err(error) => {
            let message =
                format!("{error}; the comment is in {}", destination.out.join("comment.md").display());
            tracing::warn!("warning: {message}");
            report.notices.push(Notice { level: NoticeLevel::Warning, message });
            report = masked(&report, Format::BatchReport, masker)?;
            digest = write(&report, destination, masker, &key)?;
        }
    }
    tell_runner(&report, &digest, destination, masker, url.as_deref());
    Ok(PublishedBatch { path: destination.out.join("batch.json"), report })
}

/// Writes all files, and returns the digest of the report in JSON.
fn write(
    report: &BatchReport,
    destination: &BatchDestination,
    masker: &Masker,
    key: &str,
) -> Result<String, InputError> {
    let junit = batch_junit(report).map_err(InputError::Junit)?;
    let failed = |path: &Path, error| InputError::Write { path: path.to_owned(), error };
    let json = report.json().map_err(|error| failed(&destination.out.join("batch.json"), error))?;
    for (name, text) in [
        ("batch.json", json.clone()),
        ("batch.md", batch_markdown(report)),
        ("batch.html", batch_html(report)),
        ("comment.md", batch_comment(report, &hidden_lines(key, None))),
        ("summary.md", batch_summary(report)),
        ("junit.xml", junit),
    ] {
        let path = destination.out.join(name);
        // JSON keeps its form; renderings may bring together what was apart.
        let text = if name == "batch.json" { text.as_str().into() } else { masker.mask_rendered(&text) };
        write_atomic(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
    }
    Ok(digest(json.as_bytes()))
}

async fn comment(
    report: &BatchReport,
    destination: &BatchDestination,
    masker: &Masker,
    key: &str,
) -> Result<Option<String>, ApiError> {
    // A part of a batch has no comment of its own: who merges the parts tells of all.
    let whole = destination.comment && report.shard.is_none();
    let about = destination.github.as_ref().filter(|github| whole && github.token.is_some());
    let Some((github, number)) = about.and_then(|github| Some((github, Environment::number(github)?))) else {
        return Ok(None);
    };
    let body = masker.mask_rendered(&batch_comment(report, &hidden_lines(key, None))).into_owned();
    let sticky =
        StickyComment::new(Api::new(github)?.for_results(), number, github.is_on_pull(), comment_marker(key));
    let sticky = sticky.of_run(github.run_mark());
    match tokio::time::timeout(TIME, sticky.put(&body)).await {
        Ok(Ok(Posted::At(url))) => Ok(Some(url)),
        Ok(Ok(Posted::Outdated)) => Ok(None),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(ApiError::Timeout),
    }
}

fn tell_runner(
    report: &BatchReport,
    digest: &str,
    destination: &BatchDestination,
    masker: &Masker,
    comment_url: Option<&str>,
) {
    let shown = |name: &str| destination.out.join(name).display().to_string();
    let fields = [
        ("status", report.status.to_string()),
        ("exit-code", report.exit_code.to_string()),
        ("junit-path", shown("junit.xml")),
        ("report-path", shown("batch.json")),
        // Of what was written, not of what is there by now.
        ("report-digest", digest.to_owned()),
        ("out-path", destination.out.display().to_string()),
        ("comment-url", comment_url.unwrap_or_default().to_owned()),
        ("cost-usd", report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default()),
        ("tokens", (report.usage.input + report.usage.output).to_string()),
        ("summary", visible(&batch_headline(report))),
    ];
    annotate(&destination.variables, || batch_annotations(report));
    let summary = masker.mask_rendered(&batch_summary(report)).into_owned();
    for failed in StepOutputs::open(&destination.variables).write(Some(&summary), &fields) {
        tracing::warn!("warning: {failed}");
    }
}
