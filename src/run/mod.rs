//! One run, from the request to the report.

mod acceptance;
mod agent_run;
mod agents_network;
mod apply;
mod attached;
mod base_gates;
mod baseline;
mod briefing;
mod budget;
mod build_report;
mod carry_over;
mod chosen_model;
mod code_review;
mod conclude;
mod context;
mod driver;
mod first_request;
mod gate_check;
mod gate_outputs;
mod gathered;
mod integrity;
mod not_applied;
mod prepare;
mod pull_review;
mod recipe_check;
mod recorded;
mod resume;
mod rounds;
mod self_check;
mod session_end;
mod setup;
mod shell_setup;
mod signals;
mod structured;
mod test_commands;
mod test_permission;
mod test_proof;
mod throwaway;
mod tools;

use std::sync::Arc;

use parking_lot::Mutex;
use sanitize::Masker;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use workspace::{DiskWorkspace, OverlayWorkspace, PathGlobs, TrackedWorkspace};

use crate::agent::{self, PendingMessages};
use crate::base::time_limit::TimeLimit;
use crate::command::Shell;
use crate::config::GateConfig;
use crate::engine::Engine;
use crate::event::{Event, Events, GateRecord, GateVerdict, NoticeLevel, ProofRecord, TestFinding};
use crate::gates::{self, GateOutcome, GateRun};
use crate::github::{Api, Reaction, ReviewedMark, react};
use crate::isolation::{Isolation, IsolationSource};
use crate::plan::Plan;
use crate::publish::RunResult;
use crate::recipe::MatchTable;
use crate::report::Collector;
use crate::request::{ApplyRequest, InputError, JobRequest};
use crate::tool::{BackgroundCommands, OutputLimits};

use baseline::Baseline;
pub(crate) use chosen_model::model;
use prepare::Prepared;
pub(crate) use recorded::run;
use setup::RunSetup;
pub(crate) use shell_setup::{ShellContext, shell};
pub(crate) use signals::{Clock, Signal, on_signals};
pub(crate) use throwaway::Throwaway;

/// A run in progress.
struct Run<'a> {
    request: &'a JobRequest,
    cancel: CancellationToken,
    time_limit: TimeLimit,
    events: Events,
    collector: Arc<Collector>,
    engine: Arc<Engine>,
    shell: Shell,
    /// The throw-away state that commands run on.
    isolation: Arc<Isolation>,
    /// What throw-away states are made from.
    source: IsolationSource,
    /// Whether commands of a dry run are only recorded, unless they only look.
    records_commands: bool,
    /// What the agent is told while it works.
    pending: Arc<PendingMessages>,
    /// How much of outputs the agent is shown.
    limits: OutputLimits,
    /// The gates when they last ran.
    last_gates: Mutex<Vec<GateOutcome>>,
    /// Commands that run in the background.
    background: Arc<BackgroundCommands>,
    /// The checkout as it is changed, where this is no dry run.
    tracked: Option<Arc<TrackedWorkspace>>,
    /// What is planned above the checkout, where this is a dry run.
    planned: Option<Arc<OverlayWorkspace>>,
    disk: Arc<DiskWorkspace>,
    baseline: JoinHandle<Baseline>,
    /// Files in which tests may be weakened.
    allowed_tests: PathGlobs,
    /// Who permits this run to weaken tests, and how, once this has been looked up.
    test_permission: OnceCell<Option<String>>,
}

/// Applies a plan, and publishes its outcome.
pub(crate) async fn apply(
    request: &ApplyRequest,
    masker: Arc<Masker>,
    signal: Signal,
) -> Result<RunResult, InputError> {
    let _alone = driver::lock_checkout(&request.job)?;
    let setup = RunSetup::new(&request.job, None, false, &masker)?;
    let clock = signal.clock(request.job.deadline);
    clock.lead(request.job.github.as_ref());
    let Prepared { run, .. } = setup.prepare(&request.job, None, (&clock, &signal), &masker).await?;
    setup.announce(&request.job);
    setup.warn(&request.job);
    let outcome = Box::pin(run.apply(request)).await;
    Box::pin(setup.finish(run, outcome, &request.job, &masker, &signal, &clock)).await
}

/// Reacts to the comment that requested the run, if one did, to say that the run did not start.
pub(crate) async fn not_started(request: &JobRequest) {
    let Some((github, comment)) =
        request.github.as_ref().and_then(|github| Some((github, github.comment.as_ref()?)))
    else {
        return;
    };
    let told = async { react(&Api::new(github)?.for_results(), comment.id, Reaction::Failed).await };
    if let Err(error) = told.await {
        tracing::warn!("warning: {error}");
    }
}

/// How the agent's part of a run ended.
struct Outcome {
    ended: agent::SessionOutcome,
    structured: Option<serde_json::Value>,
    /// What the model has cost, in USD, where there is one and its price is known.
    cost_usd: Option<f64>,
    /// What the change does to the meaning of tests.
    test_findings: Vec<TestFinding>,
    /// What the tests of the change show, if they ran on what is left of it.
    proof: Option<ProofRecord>,
    /// The plan that was applied, if it was carried over to a branch that has moved.
    carried: Option<Box<Plan>>,
    /// What was reviewed of the pull request.
    reviewed: Option<ReviewedMark>,
    /// Places that a recipe has changed.
    matches: Arc<MatchTable>,
}

impl Run<'_> {
    /// Runs the gates, on a throw-away state of what there is, or in a dry run of what is planned. Their records
    /// are not told yet, but the error is.
    async fn gates(&self, round: u32) -> Result<Vec<GateOutcome>, ()> {
        self.run_gates(&self.request.config().guardrails.quality_gates, round).await
    }

    /// Runs some of the gates.
    async fn run_gates(&self, list: &[GateConfig], round: u32) -> Result<Vec<GateOutcome>, ()> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let predicted = self.tracked.is_none();
        let which = GateRun { round, predicted };
        let ran = gates::run(list, &self.isolation, which, &self.cancel, &self.events).await;
        ran.map_err(|error| self.events.notice(NoticeLevel::Error, error.to_string()))
    }

    /// Tells of gates that have run.
    fn tell_gates(&self, records: &[GateRecord]) {
        for record in records {
            self.events.emit(Event::Gate(record.clone()));
        }
        self.engine.ledger.note_gates(records);
    }

    /// Returns whether the end of the run is the reason why gates did not run to their ends.
    fn is_cut_off(&self, records: &[GateRecord]) -> bool {
        self.cancel.is_cancelled() && records.iter().any(|gate| gate.verdict == GateVerdict::NotRun)
    }

    /// Tells of the last run of all gates.
    fn tell_outcomes(&self, outcomes: &[GateOutcome]) {
        self.tell_gates(&records(outcomes));
        outcomes.clone_into(&mut self.last_gates.lock());
    }

    /// Returns the required gates that failed when they last ran, and other checks that are told as gates.
    fn failed_gates(&self) -> Vec<GateOutcome> {
        let told = self.collector.look(|collected| collected.gates.clone());
        let last = self.last_gates.lock();
        let outcome = |record: GateRecord| {
            let known = last.iter().find(|gate| gate.record.name == record.name).cloned();
            known.unwrap_or_else(|| GateOutcome::of_record(record))
        };
        told.into_iter().filter(|gate| gate.required && !gate.passed).map(outcome).collect()
    }
}

fn records(outcomes: &[GateOutcome]) -> Vec<GateRecord> {
    outcomes.iter().map(|outcome| outcome.record.clone()).collect()
}
