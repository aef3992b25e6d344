//! Set-up and end of every run: files, observers, session, report.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sanitize::Masker;
use tokio::task::JoinHandle;

use super::prepare::{AgentExtras, Prepared};
use super::signals::{Clock, Signal};
use super::{Outcome, Run};
use crate::base::clock::now;
use crate::base::fs::lock_folder;
use crate::base::verbose_log::detail;
use crate::event::{
    Activities, Event, Events, NoticeLevel, Observer, RunMode, SCHEMA_VERSION, Session as SessionEvent,
    Status, millis,
};
use crate::github::Environment;
use crate::publish::{OutputFiles, ProgressComment, RunResult, publish_run};
use crate::report::{Collector, LiveStatus, LogObserver, TranscriptWriter};
use crate::request::{InputError, JobRequest, RunRequest};
use crate::sessions::{
    ChangeLog, Resumed, SEALED, SessionError, SessionFile, SessionPlace, SessionSealer, change_log_path,
    check_state, transcript_seal,
};
use crate::telemetry::{Telemetry, TelemetryOptions};

/// Which run it is, and since when.
pub(super) struct RunInfo {
    pub(super) id: String,
    /// When the session began, as RFC 3339 has it.
    pub(super) started_at: String,
    pub(super) started: Instant,
    /// What the session had taken before.
    earlier: Duration,
}

impl RunInfo {
    /// Returns how long the session has taken so far.
    pub(super) fn elapsed_ms(&self) -> u64 {
        millis(self.earlier + self.started.elapsed())
    }
}

/// What every run begins and ends with.
pub(super) struct RunSetup {
    pub(super) info: RunInfo,
    files: OutputFiles,
    collector: Arc<Collector>,
    events: Events,
    progress: Option<ProgressComment>,
    telemetry: Option<Arc<Telemetry>>,
    /// Records what it would take to continue with this.
    saving: Mutex<Option<JoinHandle<()>>>,
    /// What the run changes or plans.
    changes: Option<Arc<ChangeLog>>,
    sealing: Option<Sealing>,
    /// Shows people what the run is doing.
    _live: Option<LiveStatus>,
    /// Keeps other runs out of the output folder.
    _lock: File,
}

/// A session that is sealed as it grows, until this is dropped.
struct Sealing {
    sealer: Arc<SessionSealer>,
    task: JoinHandle<()>,
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sealing {
    fn start(request: &JobRequest, id: &str, transcript: &Path) -> Result<Option<Self>, InputError> {
        let JobRequest { variables, repository, github, out, .. } = request;
        let number = github.as_ref().and_then(Environment::number);
        let place = SessionPlace { id, out, transcript };
        let sealer = SessionSealer::new(variables, repository.as_ref(), number, place);
        let sealer = sealer.map_err(SessionError::Key)?.map(Arc::new);
        Ok(sealer.map(|sealer| Self { task: tokio::spawn(Arc::clone(&sealer).keep_sealing()), sealer }))
    }

    /// Seals the session for the last time, or removes it if there is nothing left to do.
    fn end(self, events: &Events, is_done: bool) {
        if let Err(error) = self.sealer.end(is_done) {
            let told = if is_done {
                format!("`{SEALED}` is no longer needed, and could not be removed: {error}")
            } else {
                format!("the session could not be sealed for another machine: {error}")
            };
            events.notice(NoticeLevel::Warning, told);
        }
    }
}

impl RunSetup {
    /// Makes the files and gathers the observers. `shows_progress` tells whether the comment may show what the run is
    /// doing.
    pub(super) fn new(
        request: &JobRequest,
        resumed: Option<&Resumed>,
        shows_progress: bool,
        masker: &Arc<Masker>,
    ) -> Result<Self, InputError> {
        let started = Instant::now();
        let out = |error| InputError::Out { path: request.out.clone(), error };
        let lock = lock_folder(&request.out).map_err(out)?;
        let lock = lock.ok_or_else(|| InputError::OutInUse(request.out.clone()))?;
        let files = OutputFiles::new(&request.out, &request.config().report, resumed.is_some())?;
        let past = || resumed.into_iter().flat_map(Resumed::past);
        let collector = Arc::new(Collector::default());
        past().for_each(|line| collector.observe(line));
        let earlier = Duration::from_millis(resumed.map_or(0, Resumed::last));
        let info = RunInfo {
            id: resumed.map_or_else(|| uuid::Uuid::new_v4().to_string(), |resumed| resumed.file.id.clone()),
            started_at: match resumed {
                Some(resumed) => resumed.file.started_at.clone(),
                None => now(),
            },
            started,
            earlier,
        };
        let seal = request.alone.then(|| transcript_seal(&request.variables, &info.id)).flatten();
        let transcript =
            TranscriptWriter::create(&files.transcript, Arc::clone(masker), past(), seal.as_ref())
                .map_err(|error| InputError::Write { path: files.transcript.clone(), error })?;
        let activities = Activities::default();
        let progress = shows_progress.then(|| ProgressComment::start(request, masker, &activities)).flatten();
        let asks = matches!(request.mode, RunMode::ConfirmAll | RunMode::ConfirmSensitive);
        let live = request.alone.then(|| LiveStatus::start(activities.clone(), Arc::clone(masker), asks));
        let is_session = request.alone && shows_progress;
        let is_kept = is_session && check_state(&request.variables, &request.workspace).is_ok();
        let log = change_log_path(&request.variables, &info.id).filter(|_| is_kept);
        let changes = log
            .and_then(|path| ChangeLog::begin(path, resumed.map(|resumed| &resumed.changes)))
            .map(Arc::new);
        let sealing = if is_session { Sealing::start(request, &info.id, &files.transcript)? } else { None };
        // The log first: what it does not know to have ended has not.
        let observers = changes.clone().map(|log| log as Arc<dyn Observer>).into_iter().chain([
            Arc::new(transcript) as _,
            Arc::clone(&collector) as _,
            Arc::new(LogObserver) as _,
        ]);
        let trace = TelemetryOptions {
            config: &request.config().telemetry,
            variables: &request.variables,
            agent: &request.agent,
            model: &request.model_name,
            earlier,
        };
        let telemetry = Telemetry::start(trace, masker).map_err(InputError::rules)?;
        let observers = observers
            .chain(progress.as_ref().map(ProgressComment::observer))
            .chain(telemetry.clone().map(|telemetry| telemetry as _));
        Ok(Self {
            info,
            files,
            collector,
            events: Events::new(observers.collect()).after(earlier).with(activities),
            _live: live,
            progress,
            telemetry,
            saving: Mutex::default(),
            changes,
            sealing,
            _lock: lock,
        })
    }

    /// Assembles the run. `extras` are what only a run has in which an agent works; `clock` ends what it does, at a
    /// signal or when its time is up.
    pub(super) async fn prepare<'a>(
        &self,
        request: &'a JobRequest,
        extras: Option<AgentExtras<'_>>,
        (clock, signal): (&Clock, &Signal),
        masker: &Arc<Masker>,
    ) -> Result<Prepared<'a>, InputError> {
        let (events, collector) = (self.events.clone(), Arc::clone(&self.collector));
        Run::prepare(
            request,
            extras,
            &self.info.id,
            (clock, signal.token()),
            events,
            collector,
            Arc::clone(masker),
        )
        .await
    }

    /// Logs what a run changes or plans from now on.
    pub(super) fn log_changes(&self, run: &Run<'_>) {
        let Some(log) = &self.changes else { return };
        if let Some(tracked) = &run.tracked {
            tracked.set_log(Arc::clone(log) as _);
        }
        if let Some(planned) = &run.planned {
            planned.set_log(Arc::clone(log) as _);
            let log = Arc::clone(log);
            let mut tracker = run.engine.tracker.lock();
            tracker.set_log(move |action| log.note_action(action));
        }
    }

    /// Returns where events go.
    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    /// Tells that the session begins.
    pub(super) fn announce(&self, request: &JobRequest) {
        self.events.emit(Event::Session(SessionEvent {
            schema_version: SCHEMA_VERSION,
            id: self.info.id.clone(),
            task: request.task.clone(),
            agent: request.agent.clone(),
            model: request.model_name.clone(),
            mode: request.mode,
        }));
    }

    /// Tells what people should know before the work begins.
    pub(super) fn warn(&self, request: &JobRequest) {
        for warning in &request.warnings {
            self.events.notice(NoticeLevel::Warning, warning);
        }
    }

    /// Records what it would take to continue with this, beside everything else.
    pub(super) fn save_session(&self, request: &RunRequest, masker: &Masker) {
        let job = &request.job;
        if let Err(error @ SessionError::StateInCheckout(_)) = check_state(&job.variables, &job.workspace) {
            self.events.notice(NoticeLevel::Warning, format!("this run cannot be resumed: {error}"));
        }
        let masked = |text: &String| masker.mask(text).into_owned();
        let file = SessionFile {
            id: self.info.id.clone(),
            started_at: self.info.started_at.clone(),
            workspace: job.workspace.clone(),
            started_in: std::env::current_dir().unwrap_or_default(),
            commit: None,
            task: masked(&job.task),
            mode: job.mode,
            inputs: request.given.iter().map(|(name, value)| (name.clone(), masked(value))).collect(),
            transcript: self.files.transcript.clone(),
            report: self.files.report.clone(),
        };
        let (out, variables) = (job.out.clone(), job.variables.clone());
        let repository = job.repository.clone();
        let saving = tokio::task::spawn_blocking(move || {
            let file = SessionFile { commit: repository.and_then(|repository| repository.head()), ..file };
            if let Err(error) = file.write(&out, &variables) {
                detail!("could not save the session: {error}");
            }
        });
        *self.saving.lock() = Some(saving);
    }

    /// Ends the run: its report is built, and published.
    pub(super) async fn finish(
        self,
        run: Run<'_>,
        outcome: Outcome,
        request: &JobRequest,
        masker: &Masker,
        signal: &Signal,
        clock: &Clock,
    ) -> Result<RunResult, InputError> {
        let events = run.events.clone();
        let artifacts = run.report(outcome, &self.info, signal).await;
        let is_done = artifacts.report.status == Status::Success;
        let saving = self.saving.lock().take();
        let is_session = saving.is_some();
        if let Some(saving) = saving {
            // Done long since, but for runs that are over at once.
            let _ = saving.await;
        }
        match self.sealing {
            Some(sealing) => tokio::task::block_in_place(|| sealing.end(&events, is_done)),
            // Of an earlier start with a key.
            None if is_done && is_session => drop(std::fs::remove_file(request.out.join(SEALED))),
            None => {}
        }
        if let Some(changes) = self.changes.filter(|_| is_done) {
            changes.remove();
        }
        let published =
            Box::pin(publish_run(request, artifacts, &self.files, masker, signal.token(), self.progress))
                .await;
        if let Some(telemetry) = &self.telemetry {
            telemetry.send(&clock.network()).await;
        }
        Ok(published?)
    }
}
