//! Gates on the state before the run: what fails there already is told to the agent, and the run does not fail for
//! it.
//!
//! They run beside the first model calls, on a throw-away state of their own. In a run that changes the checkout,
//! what they say counts only if they are over before the first change. Where that is not known, a gate is run
//! once more, on the checkout with the run's changes taken back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use workspace::{ChangeSet, FileChange, FileError};

use super::Run;
use super::agent_run::AgentRun;
use super::gate_outputs::ToldOnce;
use crate::config::{GateConfig, Isolation as GateIsolation};
use crate::event::{GateRecord, GateVerdict, NoticeLevel};
use crate::gates::{self, GateOutcome, GateRun};
use crate::isolation::Isolation;
use crate::plan::Plan;
use crate::request::ModelChoice;
use crate::tool::{Access, OutputLimits};

/// Space for what is told of all failures, at most; more of it can be read in a file.
const MAX_LINES: usize = 40;
const MAX_TOKENS: usize = 1_200;

/// Outcomes of gates on the state before the run.
#[derive(Default)]
pub(super) struct BaseGates {
    early: Mutex<Option<JoinHandle<Vec<GateOutcome>>>>,
    /// Known outcomes, by name; `None` for a gate that could not be run.
    known: Mutex<BTreeMap<String, Option<GateOutcome>>>,
    /// Whether the agent was told of those that fail.
    is_told: Arc<AtomicBool>,
    cancel: CancellationToken,
}

impl BaseGates {
    /// Starts the gates, unless nobody would be told, or the configuration skips them.
    pub(super) fn start(agent_run: &AgentRun<'_>) -> Self {
        let Run { request, engine, shell, cancel, pending, tracked, events, .. } = &agent_run.run;
        let config = request.config();
        let list = config.guardrails.quality_gates.clone();
        let is_skipped = tracked.is_none() && config.dry_run.gates == GateIsolation::Skip;
        let is_wanted = !list.is_empty()
            && !is_skipped
            && agent_run.request.agent.access == Access::Full
            && agent_run.request.rounds.is_none()
            && agent_run.request.resumed.is_none()
            && !matches!(agent_run.request.model, ModelChoice::Recipe(_));
        let cancel = cancel.child_token();
        let Some(isolation) = is_wanted.then(|| agent_run.run.base_isolation(&[]).ok()).flatten() else {
            return Self::default();
        };
        // In a dry run, nothing of the checkout changes.
        let changed =
            if tracked.is_some() { engine.first_mutation.clone() } else { CancellationToken::new() };
        let (shell, root) = (shell.clone(), request.workspace.clone());
        let limits = OutputLimits {
            lines: MAX_LINES,
            tokens: MAX_TOKENS.min(agent_run.run.limits.tokens),
            ..agent_run.run.limits.clone()
        };
        let (pending, stop) = (Arc::clone(pending), cancel.clone());
        let is_told = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&is_told);
        let predicted = tracked.is_none();
        let events = events.clone();
        let early = tokio::spawn(async move {
            // A copy would cost more than it is worth.
            if shell.namespaces(&root).await.is_none() {
                return Vec::new();
            }
            let which = GateRun { round: 0, predicted };
            let run = gates::run(&list, &isolation, which, &stop, &events);
            let outcomes = tokio::select! {
                outcomes = run => outcomes.unwrap_or_default(),
                () = changed.cancelled() => {
                    stop.cancel();
                    return Vec::new();
                }
            };
            if changed.is_cancelled() || stop.is_cancelled() {
                return Vec::new();
            }
            if let Some(told) = told(&outcomes, &limits) {
                pending.add(told);
                tells.store(true, Ordering::Relaxed);
            }
            outcomes
        });
        Self { early: Mutex::new(Some(early)), known: Mutex::default(), is_told, cancel }
    }

    /// Returns whether the agent was told of the gates that failed before.
    pub(super) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// Ends what is still running; it is of no use to anybody.
    pub(super) async fn stop(&self) {
        self.cancel.cancel();
        if let Some(early) = self.early.lock().await.take() {
            // One that panicked is over, too.
            let _ = early.await;
        }
    }

    /// Returns how a gate was before the run; `None` if that is not known. One that has passed is run for it only if there is a
    /// change that may have lost tests; that it names none now says nothing of what it named.
    pub(super) async fn outcome(
        &self,
        agent_run: &AgentRun<'_>,
        gate: &GateConfig,
        now: &GateOutcome,
    ) -> Option<GateOutcome> {
        let is_worth_it = !now.record.passed || may_have_lost_tests(agent_run);
        self.of(agent_run, gate, is_worth_it).await
    }

    /// Learns how gates were before they run for the first time, and leave something in the checkout.
    pub(super) async fn prepare(&self, agent_run: &AgentRun<'_>, list: &[GateConfig]) {
        let is_worth_it = agent_run.request.rounds.is_none() && may_have_lost_tests(agent_run);
        for gate in list {
            self.of(agent_run, gate, is_worth_it).await;
        }
    }

    /// Returns what is known of a gate before the run. Where nothing is, it is run if that is worth it.
    async fn of(
        &self,
        agent_run: &AgentRun<'_>,
        gate: &GateConfig,
        is_worth_it: bool,
    ) -> Option<GateOutcome> {
        if let Some(early) = self.early.lock().await.take() {
            let outcomes = early.await.unwrap_or_default();
            self.known
                .lock()
                .await
                .extend(outcomes.into_iter().map(|outcome| (outcome.record.name.clone(), Some(outcome))));
        }
        let mut known = self.known.lock().await;
        if let Some(outcome) = known.get(&gate.name) {
            return outcome.clone();
        }
        if !is_worth_it {
            return None;
        }
        let outcome = agent_run.run.gate_on_base(gate).await;
        known.insert(gate.name.clone(), outcome.clone());
        outcome
    }
}

/// Returns whether a gate that passes has to be compared with the state before.
fn may_have_lost_tests(agent_run: &AgentRun<'_>) -> bool {
    !matches!(agent_run.request.model, ModelChoice::Recipe(_))
        && agent_run.run.engine.context.workspace.has_changes().unwrap_or_default()
}

impl Run<'_> {
    /// Returns a throw-away state of the checkout without these changes.
    fn base_isolation(&self, changes: &[FileChange]) -> Result<Isolation, FileError> {
        let back: Vec<FileChange> = changes
            .iter()
            .filter_map(|change| {
                FileChange::new(change.path.clone(), change.after.clone(), change.before.clone())
            })
            .collect();
        self.state_with(&back)
    }

    /// Runs a required gate that would fail the run once more, on the state on which it began. Returns the outcome, and the gate's
    /// place in the list, if it passes there: it is flaky then.
    pub(super) async fn passing_again(
        &self,
        list: &[GateConfig],
        first: &GateOutcome,
        round: u32,
    ) -> Result<Option<(usize, GateOutcome)>, ()> {
        // What did not end by itself takes as long again.
        if !first.record.fails_run() || first.record.exit_code < 0 {
            return Ok(None);
        }
        let Some(at) = list.iter().position(|gate| gate.name == first.record.name) else { return Ok(None) };
        // It may need what those before it build.
        let second = self.gates_afresh(&list[..=at], round).await?.pop();
        Ok(second.filter(|second| second.record.passed).map(|second| (at, second)))
    }

    /// Runs gates on a new state with the run's changes, and with nothing that commands have left next to them. None of them runs where
    /// there is no such state.
    async fn gates_afresh(&self, list: &[GateConfig], round: u32) -> Result<Vec<GateOutcome>, ()> {
        let predicted = self.tracked.is_none();
        if !predicted && self.isolation.has_left_files() {
            // The first run began without them.
            return Ok(Vec::new());
        }
        let changes =
            if predicted { self.engine.context.workspace.changes() } else { Ok(ChangeSet::default()) };
        let changes: Vec<FileChange> = changes.unwrap_or_default().iter().cloned().collect();
        let told = |error: &dyn std::fmt::Display| self.events.notice(NoticeLevel::Error, error.to_string());
        let isolation = self.state_with(&changes).map_err(|error| told(&error))?;
        let which = GateRun { round, predicted };
        let gates = gates::run(list, &isolation, which, &self.cancel, &self.events).await;
        gates.map_err(|error| told(&error))
    }

    /// Runs those gates of which a plan says that they failed as before, on the checkout without these changes, which it may have
    /// already: reviewers of the plan know of these failures, and of no others.
    pub(super) async fn known_failures(&self, plan: &Plan, changes: &[FileChange]) -> Vec<GateOutcome> {
        let is_known = |gate: &&GateConfig| {
            let is_it = |known: &GateRecord| known.name == gate.name;
            plan.gates.iter().any(|known| is_it(known) && known.verdict == GateVerdict::FailedBefore)
        };
        let mut outcomes = Vec::new();
        for gate in self.request.config().guardrails.quality_gates.iter().filter(is_known) {
            outcomes.extend(self.gate_without(gate, changes).await);
        }
        outcomes
    }

    /// Runs one gate on the checkout as it was before the run; `None` if that cannot be done.
    async fn gate_on_base(&self, gate: &GateConfig) -> Option<GateOutcome> {
        // In a dry run, the checkout is as it was.
        let changes = if self.tracked.is_some() {
            self.engine.context.workspace.changes().ok()?
        } else {
            ChangeSet::default()
        };
        let changes: Vec<FileChange> = changes.iter().cloned().collect();
        self.gate_without(gate, &changes).await
    }

    /// Runs one gate on the checkout without these changes; `None` if that cannot be done.
    async fn gate_without(&self, gate: &GateConfig, changes: &[FileChange]) -> Option<GateOutcome> {
        let isolation = self.base_isolation(changes).ok()?;
        let predicted = self.tracked.is_none();
        let list = std::slice::from_ref(gate);
        let which = GateRun { round: 0, predicted };
        let outcomes = gates::run(list, &isolation, which, &self.cancel, &self.events).await;
        let mut outcome = outcomes.ok()?.pop()?;
        // What was left in the checkout is there in this state as well.
        outcome.is_certain = self.tracked.is_none() || !self.isolation.has_left_files();
        Some(outcome)
    }
}

/// Returns what the agent is told of gates that fail already, if any does.
fn told(outcomes: &[GateOutcome], limits: &OutputLimits) -> Option<String> {
    let mut once = ToldOnce::default();
    let failed: Vec<&GateOutcome> = outcomes.iter().filter(|outcome| !outcome.record.passed).collect();
    let limits = limits.shared_by(failed.len());
    let failed: Vec<String> = failed
        .into_iter()
        .map(|outcome| {
            let output = once.of(outcome, &limits).replace('\n', "\n  ");
            let record = &outcome.record;
            format!("- {} (`{}`), {}:\n  {output}", record.name, record.command, record.ending)
        })
        .collect();
    (!failed.is_empty()).then(|| {
        format!(
            "[These gates already failed before you changed anything. Fix those that your task is about, or \
             that your change has to make pass; leave the rest.]\n{}",
            failed.join("\n")
        )
    })
}
