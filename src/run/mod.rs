//! One run, from the request to the report.

mod apply;
mod before;
mod context;
mod evaluate;
mod files;
mod finish;
mod inspect;
mod interrupt;
mod prepare;
mod progress;
mod publish;
mod resume;
mod review;
mod rounds;
mod structured;
mod sum;
mod tell;
mod tools;
mod walls;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Dispatch, History, Limits, Session, Since, Staff};
use crate::command::Shell;
use crate::config::{self, Isolation as GateIsolation};
use crate::engine::Engine;
use crate::event::{
    Event, Events, GateRecord, Line, NoticeLevel, Observer, RunMode, SCHEMA_VERSION, Session as SessionEvent,
    millis,
};
use crate::gates::{self, Round};
use crate::git::Git;
use crate::github::{Api, Reaction, react};
use crate::hooks::{HookEvent, Subject};
use crate::inputs::{InputError, ModelChoice, RunRequest};
use crate::isolation::Isolation;
use crate::mcp::Servers;
use crate::model::{Backoff, Budget, ChatModel, ExecModel, ProviderModel, ReplayModel, Settings, Start};
use crate::plan::Plan;
use crate::recipe::RecipePlayer;
use crate::report::secrets::Masker;
use crate::report::{Collector, LogObserver, TranscriptWriter};
use crate::sessions::{Resumed, SessionFile};
use crate::telemetry::Telemetry;
use crate::tool::Tool;
use crate::workspace::{DiskWorkspace, TrackedWorkspace};

pub use apply::ApplyOptions;
use before::Before;
use evaluate::Evaluator;
pub use files::Files;
pub use finish::Finished;
pub(crate) use finish::mask;
use inspect::Inspector;
pub use interrupt::{Signal, on_signals};
use progress::Progress;
use review::Reviewer;
use structured::Structured;
pub(crate) use walls::shell;

/// The first wait before a failed model call is tried again.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A run in progress.
struct Run<'a> {
    request: &'a RunRequest,
    cancel: CancellationToken,
    events: Events,
    collector: Arc<Collector>,
    engine: Arc<Engine>,
    shell: Shell,
    /// What the model may cost, and has cost.
    budget: Arc<Budget>,
    /// Sends sub-agents.
    dispatch: Arc<Dispatch>,
    /// Other people's tools.
    servers: Servers,
    /// The throw-away state of a dry run.
    isolation: Option<Arc<Isolation>>,
    /// The checkout as it is changed, where this is no dry run.
    tracked: Option<Arc<TrackedWorkspace>>,
    disk: Arc<DiskWorkspace>,
    /// What agents are told of the checkout.
    surroundings: String,
    before: JoinHandle<Before>,
}

/// Runs a request to its end and writes its report.
pub async fn run(request: &RunRequest, masker: Arc<Masker>, signal: Signal) -> Result<Finished, InputError> {
    let began = Began::new(request, &masker)?;
    // The client loads root certificates meanwhile.
    let model = tokio::task::spawn_blocking({
        let (choice, llm) = (request.model.clone(), request.config().llm.clone());
        let past = request.resumed.as_ref().map(|resumed| resumed.lines.clone()).unwrap_or_default();
        move || model(choice, llm, &past)
    });
    let mut run = began.prepare(request, &signal, &masker).await?;
    let model = model
        .await
        .unwrap_or_else(|error| Err(InputError::Rules(format!("the model could not be set up: {error}"))))?;
    let model = run.model(model)?;
    let limits = run.limits(began.started);
    let inspector = run.inspector(&model, &limits)?;
    let outcome = run.work(model, limits, inspector.as_ref()).await;
    // Before the proof that a dry run changed nothing.
    run.stop_servers().await;
    Ok(began.finish(run, outcome, request, &masker, signal).await)
}

/// What every run begins and ends with.
struct Began {
    started: Instant,
    /// What the session had taken before.
    earlier: Duration,
    started_at: String,
    id: String,
    files: Files,
    collector: Arc<Collector>,
    events: Events,
    progress: Option<Progress>,
    telemetry: Option<Arc<Telemetry>>,
    /// Is writing down what it would take to go on with this.
    remembered: Mutex<Option<JoinHandle<()>>>,
}

impl Began {
    fn new(request: &RunRequest, masker: &Arc<Masker>) -> Result<Self, InputError> {
        let started = Instant::now();
        let resumed = request.resumed.as_ref();
        let files = Files::new(&request.out, &request.config().report, resumed.is_some())?;
        let past = || resumed.into_iter().flat_map(Resumed::past);
        let transcript = TranscriptWriter::create(&files.transcript, Arc::clone(masker), past())
            .map_err(|error| InputError::Write { path: files.transcript.clone(), error })?;
        let collector = Arc::new(Collector::default());
        past().for_each(|line| collector.observe(line));
        let earlier = Duration::from_millis(resumed.map_or(0, Resumed::last));
        let progress = Progress::start(request, masker);
        let observers: [Arc<dyn Observer>; 3] =
            [Arc::new(transcript), Arc::clone(&collector) as _, Arc::new(LogObserver)];
        let telemetry = Telemetry::start(request, masker)?;
        let observers = observers
            .into_iter()
            .chain(progress.as_ref().map(Progress::observer))
            .chain(telemetry.clone().map(|telemetry| telemetry as _));
        Ok(Self {
            started,
            started_at: match resumed {
                Some(resumed) => resumed.file.started_at.clone(),
                None => OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default(),
            },
            id: resumed.map_or_else(|| uuid::Uuid::new_v4().to_string(), |resumed| resumed.file.id.clone()),
            earlier,
            files,
            collector,
            events: Events::new(observers.collect()).after(earlier),
            progress,
            telemetry,
            remembered: Mutex::default(),
        })
    }

    async fn prepare<'a>(
        &self,
        request: &'a RunRequest,
        signal: &Signal,
        masker: &Arc<Masker>,
    ) -> Result<Run<'a>, InputError> {
        let (events, collector) = (self.events.clone(), Arc::clone(&self.collector));
        let run =
            Run::prepare(request, &self.id, signal.token(), events, collector, Arc::clone(masker)).await?;
        if request.resumed.is_none() {
            self.events.emit(Event::Session(SessionEvent {
                schema_version: SCHEMA_VERSION,
                id: self.id.clone(),
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
            id: self.id.clone(),
            started_at: self.started_at.clone(),
            workspace: request.workspace.clone(),
            started_in: std::env::current_dir().unwrap_or_default(),
            commit: None,
            task: masked(&request.task),
            mode: request.mode,
            inputs: request.given.iter().map(|(name, value)| (name.clone(), masked(value))).collect(),
            transcript: self.files.transcript.clone(),
            report: self.files.report.clone(),
        };
        let out = request.out.clone();
        let written = tokio::task::spawn_blocking(move || {
            let file = SessionFile { commit: Git::new(&file.workspace).head(), ..file };
            if let Err(error) = file.write(&out) {
                tracing::debug!("the session could not be written down: {error}");
            }
        });
        *self.remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }

    async fn finish(
        self,
        run: Run<'_>,
        outcome: Outcome,
        request: &RunRequest,
        masker: &Masker,
        signal: Signal,
    ) -> Finished {
        let mut reported = run.report(outcome, &signal).await;
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(remembered) = remembered {
            // Done long since, but for runs that are over at once.
            let _ = remembered.await;
        }
        reported.report.id = self.id;
        reported.report.started_at = self.started_at;
        reported.report.duration_ms = millis(self.earlier + self.started.elapsed());
        let finished = finish::finish(request, reported, &self.files, masker, signal, self.progress).await;
        if let Some(telemetry) = &self.telemetry {
            telemetry.send().await;
        }
        finished
    }
}

/// Applies a plan and writes its report.
pub async fn apply(
    request: &RunRequest,
    plan: &Plan,
    options: ApplyOptions<'_>,
    masker: Arc<Masker>,
    signal: Signal,
) -> Result<Finished, InputError> {
    let began = Began::new(request, &masker)?;
    let run = began.prepare(request, &signal, &masker).await?;
    let outcome = run.apply(plan, options).await;
    Ok(began.finish(run, outcome, request, &masker, signal).await)
}

/// Tells whoever asked by a comment that the run did not come about.
pub async fn not_started(request: &RunRequest) {
    let Some((github, comment)) =
        request.github.as_ref().and_then(|github| Some((github, github.comment.as_ref()?)))
    else {
        return;
    };
    let told = async { react(&Api::new(github)?, comment.id, Reaction::Failed).await };
    if let Err(error) = told.await {
        tracing::warn!("warning: {error}");
    }
}

/// The model of a request, where it needs nothing of the run; nothing is sent yet.
pub(crate) fn model(
    choice: ModelChoice,
    llm: config::Llm,
    past: &[Line],
) -> Result<Option<Arc<dyn ChatModel>>, InputError> {
    Ok(Some(match choice {
        ModelChoice::Replay { file, strict } => Arc::new(ReplayModel::open(&file, strict, past)?),
        ModelChoice::Provider { provider, key } => {
            let settings = Settings { key, llm };
            Arc::new(ProviderModel::new(&provider, settings).map_err(InputError::Model)?)
        }
        ModelChoice::Recipe(_) | ModelChoice::Exec { .. } => return Ok(None),
        ModelChoice::None => return Err(InputError::NoModel),
    }))
}

/// How the agent's part of a run ended.
struct Outcome {
    ended: agent::Ended,
    structured: Option<serde_json::Value>,
}

impl Run<'_> {
    /// The model; those that work on the run's own ground are made here.
    fn model(&self, made: Option<Arc<dyn ChatModel>>) -> Result<Arc<dyn ChatModel>, InputError> {
        let request = self.request;
        Ok(match (made, &request.model) {
            (Some(model), _) => model,
            (None, ModelChoice::Exec { command, variables }) => Arc::new(ExecModel::new(
                &request.model_name,
                Start {
                    command: command.clone(),
                    shell: self.shell.clone(),
                    root: request.workspace.clone(),
                    variables: variables.clone(),
                    writes: request.mode != RunMode::DryRun,
                    silence: request.config().llm.timeout.seconds(),
                },
            )),
            (None, ModelChoice::Recipe(recipe)) => {
                let (name, agent) = (&request.model_name, &request.agent.name);
                Arc::new(RecipePlayer::new(name, agent, recipe, self.engine.context.clone()))
            }
            (None, _) => return Err(InputError::NoModel),
        })
    }

    /// What its sessions must not exceed.
    fn limits(&self, started: Instant) -> Limits {
        let config = self.request.config();
        Limits {
            deadline: self.request.timeout.map(|timeout| started + timeout),
            context_tokens: config.context.max_context_tokens.count(),
            parallel_tools: config.context.parallel_tools,
            compaction: (
                config.context.summarize_after_steps.count(),
                config.context.keep_recent_steps.count(),
            ),
            refresh: config.context.refresh_files.clone().into(),
            backoff: Backoff { retries: config.llm.retries.get(), first: FIRST_WAIT },
        }
    }

    async fn work(
        &self,
        model: Arc<dyn ChatModel>,
        limits: Limits,
        inspector: Option<&Inspector>,
    ) -> Outcome {
        let mut agent = self.request.agent.clone();
        agent.adopt(self.servers.tools.iter().map(|tool| (tool.name(), tool.is_read_only())));
        if self.request.output_schema.is_some() {
            agent.prompt += structured::INSTRUCTION;
        }
        let system = self.system_prompt(&agent.prompt);
        self.dispatch.begin(Staff {
            engine: Arc::downgrade(&self.engine),
            model: Arc::clone(&model),
            limits: limits.clone(),
            outline: self.surroundings.clone(),
        });
        let past = self.request.resumed.as_ref().filter(|_| self.request.rounds.is_none());
        let history = past.map(|resumed| History::of(resumed.past(), &agent.name)).unwrap_or_default();
        let session = |since| Session {
            history: history.clone(),
            system: system.clone(),
            agent: &agent,
            engine: &self.engine,
            model: Arc::clone(&model),
            limits: limits.clone(),
            budget: &self.budget,
            cancel: self.cancel.clone(),
            leads: true,
            since,
        };
        let structured = self.request.output_schema.as_ref().map(Structured::new);
        let reviewer = |round| {
            let evaluator = Evaluator { model: Arc::clone(&model), limits: limits.clone() };
            Reviewer::new(self, structured.as_ref(), evaluator, inspector, round)
        };
        let task = context::task(&self.request.task, self.request.github.as_ref(), &self.request.workspace);
        let ended = match self.request.rounds {
            None => session(Since { step: history.step, colleagues: 0 }).run(&task, &mut reviewer(1)).await,
            Some(most) => self.rounds(most, &task, session, reviewer).await,
        };
        if let Some(error) = &ended.error {
            let details = json!({"error": error.to_string(), "stop_reason": ended.reason});
            self.engine.hooks.run(HookEvent::OnError, Subject::of_run(&agent.name, 0, details)).await;
        }
        let value = structured.and_then(|structured| structured.value(&ended.message));
        Outcome { ended, structured: value }
    }

    /// Ends other people's servers. What they did to Git's own folder at their end is put back as well.
    async fn stop_servers(&mut self) {
        let servers = std::mem::take(&mut self.servers);
        if servers.is_empty() {
            return;
        }
        servers.stop().await;
        let restored = self.shell.git.as_ref().map_or_else(Vec::new, |git| git.restore("MCP servers"));
        for restored in restored {
            let done = if restored.back { "was put back" } else { "could not be put back" };
            let told = format!("{} must not change; it {done}", restored.path.display());
            self.events.notice(NoticeLevel::Warning, told);
        }
    }

    fn system_prompt(&self, prompt: &str) -> String {
        let mut system = prompt.trim_end().to_owned();
        if let Some(schema) = &self.request.output_schema {
            system += &format!("\n\nSchema of your final answer:\n{schema}");
        }
        system += &self.surroundings;
        system
    }

    /// Runs the gates: on the checkout, or in a dry run on a copy with the planned edits. The error has
    /// been told already.
    async fn gates(&self, round: u32) -> Result<Vec<GateRecord>, ()> {
        let config = self.request.config();
        let list = &config.guardrails.quality_gates;
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let records = match &self.isolation {
            None => {
                let on = Round { round, predicted: false };
                gates::run(list, &self.shell, &self.request.workspace, None, on, &self.cancel).await
            }
            Some(_) if config.dry_run.gates == GateIsolation::Skip => {
                self.events.notice(NoticeLevel::Info, "quality gates were skipped (dry_run.gates: skip)");
                return Ok(Vec::new());
            }
            Some(isolation) => match isolation.enter().await {
                Ok(mut entered) => {
                    let on = Round { round, predicted: true };
                    let (path, mount) = (entered.path(), entered.mount());
                    let gates = gates::run(list, &self.shell, &path, mount.as_ref(), on, &self.cancel);
                    // What gates change is seen, so that it is taken back, and joins no plan.
                    entered.watch(gates).await.0
                }
                Err(error) => {
                    self.events.notice(NoticeLevel::Error, error.to_string());
                    return Err(());
                }
            },
        };
        for record in &records {
            self.events.emit(Event::Gate(record.clone()));
        }
        Ok(records)
    }
}
