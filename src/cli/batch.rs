//! `architect-ci batch`: many tasks.

use std::path::Path;
use std::sync::Arc;

use sanitize::Masker;

use super::flags::{InputFlags, InputSet};
use super::run::{Output, print_error, runtime, step_output};
use super::style::{below, log_error};
use crate::base::fs::write_atomic;
use crate::base::text::counted;
use crate::batch::{
    BatchOptions, BatchRequest, BatchStart, MAX_SHARDS, ProgressMode, load_manifest, matrix, run_batch,
};
use crate::command::sandbox::hide_process;
use crate::event::Exit;
use crate::publish::{BatchDestination, publish_batch};
use crate::report::{BatchReport, batch_headline};
use crate::request::{Claim, InputError, Lookup, with_ledger};
use crate::run::on_signals;

/// Work on many tasks, each in its own worktree, and report on all of them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = below(
    &[
        ("architect-ci batch nightly.yml --jobs 4", "Works on all tasks of the file, four at a time"),
        ("architect-ci batch nightly.yml --out out --resume", "Continues an interrupted batch"),
        ("architect-ci batch deliver --out out", "Delivers finished work that could not be delivered"),
        ("architect-ci batch nightly.yml --matrix --shards 8", "Lists the tasks, for a job matrix of eight shards"),
        ("architect-ci batch --manifest manifest.json --shard 3/8", "Works on the third of eight shards"),
    ],
    "Flags take precedence over what the batch file says about its tasks; --budget-usd and --timeout apply to all \
     tasks together. Exit codes: 0 all succeeded, 1 some failed, 2 some partial or not run, 5 timeout.",
))]
pub(super) struct Batch {
    #[command(subcommand)]
    later: Option<BatchCommand>,
    #[arg(help = "The batch: a YAML file of tasks [default: the Action input `batch`]", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<String>,
    #[command(flatten)]
    inputs: InputFlags<BatchInputs>,
}

#[derive(Debug, clap::Subcommand)]
enum BatchCommand {
    Deliver(DeliverHeld),
}

/// Deliver finished work of a batch that could not be delivered, without a model
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci batch deliver --out out", "Delivers what the batch with this output folder holds")],
    "Tasks whose work is done, but whose branch or pull request could not be created, are delivered from the plans in the \
     output folder; other tasks stay as they are. Nothing is delivered twice.",
))]
struct DeliverHeld {
    #[command(flatten)]
    inputs: InputFlags<DeliverInputs>,
}

/// The inputs of a later delivery.
#[derive(Clone, Debug)]
enum DeliverInputs {}

impl InputSet for DeliverInputs {
    fn holds(name: &str) -> bool {
        matches!(
            name,
            "jobs"
                | "timeout"
                | "workspace"
                | "config"
                | "trust-head-config"
                | "event"
                | "comment"
                | "comment-key"
                | "deliver"
                | "out"
                | "log-format"
                | "json"
                | "verbose"
                | "quiet"
        )
    }
}

/// All inputs but those that each task says for itself.
#[derive(Clone, Debug)]
enum BatchInputs {}

impl InputSet for BatchInputs {
    fn holds(name: &str) -> bool {
        !matches!(name, "batch" | "campaign" | "task" | "task-file" | "output-schema")
    }
}

impl Batch {
    pub(super) fn execute(self) -> Exit {
        hide_process();
        let (lookup, start) = match (self.later, self.file) {
            (Some(BatchCommand::Deliver(later)), _) => (later.inputs.lookup(), BatchStart::DeliverHeld),
            (None, Some(file)) => (self.inputs.with("batch", file).lookup(), BatchStart::Work),
            (None, None) => (self.inputs.lookup(), BatchStart::Work),
        };
        work(&lookup, start).unwrap_or_else(|error| print_error(&lookup, &error))
    }
}

fn work(lookup: &Lookup, start: BatchStart) -> Result<Exit, InputError> {
    let output = Output::read(lookup)?;
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        let request = Arc::new(BatchRequest::resolve(lookup, start).await?);
        let masker = masker(&request.destination, request.config.llm.api_key_env.as_deref());
        output.begin(&masker);
        if lookup.flag("matrix")? {
            return plan(&request, lookup, most_shards(lookup)?).await;
        }
        let look = ProgressMode::new(output.in_actions, !output.is_on_screen());
        let signal = on_signals().map_err(InputError::Signals)?;
        let clock = signal.clock(request.deadline);
        clock.lead(request.destination.github.as_ref());
        // Deliveries alone cost nothing.
        let shared = request.shared_ledger.as_ref().filter(|_| start == BatchStart::Work);
        let work = Box::pin(async {
            let ran = Box::pin(run_batch(&request, BatchOptions { look, signal })).await;
            // What the batch itself has followed until now is gone.
            clock.lead(request.destination.github.as_ref());
            ran
        });
        let (ran, unrecorded) = with_ledger(shared, Claim::Budget(request.most_usd()), work).await?;
        let unrecorded = unrecorded.map(|error| error.explained());
        if let Some(message) = &unrecorded {
            tracing::error!("error: {message}");
        }
        let mut report = ran?;
        if let Some(message) = unrecorded {
            report.fail(message);
        }
        let published = publish_batch(report, &request.destination, &masker).await?;
        conclude(&output, &published.report, &published.path.display().to_string());
        Ok(exit_of(&published.report))
    })?;
    runtime.shutdown_background();
    Ok(exit)
}

/// Writes the list of tasks and prints the matrix.
async fn plan(request: &BatchRequest, lookup: &Lookup, most: u32) -> Result<Exit, InputError> {
    let signal = on_signals().map_err(InputError::Signals)?;
    let manifest = load_manifest(request, &signal).await?;
    let path = request.destination.out.join("manifest.json");
    let written = manifest.json().and_then(|text| write_atomic(&path, text.as_bytes()));
    written.map_err(|error| InputError::Write { path: path.clone(), error })?;
    let matrix = matrix(&manifest, most).to_string();
    let count = manifest.tasks.len();
    step_output(
        lookup,
        &[
            ("matrix", matrix.clone()),
            ("tasks", count.to_string()),
            ("manifest-path", path.display().to_string()),
            ("manifest-digest", manifest.digest()),
            ("out-path", request.destination.out.display().to_string()),
        ],
    );
    tracing::info!("{}; the task list is in {}", counted(count, "task", "s"), path.display());
    super::print(&format!("{matrix}\n"));
    Ok(Exit::Success)
}

/// Returns how many shards a matrix may have.
pub(super) fn most_shards(lookup: &Lookup) -> Result<u32, InputError> {
    let most = lookup.number::<1, { MAX_SHARDS as u64 }>("shards")?;
    Ok(most.and_then(|most| u32::try_from(most.get()).ok()).unwrap_or(MAX_SHARDS))
}

pub(super) fn masker(destination: &BatchDestination, key: Option<&str>) -> Arc<Masker> {
    let keys: Vec<&str> = key.into_iter().collect();
    Arc::new(Masker::from_environment(&destination.variables, &keys, &destination.secrets))
}

/// Says how it ended.
pub(super) fn conclude(output: &Output, report: &BatchReport, path: &str) {
    if output.json {
        match report.json() {
            Ok(text) => output.print_result(&text),
            Err(error) => log_error(&format!("could not print the report: {error}")),
        }
    } else {
        let page = Path::new(path).with_extension("html");
        let page = if page.exists() { format!("{}\n", page.display()) } else { String::new() };
        output.print_result(&format!("{}\n{path}\n{page}", batch_headline(report)));
    }
}

pub(super) fn exit_of(report: &BatchReport) -> Exit {
    let all = [Exit::Failed, Exit::Partial, Exit::Timeout, Exit::Interrupted, Exit::Terminated];
    all.into_iter().find(|exit| exit.code() == report.exit_code).unwrap_or(Exit::Success)
}
