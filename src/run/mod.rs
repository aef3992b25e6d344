//! One run, from the request to the report.

mod apply;
mod before;
mod began;
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

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Dispatch, History, Limits, Session, StepOffset, SubagentContext};
use crate::command::Shell;
use crate::config::{self, Isolation as GateIsolation};
use crate::engine::Engine;
use crate::event::{Event, Events, GateRecord, Line, NoticeLevel, RunMode};
use crate::gates::{self, GateRun};
use crate::github::{Api, Reaction, react};
use crate::hooks::{HookEvent, Subject};
use crate::inputs::{InputError, ModelChoice, RunRequest};
use crate::isolation::Isolation;
use crate::mcp::Servers;
use crate::model::{
    Backoff, Budget, ChatModel, ExecModel, ExecOptions, ProviderModel, ReplayModel, Settings,
};
use crate::plan::Plan;
use crate::recipe::RecipePlayer;
use crate::report::Collector;
use crate::report::secrets::Masker;
use crate::tool::Tool;
use crate::workspace::{DiskWorkspace, FileChange, TrackedWorkspace, Workspace};

pub use apply::ApplyOptions;
use before::Before;
use began::Began;
use evaluate::Evaluator;
pub use files::Files;
pub(crate) use files::TRANSCRIPT;
pub use finish::Finished;
use inspect::Inspector;
pub use interrupt::{Signal, on_signals};
use review::Reviewer;
use structured::Structured;
pub(crate) use walls::{Ground as ShellGround, shell};

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
    /// The throw-away state that commands run on.
    isolation: Arc<Isolation>,
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
    began.finish(run, outcome, request, &masker, signal).await
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
    began.finish(run, outcome, request, &masker, signal).await
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
    ended: agent::SessionOutcome,
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
                ExecOptions {
                    command: command.clone(),
                    shell: self.shell.clone(),
                    root: request.workspace.clone(),
                    variables: variables.clone(),
                    writes: request.mode != RunMode::DryRun,
                    answer_timeout: request.config().llm.timeout.seconds(),
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
        self.dispatch.begin(SubagentContext {
            engine: Arc::downgrade(&self.engine),
            model: Arc::clone(&model),
            limits: limits.clone(),
            surroundings: self.surroundings.clone(),
        });
        let past = self.request.resumed.as_ref().filter(|_| self.request.rounds.is_none());
        let history = past.map(|resumed| History::of(resumed.past(), &agent.name)).unwrap_or_default();
        let session = |offset| Session {
            history: history.clone(),
            system: system.clone(),
            agent: &agent,
            engine: &self.engine,
            model: Arc::clone(&model),
            limits: limits.clone(),
            budget: &self.budget,
            cancel: self.cancel.clone(),
            is_main: true,
            offset,
        };
        let structured = self.request.output_schema.as_ref().map(Structured::new);
        let reviewer = |round| {
            let evaluator = Evaluator { model: Arc::clone(&model), limits: limits.clone() };
            Reviewer::new(self, structured.as_ref(), evaluator, inspector, round)
        };
        let task =
            context::task(&self.request.task, self.request.github.as_ref(), self.request.repository.as_ref());
        let ended = match self.request.rounds {
            None => {
                session(StepOffset { step: history.step, subagent_steps: 0 })
                    .run(&task, &mut reviewer(1))
                    .await
            }
            Some(most) => self.rounds(most, &task, session, reviewer).await,
        };
        if let Some(error) = &ended.error {
            let details = json!({"error": error.to_string(), "stop_reason": ended.reason});
            self.engine.hooks.run(HookEvent::OnError, Subject::of_run(&agent.name, 0, details)).await;
        }
        let value = structured.and_then(|structured| structured.value(&ended.message));
        Outcome { ended, structured: value }
    }

    /// Ends other people's servers.
    async fn stop_servers(&mut self) {
        let servers = std::mem::take(&mut self.servers);
        if servers.is_empty() {
            return;
        }
        let late = servers.stop().await;
        if let (Some(tracked), false) = (&self.tracked, late.changes.is_empty()) {
            tracked.absorb(&late.changes);
            let (kept, refused): (Vec<_>, Vec<_>) = late
                .changes
                .iter()
                .partition(|change| self.engine.guardrails.check_write(&change.path).is_ok());
            let names = |changes: &[&FileChange]| {
                changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>().join(", ")
            };
            if !kept.is_empty() {
                let told = format!("an MCP server changed files after its answer: {}", names(&kept));
                self.events.notice(NoticeLevel::Warning, told);
            }
            for change in refused {
                let done = match tracked.revert(change) {
                    Ok(()) => "it was put back".to_owned(),
                    Err(error) => format!("it could not be put back: {error}"),
                };
                let told = format!("an MCP server changed {} after its answer; {done}", change.path);
                self.events.notice(NoticeLevel::Error, told);
            }
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

    /// Runs the gates, on a throw-away state of what there is, or in a dry run of what is planned.
    /// The error has been told already.
    async fn gates(&self, round: u32) -> Result<Vec<GateRecord>, ()> {
        let config = self.request.config();
        let list = &config.guardrails.quality_gates;
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let predicted = self.tracked.is_none();
        // Rounds are there for their checks.
        if predicted && config.dry_run.gates == GateIsolation::Skip && self.request.rounds.is_none() {
            self.events.notice(NoticeLevel::Info, "quality gates were skipped (dry_run.gates: skip)");
            return Ok(Vec::new());
        }
        let ran = gates::run(list, &self.isolation, GateRun { round, predicted }, &self.cancel).await;
        let records = ran.map_err(|error| self.events.notice(NoticeLevel::Error, error.to_string()))?;
        for record in &records {
            self.events.emit(Event::Gate(record.clone()));
        }
        Ok(records)
    }
}
