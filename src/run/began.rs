//! What every run begins and ends with, whoever works: files, observers, the session, the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::task::JoinHandle;

use super::interrupt::Signal;
use super::{Outcome, Run};
use crate::base::verbose_log::detail;
use crate::event::{
    Event, Events, NoticeLevel, Observer, RunMode, SCHEMA_VERSION, Session as SessionEvent, millis,
};
use crate::inputs::{InputError, RunRequest};
use crate::publish::{OutputFiles, ProgressComment, RunResult, publish_run};
use crate::report::{Collector, LogObserver, TranscriptWriter};
use crate::sanitize::Masker;
use crate::sessions::{Resumed, SessionFile};
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
pub(super) struct Began {
    pub(super) info: RunInfo,
    files: OutputFiles,
    collector: Arc<Collector>,
    events: Events,
    progress: Option<ProgressComment>,
    telemetry: Option<Arc<Telemetry>>,
    /// Is writing down what it would take to go on with this.
    remembered: Mutex<Option<JoinHandle<()>>>,
}

impl Began {
    pub(super) fn new(request: &RunRequest, masker: &Arc<Masker>) -> Result<Self, InputError> {
        let started = Instant::now();
        let resumed = request.resumed.as_ref();
        let files = OutputFiles::new(&request.out, &request.config().report, resumed.is_some())?;
        let past = || resumed.into_iter().flat_map(Resumed::past);
        let transcript = TranscriptWriter::create(&files.transcript, Arc::clone(masker), past())
            .map_err(|error| InputError::Write { path: files.transcript.clone(), error })?;
        let collector = Arc::new(Collector::default());
        past().for_each(|line| collector.observe(line));
        let earlier = Duration::from_millis(resumed.map_or(0, Resumed::last));
        let info = RunInfo {
            id: resumed.map_or_else(|| uuid::Uuid::new_v4().to_string(), |resumed| resumed.file.id.clone()),
            started_at: match resumed {
                Some(resumed) => resumed.file.started_at.clone(),
                None => OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default(),
            },
            started,
            earlier,
        };
        let progress = ProgressComment::start(request, masker);
        let observers: [Arc<dyn Observer>; 3] =
            [Arc::new(transcript), Arc::clone(&collector) as _, Arc::new(LogObserver)];
        let trace = TelemetryOptions {
            config: &request.config().telemetry,
            variables: &request.variables,
            agent: &request.agent.name,
            model: &request.model_name,
            earlier,
        };
        let telemetry = Telemetry::start(trace, masker).map_err(InputError::Rules)?;
        let observers = observers
            .into_iter()
            .chain(progress.as_ref().map(ProgressComment::observer))
            .chain(telemetry.clone().map(|telemetry| telemetry as _));
        Ok(Self {
            info,
            files,
            collector,
            events: Events::new(observers.collect()).after(earlier),
            progress,
            telemetry,
            remembered: Mutex::default(),
        })
    }

    pub(super) async fn prepare<'a>(
        &self,
        request: &'a RunRequest,
        signal: &Signal,
        masker: &Arc<Masker>,
    ) -> Result<Run<'a>, InputError> {
        let (events, collector) = (self.events.clone(), Arc::clone(&self.collector));
        let run = Run::prepare(request, &self.info.id, signal.token(), events, collector, Arc::clone(masker))
            .await?;
        if request.resumed.is_none() {
            self.events.emit(Event::Session(SessionEvent {
                schema_version: SCHEMA_VERSION,
                id: self.info.id.clone(),
                task: request.task.clone(),
                agent: request.agent.name.clone(),
                model: request.model_name.clone(),
                mode: request.mode,
            }));
        }
        if request.alone && request.mode != RunMode::Apply {
            self.remember(request, masker);
        }
        if let Some(resumed) = &request.resumed {
            run.take_up(resumed).await;
        }
        for warning in &request.warnings {
            self.events.notice(NoticeLevel::Warning, warning);
        }
        Ok(run)
    }

    /// Writes down what it would take to go on with this, beside everything else.
    fn remember(&self, request: &RunRequest, masker: &Masker) {
        let masked = |text: &String| masker.mask(text).into_owned();
        let file = SessionFile {
            id: self.info.id.clone(),
            started_at: self.info.started_at.clone(),
            workspace: request.workspace.clone(),
            started_in: std::env::current_dir().unwrap_or_default(),
            commit: None,
            task: masked(&request.task),
            mode: request.mode,
            inputs: request.given.iter().map(|(name, value)| (name.clone(), masked(value))).collect(),
            transcript: self.files.transcript.clone(),
            report: self.files.report.clone(),
        };
        let (out, variables) = (request.out.clone(), request.variables.clone());
        let repository = request.repository.clone();
        let written = tokio::task::spawn_blocking(move || {
            let file = SessionFile { commit: repository.and_then(|repository| repository.head()), ..file };
            if let Err(error) = file.write(&out, &variables) {
                detail!("could not save the session: {error}");
            }
        });
        *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }

    pub(super) async fn finish(
        self,
        run: Run<'_>,
        outcome: Outcome,
        request: &RunRequest,
        masker: &Masker,
        signal: &Signal,
    ) -> Result<RunResult, InputError> {
        let artifacts = run.report(outcome, &self.info, signal).await;
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(remembered) = remembered {
            // Done long since, but for runs that are over at once.
            let _ = remembered.await;
        }
        let published =
            publish_run(request, artifacts, &self.files, masker, signal.token(), self.progress).await;
        if let Some(telemetry) = &self.telemetry {
            telemetry.send().await;
        }
        Ok(published?)
    }
}
