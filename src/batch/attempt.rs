//! One task: a worktree, a run, what came of it, and perhaps another try.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sanitize::Masker;
use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::budget::Reservation;
use super::context::{BatchContext, LOG, TASKS};
use super::file::RetryOn;
use super::journal::{Journal, JournalError, clear};
use super::lesson::lesson;
use super::manifest::Task;
use super::stop::Stop;
use super::task_paths::TaskPaths;
use crate::base::fs::is_disk_full;
use crate::event::{Event, Exit, Line, StopReason};
use crate::git::GitError;
use crate::model::LedgerError;
use crate::publish::{RunResult, TRANSCRIPT};
use crate::report::{TaskEnd, TaskKey, TaskReport, file_log};
use crate::request::InputError;
use crate::run::run;
use crate::sessions::read_lines;

/// Less money than this makes no further try, in USD.
const LEAST: f64 = 0.000_1;

/// What became of a task.
pub(super) struct TaskResult {
    pub(super) report: TaskReport,
    /// Whether it is over for good, or has to begin again.
    pub(super) over: bool,
    /// The price of the dearest answer of its model, in USD.
    pub(super) dearest_answer: f64,
    /// Why no other task can be begun either: what a day or a month may cost is spent.
    pub(super) spent: Option<String>,
}

/// One try at a task.
struct Attempt {
    report: TaskReport,
    /// Whether it did not come about for the machine's sake, such as a full disk.
    is_fault_of_machine: bool,
    /// The price of the dearest answer, in USD.
    dearest_answer: f64,
    /// Why it was not begun, if what a day or a month may cost is spent.
    spent: Option<String>,
    /// Whether the time of the batch was up before it was begun.
    is_late: bool,
}

impl BatchContext {
    /// Works on a task until it is over. `earlier` are tries before an interruption.
    pub(super) async fn work(
        &self,
        task: &Task,
        share: Reservation,
        earlier: Option<TaskReport>,
    ) -> TaskResult {
        if let Some(planned) = &self.planned {
            let report = self.write_planned(task, planned).await;
            return TaskResult { report, over: true, dearest_answer: 0.0, spent: None };
        }
        let mut earlier = earlier;
        if let Some(held) = earlier.as_ref().and_then(|report| report.held.clone())
            && let Some(report) = earlier.take()
        {
            return self.deliver_held(task, report, &held).await;
        }
        let retry = task.entry.retry.clone().unwrap_or_default();
        let mut left = share;
        let mut dearest_answer = 0.0_f64;
        loop {
            let tried = earlier.as_ref().map_or(0, |report| report.attempts);
            let Attempt { report, is_fault_of_machine, dearest_answer: dearest, spent, is_late } =
                self.attempt(task, left, tried + 1).await;
            dearest_answer = dearest_answer.max(dearest);
            if let Some(report) = earlier.take_if(|_| is_late && !self.signal.is_set()) {
                // What a try came to that was made stays the result of the task.
                return TaskResult { report, over: true, dearest_answer, spent: None };
            }
            let cost = report.cost_usd;
            let report = report.after(earlier.as_ref());
            // What was done at that moment is done.
            if self.signal.is_set() && report.end != TaskEnd::Success {
                let report = TaskReport { end: TaskEnd::NotRun, ..report };
                return TaskResult { report, over: false, dearest_answer, spent: None };
            }
            if let (Reservation::Usd(usd), Some(cost)) = (left, cost) {
                left = Reservation::Usd(usd - cost);
            }
            let budget_exhausted = matches!(left, Reservation::Usd(usd) if usd < LEAST);
            let wait = Duration::from_secs(retry.wait.get().saturating_mul(1 << tried.min(10)));
            // A try that cannot begin in time is none.
            let late = self.deadline.is_some_and(|deadline| Instant::now() + wait >= deadline);
            if !should_retry(&retry.on, &report)
                || u64::from(tried) >= retry.times.get()
                || budget_exhausted
                || late
            {
                // What the machine or the ledger did not allow is done when the batch is resumed.
                let over = !is_fault_of_machine && report.end != TaskEnd::NotRun;
                return TaskResult { report, over, dearest_answer, spent };
            }
            self.note(|journal| journal.tried(&report));
            let cancel = self.signal.token();
            tokio::select! {
                () = cancel.cancelled() => {
                    let report = TaskReport { end: TaskEnd::NotRun, ..report };
                    return TaskResult { report, over: false, dearest_answer, spent: None };
                }
                () = tokio::time::sleep(wait) => {}
            }
            earlier = Some(report);
        }
    }

    /// Writes to the journal; a full disk must not end what is going well.
    pub(super) fn note(&self, write: impl FnOnce(&mut Journal) -> Result<(), JournalError>) {
        let mut journal = self.journal.lock();
        if let Err(error) = write(&mut journal) {
            tracing::warn!("warning: {error}");
        }
    }

    /// Writes to the journal that an attempt begins. Without that none may begin: whoever resumes the batch takes folders that the
    /// journal does not know for somebody else's.
    fn note_begun(&self, task: &Task, attempt: u32) -> Result<(), InputError> {
        self.journal.lock().begun(&task.id, attempt).map_err(|error| match error {
            JournalError::Io { path, error } => InputError::Out { path, error },
            other => other.into(),
        })
    }

    async fn attempt(&self, task: &Task, share: Reservation, attempt: u32) -> Attempt {
        let ended = match self.note_begun(task, attempt) {
            Ok(()) => self.try_once(task, share, attempt).await,
            Err(error) => Err(error),
        };
        // Before the worktree makes room.
        let is_disk_full = block_in_place(|| is_disk_full(&self.request.destination.out));
        block_in_place(|| self.worktrees.remove(&task.id));
        let folder = format!("{TASKS}/{}", task.id);
        match ended {
            Ok(finished) => {
                let costs = finished.report.steps.iter().filter_map(|step| step.cost_usd);
                let dearest_answer = costs.fold(0.0, f64::max);
                let mut report = TaskReport::of_run(&task.id, &finished.report, &folder);
                // What did not show all that was asked is looked at again the next night, unless people close what comes of it, which
                // another job may deliver.
                let is_green = report.stop_reason.is_some_and(StopReason::is_green);
                let has_changes = report.changed_files > 0;
                if is_green || has_changes {
                    (report.key, report.unsettled) =
                        self.key_of(task, &self.request.destination.out.join(&folder));
                }
                self.seal_held(&report);
                let is_fault_of_machine = report.stop_reason == Some(StopReason::NotWritten)
                    || report.end == TaskEnd::Failed && is_disk_full;
                // What others have spent meanwhile is missing as if it had been before.
                let is_unpaid = report.stop_reason == Some(StopReason::BudgetExceeded);
                if is_unpaid && report.steps == 0 && report.cost_usd.is_none_or(|usd| usd <= 0.0) {
                    report.end = TaskEnd::NotRun;
                }
                Attempt { report, is_fault_of_machine, dearest_answer, spent: None, is_late: false }
            }
            Err(InputError::Ledger(error @ LedgerError::Spent { .. })) => {
                let why = format!("not started: {error}");
                let report = TaskReport::without_run(&task.id, &task.entry.title(), TaskEnd::NotRun, &why);
                Attempt {
                    report,
                    is_fault_of_machine: false,
                    dearest_answer: 0.0,
                    spent: Some(why),
                    is_late: false,
                }
            }
            Err(InputError::Worktree(GitError::Ended(_))) => self.ended_before(task),
            Err(error) => {
                let is_fault_of_machine = error.is_fault_of_machine();
                let exit = if is_fault_of_machine { Exit::Failed } else { error.exit() };
                let failed = TaskReport::without_run(
                    &task.id,
                    &task.entry.title(),
                    TaskEnd::Failed,
                    &error.explained(),
                );
                let report = TaskReport { attempts: 1, exit_code: Some(exit.code()), ..failed };
                Attempt { report, is_fault_of_machine, dearest_answer: 0.0, spent: None, is_late: false }
            }
        }
    }

    /// Returns what a try comes to whose time, or that of the batch, was up before its worktree was there.
    fn ended_before(&self, task: &Task) -> Attempt {
        let is_late = self.is_over();
        let stop = if self.signal.is_set() { Some(Stop::Signal) } else { is_late.then_some(Stop::Time) };
        let title = task.entry.title();
        let report = if let Some(stop) = stop {
            TaskReport::without_run(&task.id, &title, TaskEnd::NotRun, stop.why())
        } else {
            let why = "the time limit of the task was reached before its worktree was made";
            let (stop_reason, exit_code) = (Some(StopReason::Timeout), Some(Exit::Timeout.code()));
            let report = TaskReport::without_run(&task.id, &title, TaskEnd::Partial, why);
            TaskReport { attempts: 1, stop_reason, exit_code, ..report }
        };
        Attempt { report, is_fault_of_machine: false, dearest_answer: 0.0, spent: None, is_late }
    }

    /// Returns whether the time of the batch is up.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the key of a task whose files lie in `folder`, or why it has none, as far as that is known.
    pub(super) fn key_of(&self, task: &Task, folder: &Path) -> (Option<TaskKey>, Option<String>) {
        let Some(parts) = &self.key_parts else { return (None, None) };
        let seen = self.worktrees.cone(&task.entry);
        match block_in_place(|| parts.key(task, folder, seen.as_ref())) {
            Ok(key) => (Some(key), None),
            Err(why) => (None, Some(why.to_string())),
        }
    }

    /// Empties the folder for a task's files, and makes its worktree. Returns the checkout in that. This takes its time.
    pub(super) fn make_room(&self, task: &Task, out: &Path) -> Result<PathBuf, InputError> {
        let failed = |error| InputError::Out { path: out.to_owned(), error };
        clear(out).map_err(failed)?;
        std::fs::create_dir_all(out).map_err(failed)?;
        self.worktrees.add(task, &self.manifest.commit).map_err(InputError::Worktree)
    }

    async fn try_once(&self, task: &Task, share: Reservation, attempt: u32) -> Result<RunResult, InputError> {
        let out = self.request.destination.out.join(TASKS).join(&task.id);
        let retry = task.entry.retry.as_ref().filter(|_| attempt > 1);
        // Before the files of the last try go.
        let lesson = retry.and_then(|retry| lesson(&out, &retry.with, &self.neighbours.lesson(task)));
        let models = retry.map_or(&[][..], |retry| &retry.models);
        let model = models.get(attempt.saturating_sub(2) as usize).or(models.last());
        // Git takes its time with large checkouts; other tasks go on meanwhile.
        let (request, masker) = block_in_place(|| {
            let deadline = self.deadline_of(task);
            let checkout = self.make_room(task, &out)?;
            let shared = self.worktrees.share(task, &checkout).map_err(InputError::Worktree)?;
            let place = TaskPaths {
                checkout: &checkout,
                shared: &shared,
                out: &out,
                budget_usd: if let Reservation::Usd(usd) = share { Some(usd) } else { None },
                timeout: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
                deadline,
                requests_per_minute: self.requests_per_minute,
                shared_rate: self.shared_rate.as_ref(),
                lesson: lesson.as_deref(),
                model: model.map(String::as_str),
            };
            self.prepare(task, &place)
        })?;
        let known = Arc::clone(&masker);
        let log = file_log(&out.join(LOG), Arc::clone(&masker))
            .map_err(|error| InputError::Write { path: out.join(LOG), error })?;
        // On the heap: the state of a run is large, and there are many.
        let result = Box::pin(run(&request, masker, self.signal.clone()).with_subscriber(log)).await?;
        if model.is_some() {
            block_in_place(|| self.neighbours.note(task, &result.report, &known));
        }
        Ok(result)
    }

    /// Returns when a task that begins now has to end, if its time or that of the batch is limited.
    pub(super) fn deadline_of(&self, task: &Task) -> Option<Instant> {
        let own = task.entry.timeout.map(|timeout| Instant::now() + timeout.seconds());
        [self.deadline, own].into_iter().flatten().min()
    }

    fn prepare(
        &self,
        task: &Task,
        place: &TaskPaths<'_>,
    ) -> Result<(crate::request::RunRequest, Arc<Masker>), InputError> {
        let request = self.request.of_task(&self.manifest.name, task, place)?;
        let secret: Vec<&str> = request.job.secret_variables.iter().map(String::as_str).collect();
        let masker = Masker::from_environment(&request.job.variables, &secret, &request.job.secrets);
        Ok((request, Arc::new(masker)))
    }
}

/// Returns what a run that was cut off has cost, in USD, as far as its transcript shows.
pub(super) fn spent_in(folder: &Path) -> f64 {
    let lines = read_lines(&folder.join(TRANSCRIPT)).unwrap_or_default();
    let cost = |line: Line| if let Event::Reply(reply) = line.event { reply.cost_usd } else { None };
    lines.into_iter().filter_map(cost).sum()
}

/// Returns the end after which a task may be tried again; `None` if it is done, or was never begun.
pub(super) fn failure(report: &TaskReport) -> Option<RetryOn> {
    let is_late = report.stop_reason == Some(StopReason::Timeout);
    match report.end {
        TaskEnd::Success | TaskEnd::Settled | TaskEnd::NotRun | TaskEnd::Lost => None,
        _ if is_late => Some(RetryOn::Timeout),
        TaskEnd::Partial => Some(RetryOn::Partial),
        TaskEnd::Failed => Some(RetryOn::Failed),
    }
}

fn should_retry(on: &[RetryOn], report: &TaskReport) -> bool {
    // What is wrong with the input, or with a key, is wrong the next time as well.
    let hopeless = [Exit::Configuration, Exit::Authentication].map(|exit| Some(exit.code()));
    // What only could not be delivered need not be done again.
    report.held.is_none()
        && failure(report).is_some_and(|end| on.contains(&end))
        && !hopeless.contains(&report.exit_code)
}
