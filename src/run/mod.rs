//! One run, from the request to the report.

mod apply;
mod before;
mod finish;
mod interrupt;
mod review;
mod structured;
mod walls;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Limits, Session};
use crate::command::{Policy, Shell};
use crate::config::{self, Isolation as GateIsolation, PlannedCommands, Usd};
use crate::engine::Engine;
use crate::event::{
    End, Event, Events, GateRecord, NoticeLevel, Observer, RunMode, SCHEMA_VERSION, Session as SessionEvent,
    Status, StopReason, millis,
};
use crate::exit::Exit;
use crate::gates::{self, Round};
use crate::guardrails::{self, Guardrails};
use crate::hooks::{HookEvent, Hooks, Setting, Subject};
use crate::inputs::{InputError, ModelChoice, RunRequest};
use crate::isolation::Isolation;
use crate::model::{Backoff, Budget, ChatModel, ProviderModel, ReplayModel, Settings};
use crate::plan::{Plan, Planned, recover};
use crate::report::secrets::Masker;
use crate::report::{Collector, FileSummary, LogObserver, PlanReport, RunReport, TranscriptWriter};
use crate::tool::{Context, Ground, Registry, RunCommand};
use crate::workspace::{
    ChangeSet, Difference, DiskWorkspace, GitFolder, OverlayWorkspace, Restored, TrackedWorkspace, Workspace,
};

pub use apply::ApplyOptions;
use before::{Before, look_before};
use finish::Reported;
pub use finish::{Files, Finished};
pub use interrupt::{Signal, on_signals};
use review::Reviewer;
use structured::Structured;
use walls::shell;

/// The first wait before a failed model call is tried again.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Most bytes that are shown of what the repository tells agents.
const MAX_GUIDE: usize = 8 * 1024;

/// A run in progress.
struct Run<'a> {
    request: &'a RunRequest,
    cancel: CancellationToken,
    events: Events,
    collector: Arc<Collector>,
    engine: Engine,
    shell: Shell,
    /// What the model may cost, and has cost.
    budget: Budget,
    /// The throw-away state of a dry run.
    isolation: Option<Arc<Isolation>>,
    /// The checkout as it is changed, where this is no dry run.
    tracked: Option<Arc<TrackedWorkspace>>,
    disk: Arc<DiskWorkspace>,
    before: JoinHandle<Before>,
}

/// Runs a request to its end and writes its report.
pub async fn run(request: &RunRequest, masker: Arc<Masker>, signal: Signal) -> Result<Finished, InputError> {
    let began = Began::new(request, &masker)?;
    // The client loads root certificates meanwhile.
    let model = tokio::task::spawn_blocking({
        let (choice, llm) = (request.model.clone(), request.config().llm.clone());
        move || model(choice, llm)
    });
    let run = began.prepare(request, &signal, &masker)?;
    let model = model
        .await
        .unwrap_or_else(|error| Err(InputError::Rules(format!("the model could not be set up: {error}"))))?;
    let outcome = run.work(model, began.started).await;
    Ok(began.finish(run, outcome, request, &masker, signal).await)
}

/// What every run begins and ends with.
struct Began {
    started: Instant,
    started_at: String,
    id: String,
    files: Files,
    collector: Arc<Collector>,
    events: Events,
}

impl Began {
    fn new(request: &RunRequest, masker: &Arc<Masker>) -> Result<Self, InputError> {
        let started = Instant::now();
        let files = Files::new(&request.out, &request.config().report)?;
        let transcript = TranscriptWriter::create(&files.transcript, Arc::clone(masker))
            .map_err(|error| InputError::Write { path: files.transcript.clone(), error })?;
        let collector = Arc::new(Collector::default());
        let observers: [Arc<dyn Observer>; 3] =
            [Arc::new(transcript), Arc::clone(&collector) as _, Arc::new(LogObserver)];
        Ok(Self {
            started,
            started_at: OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default(),
            id: uuid::Uuid::new_v4().to_string(),
            files,
            collector,
            events: Events::new(observers.to_vec()),
        })
    }

    fn prepare<'a>(
        &self,
        request: &'a RunRequest,
        signal: &Signal,
        masker: &Arc<Masker>,
    ) -> Result<Run<'a>, InputError> {
        let (events, collector) = (self.events.clone(), Arc::clone(&self.collector));
        let run = Run::prepare(request, &self.id, signal.token(), events, collector, Arc::clone(masker))?;
        self.events.emit(Event::Session(SessionEvent {
            schema_version: SCHEMA_VERSION,
            id: self.id.clone(),
            task: request.task.clone(),
            agent: request.agent.name.clone(),
            model: request.model_name.clone(),
            mode: request.mode,
        }));
        for warning in &request.warnings {
            self.events.notice(NoticeLevel::Warning, warning);
        }
        Ok(run)
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
        reported.report.id = self.id;
        reported.report.started_at = self.started_at;
        reported.report.duration_ms = millis(self.started.elapsed());
        finish::finish(request, reported, &self.files, masker, signal).await
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
    let run = began.prepare(request, &signal, &masker)?;
    let outcome = run.apply(plan, options).await;
    Ok(began.finish(run, outcome, request, &masker, signal).await)
}

fn model(choice: ModelChoice, llm: config::Llm) -> Result<Arc<dyn ChatModel>, InputError> {
    Ok(match choice {
        ModelChoice::Replay { file, strict } => Arc::new(ReplayModel::open(&file, strict)?),
        ModelChoice::Provider { provider, key } => {
            let settings = Settings { key, llm };
            Arc::new(ProviderModel::new(&provider, settings).map_err(InputError::Model)?)
        }
        ModelChoice::None => return Err(InputError::NoModel),
    })
}

/// How the agent's part of a run ended.
struct Outcome {
    ended: agent::Ended,
    structured: Option<serde_json::Value>,
}

impl<'a> Run<'a> {
    fn prepare(
        request: &'a RunRequest,
        session: &str,
        cancel: CancellationToken,
        events: Events,
        collector: Arc<Collector>,
        masker: Arc<Masker>,
    ) -> Result<Self, InputError> {
        let config = request.config();
        let disk = DiskWorkspace::open(&request.workspace)
            .map_err(|error| InputError::Workspace { path: request.workspace.clone(), error })?;
        let disk = Arc::new(disk);
        let dry_run = request.mode == RunMode::DryRun;
        let guardrails = guardrails(request).map_err(InputError::Rules)?;
        if recover(&disk, |path| guardrails.check_write(path), &|_| {})? {
            let told = "an earlier apply was interrupted; its files were put back";
            events.notice(NoticeLevel::Warning, told);
        }
        let shell = shell(request, &events)?;
        let (mut isolation, mut tracked) = (None, None);
        let (workspace, ground): (Arc<dyn Workspace>, Ground) = if dry_run {
            let planned = Arc::new(OverlayWorkspace::new(Arc::clone(&disk)));
            let made = Arc::new(Isolation::new(
                Arc::clone(&planned),
                request.workspace.clone(),
                temp(request),
                shell.clone(),
                events.clone(),
            ));
            isolation = Some(Arc::clone(&made));
            let ground = match config.dry_run.commands {
                PlannedCommands::Isolated => Ground::Isolated(made, Arc::clone(&planned)),
                PlannedCommands::Record => Ground::Nowhere,
            };
            (planned, ground)
        } else {
            let made = Arc::new(TrackedWorkspace::new(Arc::clone(&disk)));
            tracked = Some(Arc::clone(&made));
            (Arc::clone(&made) as _, Ground::Checkout(made))
        };
        let mut registry = Registry::with_built_in();
        if config.commands.enabled {
            registry.replace(Arc::new(RunCommand {
                policy: Policy::new(&config.commands, &request.workspace).map_err(InputError::Rules)?,
                shell: shell.clone(),
                default_timeout: config.commands.default_timeout,
                max_output_lines: config.commands.max_output_lines.count(),
                ground,
                cancel: cancel.clone(),
            }));
        }
        let setting = Setting {
            shell: shell.clone(),
            workspace: request.workspace.clone(),
            session: session.to_owned(),
            dry_run,
            cancel: cancel.clone(),
            events: events.clone(),
        };
        let hooks = Hooks::new(&config.hooks, setting).map_err(InputError::Rules)?;
        let (before, looked) = look_before(request.workspace.clone(), request.out.clone(), dry_run);
        let context = Context {
            workspace,
            allow_delete: config.workspace.allow_delete,
            sensitive: guardrails.sensitive(),
            seen: Arc::default(),
        };
        let engine = Engine {
            registry,
            guardrails,
            hooks,
            mode: request.mode,
            context,
            tracker: Mutex::default(),
            masker,
            max_result_tokens: config.context.max_tool_result_tokens.count(),
            events: events.clone(),
            cancel: cancel.clone(),
            untested: AtomicBool::new(false),
            looked,
        };
        let budget = budget(request, &events);
        Ok(Self {
            request,
            cancel,
            events,
            collector,
            engine,
            shell,
            budget,
            isolation,
            tracked,
            disk,
            before,
        })
    }

    async fn work(&self, model: Arc<dyn ChatModel>, started: Instant) -> Outcome {
        let config = self.request.config();
        let mut agent = self.request.agent.clone();
        if self.request.output_schema.is_some() {
            agent.prompt += structured::INSTRUCTION;
        }
        let limits = Limits {
            deadline: self.request.timeout.map(|timeout| started + timeout),
            context_tokens: config.context.max_context_tokens.count(),
            parallel_tools: config.context.parallel_tools,
            compaction: (
                config.context.summarize_after_steps.count(),
                config.context.keep_recent_steps.count(),
            ),
            backoff: Backoff { retries: config.llm.retries.get(), first: FIRST_WAIT },
        };
        let session = Session {
            system: self.system_prompt(&agent.prompt),
            agent: &agent,
            engine: &self.engine,
            model,
            limits,
            budget: &self.budget,
            cancel: self.cancel.clone(),
        };
        let structured = self.request.output_schema.as_ref().map(Structured::new);
        let mut reviewer = Reviewer::new(self, structured.as_ref());
        let ended = session.run(&self.request.task, &mut reviewer).await;
        if let Some(error) = &ended.error {
            let details = json!({"error": error.to_string(), "stop_reason": ended.reason});
            self.engine.hooks.run(HookEvent::OnError, Subject::of_run(&agent.name, 0, details)).await;
        }
        let value = structured.and_then(|structured| structured.value(&ended.message));
        Outcome { ended, structured: value }
    }

    fn system_prompt(&self, prompt: &str) -> String {
        let mut system = prompt.trim_end().to_owned();
        if let Some(schema) = &self.request.output_schema {
            system += &format!("\n\nSchema of your final answer:\n{schema}");
        }
        let outline = agent::outline(self.engine.context.workspace.as_ref());
        if !outline.is_empty() {
            system += &format!("\n\nThe checkout:\n{outline}");
        }
        if let Some(guide) = &self.request.guide {
            let cut = guide.text.floor_char_boundary(MAX_GUIDE);
            system += &format!(
                "\n\nFrom {}, by the people of this repository:\n{}",
                guide.path,
                &guide.text[..cut]
            );
        }
        system
    }

    /// Gates, the proof that a dry run changed nothing, and the sum of it all.
    async fn report(self, outcome: Outcome, signal: &Signal) -> Reported {
        let Outcome { mut ended, structured } = outcome;
        let details = json!({"status": ended.status, "stop_reason": ended.reason, "message": ended.message});
        let agent = &self.request.agent.name;
        self.engine.hooks.run(HookEvent::SessionEnd, Subject::of_run(agent, 0, details)).await;
        self.engine.hooks.collect().await;
        let changes = self.engine.context.workspace.changes().unwrap_or_else(|error| {
            self.events.notice(NoticeLevel::Error, format!("the changes could not be collected: {error}"));
            ended.status = Status::Failed;
            ChangeSet::default()
        });
        let Self { request, events, collector, engine, before, disk, shell, budget, .. } = self;
        let (git, cost) = (shell.git, budget.cost().filter(|_| request.mode != RunMode::Apply));
        drop(disk);
        let before = before.await.unwrap_or_default();
        let actions = engine.tracker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut plan = (request.mode == RunMode::DryRun).then(|| {
            Plan::new(Planned {
                task: &request.task,
                agent: &request.agent.name,
                model: &request.model_name,
                base: before.base.clone(),
                actions,
                changes: &changes,
            })
        });
        let verified = before.snapshot.map(|snapshot| (snapshot.len(), snapshot.differences()));
        let (verified_files, differences) = verified.unwrap_or_default();
        if !differences.is_empty() && ended.status != Status::Failed {
            ended.status = Status::Failed;
            ended.reason = StopReason::CheckoutChanged;
        }
        if let Some(error) = &ended.error {
            events.notice(NoticeLevel::Error, error.to_string());
        }
        changed_checkout(&events, &differences, &collector);
        put_back(&events, git.as_deref());
        let exit = Exit::of(ended.status, ended.reason, ended.error.as_ref(), signal.is_terminate());
        events.emit(Event::End(End {
            status: ended.status,
            stop_reason: ended.reason,
            message: ended.message.clone(),
        }));
        let collected = collector.collected();
        if let Some(plan) = &mut plan {
            plan.gates.clone_from(&collected.gates);
            plan.guardrails.clone_from(&collected.guardrails);
            plan.hooks.clone_from(&collected.hooks);
            plan.usage = collected.usage;
        }
        let report = RunReport {
            schema_version: crate::report::SCHEMA_VERSION,
            id: String::new(),
            task: request.task.clone(),
            agent: request.agent.name.clone(),
            model: request.model_name.clone(),
            mode: request.mode,
            status: ended.status,
            stop_reason: ended.reason,
            exit_code: exit.code(),
            message: if ended.error.is_some() { String::new() } else { ended.message },
            started_at: String::new(),
            duration_ms: 0,
            steps: collected.steps,
            usage: collected.usage,
            cost_usd: cost,
            base: before.base,
            files: FileSummary::of(&changes),
            calls: collected.calls,
            plan: plan.as_ref().map(|plan| PlanReport {
                digest: plan.digest.clone(),
                actions: plan.actions.clone(),
                verified_files,
                differences,
            }),
            gates: collected.gates,
            hooks: collected.hooks,
            guardrails: collected.guardrails,
            notices: collected.notices,
            structured_output: structured,
            run_url: request.github.as_ref().and_then(|github| github.run_url.clone()),
        };
        Reported { report, plan, patch: changes.git_patch(&before.prefix), exit }
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

fn budget(request: &RunRequest, events: &Events) -> Budget {
    let costs = &request.config().costs;
    let price = request.prices.find(&request.model_name);
    let wanted = costs.budget_usd.is_some() || costs.warn_at_usd.is_some();
    if price.is_none() && wanted && request.mode != RunMode::Apply {
        let model = &request.model_name;
        let told = format!(
            "no price is known for {model}, so its cost cannot be limited; name one in `costs.prices_file`"
        );
        events.notice(NoticeLevel::Warning, told);
    }
    Budget::new(price, costs.budget_usd.map(Usd::get), costs.warn_at_usd.map(Usd::get))
}

fn guardrails(request: &RunRequest) -> Result<Guardrails, String> {
    let config = request.config();
    let ground = guardrails::Ground {
        root: &request.workspace,
        config_file: request.origin.file.as_deref(),
        allow_workflow_edits: config.workspace.allow_workflow_edits,
        allowed_only: config.commands.allowed_only == Some(true),
    };
    Guardrails::new(&config.guardrails, ground)
}

fn changed_checkout(events: &Events, differences: &[Difference], collector: &Collector) {
    if differences.is_empty() {
        return;
    }
    let hooks: Vec<String> = collector.collected().hooks.into_iter().map(|hook| hook.name).collect();
    let who =
        if hooks.is_empty() { String::new() } else { format!("; hooks that ran: {}", hooks.join(", ")) };
    let files = differences.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    events.notice(NoticeLevel::Error, format!("the checkout changed during a dry run: {files}{who}"));
}

/// Says what of Git's own folder a command, hook or gate had changed.
fn put_back(events: &Events, git: Option<&GitFolder>) {
    for Restored { path, after, back } in git.map_or_else(Vec::new, GitFolder::restored) {
        let done =
            if back { "it was put back" } else { "it could not be put back; do not use this checkout" };
        let path = path.display();
        events.notice(
            NoticeLevel::Error,
            format!("`{after}` changed {path}, which could run code later; {done}"),
        );
    }
}

/// Where throw-away copies go.
fn temp(request: &RunRequest) -> PathBuf {
    let runner = request.variables.get("RUNNER_TEMP").filter(|path| !path.is_empty());
    runner.map_or_else(std::env::temp_dir, PathBuf::from)
}
