//! Works on the tasks of a batch, some at a time, until they are done or something ends it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::attempt::{TaskResult, failure, spent_in};
use super::budget::{Budget, Reservation, requests_of_shard, share_of_shard};
use super::circuit_breaker::CircuitBreaker;
use super::context::{BatchContext, TASKS};
use super::held;
use super::journal::{EarlierStart, Journal, clear};
use super::journal_sealer::{JournalSealer, SealedJournal};
use super::lost_files;
use super::manifest::{Manifest, Task};
use super::neighbours::Neighbours;
use super::pilot::PilotRun;
use super::planned::PlannedTasks;
use super::progress_display::{ProgressDisplay, ProgressMode};
use super::recipe_tests;
use super::request::{BatchRequest, BatchStart};
use super::sealed::SealedPlace;
use super::sealed_error::SealedJournalError;
use super::settled;
use super::shard::shards;
use super::shared_folders;
use super::start_error::StartError;
use super::stop::Stop;
use super::task_list::{earlier_or_new, repository};
use super::worktree::Worktrees;
use crate::base::bounded::Usd;
use crate::base::clock::now;
use crate::base::time_slots::SharedRate;
use crate::event::{Exit, Notice, NoticeLevel, Status, StopReason, millis};
use crate::github::RecordError;
use crate::report::{BATCH_SCHEMA_VERSION, BatchReport, ShardReport, TaskEnd, TaskReport, sum};
use crate::request::InputError;
use crate::run::Signal;

/// How a batch is worked on.
pub struct BatchOptions {
    /// How progress is shown.
    pub look: ProgressMode,
    /// Ends it early.
    pub signal: Signal,
}

/// Works on a batch to its end; the report is not written yet.
pub async fn run_batch(
    request: &Arc<BatchRequest>,
    options: BatchOptions,
) -> Result<BatchReport, InputError> {
    let BatchOptions { look, signal } = options;
    let started = Instant::now();
    let (mut journal, sealed) = open_journal(request).await?;
    let manifest = earlier_or_new(request, &journal, &signal).await?;
    let clone = repository(request)?;
    if !clone.has_commit(&manifest.commit) {
        return Err(StartError::OtherCommit(manifest.commit).into());
    }
    recipe_tests::check(clone, &manifest).await?;
    let shard = request.shard.map(|shard| ShardReport { index: shard.index, of: shard.of });
    let earlier =
        if request.resume { journal.earlier(&manifest.digest(), shard)? } else { EarlierStart::default() };
    let anew = earlier.started_at.is_none();
    // A journal that begins again is another one.
    let sealed = sealed.map(|sealed| SealedJournal { series: sealed.series.filter(|_| !anew), ..sealed });
    let started_at = earlier.started_at.clone().unwrap_or_else(now);
    let of_list = || manifest.timeout.map(|seconds| started + Duration::from_secs(seconds));
    let deadline = request.deadline.or_else(of_list);
    let clock = signal.clock(deadline);
    clock.lead(request.destination.github.as_ref());
    let worktrees = Worktrees::new(clone, &request.destination.out, clock.token());
    for folder in [request.destination.out.join(TASKS).as_path(), worktrees.folder()] {
        journal.check_own(folder)?;
    }
    if anew {
        let path = request.destination.out.join(TASKS);
        clear(&path).map_err(|error| InputError::Out { path, error })?;
    }
    journal.begin(&manifest, shard, &started_at, anew.then_some(&request.destination.variables))?;
    // Of an earlier start that was killed.
    worktrees.clear();
    let mut notices: Vec<Notice> = request.warnings.iter().map(|warning| notice(warning)).collect();
    if clone.base().is_some_and(|base| base.dirty) {
        notices.push(notice(
            "the checkout has local changes, which the tasks do not see; they work on the commit",
        ));
    }
    let budget = request.budget_usd.or(manifest.budget_usd.map(Usd::get));
    let tasks = tasks_of(request, &manifest);
    if request.start == BatchStart::Work && request.plans.is_none() {
        shared_folders::check(clone, &manifest.commit, &tasks)?;
    }
    // Budget and pace are those of all shards together.
    let (own, all) = (tasks.len(), manifest.tasks.len());
    let budget = budget.map(|usd| share_of_shard(usd, own, all));
    let requests_per_minute =
        manifest.requests_per_minute.map(|requests| requests_of_shard(requests, own, all));
    let (digest, name, commit) = (manifest.digest(), manifest.name.clone(), manifest.commit.clone());
    let run_url = request.destination.github.as_ref().and_then(|github| github.run_url.clone());
    let (key_parts, nights) = settled::prepare(request, clone, (&manifest, &tasks), &mut notices).await;
    let common = Arc::new(BatchContext {
        planned: PlannedTasks::of(request, &manifest, &mut notices)?,
        key_parts,
        neighbours: Neighbours::new(clone, &commit),
        deadline,
        requests_per_minute,
        shared_rate: shared_rate(request, &manifest),
        journal: Mutex::new(journal),
        signal: signal.clone(),
        request: Arc::clone(request),
        manifest,
        worktrees: worktrees.clone(),
    });
    let (sealer, not_sealed) = begin_sealing(sealed, &common.manifest).await?;
    notices.extend(not_sealed);
    let show = ProgressDisplay::new(look, tasks.len(), earlier.ended.len());
    let (mut reports, late) = {
        let scheduler = Scheduler { common: &common, show: &show, budget, nights: &nights };
        let work = scheduler.run(&tasks, earlier);
        match &sealer {
            Some(sealer) => sealer.seal_during(work, &common).await,
            None => work.await,
        }
    };
    show.close();
    lost_files::mark(&mut reports, request);
    tokio::task::block_in_place(|| worktrees.clear());
    notices.extend(held::notice(&reports, &request.destination.out));
    notices.extend(settled::unsettled(request, &reports));
    notices.extend(common.neighbours.write(&request.destination.out));
    let mut report = BatchReport {
        schema_version: BATCH_SCHEMA_VERSION,
        batch: name,
        manifest: digest,
        commit,
        status: Status::Success,
        exit_code: 0,
        started_at,
        duration_ms: millis(started.elapsed()),
        shard,
        lost_shards: Vec::new(),
        tasks: reports,
        usage: crate::event::Usage::default(),
        cost_usd: None,
        notices,
        run_url,
    };
    let interrupted =
        signal.is_set().then(|| if signal.is_terminate() { Exit::Terminated } else { Exit::Interrupted });
    report.add_up(interrupted, late);
    Ok(report)
}

/// Returns the rate of requests to a model that other shards have a share in, if there is one.
fn shared_rate(request: &BatchRequest, manifest: &Manifest) -> Option<SharedRate> {
    let (per_minute, shard) = (manifest.requests_per_minute?, request.shard?);
    Some(SharedRate { per_minute, share: shard.share(&manifest.tasks)? })
}

/// Returns the tasks of the shard that is to be worked on, or all of them.
fn tasks_of(request: &BatchRequest, manifest: &Manifest) -> Vec<Task> {
    let Some(shard) = request.shard else { return manifest.tasks.clone() };
    let mut parts = shards(&manifest.tasks, shard.of);
    let part = std::mem::take(&mut parts[shard.index as usize - 1]);
    part.into_iter().map(|index| manifest.tasks[index].clone()).collect()
}

/// Opens the journal, after that of another machine was taken up if this one has none of its own.
async fn open_journal(request: &BatchRequest) -> Result<(Journal, Option<SealedJournal>), InputError> {
    let (out, variables) = (&request.destination.out, &request.destination.variables);
    let place = SealedPlace::of(request)?;
    // First, so that nobody else works in the folder meanwhile.
    let mut journal = Journal::open(out)?;
    let mut series = None;
    if let Some(place) = place.as_ref().filter(|_| request.resume && !Journal::is_own(out, variables)) {
        series = place.restore(&mut journal, variables).await.map_err(cut_off_or_failed)?;
    }
    Ok((journal, place.map(|place| SealedJournal { place, series })))
}

/// Begins to seal the journal, if it is to be sealed. If the time is up, no task begins, so there is nothing to seal, which is told.
async fn begin_sealing(
    sealed: Option<SealedJournal>,
    manifest: &Manifest,
) -> Result<(Option<JournalSealer>, Option<Notice>), InputError> {
    let Some(sealed) = sealed else { return Ok((None, None)) };
    match JournalSealer::begin(sealed, manifest).await.map_err(cut_off_or_failed) {
        Ok(sealer) => Ok((Some(sealer), None)),
        Err(error) if error.cut_off().is_some() => Ok((None, Some(notice(&error.to_string())))),
        Err(error) => Err(error),
    }
}

/// Returns the error of the batch for one of its sealed journal.
fn cut_off_or_failed(error: SealedJournalError) -> InputError {
    match error {
        SealedJournalError::Records(RecordError::Api(error)) if error.cut_off().is_some() => {
            InputError::GitHub(error)
        }
        error => error.into(),
    }
}

fn notice(message: &str) -> Notice {
    Notice { level: NoticeLevel::Warning, message: message.to_owned() }
}

/// Reports of tasks, by their ids.
type Reports = BTreeMap<String, TaskReport>;

/// Hands out tasks.
struct Scheduler<'a> {
    common: &'a Arc<BatchContext>,
    show: &'a ProgressDisplay,
    budget: Option<f64>,
    nights: &'a settled::PreviousResults,
}

impl Scheduler<'_> {
    /// Takes those tasks out of the reports that are worked on or delivered once more.
    fn set_aside(&self, reports: &mut Reports, tried: &mut Reports) {
        let BatchRequest { retry: again, start, .. } = self.common.request.as_ref();
        let is_again = |report: &TaskReport| {
            // Where no report says how the work ended, none was done: another job's plans are delivered by that job's rule.
            let is_held = report.held.is_some() && self.common.planned.is_none();
            let is_repeated =
                *start == BatchStart::Work && failure(report).is_some_and(|end| again.contains(&end));
            is_held || is_repeated
        };
        tried.extend(reports.extract_if(.., |_, report| is_again(report)));
    }

    /// Returns the tasks that are to be done, after those that are settled.
    fn due<'t>(&self, tasks: &'t [Task], reports: &mut Reports, tried: &Reports) -> VecDeque<&'t Task> {
        let is_held = |id: &str| tried.get(id).is_some_and(|report| report.held.is_some());
        let is_due = |task: &&Task| {
            !reports.contains_key(&task.id)
                && (self.common.request.start == BatchStart::Work || is_held(&task.id))
        };
        let mut queue: VecDeque<&'t Task> = tasks.iter().filter(is_due).collect();
        queue.retain(|task| {
            let key_parts = self.common.key_parts.as_ref().filter(|_| !tried.contains_key(&task.id));
            let settled = key_parts.and_then(|key_parts| self.nights.settle(task, key_parts));
            let is_settled = settled.is_some();
            reports.extend(settled.map(|report| (task.id.clone(), report)));
            !is_settled
        });
        self.common.request.expect_deliveries(&self.common.manifest.name, queue.iter().copied());
        if let Some(estimate) = self.nights.estimate(queue.iter().copied(), self.common.request.jobs) {
            tracing::info!("{estimate}");
            if let (Some(limit), Some(usd)) = (self.budget, estimate.usd)
                && usd > limit
            {
                tracing::warn!(
                    "warning: the budget of ${limit:.2} will probably not be enough for all of them"
                );
            }
        }
        queue
    }

    /// Works on all tasks; gives a report of each, in order, and whether the time was up.
    async fn run(&self, tasks: &[Task], earlier: EarlierStart) -> (Vec<TaskReport>, bool) {
        let tasks_out = self.common.request.destination.out.join(TASKS);
        let cut_off: f64 = earlier.cut_off().map(|id| spent_in(&tasks_out.join(id))).sum();
        let EarlierStart { ended: mut reports, mut tried, .. } = earlier;
        lost_files::set_aside(&mut reports, &mut tried, &self.common.request);
        self.set_aside(&mut reports, &mut tried);
        let start = self.common.request.start;
        let known =
            reports.values().chain(tried.values()).fold(None, |all, report| sum(all, report.cost_usd));
        let spent = known.unwrap_or(0.0) + cut_off;
        let mut budget = Budget::new(self.budget.filter(|_| start == BatchStart::Work), spent);
        let mut queue = self.due(tasks, &mut reports, &tried);
        let has_pilot = start == BatchStart::Work;
        let (pilot, all) = (&self.common.manifest.pilot, self.common.manifest.tasks.len());
        let mut pilot = PilotRun::new(pilot.clone().filter(|_| has_pilot), tasks.len(), all);
        let mut halted = None;
        let mut running: JoinSet<(Reservation, Option<f64>, TaskResult)> = JoinSet::new();
        let mut at_work: BTreeMap<tokio::task::Id, (&Task, Reservation)> = BTreeMap::new();
        let mut stop = None;
        let mut breaker = CircuitBreaker::default();
        loop {
            while stop.is_none() && running.len() < self.common.request.jobs {
                let Some(task) = queue.front().copied() else { break };
                if pilot.must_wait() {
                    break;
                }
                if let Some(why) = halted.clone().or_else(|| breaker.refuses(task)) {
                    queue.pop_front();
                    let title = task.entry.title();
                    let report = TaskReport::without_run(&task.id, &title, TaskEnd::NotRun, &why);
                    reports.insert(task.id.clone(), report);
                    continue;
                }
                stop = self.stop();
                if stop.is_some() {
                    break;
                }
                let free = self.common.request.jobs - running.len();
                let share = budget.reserve(task.entry.budget_usd.map(Usd::get), free.min(queue.len()));
                match share {
                    Reservation::Wait => break,
                    Reservation::Exhausted => {
                        stop = Some(Stop::Budget);
                        break;
                    }
                    Reservation::Unlimited | Reservation::Usd(_) => {}
                }
                queue.pop_front();
                self.show.begun(task);
                pilot.begun();
                let (common, own, before) = (Arc::clone(self.common), task.clone(), tried.remove(&task.id));
                let handle = running.spawn(async move {
                    let already = before.as_ref().and_then(|report| report.cost_usd);
                    (share, already, Box::pin(common.work(&own, share, before)).await)
                });
                at_work.insert(handle.id(), (task, share));
            }
            let Some(joined) = running.join_next_with_id().await else { break };
            let done = match joined {
                Ok((id, (share, already, done))) => {
                    if let Some((task, _)) = at_work.remove(&id) {
                        breaker.observe(task, &done.report);
                    }
                    let cost = done.report.cost_usd.map(|cost| cost - already.unwrap_or(0.0));
                    budget.release(share, cost, done.dearest_answer);
                    done
                }
                Err(error) => {
                    let Some((task, share)) = at_work.remove(&error.id()) else { continue };
                    budget.release(share, None, 0.0);
                    let why = "internal error: the task stopped unexpectedly; please report it";
                    let report = TaskReport::without_run(&task.id, "", TaskEnd::Failed, why);
                    TaskResult { report, over: true, dearest_answer: 0.0, spent: None }
                }
            };
            halted = halted.or(done.spent).or(pilot.ended(&done.report));
            if done.over {
                self.common.note(|journal| journal.ended(&done.report));
            }
            self.show.ended(&done.report, &tasks_out.join(&done.report.id));
            reports.insert(done.report.id.clone(), done.report);
        }
        let why = match stop.or_else(|| self.stop()) {
            None if start == BatchStart::DeliverHeld => "not started: this start only delivers held changes",
            stop => stop.unwrap_or(Stop::Budget).why(),
        };
        let missing = |task: &Task| {
            let report = TaskReport::without_run(&task.id, &task.entry.title(), TaskEnd::NotRun, why);
            TaskReport { last_work: self.nights.last_work(task), ..report }
        };
        // What was tried and is not tried again now stays as it was.
        let report = |task: &Task| {
            reports.remove(&task.id).or_else(|| tried.remove(&task.id)).unwrap_or_else(|| missing(task))
        };
        let reports: Vec<TaskReport> = tasks.iter().map(report).collect();
        let is_late = self.is_late(stop, &reports);
        (reports, is_late)
    }

    /// Returns whether the time limit ended the batch. Where no task was left to begin, those that were at work show it.
    fn is_late(&self, stop: Option<Stop>, reports: &[TaskReport]) -> bool {
        let is_cut = |report: &TaskReport| {
            report.stop_reason == Some(StopReason::Timeout) || report.end == TaskEnd::NotRun
        };
        match stop {
            Some(stop) => stop == Stop::Time,
            None => self.common.is_over() && reports.iter().any(is_cut),
        }
    }

    fn stop(&self) -> Option<Stop> {
        if self.common.signal.is_set() {
            return Some(Stop::Signal);
        }
        self.common.is_over().then_some(Stop::Time)
    }
}
