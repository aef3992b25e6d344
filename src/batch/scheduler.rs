//! Works on the tasks of a batch, some at a time, until they are done or something ends it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::task::JoinSet;

use super::attempt::{BatchContext, Done, TASKS, failure, spent_in, title};
use super::budget::{Budget, Reservation, share_of_shard};
use super::circuit_breaker::CircuitBreaker;
use super::expand::{ExpansionSources, expand};
use super::file::BatchFile;
use super::journal::{EarlierStart, Journal, JournalError, clear};
use super::manifest::{Manifest, Task};
use super::neighbours::Neighbours;
use super::pilot::PilotRun;
use super::planned::PlannedTasks;
use super::problem::LinesError;
use super::progress_display::{ProgressDisplay, ProgressMode};
use super::recipe_tests;
use super::request::{BatchRequest, Tasks};
use super::settled;
use super::shard::shards;
use super::start_error::StartError;
use super::worktree::Worktrees;
use crate::base::integrity::digest;
use crate::command::sandbox::Rights;
use crate::command::{Ended, LiveOutput};
use crate::config::Usd;
use crate::event::{Exit, Notice, NoticeLevel, Status, millis};
use crate::git::Repository;
use crate::isolation::{IsolatedCommand, Keep};
use crate::report::{BATCH_SCHEMA_VERSION, BatchReport, ShardReport, TaskEnd, TaskReport, sum};
use crate::request::InputError;
use crate::run::{Signal, Throwaway};
use crate::workspace::WorkspacePath;

/// How long a command may take whose lines are values.
const LINES_TIMEOUT: Duration = Duration::from_mins(5);

/// How a batch is worked on.
pub struct BatchOptions {
    /// How progress is shown.
    pub look: ProgressMode,
    /// Ends it early.
    pub signal: Signal,
}

/// Returns the list of tasks, which is made from the file if there is none yet.
pub async fn load_manifest(request: &BatchRequest, signal: &Signal) -> Result<Manifest, InputError> {
    let (batch, shown, text) = match &request.tasks {
        Tasks::Manifest(manifest) => return Ok((**manifest).clone()),
        Tasks::File { batch, shown, text } => (batch, shown, text),
    };
    let git = repository(request)?;
    let commit = git.head().ok_or(StartError::NoCommit)?;
    let files = git.files_of(&commit).map_err(StartError::Git)?;
    let printed = printed(request, batch, signal).await?;
    let lines = |command: &str| printed.get(command).cloned().unwrap_or_else(|| Ok(String::new()));
    let key_parts = ExpansionSources { files: &files, lines: &lines };
    Ok(expand(batch, &key_parts, (shown, text), &commit)?)
}

fn repository(request: &BatchRequest) -> Result<&Repository, InputError> {
    Ok(request.repository.as_ref().ok_or(StartError::NoCommit)?)
}

/// Runs the `lines:` commands, and returns their output by command.
async fn printed(
    request: &BatchRequest,
    batch: &BatchFile,
    signal: &Signal,
) -> Result<BTreeMap<String, Result<String, LinesError>>, InputError> {
    let sources = batch.tasks.iter().flat_map(|entry| entry.for_each.values());
    let commands: Vec<&String> = sources.filter_map(|source| source.lines.as_ref()).collect();
    let mut printed = BTreeMap::new();
    if commands.is_empty() {
        return Ok(printed);
    }
    let keys: Vec<String> = request.config.llm.api_key_env.iter().cloned().collect();
    let variables = &request.destination.variables;
    let mut config = request.config.clone();
    if !request.is_checkout_trusted {
        // What a stranger may have proposed is worked on, so nothing is passed through.
        config.commands.env_passthrough.clear();
    }
    let state = Throwaway::new(&request.checkout, request.repository.as_ref(), &config, variables, &keys)?;
    let state = state.state(&[]).map_err(InputError::rules)?;
    for command in commands {
        let work = IsolatedCommand {
            command,
            cwd: &WorkspacePath::root(),
            variables: Vec::new(),
            stdin: None,
            merge: false,
            output: LiveOutput::default(),
            timeout: LINES_TIMEOUT,
            cancel: signal.token(),
            rights: Rights::Work,
            keep: Keep::Nothing,
            moves: Vec::new(),
            owner: Some("lines".to_owned()),
        };
        let ran = state.run(work).await.map_err(StartError::from)?;
        let finished = ran.finished;
        let output = match finished.ended {
            Ended::Exited(0) => finished.stdout.whole().ok_or_else(|| LinesError::TooLong(command.clone())),
            ended => Err(LinesError::Failed {
                command: command.clone(),
                ended,
                stderr: finished.stderr.text().trim().to_owned(),
            }),
        };
        printed.insert(command.clone(), output);
    }
    Ok(printed)
}

/// Works on a batch to its end; the report is not written yet.
pub async fn run_batch(
    request: &Arc<BatchRequest>,
    options: BatchOptions,
) -> Result<BatchReport, InputError> {
    let BatchOptions { look, signal } = options;
    let started = Instant::now();
    let mut journal = Journal::open(&request.destination.out)?;
    let variables = &request.destination.variables;
    let frozen = if request.resume { journal.manifest(variables)? } else { None };
    let manifest = match frozen {
        Some(frozen) => {
            let fits = match &request.tasks {
                Tasks::File { text, .. } => frozen.file_sha256 == digest(text.as_bytes()),
                Tasks::Manifest(given) => given.digest() == frozen.digest(),
            };
            if !fits {
                return Err(JournalError::Other(request.destination.out.clone()).into());
            }
            frozen
        }
        None => load_manifest(request, &signal).await?,
    };
    let clone = repository(request)?;
    if !clone.has_commit(&manifest.commit) {
        return Err(StartError::OtherCommit(manifest.commit).into());
    }
    recipe_tests::check(clone, &manifest).await?;
    let shard = request.shard.map(|shard| ShardReport { index: shard.index, of: shard.of });
    let earlier =
        if request.resume { journal.earlier(&manifest.digest(), shard)? } else { EarlierStart::default() };
    let anew = earlier.started_at.is_none();
    let started_at = earlier.started_at.clone().unwrap_or_else(now);
    let worktrees = Worktrees::new(clone, &request.destination.out);
    for folder in [request.destination.out.join(TASKS).as_path(), worktrees.folder()] {
        journal.check_own(folder)?;
    }
    if anew {
        let path = request.destination.out.join(TASKS);
        clear(&path).map_err(|error| InputError::Out { path, error })?;
    }
    journal.begin(&manifest, shard, &started_at, anew.then_some(variables))?;
    // Of an earlier start that was killed.
    worktrees.clear();
    let mut notices: Vec<Notice> = request.warnings.iter().map(|warning| told(warning)).collect();
    if clone.base().is_some_and(|base| base.dirty) {
        notices.push(told(
            "the checkout has local changes, which the tasks do not see; they work on the commit",
        ));
    }
    let timeout = request.timeout.or(manifest.timeout.map(Duration::from_secs));
    let budget = request.budget_usd.or(manifest.budget_usd.map(Usd::get));
    let tasks: Vec<Task> = match request.shard {
        Some(shard) => {
            let mut parts = shards(&manifest.tasks, shard.of);
            let part = std::mem::take(&mut parts[shard.index as usize - 1]);
            part.into_iter().map(|index| manifest.tasks[index].clone()).collect()
        }
        None => manifest.tasks.clone(),
    };
    // The budget is that of all shards together.
    let budget = budget.map(|usd| share_of_shard(usd, tasks.len(), manifest.tasks.len()));
    let (digest, name, commit) = (manifest.digest(), manifest.name.clone(), manifest.commit.clone());
    let run_url = request.destination.github.as_ref().and_then(|github| github.run_url.clone());
    let (key_parts, nights) = settled::prepare(request, clone, &manifest, &mut notices);
    let common = Arc::new(BatchContext {
        planned: PlannedTasks::of(request, &manifest)?,
        key_parts,
        neighbours: Neighbours::new(clone, &commit),
        deadline: timeout.map(|timeout| started + timeout),
        journal: Mutex::new(journal),
        signal: signal.clone(),
        request: Arc::clone(request),
        manifest,
        worktrees: worktrees.clone(),
    });
    let show = ProgressDisplay::new(look, tasks.len(), earlier.ended.len());
    let (reports, late) = {
        let scheduler = Scheduler { common: &common, show: &show, budget, nights: &nights };
        scheduler.run(&tasks, earlier).await
    };
    show.close();
    tokio::task::block_in_place(|| worktrees.clear());
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

/// Returns the time: RFC 3339, UTC.
fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

fn told(message: &str) -> Notice {
    Notice { level: NoticeLevel::Warning, message: message.to_owned() }
}

/// Hands out tasks.
struct Scheduler<'a> {
    common: &'a Arc<BatchContext>,
    show: &'a ProgressDisplay,
    budget: Option<f64>,
    nights: &'a settled::PreviousResults,
}

/// Why no further task is begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Time,
    Budget,
    Signal,
}

impl Stop {
    fn why(self) -> &'static str {
        match self {
            Self::Time => "not started: the batch's time limit was reached",
            Self::Budget => "not started: the batch's budget was used up",
            Self::Signal => "not started: the batch was interrupted",
        }
    }
}

impl Scheduler<'_> {
    /// Works on all tasks; gives a report of each, in order, and whether the time was up.
    async fn run(&self, tasks: &[Task], earlier: EarlierStart) -> (Vec<TaskReport>, bool) {
        let tasks_out = self.common.request.destination.out.join(TASKS);
        let cut_off: f64 = earlier.cut_off().map(|id| spent_in(&tasks_out.join(id))).sum();
        let EarlierStart { ended: mut reports, mut tried, .. } = earlier;
        let again = &self.common.request.retry;
        for (id, report) in
            reports.extract_if(.., |_, report| failure(report).is_some_and(|end| again.contains(&end)))
        {
            tried.insert(id, report);
        }
        let known =
            reports.values().chain(tried.values()).fold(None, |all, report| sum(all, report.cost_usd));
        let spent = known.unwrap_or(0.0) + cut_off;
        let mut budget = Budget::new(self.budget, spent);
        let mut queue: VecDeque<&Task> =
            tasks.iter().filter(|task| !reports.contains_key(&task.id)).collect();
        queue.retain(|task| {
            let key_parts = self.common.key_parts.as_ref().filter(|_| !tried.contains_key(&task.id));
            let settled = key_parts.and_then(|key_parts| self.nights.settle(task, key_parts));
            let is_settled = settled.is_some();
            reports.extend(settled.map(|report| (task.id.clone(), report)));
            !is_settled
        });
        let mut pilot = PilotRun::new(self.common.manifest.pilot.clone());
        let mut halted = None;
        let mut running: JoinSet<(Reservation, Option<f64>, Done)> = JoinSet::new();
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
                    let title = title(&task.entry);
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
                    Done { report, over: true, dearest_answer: 0.0 }
                }
            };
            halted = halted.or(pilot.ended(&done.report));
            if done.over {
                self.common.note(|journal| journal.ended(&done.report));
            }
            self.show.ended(&done.report, &tasks_out.join(&done.report.id));
            reports.insert(done.report.id.clone(), done.report);
        }
        let why = stop.or_else(|| self.stop()).unwrap_or(Stop::Budget).why();
        let missing =
            |task: &Task| TaskReport::without_run(&task.id, &title(&task.entry), TaskEnd::NotRun, why);
        let report = |task: &Task| reports.remove(&task.id).unwrap_or_else(|| missing(task));
        (tasks.iter().map(report).collect(), stop == Some(Stop::Time))
    }

    fn stop(&self) -> Option<Stop> {
        if self.common.signal.is_set() {
            return Some(Stop::Signal);
        }
        self.common.deadline.filter(|deadline| Instant::now() >= *deadline).map(|_| Stop::Time)
    }
}
