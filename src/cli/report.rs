//! `architect-ci report`: what is done with the report of a run that is over.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};

use super::print;
use super::run::{Voice, flags, input_args, input_args_of, runtime};
use crate::batch::{Manifest, merge};
use crate::event::Exit;
use crate::inputs::{BATCH_INPUTS, InputError, Inputs, Lookup, variables};
use crate::publish::{BatchDestination, Repost, publish_batch};
use crate::report::RunReport;
use crate::sanitize::untrusted::log_lines;

pub(super) const NAME: &str = "report";

const POST: &str = "post";
const MERGE: &str = "merge";

/// Inputs of `run` that make sense for a merge.
const MERGE_INPUTS: [&str; 11] = [
    "workspace",
    "config",
    "event",
    "out",
    "comment",
    "comment-key",
    "trust-head-config",
    "log-format",
    "json",
    "verbose",
    "quiet",
];

/// Inputs of `run` that make sense here as well.
const SHARED: [&str; 5] = ["workspace", "config", "event", "comment-key", "trust-head-config"];

/// The largest report that is read: it may come from a stranger's pull request.
const MAX_REPORT: u64 = 50_000_000;

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Post or merge the reports of finished runs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new(POST)
                .about("Post a report as the sticky comment, for a job that has no write permission")
                .arg(
                    Arg::new("report")
                        .value_name("REPORT")
                        .help("The report.json of a run [default: the Action input `report`]"),
                )
                .args(input_args(|input| SHARED.contains(&input.name)))
                .after_help(
                    "On `workflow_run`, GitHub determines the pull request from that run's commit; what the \
                     report says\nabout itself is ignored.",
                ),
        )
        .subcommand(
            Command::new(MERGE)
                .about("Merge the reports of a batch's shards, or of single runs, into one")
                .arg(
                    Arg::new("reports").value_name("PATH").num_args(1..).help(
                        "Folders with artifacts, or report files [default: the Action input `reports`]",
                    ),
                )
                .args(input_args_of(&BATCH_INPUTS, |input| input.name == "manifest"))
                .args(input_args(|input| MERGE_INPUTS.contains(&input.name)))
                .after_help(
                    "With the manifest that `batch --matrix` wrote, tasks of shards without a report are \
                     listed as lost.\nThe exit codes are those of `batch`.",
                ),
        )
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    match matches.subcommand() {
        Some((POST, matches)) => execute_post(matches),
        Some((MERGE, matches)) => {
            let lookup = Lookup::new(flags(matches), variables());
            let paths =
                matches.get_many::<String>("reports").into_iter().flatten().map(PathBuf::from).collect();
            join(&lookup, paths).unwrap_or_else(|error| super::run::complain(&lookup, &error))
        }
        _ => Exit::Configuration,
    }
}

fn join(lookup: &Lookup, mut paths: Vec<PathBuf>) -> Result<Exit, InputError> {
    if paths.is_empty() {
        paths.extend(lookup.text("reports").unwrap_or_default().lines().map(PathBuf::from));
    }
    if paths.is_empty() {
        return Err(InputError::Unusable(
            "there is nothing to merge; name the folders with the artifacts".to_owned(),
        ));
    }
    let voice = Voice::read(lookup)?;
    let destination = BatchDestination::resolve(&Inputs::read(lookup)?)?;
    let masker = super::batch::masker(&destination, None);
    voice.begin(&masker);
    let manifest = lookup.path("manifest").map(|path| Manifest::read(&path)).transpose()?;
    let merged = merge(&paths, manifest.as_ref()).map_err(|error| InputError::Unusable(error.to_string()))?;
    tracing::info!("{} reports", merged.from);
    let told = runtime()?.block_on(publish_batch(merged.report, &destination, &masker))?;
    super::batch::conclude(&voice, &told.report, &told.path.display().to_string());
    Ok(super::batch::exit_of(&told.report))
}

fn execute_post(matches: &ArgMatches) -> Exit {
    let lookup = Lookup::new(flags(matches), variables());
    let path = matches.get_one::<String>("report").cloned();
    match post(&lookup, path) {
        Ok(url) => {
            super::run::step_output(&lookup, &[("comment-url", url.clone())]);
            print(&log_lines(&format!("{url}\n")));
            Exit::Success
        }
        Err(error) => super::run::complain(&lookup, &error),
    }
}

fn post(lookup: &Lookup, path: Option<String>) -> Result<String, InputError> {
    let path =
        PathBuf::from(path.or_else(|| lookup.text("report")).unwrap_or_else(|| "report.json".to_owned()));
    let report = read(&path)?;
    let inputs = Inputs::read(lookup)?;
    runtime()?.block_on(async { Repost::resolve(&inputs).await?.post(report).await })
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
