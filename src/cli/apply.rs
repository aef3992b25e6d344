//! `architect-ci apply`: applies a reviewed plan, exactly and without a model.

use std::path::Path;

use super::flags::{InputFlags, InputSet};
use super::run::run_job;
use super::style::below;
use crate::event::Exit;
use crate::request::{ApplyRequest, InputError, Inputs, Job, read_plan};

/// Apply a plan exactly as it was reviewed, all of it or nothing, without a model
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci apply out/plan.json", "Applies the plan of a dry run to this checkout"),
        ("architect-ci apply plan.json --digest 3f1c…", "Refuses any plan but the reviewed one"),
    ],
    "Exit codes: 0 applied (or already applied), 1 applied, but a gate or command failed, 3 invalid input, \
     6 the plan does not fit; nothing was written.",
))]
pub(super) struct Apply {
    #[arg(help = "The plan.json of a dry run [default: the Action input `plan`]", value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: Option<String>,
    /// The digest of the reviewed plan; any other plan is refused
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Also run the plan's commands, under the rules of this configuration
    #[arg(long)]
    run_commands: bool,
    #[command(flatten)]
    inputs: InputFlags<ApplyInputs>,
}

/// Inputs of `run` that make sense here as well.
#[derive(Clone, Debug)]
enum ApplyInputs {}

impl InputSet for ApplyInputs {
    fn holds(name: &str) -> bool {
        matches!(
            name,
            "workspace"
                | "config"
                | "event"
                | "out"
                | "comment"
                | "comment-key"
                | "deliver"
                | "log-format"
                | "trust-head-config"
                | "json"
                | "verbose"
                | "quiet"
        )
    }
}

impl Apply {
    pub(super) fn execute(self) -> Exit {
        let Self { plan, digest, run_commands, inputs } = self;
        run_job(&inputs.lookup(), async |lookup| {
            let path = plan.or_else(|| lookup.text("plan")).ok_or(InputError::NoPlan)?;
            let plan = read_plan(Path::new(&path))?;
            let digest = digest.or_else(|| lookup.text("digest"));
            let request = ApplyRequest::resolve(&Inputs::read(lookup)?, plan, digest, run_commands)?;
            Ok(Job::ApplyPlan(Box::new(request)))
        })
    }
}

/// Write what another job of this workflow run has planned, without executing anything from the checkout
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci write plan/plan.json --digest 3f1c…", "Writes the plan of an earlier job, and delivers it")],
    "Repeats every check that executes nothing: digest, origin, rules, sizes, secrets, invisible text, lock \
     files. Exit codes: 0 written, 3 invalid input, 4 missing permission, 6 refused; nothing was written.",
))]
pub(super) struct Write {
    #[arg(help = "The plan.json of an earlier job [default: the Action input `plan`]", value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: Option<String>,
    /// The digest that the planning job produced; any other plan is refused
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    #[command(flatten)]
    inputs: InputFlags<ApplyInputs>,
}

impl Write {
    pub(super) fn execute(self) -> Exit {
        let Self { plan, digest, inputs } = self;
        run_job(&inputs.lookup(), async |lookup| {
            let path = plan.or_else(|| lookup.text("plan")).ok_or(InputError::NoPlan)?;
            let digest = digest.or_else(|| lookup.text("digest")).ok_or(InputError::NoDigest)?;
            let plan = read_plan(Path::new(&path))?;
            let request = ApplyRequest::for_second_job(&Inputs::read(lookup)?, plan, Some(digest))?;
            let request = request.follow_branch().await?;
            Ok(Job::ApplyPlan(Box::new(request)))
        })
    }
}
