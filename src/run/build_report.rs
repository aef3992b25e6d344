//! Builds the report of a run: changes, plan, and the proof that a dry run changed nothing.

use std::cell::LazyCell;

use workspace::{
    Difference, FileError, ProtectedFiles, Restored, Snapshot, TrackedWorkspace, Workspace, WorkspacePath,
};

use super::gathered::Gathered;
use super::recipe_check::RECIPE_GATE;
use super::setup::RunInfo;
use super::{Outcome, Run, Signal};
use crate::agent::SessionOutcome;
use crate::base::text::counted;
use crate::base::time_limit::TimeLimit;
use crate::command::Shell;
use crate::command::sandbox::{Leftovers, Sandbox};
use crate::config::{Config, ProveTests};
use crate::event::{End, Event, Events, GateRecord, NoticeLevel, RunMode, Status, StopReason};
use crate::git::Repository;
use crate::isolation::Isolation;
use crate::plan::{Made, MadeGate, Plan, Planned};
use crate::proof::names_of_changed_tests;
use crate::publish::RunArtifacts;
use crate::report::{
    CarriedPlan, Claim, Collected, Collector, Deeds, FileSummary, PlanReport, RunReport, evidence,
};
use crate::request::JobRequest;

impl Run<'_> {
    /// Ends the run: proves that a dry run changed nothing, and builds the report and the plan.
    pub(super) async fn report(self, outcome: Outcome, info: &RunInfo, signal: &Signal) -> RunArtifacts {
        let Outcome { mut ended, structured, cost_usd, mut test_findings, proof, carried, reviewed, matches } =
            outcome;
        self.end_session(&mut ended, &mut test_findings).await;
        let refused = self.refusal();
        let time_limit = self.time_limit.clone();
        let Self { request, events, collector, engine, baseline, disk, shell, tracked, isolation, .. } = self;
        drop(disk);
        let baseline = baseline.await.unwrap_or_default();
        let workspace = &engine.context.workspace;
        let gathered = Gathered::of(&**workspace, request, &baseline.prefix, &time_limit);
        let Gathered { files, planned, patch, contents, not_compared, .. } =
            or_unknown(gathered, &events, &mut ended);
        let actions = engine.tracker.lock().take();
        let mut plan = (request.mode == RunMode::DryRun && not_compared == 0).then(|| {
            let base = baseline.base.clone();
            let (task, agent, model) = (&request.task, &request.agent, &request.model_name);
            Plan::unsealed(Planned { task, agent, model, base, actions, files: planned })
        });
        let (verified_files, differences) = verify(baseline.snapshot.as_ref(), request.repository.as_ref());
        fail_if_changed(&mut ended, !differences.is_empty());
        tell_error(&events, &ended);
        changed_checkout(&events, &differences, &collector);
        clean_up(&events, &shell);
        // Once more, after the last process is gone.
        let changed = tracked.as_deref().map(TrackedWorkspace::changed).unwrap_or_default();
        let is_whole = put_back(&events, baseline.protected, &isolation, &changed);
        fail_if_changed(&mut ended, !is_whole);
        if ended.reason == StopReason::UserInterrupt && signal.is_terminate() {
            ended.reason = StopReason::Terminated;
        }
        let clause = ended.reason.clause();
        events.emit(Event::End(End {
            status: clause.status,
            stop_reason: ended.reason,
            message: ended.message.clone(),
        }));
        let collected = collector.take();
        if let Some(plan) = &mut plan {
            complete(plan, &collected, request, ended.reason, &time_limit);
        }
        let files = all_files(files, tracked.as_deref(), &baseline.prefix);
        let message = if ended.error.is_some() { String::new() } else { ended.message };
        let report = RunReport {
            evidence: claims(&message, &files, &collected, &**workspace),
            schema_version: crate::report::SCHEMA_VERSION,
            id: info.id.clone(),
            task: request.task.clone(),
            agent: request.agent.clone(),
            model: request.model_name.clone(),
            mode: request.mode,
            status: clause.status,
            stop_reason: ended.reason,
            exit_code: clause.exit.code(),
            expected: request.expected,
            next_step: clause.next_step.to_owned(),
            message,
            started_at: info.started_at.clone(),
            duration_ms: info.elapsed_ms(),
            steps: collected.steps,
            usage: collected.usage,
            cost_usd,
            subagents: collected.subagents,
            base: baseline.base,
            files,
            matches: matches.matches(),
            calls: collected.calls,
            plan: plan
                .as_ref()
                .filter(|plan| plan.is_sealed())
                .map(|plan| reported(plan, refused, verified_files, differences)),
            delivery: None,
            held: None,
            reviewed_base: reviewed.as_ref().map(|mark| mark.base.clone()),
            reviewed: reviewed.map(|mark| mark.head),
            carried_over: carried.as_ref().and_then(|plan| CarriedPlan::of(plan)),
            gates: with_missing(collected.gates, request.config(), ended.reason),
            hooks: collected.hooks,
            guardrails: collected.guardrails,
            review: collected.review,
            network: collected.network,
            test_findings,
            mutations: collected.mutations.filter(|_| proof.is_some()),
            proof: proof.filter(|_| request.config().tests.prove != ProveTests::Off),
            notices: collected.notices,
            structured_output: structured,
            run_url: request.github.as_ref().and_then(|github| github.run_url.clone()),
        };
        let plan = plan.or(carried.map(|plan| *plan));
        RunArtifacts {
            report,
            plan,
            patch,
            changes: contents,
            prefix: baseline.prefix,
            matches: matches.take_csv(),
            time_limit,
        }
    }
}

/// Fails a run because the checkout is not what it should be, unless it has failed already.
fn fail_if_changed(ended: &mut SessionOutcome, is_changed: bool) {
    if is_changed && ended.reason.status() != Status::Failed {
        ended.reason = StopReason::CheckoutChanged;
    }
}

/// Returns what was gathered. A run whose changes could not be collected, or not in its time, ends for that reason.
fn or_unknown(
    gathered: Result<Gathered, FileError>,
    events: &Events,
    ended: &mut SessionOutcome,
) -> Gathered {
    let gathered = gathered.unwrap_or_else(|error| {
        events.notice(NoticeLevel::Error, format!("could not collect the changes: {error}"));
        ended.reason = StopReason::ChangesUnknown;
        Gathered::default()
    });
    if gathered.not_compared > 0 {
        let message = format!(
            "the time of the run was up before its changes had been compared: {} could only be named, and there is neither a \
             plan nor a patch",
            counted(gathered.not_compared, "changed file", "s")
        );
        events.notice(NoticeLevel::Error, message);
        if ended.reason.yields() {
            ended.reason = StopReason::Timeout;
        }
    }
    gathered
}

/// Returns how many files were compared with what they were before a dry run, and what differs. A tracked file that was
/// only touched, its content still what Git's index holds, does not.
fn verify(snapshot: Option<&Snapshot>, repository: Option<&Repository>) -> (usize, Vec<Difference>) {
    let unchanged = |touched: &[String]| {
        repository.map(|repository| repository.same_as_index(touched)).unwrap_or_default()
    };
    snapshot.map(|snapshot| (snapshot.len(), snapshot.differences(unchanged))).unwrap_or_default()
}

fn tell_error(events: &Events, ended: &SessionOutcome) {
    if let Some(error) = &ended.error {
        events.notice(NoticeLevel::Error, error.to_string());
    }
}

fn changed_checkout(events: &Events, differences: &[Difference], collector: &Collector) {
    if differences.is_empty() {
        return;
    }
    let hooks: Vec<String> =
        collector.look(|collected| collected.hooks.iter().map(|hook| hook.name.clone()).collect());
    let who =
        if hooks.is_empty() { String::new() } else { format!("; hooks that ran: {}", hooks.join(", ")) };
    let files = differences.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    events.notice(NoticeLevel::Error, format!("the checkout changed during a dry run: {files}{who}"));
}

/// Notes in a plan which workflow run has made it, and how that ended.
fn mark_made(plan: &mut Plan, request: &JobRequest, status: Status, collected: &Collected) {
    if let Some(origin) = request.origin_of_plans() {
        let gates = collected.gates.iter().map(MadeGate::from).collect();
        plan.made = Some(Made { status, gates, ..origin });
    }
}

/// Adds to a plan how it came about.
fn complete(
    plan: &mut Plan,
    collected: &Collected,
    request: &JobRequest,
    ended: StopReason,
    time_limit: &TimeLimit,
) {
    plan.gates.clone_from(&collected.gates);
    plan.guardrails.clone_from(&collected.guardrails);
    plan.hooks.clone_from(&collected.hooks);
    plan.usage = collected.usage;
    plan.incomplete = incomplete(ended, request.config(), collected);
    mark_made(plan, request, ended.clause().status, collected);
    plan.seal_until(time_limit);
}

/// Returns what the report says of a plan; its actions are told elsewhere.
fn reported(
    plan: &Plan,
    refused: Option<String>,
    verified_files: usize,
    differences: Vec<Difference>,
) -> PlanReport {
    let (digest, incomplete) = (plan.digest.clone(), plan.incomplete.clone());
    PlanReport { digest, incomplete, refused, actions: Vec::new(), verified_files, differences }
}

/// Returns why the plan is incomplete, if it is.
fn incomplete(reason: StopReason, config: &Config, collected: &Collected) -> Option<String> {
    let is_of_config = |gate: &GateRecord| gate.name != RECIPE_GATE;
    let gates_missing =
        !config.guardrails.quality_gates.is_empty() && !collected.gates.iter().any(is_of_config);
    if !reason.has_whole_plan() {
        return Some(reason.to_string());
    }
    gates_missing.then(|| "the quality gates did not run".to_owned())
}

/// Adds the gates of the configuration that have not run, with the reason.
fn with_missing(mut gates: Vec<GateRecord>, config: &Config, reason: StopReason) -> Vec<GateRecord> {
    let ending = match reason {
        StopReason::GatesSkipped => "`dry_run.gates: skip`".to_owned(),
        StopReason::GatesNotRun => "the gates could not be run".to_owned(),
        _ => format!("the run ended before it: {reason}"),
    };
    for gate in &config.guardrails.quality_gates {
        if gates.iter().all(|known| known.name != gate.name) {
            gates.push(GateRecord::not_run(gate.name.clone(), gate.command.clone(), gate.required, &ending));
        }
    }
    gates
}

/// Returns the claims of the final message that can be checked.
fn claims(
    message: &str,
    files: &[FileSummary],
    collected: &Collected,
    workspace: &dyn Workspace,
) -> Vec<Claim> {
    // Few messages speak of a test by its name, and to look for them reads all files.
    let tests = LazyCell::new(|| names_of_changed_tests(&workspace.changes().unwrap_or_default()));
    let deeds =
        Deeds { files, calls: &collected.calls, gates: &collected.gates, tests: &|| tests.as_slice() };
    evidence(message, &deeds)
}

/// All files that were changed, those as well that are too large to be compared. Their paths begin at the repository's
/// root, to which `prefix` is the way from the workspace.
fn all_files(
    mut files: Vec<FileSummary>,
    tracked: Option<&TrackedWorkspace>,
    prefix: &str,
) -> Vec<FileSummary> {
    let large = tracked.map(TrackedWorkspace::large).unwrap_or_default();
    files.extend(large.into_iter().map(|(path, op)| FileSummary::of_large(path, op)));
    for file in &mut files {
        if let Ok(path) = WorkspacePath::parse(&format!("{prefix}{}", file.path)) {
            file.path = path;
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

fn clean_up(events: &Events, shell: &Shell) {
    let Leftovers { memory, objects, modes } =
        shell.sandbox.as_ref().map(Sandbox::clean_up).unwrap_or_default();
    let warn = |told: String| events.notice(NoticeLevel::Warning, told);
    if memory {
        warn(
            "commands may have left files in /dev/shm; they are kept, because nothing shows who created them"
                .to_owned(),
        );
    }
    if objects > 0 {
        warn(format!(
            "commands may have left {objects} System V objects (`ipcs` lists them); they are kept, because nothing shows who created them"
        ));
    }
    for path in modes {
        warn(format!("could not restore the mode of {}, which commands changed", path.display()));
    }
}

/// Says whose modes were changed in the checkout itself, where no command works.
fn put_back_modes(events: &Events, restored: &[Restored]) {
    const SHOWN: usize = 10;
    for Restored { path, after, back } in restored.iter().take(SHOWN) {
        let done =
            if *back { "it was restored" } else { "it could not be restored; do not use this checkout" };
        let path = path.display();
        events.notice(
            NoticeLevel::Error,
            format!(
                "{after} changed the mode of {path} in the checkout itself, bypassing the copy on which commands work; {done}"
            ),
        );
    }
    if let Some(more) = restored.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        events.notice(
            NoticeLevel::Error,
            format!("the run changed the modes of {more} more files in this way"),
        );
    }
}

/// Restores protected files, and modes of the checkout, that somebody changed who was not asked, and says so. Returns whether
/// all of them are what they were. `changed` are the files that the run changed.
fn put_back(
    events: &Events,
    protected: Option<ProtectedFiles>,
    isolation: &Isolation,
    changed: &[WorkspacePath],
) -> bool {
    let restored = protected.map_or_else(Vec::new, |protected| protected.restore("the run"));
    let modes = isolation.restore_modes(changed);
    put_back_modes(events, &modes);
    for Restored { path, after, back } in &restored {
        let done =
            if *back { "it was restored" } else { "it could not be restored; do not use this checkout" };
        let path = path.display();
        events.notice(NoticeLevel::Error, format!("{after} changed {path}, which is protected; {done}"));
    }
    restored.iter().chain(&modes).all(|it| it.back)
}
