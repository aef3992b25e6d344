//! Assembles a run: workspace, tools, hooks, guardrails, and engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use parking_lot::Mutex;
use sanitize::Masker;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use workspace::{
    AttachedWorkspace, DiskWorkspace, IsProtected, Judge, OverlayWorkspace, PathGlobs, TrackedWorkspace,
    Workspace, WorkspacePath,
};

use super::Run;
use super::agents_network::agents_network;
use super::attached::{Attached, attached};
use super::baseline::{Checkout, capture_baseline};
use super::context::Surroundings;
use super::shell_setup::{self, shell};
use super::signals::Clock;
use super::test_proof::test_command;
use super::tools::ToolSetup;
use crate::agent::{Dispatch, PendingMessages};
use crate::base::env::temporary;
use crate::command::sandbox::Sandbox;
use crate::command::{Shell, StandbySupervisor};
use crate::config::PlannedCommands;
use crate::engine::{Engine, Ledger, TodoTool};
use crate::event::{Events, NoticeLevel, RunMode};
use crate::guardrails::{self, Guardrails, InvalidGuardrail, tracked_files};
use crate::hooks::{HookContext, Hooks};
use crate::isolation::{BaseState, Isolation, IsolationSource};
use crate::mcp::{Server, Servers};
use crate::plan::JournalFolder;
use crate::report::Collector;
use crate::request::{Guide, InputError, JobRequest};
use crate::tool::{Access, BackgroundCommands, CommandTarget, Context, OutputLimits};

/// What only a run has in which an agent works.
pub(super) struct AgentExtras<'a> {
    /// Servers whose tools it gets.
    pub(super) servers: &'a [Server],
    /// Sends sub-agents.
    pub(super) dispatch: Arc<Dispatch>,
    /// The end of its time, if that is limited.
    pub(super) deadline: Option<Instant>,
    /// What the repository tells it.
    pub(super) guides: &'a [Guide],
    /// Whether a recipe takes the place of a model.
    pub(super) follows_recipe: bool,
}

/// A run that can begin, and what goes to its agent.
pub(super) struct Prepared<'a> {
    pub(super) run: Run<'a>,
    /// The servers that were started.
    pub(super) servers: Servers,
    /// What agents are told of the checkout.
    pub(super) surroundings: Surroundings,
}

impl<'a> Run<'a> {
    #[expect(
        clippy::too_many_lines,
        reason = "one part of a run after the other, in the order in which they need each other"
    )]
    pub(super) async fn prepare(
        request: &'a JobRequest,
        extras: Option<AgentExtras<'_>>,
        session: &str,
        (clock, interrupt): (&Clock, CancellationToken),
        events: Events,
        collector: Arc<Collector>,
        masker: Arc<Masker>,
    ) -> Result<Prepared<'a>, InputError> {
        let (config, cancel) = (request.config(), clock.token());
        let disk = DiskWorkspace::open(&request.workspace)
            .map_err(|error| InputError::Workspace { path: request.workspace.clone(), error })?;
        let disk = Arc::new(disk);
        let dry_run = request.mode == RunMode::DryRun;
        let guardrails = guardrails(request, clock).map_err(InputError::rules)?;
        let allowed_tests = PathGlobs::parse(&config.tests.allow).map_err(InputError::rules)?;
        test_command(config).map_err(InputError::rules)?;
        let (variables, keys) = (&request.variables, &request.secret_variables);
        let guardrails = Arc::new(guardrails);
        let temp = temporary(&request.variables);
        let Attached { outputs, folders } = attached(request, &masker, &events)?;
        let attached_folders: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_owned()).collect();
        let shell_context = shell_setup::ShellContext {
            workspace: &request.workspace,
            sensitive: &guardrails.sensitive(),
            held: request.repository.as_ref(),
            temp: &temp,
            attached: &attached_folders,
            shared: &request.shared_folders,
        };
        let shell = shell(config, variables, keys, shell_context, &events)?;
        let shell = Shell { time_limit: clock.limit(), ..shell };
        let agents_shell = Box::pin(agents_network(request, &shell, &events)).await?;
        let source = IsolationSource {
            root: disk.path().to_owned(),
            temp,
            sensitive: guardrails.sensitive(),
            tracked: tracked_files(request.repository.clone()),
            repository: request.repository.clone(),
            around: around(request),
            shares_folders: !request.shared_folders.is_empty(),
            journal: JournalFolder::of(disk.path(), request.repository.as_ref(), variables),
        };
        let site = RunWorkspace::new(request, &disk, source.clone(), &shell, &guardrails, &events);
        let RunWorkspace { workspace, tracked, planned, isolation, command_target, judge } = site;
        let records_commands = matches!(command_target, CommandTarget::Recorded(_));
        let pending = Arc::<PendingMessages>::default();
        let limits = OutputLimits {
            lines: config.commands.max_output_lines.count(),
            tokens: config.context.max_tool_result_tokens.count(),
            kept: outputs,
        };
        let background = Arc::<BackgroundCommands>::default();
        let tool_setup = ToolSetup {
            limits: limits.clone(),
            background: Arc::clone(&background),
            request,
            servers: extras.as_ref().map_or(&[], |extras| extras.servers),
            shell: &shell,
            agents_shell: &agents_shell,
            command_target,
            tracked: tracked.clone(),
            judge,
            deadline: extras.as_ref().and_then(|extras| extras.deadline),
            events: &events,
            cancel: &cancel,
        };
        let (mut registry, servers) = tool_setup.tools().await?;
        let ledger = Arc::<Ledger>::default();
        if let Some(extras) = &extras {
            registry.replace_async(Arc::clone(&extras.dispatch));
            registry.replace_async(Arc::new(TodoTool::new(
                Arc::clone(&ledger),
                events.clone(),
                &request.agent,
            )));
        }
        let setting = HookContext {
            isolation: Arc::clone(&isolation),
            workspace: request.workspace.clone(),
            session: session.to_owned(),
            dry_run,
            cancel: cancel.clone(),
            interrupt,
            events: events.clone(),
        };
        let hooks = Hooks::new(&config.hooks, setting).map_err(InputError::rules)?;
        let guides = extras.as_ref().map(|extras| extras.guides).unwrap_or_default();
        for guide in guides.iter().filter(|guide| !guide.is_committed) {
            let told = format!(
                "{} differs from the commit, and the agent is given it as it is here",
                guide.file.path
            );
            events.notice(NoticeLevel::Warning, told);
        }
        if extras.is_some() && !dry_run && request.repository.is_none() {
            let told =
                "the workspace is not in a Git repository, so what the run changes cannot be undone with Git";
            events.notice(NoticeLevel::Warning, told);
        }
        let explains_edits = !extras.as_ref().is_some_and(|extras| extras.follows_recipe);
        // Before the rest looks at the checkout as well: the first model call waits for this alone.
        let surroundings = extras.map(|_| Surroundings::of(workspace.as_ref(), guides)).unwrap_or_default();
        let rules = Arc::clone(&guardrails);
        let protected: Option<IsProtected> =
            (!dry_run).then(|| Arc::new(move |path: &WorkspacePath| rules.is_protected(path)) as _);
        let (baseline, ready) = capture_baseline(
            Checkout {
                root: request.workspace.clone(),
                repository: request.repository.clone(),
                // Each of many has a worktree or a clone of its own.
                is_fresh: !request.standalone,
            },
            request.out.clone(),
            protected,
            Arc::clone(&pending),
        );
        let context = Context {
            workspace: Arc::new(AttachedWorkspace::new(workspace, Arc::clone(&folders))),
            access: Access::Full,
            allow_delete: config.workspace.allow_delete,
            sensitive: guardrails.sensitive(),
            seen: Arc::default(),
            explains_edits,
            max_result_tokens: config.context.max_tool_result_tokens.count(),
            cancel: cancel.clone(),
        };
        let engine = Arc::new(Engine {
            registry,
            guardrails,
            hooks,
            mode: request.mode,
            context,
            attached: folders,
            ledger: Arc::clone(&ledger),
            background: Arc::clone(&background),
            mutations: AtomicU64::new(0),
            first_mutation: CancellationToken::new(),
            tracker: Mutex::default(),
            masker,
            max_result_tokens: config.context.max_tool_result_tokens.count(),
            events: events.clone(),
            cancel: cancel.clone(),
            untested: AtomicBool::new(false),
            baseline_ready: ready,
        });
        let run = Self {
            request,
            cancel,
            time_limit: clock.limit(),
            events,
            collector,
            engine,
            shell,
            isolation,
            source,
            records_commands,
            pending,
            limits,
            last_gates: Mutex::default(),
            background,
            tracked,
            planned,
            disk,
            baseline,
            allowed_tests,
            test_permission: OnceCell::new(),
        };
        Ok(Prepared { run, servers, surroundings })
    }
}

/// Where a run works.
struct RunWorkspace {
    workspace: Arc<dyn Workspace>,
    tracked: Option<Arc<TrackedWorkspace>>,
    planned: Option<Arc<OverlayWorkspace>>,
    isolation: Arc<Isolation>,
    command_target: CommandTarget,
    /// Judges what others change there.
    judge: Judge,
}

impl RunWorkspace {
    fn new(
        request: &JobRequest,
        disk: &Arc<DiskWorkspace>,
        source: IsolationSource,
        shell: &Shell,
        guardrails: &Arc<Guardrails>,
        events: &Events,
    ) -> Self {
        let judge = |workspace: Arc<dyn Workspace>| -> Judge {
            let rules = Arc::clone(guardrails);
            Arc::new(move |proposed| rules.judge(workspace.as_ref(), proposed))
        };
        let isolated = |below: BaseState, judge: &Judge| {
            // Gates and hooks have a home folder of their own.
            let sandbox = shell.sandbox.as_ref().map(Sandbox::trusted);
            let trusted = Shell { sandbox, standby: StandbySupervisor::default(), ..shell.clone() };
            Arc::new(Isolation::new(below, source, trusted, events.clone(), Arc::clone(judge)))
        };
        if request.mode != RunMode::DryRun {
            let real = Arc::new(TrackedWorkspace::new(Arc::clone(disk)));
            let judge = judge(Arc::clone(&real) as _);
            let isolation = isolated(BaseState::Real(Arc::clone(&real)), &judge);
            let command_target = CommandTarget::Checkout(Arc::clone(&isolation));
            return Self {
                workspace: Arc::clone(&real) as _,
                tracked: Some(real),
                planned: None,
                isolation,
                command_target,
                judge,
            };
        }
        let planned = Arc::new(OverlayWorkspace::new(Arc::clone(disk)));
        let judge = judge(Arc::clone(&planned) as _);
        let isolation = isolated(BaseState::Planned(Arc::clone(&planned)), &judge);
        // Without a sandbox, nothing would keep a command from the checkout itself.
        let default = if shell.is_sandboxed() { PlannedCommands::Isolated } else { PlannedCommands::Record };
        let command_target = match request.config().dry_run.commands.unwrap_or(default) {
            PlannedCommands::Isolated => CommandTarget::Planned(Arc::clone(&isolation)),
            PlannedCommands::Record => CommandTarget::Recorded(Arc::clone(&isolation)),
        };
        let workspace = Arc::clone(&planned) as _;
        Self { workspace, tracked: None, planned: Some(planned), isolation, command_target, judge }
    }
}

fn guardrails(request: &JobRequest, clock: &Clock) -> Result<Guardrails, InvalidGuardrail> {
    let config = request.config();
    let guardrail_context = guardrails::GuardrailContext {
        location: request.location.clone(),
        config_file: request.origin.file.as_deref(),
        programs: &request.programs,
        allow_workflow_edits: config.workspace.allow_workflow_edits,
        allowed_only: config.commands.allowed_only == Some(true),
        time_limit: clock.limit(),
        ..guardrails::GuardrailContext::of_repository(request.repository.as_ref(), &request.workspace)
    };
    Guardrails::new(&config.guardrails, guardrail_context)
}

/// Returns the root of the repository if the checkout is a subfolder of it. A repository that contains the home folder, too,
/// is not shown.
fn around(request: &JobRequest) -> Option<PathBuf> {
    let root = request.repository.as_ref()?.root();
    let home = request.variables.get("HOME").map(Path::new);
    let holds_home = home.is_some_and(|home| home.starts_with(root));
    let is_within = request.workspace.starts_with(root) && request.workspace != root;
    (is_within && !holds_home).then(|| root.to_owned())
}
