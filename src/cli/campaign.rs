//! `architect-ci campaign`: one change for many repositories.

use std::sync::Arc;
use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::log_lines;

use super::batch::most_shards;
use super::flags::{InputFlags, InputSet};
use super::run::{Output, print_error, runtime, step_output};
use super::style::below;
use crate::base::fs::write_atomic;
use crate::batch::Shard;
use crate::campaign::{CampaignCommand, CampaignError, CampaignReport, CampaignRequest, PlansOfJobs};
use crate::command::sandbox::hide_process;
use crate::event::Exit;
use crate::request::{Claim, InputError, Lookup, with_ledger};
use crate::run::{Signal, on_signals};

/// Make one change in many repositories, in waves, with a pull request in each
#[derive(Debug, clap::Subcommand)]
#[command(after_help = below(
    &[
        ("architect-ci campaign status campaign.yml", "Shows where each repository stands"),
        ("architect-ci campaign run campaign.yml", "Does everything that can be done now, and stops where it has to wait for people"),
        ("architect-ci campaign plan campaign.yml --shard 3/8 --out plans", "Makes the plans of a shard, and writes nothing to GitHub"),
        ("architect-ci campaign run campaign.yml --plans plans", "Delivers the plans that other jobs have made"),
    ],
    "Every start reads GitHub and the branch architect-ci-state/NAME, so any machine can continue where another one stopped. Exit codes: \
     0 done or waiting, 1 stopped by its own rules, 2 another start is at work, 3 invalid input, 4 missing permission.",
))]
pub(super) enum Campaign {
    /// Make the plans that can be made now, and write nothing to GitHub
    Plan(File),
    /// Count the plans that can be made now, and print a matrix of shards for GitHub Actions
    Matrix(File),
    /// Do everything that can be done now: plan, open pull requests, merge, begin waves
    Run(File),
    /// Show where each repository stands, and change nothing
    Status(File),
    /// Resume after a stop, and start the next wave
    Continue(File),
    /// Start failed targets again
    Rerun(Rerun),
    /// Merge the pull requests whose checks have passed, and plan nothing
    Merge(File),
    /// Close open pull requests and delete their branches
    Close(Close),
    /// Close all open pull requests, and end the campaign for good
    Abandon(File),
    /// Report targets whose change has been undone, or make it again
    Drift(Drift),
    /// Close open pull requests, and open reverting ones for those that were merged
    Rollback(File),
}

#[derive(Debug, clap::Args)]
pub(super) struct File {
    #[arg(help = "The campaign: a YAML file [default: the Action input `campaign`]", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    campaign: Option<String>,
    #[command(flatten)]
    inputs: InputFlags<CampaignInputs>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Rerun {
    #[command(flatten)]
    file: File,
    /// Restart failed targets (required)
    #[arg(long, required = true)]
    failed: bool,
    /// Also reopen pull requests that people closed
    #[arg(long)]
    closed: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Close {
    #[command(flatten)]
    file: File,
    /// Close only the pull request of this repository; can be given several times
    #[arg(long = "only", value_name = "OWNER/NAME")]
    only: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Drift {
    #[command(flatten)]
    file: File,
    /// Open further pull requests where the change has been undone
    #[arg(long)]
    mend: bool,
}

/// Time that a start has to record what it has done after a signal: whoever sent it kills soon.
const GRACE: Duration = Duration::from_secs(4);

/// Inputs that make sense for many repositories.
#[derive(Clone, Debug)]
enum CampaignInputs {}

impl InputSet for CampaignInputs {
    fn holds(name: &str) -> bool {
        matches!(
            name,
            "agent"
                | "model"
                | "base-url"
                | "api-key-env"
                | "max-steps"
                | "budget-usd"
                | "ledger"
                | "timeout"
                | "workspace"
                | "config"
                | "allow-commands"
                | "no-commands"
                | "jobs"
                | "shard"
                | "shards"
                | "plans"
                | "report-digests"
                | "out"
                | "log-format"
                | "json"
                | "verbose"
                | "quiet"
        )
    }
}

/// What is done.
enum Action {
    Plan,
    Matrix,
    Status,
    Drift { mends: bool },
    Command(CampaignCommand),
}

impl Campaign {
    pub(super) fn execute(self) -> Exit {
        hide_process();
        let (file, action) = match self {
            Self::Plan(file) => (file, Action::Plan),
            Self::Matrix(file) => (file, Action::Matrix),
            Self::Status(file) => (file, Action::Status),
            Self::Drift(Drift { file, mend }) => (file, Action::Drift { mends: mend }),
            Self::Run(file) => (file, Action::Command(CampaignCommand::Run)),
            Self::Continue(file) => (file, Action::Command(CampaignCommand::Continue)),
            Self::Rerun(Rerun { file, closed, .. }) => {
                (file, Action::Command(CampaignCommand::Rerun { closed }))
            }
            Self::Merge(file) => (file, Action::Command(CampaignCommand::Merge)),
            Self::Close(Close { file, only }) => (file, Action::Command(CampaignCommand::Close(only))),
            Self::Abandon(file) => (file, Action::Command(CampaignCommand::Abandon)),
            Self::Rollback(file) => (file, Action::Command(CampaignCommand::RollBack)),
        };
        let inputs = match file.campaign {
            Some(path) => file.inputs.with("campaign", path),
            None => file.inputs,
        };
        let lookup = inputs.lookup();
        work(&lookup, &action).unwrap_or_else(|error| print_error(&lookup, &error))
    }
}

fn work(lookup: &Lookup, action: &Action) -> Result<Exit, InputError> {
    let output = Output::read(lookup)?;
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        let is_written = matches!(action, Action::Command(_) | Action::Drift { .. });
        let request = CampaignRequest::resolve(lookup, is_written).await?;
        let masker = Arc::new(Masker::from_environment(lookup.variables(), &[], &[]));
        output.begin(&masker);
        if matches!(action, Action::Matrix) {
            return matrix(lookup, &request).await;
        }
        let shard = lookup.text("shard").map(|text| Shard::parse(&text)).transpose();
        let shard = shard.map_err(|error| InputError::Batch(Box::new(error)))?;
        let signal = on_signals().map_err(InputError::Signals)?;
        let clock = signal.clock(None);
        request.obey(&clock);
        let ledger = request.ledger().filter(|_| action.asks_models(lookup));
        let claim = shard.map_or(Claim::Budget(None), |shard| Claim::Part(shard.of));
        let work = Box::pin(perform(action, lookup, &request, shard, &signal));
        let (done, unrecorded) = tokio::select! {
            ended = with_ledger(ledger, claim, work) => ended?,
            exit = overdue(&signal) => return Ok(exit),
        };
        let unrecorded = unrecorded.map(|error| error.explained());
        if let Some(message) = &unrecorded {
            tracing::error!("error: {message}");
        }
        let mut report = match done {
            // What GitHub was asked at that moment was given up.
            Err(error) if signal.is_set() => {
                tracing::error!("error: {error}");
                return Ok(exit_by(&signal));
            }
            done => done?,
        };
        let has_fallen = matches!(action, Action::Drift { mends: false }) && !report.fallen_back.is_empty();
        let is_failed = has_fallen || unrecorded.is_some();
        report.notices.extend(unrecorded);
        let exit = if is_failed { Exit::Failed } else { report.exit() };
        print_result(&output, lookup, &request, &report, exit, &masker)?;
        Ok::<_, InputError>(exit)
    })?;
    runtime.shutdown_background();
    Ok(exit)
}

/// Waits until a signal has come and what is under way has had the time to end by itself: GitHub may not answer. Returns how the
/// process ends.
async fn overdue(signal: &Signal) -> Exit {
    signal.token().cancelled().await;
    tokio::time::sleep(GRACE).await;
    tracing::error!(
        "error: the campaign was interrupted while work was still under way; the next start continues"
    );
    exit_by(signal)
}

fn exit_by(signal: &Signal) -> Exit {
    if signal.is_terminate() { Exit::Terminated } else { Exit::Interrupted }
}

impl Action {
    /// Returns whether targets may be planned, which models may do. To look for what fell back is to plan again.
    fn asks_models(&self, lookup: &Lookup) -> bool {
        match self {
            Self::Plan | Self::Drift { .. } => true,
            Self::Command(command) => command.plans() && lookup.path("plans").is_none(),
            Self::Matrix | Self::Status => false,
        }
    }
}

async fn perform(
    action: &Action,
    lookup: &Lookup,
    request: &CampaignRequest,
    shard: Option<Shard>,
    signal: &Signal,
) -> Result<CampaignReport, CampaignError> {
    match action {
        Action::Plan => {
            let (report, digest) = request.plan_only(shard, signal).await?;
            step_output(lookup, &[("report-digest", digest)]);
            Ok(report)
        }
        Action::Matrix | Action::Status => request.status().await,
        Action::Drift { mends } => request.drift(*mends, signal).await,
        Action::Command(command) => {
            let (folder, digests) = (lookup.path("plans"), lookup.text("report-digests"));
            let plans = folder.as_ref().map(|folder| PlansOfJobs { folder, digests: digests.as_deref() });
            request.run(command, plans, signal).await
        }
    }
}

/// Writes the report, and says how the campaign stands.
fn print_result(
    output: &Output,
    lookup: &Lookup,
    request: &CampaignRequest,
    report: &CampaignReport,
    exit: Exit,
    masker: &Masker,
) -> Result<(), CampaignError> {
    let path = request.out.join("campaign.json");
    let failed = |error| CampaignError::Write { path: path.clone(), error };
    let json = masker.mask(&report.json().map_err(failed)?).into_owned();
    write_atomic(&path, json.as_bytes()).map_err(failed)?;
    step_output(
        lookup,
        &[
            ("status", report.headline()),
            ("exit-code", exit.code().to_string()),
            ("out-path", request.out.display().to_string()),
            ("report-path", request.out.join("campaign.json").display().to_string()),
        ],
    );
    output.print_result(&if output.json { json } else { log_lines(&masker.mask(&report.text())) });
    Ok(())
}

/// Targets of one shard, about.
const PER_SHARD: usize = 10;

/// Prints a matrix of as many shards as there are plans to be made for.
async fn matrix(lookup: &Lookup, request: &CampaignRequest) -> Result<Exit, InputError> {
    let most = most_shards(lookup)? as usize;
    let plans = request.count_plans().await?;
    let count = plans.div_ceil(PER_SHARD).clamp(1, most);
    let shards: Vec<String> = (1..=count).map(|index| format!("{index}/{count}")).collect();
    let matrix = serde_json::json!({ "shard": shards }).to_string();
    step_output(lookup, &[("matrix", matrix.clone()), ("tasks", plans.to_string())]);
    super::print(&format!("{matrix}\n"));
    Ok(Exit::Success)
}
