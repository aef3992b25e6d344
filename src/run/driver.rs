//! Drives the agent: its model, its conversation in one go or in rounds, and what checks its answers.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use sanitize::Masker;
use serde_json::json;
use workspace::{Checks, Damage};

use super::acceptance::Acceptance;
use super::agent_run::AgentRun;
use super::base_gates::BaseGates;
use super::briefing::Briefing;
use super::budget::budget;
use super::chosen_model::model;
use super::code_review::CodeReview;
use super::first_request::{MAX_COUNTED_TASK, outline_budget};
use super::prepare::{AgentExtras, Prepared};
use super::pull_review::{INSTRUCTION, PullReview};
use super::self_check::SelfCheck;
use super::setup::RunSetup;
use super::shell_setup::MODEL;
use super::signals::Clock;
use super::structured::{self, Structured};
use super::{Outcome, Run, Signal, context};
use crate::agent::{Agent, Dispatch, Guides, Limits, RepoMap, Session, StepOffset, SubagentContext};
use crate::base::clock::now_utc;
use crate::base::fs::lock_folder;
use crate::config::{Isolation as GateIsolation, ProveTests};
use crate::event::{NoticeLevel, RunMode, Status, StopReason};
use crate::gates::GateOutcome;
use crate::git::Repository;
use crate::hooks::{HookEvent, Subject};
use crate::model::{Backoff, ChatModel, ExecModel, ExecOptions, MaskedModel};
use crate::recipe::{MatchTable, RecipePlayer};
use crate::request::{InputError, JobRequest, ModelChoice, RunRequest};
use crate::tool::Tool;

/// The first wait before a failed model call is tried again.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// What an agent's work came to, before it is reported.
pub(super) struct Worked<'a> {
    /// Held until the report is written.
    _alone: Option<File>,
    pub(super) setup: RunSetup,
    pub(super) run: Run<'a>,
    pub(super) outcome: Outcome,
}

/// Lets an agent work on a task to its end. The clock ends what is done after the work as well, such as the last hooks.
pub(super) async fn work<'a>(
    request: &'a RunRequest,
    masker: &Arc<Masker>,
    signal: &Signal,
    clock: &Clock,
) -> Result<Worked<'a>, InputError> {
    let alone = lock_checkout(&request.job)?;
    let setup = RunSetup::new(&request.job, request.resumed.as_ref(), true, masker)?;
    // The client loads root certificates meanwhile.
    let model = tokio::task::spawn_blocking({
        let (choice, llm) = (request.model.clone(), request.job.config().llm.clone());
        let shared_rate = request.job.shared_rate.clone();
        let past = request.resumed.as_ref().map(|resumed| resumed.lines.clone()).unwrap_or_default();
        move || model(choice, llm, shared_rate, &past)
    });
    let mut run = Box::pin(AgentRun::prepare(request, &setup, signal, clock, masker)).await?;
    let model = model
        .await
        .unwrap_or_else(|error| Err(InputError::rules(format!("could not set up the model: {error}"))))?;
    let model: Arc<dyn ChatModel> = Arc::new(MaskedModel::new(run.model(model)?, Arc::clone(masker)));
    let limits = run.limits();
    let code_review = run.code_review(&model, &limits)?;
    run.base = BaseGates::start(&run);
    let mut outcome = Box::pin(run.work(Arc::clone(&model), limits, code_review.as_ref())).await;
    model.end().await;
    // Before the proof that a dry run changed nothing.
    run.base.stop().await;
    run.stop_servers(&mut outcome).await;
    Ok(Worked { _alone: alone, setup, run: run.run, outcome })
}

/// Keeps other runs from changing the same checkout, if this one changes it; the lock ends with the file.
pub(super) fn lock_checkout(job: &JobRequest) -> Result<Option<File>, InputError> {
    if job.mode == RunMode::DryRun {
        return Ok(None);
    }
    let path = &job.workspace;
    let lock = lock_folder(path).map_err(|error| InputError::Workspace { path: path.clone(), error })?;
    lock.map(Some).ok_or_else(|| InputError::CheckoutInUse(path.clone()))
}

impl<'a> AgentRun<'a> {
    async fn prepare(
        request: &'a RunRequest,
        setup: &RunSetup,
        signal: &Signal,
        clock: &Clock,
        masker: &Arc<Masker>,
    ) -> Result<Self, InputError> {
        let budget = Arc::new(budget(request, setup.events(), clock.token())?);
        let dispatch = Arc::new(Dispatch::new(Arc::clone(&budget)));
        let extras = AgentExtras {
            servers: &request.servers,
            dispatch: Arc::clone(&dispatch),
            deadline: clock.deadline(),
            guides: &request.guides,
            follows_recipe: matches!(request.model, ModelChoice::Recipe(_)),
        };
        let prefix = request.job.repository.as_ref().map(Repository::prefix).unwrap_or_default();
        let Prepared { run, servers, surroundings } =
            setup.prepare(&request.job, Some(extras), (clock, signal), masker).await?;
        let mut run = Self {
            run,
            request,
            budget,
            dispatch,
            servers,
            surroundings,
            base: BaseGates::default(),
            is_unchecked: AtomicBool::default(),
            test_findings: Mutex::default(),
            shown: Mutex::default(),
            matches: Arc::new(MatchTable::new(prefix)),
            regained: Vec::new(),
        };
        if request.resumed.is_none() {
            setup.announce(&request.job);
        }
        if request.job.standalone {
            setup.save_session(request, masker);
        }
        run.take_up(setup, request.resumed.as_ref()).await?;
        setup.warn(&request.job);
        Ok(run)
    }

    /// The model; those that work on the run's own ground are made here.
    fn model(&self, made: Option<Arc<dyn ChatModel>>) -> Result<Arc<dyn ChatModel>, InputError> {
        let (job, agent) = (&self.request.job, &self.request.agent.name);
        Ok(match (made, &self.request.model) {
            (Some(model), _) => model,
            (None, ModelChoice::Exec { command, variables }) => Arc::new(ExecModel::new(
                &job.model_name,
                ExecOptions {
                    command: command.clone(),
                    shell: self.run.shell.of(MODEL),
                    root: job.workspace.clone(),
                    base: job.base_files.clone().filter(|_| !variables.is_empty()),
                    variables: variables.clone(),
                    answer_timeout: job.config().llm.timeout.seconds(),
                },
            )),
            (None, ModelChoice::Recipe(recipe)) => {
                let (context, matches) = (self.run.engine.context.clone(), Arc::clone(&self.matches));
                Arc::new(RecipePlayer::new(&job.model_name, agent, recipe, context, matches))
            }
            (None, _) => return Err(InputError::NoModel),
        })
    }

    /// What its sessions must not exceed.
    fn limits(&self) -> Limits {
        let config = self.request.job.config();
        Limits {
            deadline: self.request.job.deadline,
            time: self.run.time_limit.clone(),
            context_tokens: config.context.max_context_tokens.count(),
            parallel_tools: config.context.parallel_tools,
            compaction: (
                config.context.summarize_after_steps.count(),
                config.context.keep_recent_steps.count(),
            ),
            refresh: config.context.refresh_files.clone().into(),
            backoff: Backoff { retries: config.llm.retries.count(), first: FIRST_WAIT },
        }
    }

    async fn work(
        &self,
        model: Arc<dyn ChatModel>,
        limits: Limits,
        code_review: Option<&CodeReview>,
    ) -> Outcome {
        let mut agent = self.request.agent.clone();
        agent.adopt(self.servers.tools.iter().map(|tool| (tool.name(), tool.is_read_only())));
        if self.request.output_schema.is_some() {
            agent.prompt += structured::INSTRUCTION;
        }
        let pull_review = PullReview::of(&self.run, &agent, self.request.output_schema.is_some()).await;
        let (was_checked, pull_review) = (pull_review.is_ok(), pull_review.ok().flatten());
        agent.prompt += pull_review.as_ref().map_or("", |_| INSTRUCTION);
        self.dispatch.begin(SubagentContext {
            engine: Arc::downgrade(&self.run.engine),
            model: Arc::clone(&model),
            limits: limits.clone(),
            surroundings: self.masked(&self.surroundings.text(RepoMap::MOST)),
        });
        let past = self.request.resumed.as_ref().filter(|_| self.request.rounds.is_none());
        let history = past.map(|resumed| self.history(resumed)).unwrap_or_default();
        let guides = self.guides();
        let briefing = Briefing {
            job: &self.request.job,
            agent: &agent,
            shell: &self.run.shell,
            records_commands: self.run.records_commands,
            workspace: self.run.engine.context.workspace.as_ref(),
            attached: &self.run.engine.attached,
            timeout: self.request.timeout.map(|timeout| timeout.as_secs()),
            today: now_utc().date(),
        }
        .text();
        let system = self.system_prompt(&agent, &briefing);
        let session = |offset| {
            // Each conversation begins with it.
            self.run.pending.add(briefing.trim_end());
            Session {
                history: history.clone(),
                system: system.clone(),
                agent: &agent,
                engine: &self.run.engine,
                model: Arc::clone(&model),
                limits: limits.clone(),
                budget: &self.budget,
                cancel: self.run.cancel.clone(),
                is_main: true,
                offset,
                pending: Arc::clone(&self.run.pending),
                guides: guides.clone(),
            }
        };
        let structured = self.request.output_schema.as_ref().map(Structured::new);
        let acceptance = |round| {
            let self_check = SelfCheck { model: Arc::clone(&model), limits: limits.clone() };
            Acceptance::new(self, structured.as_ref(), self_check, code_review, round)
                .of_findings(pull_review.as_ref())
        };
        let task = context::task(
            &self.request.job.task,
            self.request.job.github.as_ref(),
            self.request.job.repository.as_ref(),
        );
        let task = match &self.request.job.preface {
            Some(preface) => format!("{preface}\n\n{task}"),
            None => task,
        };
        let task = pull_review.as_ref().map_or(task.clone(), |review| review.with_changes(&task));
        let task = self.run.engine.masker.mask_known(&task);
        let mut ended = match self.request.rounds {
            None => {
                session(StepOffset { step: history.step, subagent_steps: 0 })
                    .run(&task, &mut acceptance(1))
                    .await
            }
            Some(most) => self.rounds(most, &task, session, acceptance).await,
        };
        // It may have ended before its change was judged, or changed more since.
        self.judge_tests().await;
        self.conclude(&mut ended);
        if let Some(error) = &ended.error {
            let details = json!({"error": error.to_string(), "stop_reason": ended.reason});
            self.run.engine.hooks.run(HookEvent::OnError, Subject::of_run(&agent.name, 0, details)).await;
        }
        if !was_checked && ended.reason == StopReason::LlmDone {
            ended.reason = StopReason::NotChecked;
        }
        let reviewed = pull_review.and_then(|review| review.conclude(&self.run, &mut ended));
        let value = structured.and_then(|structured| structured.value(&ended.message));
        Outcome {
            ended,
            structured: value,
            cost_usd: self.budget.cost(),
            test_findings: self.test_findings(),
            proof: self.shown_now(),
            carried: None,
            reviewed,
            matches: Arc::clone(&self.matches),
        }
    }

    /// Returns the guides of folders, as the trusted commit has them. A recipe reads none.
    fn guides(&self) -> Guides {
        if matches!(self.request.model, ModelChoice::Recipe(_)) {
            return Guides::default();
        }
        let (Some(repository), Some(commit)) =
            (self.request.job.repository.clone(), self.request.guide_commit.clone())
        else {
            return Guides::default();
        };
        let prefix = repository.prefix();
        let masker = Arc::clone(&self.run.engine.masker);
        Guides::new(Arc::new(move |path| {
            let bytes = repository.read_at(&commit, &format!("{prefix}{path}")).ok()??;
            Some(masker.mask_known(&String::from_utf8_lossy(&bytes)).into_owned())
        }))
    }

    /// Ends other people's servers. A checkout that holds something of theirs which could not be put back fails the run.
    async fn stop_servers(&mut self, outcome: &mut Outcome) {
        self.report_doubts();
        let servers = std::mem::take(&mut self.servers);
        if servers.is_empty() {
            return;
        }
        // What a gate has passed is what is delivered.
        let checks = if self.has_checks() && !self.skips_gates() { Checks::Done } else { Checks::Pending };
        if let Err(damage) = servers.stop(checks).await {
            self.tell_of_damage(&damage);
            if outcome.ended.reason.status() != Status::Failed {
                outcome.ended.reason = StopReason::CheckoutChanged;
            }
        }
    }

    fn tell_of_damage(&self, damage: &Damage) {
        let message = format!("an MCP server changed the checkout: {damage}");
        self.run.events.notice(NoticeLevel::Error, message);
    }

    /// Runs the gates, unless the configuration has a dry run skip them. The error has been told already.
    pub(super) async fn gates(&self, round: u32) -> Result<Vec<GateOutcome>, ()> {
        if self.skips_gates() {
            self.run.events.notice(NoticeLevel::Info, "quality gates were skipped (dry_run.gates: skip)");
            return Ok(Vec::new());
        }
        if let Err(damage) = self.servers.settle(Checks::Pending).await {
            self.tell_of_damage(&damage);
        }
        self.run.gates(round).await
    }

    /// Returns whether there are gates, or tests to run, and the configuration has this dry run skip them.
    pub(super) fn skips_gates(&self) -> bool {
        self.run.tracked.is_none()
            && self.request.job.config().dry_run.gates == GateIsolation::Skip
            && self.has_checks()
            // Rounds are there for their checks.
            && self.request.rounds.is_none()
    }

    /// Returns whether there are gates, or tests to run.
    fn has_checks(&self) -> bool {
        let config = self.request.job.config();
        !config.guardrails.quality_gates.is_empty()
            || config.tests.prove != ProveTests::Off
            || config.tests.mutate.get() > 0
    }

    /// Returns the system prompt of the run's agent. The outline of the checkout takes what the rest of the first request leaves.
    fn system_prompt(&self, agent: &Agent, briefing: &str) -> String {
        let mut system = agent.prompt.trim_end().to_owned();
        if let Some(schema) = &self.request.output_schema {
            system += &format!("\n\nSchema of your final answer:\n{schema}");
        }
        let task = &self.request.job.task;
        let texts = [system.as_str(), briefing, &task[..task.floor_char_boundary(MAX_COUNTED_TASK)]];
        let outline = outline_budget(&self.run.engine.registry, agent, &texts);
        system + &self.masked(&self.surroundings.text(outline))
    }

    fn masked(&self, text: &str) -> String {
        self.run.engine.masker.mask_known(text).into_owned()
    }
}
