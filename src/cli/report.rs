//! `architect-ci report`: what is done with the report of a run that is over.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};

use super::print;
use super::run::{flags, input_args};
use crate::exit::Exit;
use crate::inputs::{InputError, Lookup, Posting, variables};
use crate::report::RunReport;
use crate::report::untrusted::log_lines;

pub(super) const NAME: &str = "report";

const POST: &str = "post";

/// Inputs of `run` that make sense here as well.
const SHARED: [&str; 5] = ["workspace", "config", "event", "comment-key", "trust-head-config"];

/// The largest report that is read: it may come from a stranger's pull request.
const MAX_REPORT: u64 = 50_000_000;

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Work on reports of runs that are over")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new(POST)
                .about("Post a report as the sticky comment; it may come from a job that must not write itself")
                .arg(
                    Arg::new("report")
                        .value_name("REPORT")
                        .help("The report.json of a run [default: the Action input `report`]"),
                )
                .args(input_args(|input| SHARED.contains(&input.name)))
                .after_help(
                    "On `workflow_run` the pull request is the one that GitHub knows for that run's commit; what the\n\
                     report says of itself decides nothing.",
                ),
        )
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    let Some((POST, matches)) = matches.subcommand() else { return Exit::Configuration };
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
    Posting::resolve(lookup)?.post(report)
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
