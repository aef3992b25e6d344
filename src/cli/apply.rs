//! `architect-ci apply`: makes a reviewed plan real, exactly and without a model.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::run::{input_args, launch};
use crate::event::Exit;
use crate::inputs::{ApplyRequest, InputError, Inputs, Job};
use crate::plan::{Plan, SCHEMA_VERSION};

pub(super) const NAME: &str = "apply";

/// Inputs of `run` that make sense here as well.
const SHARED: [&str; 12] = [
    "workspace",
    "config",
    "event",
    "out",
    "comment",
    "comment-key",
    "deliver",
    "log-format",
    "trust-head-config",
    "json",
    "verbose",
    "quiet",
];

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Apply a plan exactly as it was reviewed, all of it or nothing, without a model")
        .arg(
            Arg::new("plan")
                .value_name("PLAN")
                .help("The plan.json of a dry run [default: the Action input `plan`]"),
        )
        .arg(
            Arg::new("digest")
                .long("digest")
                .value_name("SHA256")
                .help("The digest of the reviewed plan; any other plan is refused"),
        )
        .arg(
            Arg::new("run-commands")
                .long("run-commands")
                .action(ArgAction::SetTrue)
                .help("Also run the plan's commands, under the rules of this configuration"),
        )
        .args(input_args(|input| SHARED.contains(&input.name)))
        .after_help(
            "Exit codes: 0 applied (or already applied), 1 applied, but a gate or command failed, 3 invalid \
             input,\n6 the plan does not fit; nothing was written.",
        )
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    let given = |name: &str| matches.get_one::<String>(name).cloned();
    let (path, digest, run_commands) = (given("plan"), given("digest"), matches.get_flag("run-commands"));
    launch(matches, async |lookup| {
        let path = path.or_else(|| lookup.text("plan")).ok_or(InputError::NoPlan)?;
        let plan = read(Path::new(&path))?;
        let digest = digest.or_else(|| lookup.text("digest"));
        let request = ApplyRequest::resolve(&Inputs::read(lookup)?, plan, digest, run_commands)?;
        Ok(Job::ApplyPlan(Box::new(request)))
    })
}

fn read(path: &Path) -> Result<Plan, InputError> {
    let failed = |error: String| InputError::Plan { path: path.to_owned(), error };
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    if plan.schema_version != SCHEMA_VERSION {
        let version = plan.schema_version;
        return Err(failed(format!(
            "its schema_version is {version}, but this program supports \
                                   {SCHEMA_VERSION}"
        )));
    }
    Ok(plan)
}
