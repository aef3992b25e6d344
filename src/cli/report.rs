//! `architect-ci report`: posts or merges the reports of finished runs.

use std::path::{Path, PathBuf};

use sanitize::untrusted::log_lines;

use super::flags::{InputFlags, InputSet};
use super::print;
use super::run::{Output, print_error, print_skipped, runtime, step_output};
use super::style::below;
use crate::batch::{Manifest, StartError, merge};
use crate::event::Exit;
use crate::github::Posted;
use crate::publish::{BatchDestination, Repost, publish_batch};
use crate::report::RunReport;
use crate::request::{InputError, Inputs, Lookup, Skip};

/// The largest report that is read: it may come from a stranger's pull request.
const MAX_REPORT: u64 = 50_000_000;

/// Post or merge the reports of finished runs
#[derive(Debug, clap::Subcommand)]
pub(super) enum Report {
    Post(Post),
    Merge(Merge),
}

/// Post a report as the sticky comment, for a job that has no write permission
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci report post artifact/report.json", "Posts the report of a job that had no token")],
    "On `workflow_run`, GitHub determines the pull request from that run's commit; what the report says about \
     itself is ignored.",
))]
pub(super) struct Post {
    #[arg(help = "The report.json of a run [default: the Action input `report`]", value_name = "REPORT", value_hint = clap::ValueHint::FilePath)]
    report: Option<String>,
    #[command(flatten)]
    inputs: InputFlags<PostInputs>,
}

/// Merge the reports of a batch's shards, or of single runs, into one
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci report merge artifacts --manifest manifest.json", "Merges all reports below a folder")],
    "With the manifest that `batch --matrix` wrote, tasks of shards without a report are listed as lost. The exit \
     codes are those of `batch`.",
))]
pub(super) struct Merge {
    #[arg(help = "Folders with artifacts, or report files [default: the Action input `reports`]", value_name = "PATH", num_args = 1.., value_hint = clap::ValueHint::AnyPath)]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    inputs: InputFlags<MergeInputs>,
}

/// Inputs of `run` that make sense for a comment.
#[derive(Clone, Debug)]
enum PostInputs {}

impl InputSet for PostInputs {
    fn holds(name: &str) -> bool {
        matches!(name, "workspace" | "config" | "event" | "comment-key" | "trust-head-config")
    }
}

/// Inputs that make sense for a merge.
#[derive(Clone, Debug)]
enum MergeInputs {}

impl InputSet for MergeInputs {
    fn holds(name: &str) -> bool {
        let more =
            matches!(name, "manifest" | "out" | "comment" | "log-format" | "json" | "verbose" | "quiet");
        more || PostInputs::holds(name)
    }
}

impl Report {
    pub(super) fn execute(self) -> Exit {
        match self {
            Self::Post(Post { report, inputs }) => {
                let lookup = inputs.lookup();
                execute_post(&lookup, report)
            }
            Self::Merge(Merge { reports, inputs }) => {
                let lookup = inputs.lookup();
                join(&lookup, reports).unwrap_or_else(|error| print_error(&lookup, &error))
            }
        }
    }
}

fn join(lookup: &Lookup, mut paths: Vec<PathBuf>) -> Result<Exit, InputError> {
    if paths.is_empty() {
        paths.extend(lookup.text("reports").unwrap_or_default().lines().map(PathBuf::from));
    }
    if paths.is_empty() {
        return Err(StartError::NoReports.into());
    }
    let output = Output::read(lookup)?;
    let destination = BatchDestination::resolve(&Inputs::read(lookup)?)?;
    let masker = super::batch::masker(&destination, None);
    output.begin(&masker);
    let manifest = lookup.path("manifest").map(|path| Manifest::read(&path)).transpose()?;
    let merged = merge(&paths, manifest.as_ref()).map_err(|error| InputError::Batch(Box::new(error)))?;
    tracing::info!("{} reports", merged.from);
    let published = runtime()?.block_on(publish_batch(merged.report, &destination, &masker))?;
    super::batch::conclude(&output, &published.report, &published.path.display().to_string());
    Ok(super::batch::exit_of(&published.report))
}

fn execute_post(lookup: &Lookup, path: Option<String>) -> Exit {
    match post(lookup, path) {
        Ok(Posted::At(url)) => {
            step_output(lookup, &[("comment-url", url.clone())]);
            print(&log_lines(&format!("{url}\n")));
            Exit::Success
        }
        Ok(Posted::Outdated) => {
            let message =
                "the report was not posted: the pull request is closed or has a newer commit".to_owned();
            print_skipped(lookup, &Skip { message, exit: Exit::Success })
        }
        Err(error) => print_error(lookup, &error),
    }
}

fn post(lookup: &Lookup, path: Option<String>) -> Result<Posted, InputError> {
    let path =
        PathBuf::from(path.or_else(|| lookup.text("report")).unwrap_or_else(|| "report.json".to_owned()));
    let report = read(&path)?;
    let inputs = Inputs::read(lookup)?;
    runtime()?.block_on(async {
        match Repost::resolve(&inputs).await? {
            Some(repost) => Box::pin(repost.post(report)).await,
            None => Ok(Posted::Outdated),
        }
    })
}

fn read(path: &Path) -> Result<RunReport, InputError> {
    let failed = |error: String| InputError::Report { path: path.to_owned(), error };
    let size = path.metadata().map_err(|error| failed(error.to_string()))?.len();
    if size > MAX_REPORT {
        return Err(failed(format!("it is larger than {} MB", MAX_REPORT / 1_000_000)));
    }
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}
