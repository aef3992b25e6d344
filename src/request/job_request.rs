//! Request of any job, whether an agent works or a plan is applied.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use sanitize::secret_names::passwords;
use time::format_description::well_known::Rfc3339;
use workspace::{DiskWorkspace, ProgramFiles, WorkspaceLocation};

use super::base_files::base_files;
use super::context::{RequestContext, rooted};
use super::files::out;
use super::programs::Programs;
use super::refusal::ProgramRefusal;
use super::values::DESCRIBED;
use super::{Deliver, InputError, Inputs, ModelChoice, credentials};
use crate::base::bounded::Bounded;
use crate::base::clock::now_utc;
use crate::base::env::Variables;
use crate::base::time_slots::SharedRate;
use crate::command::{BaseFiles, sandbox::SharedFolder};
use crate::config::hosts::sets_of;
use crate::config::{Config, GateConfig, Hooks, HostRule};
use crate::event::{Expectation, RunMode, Status};
use crate::git::Repository;
use crate::github::{self, BranchStates, Environment, PlanMark};
use crate::guardrails::{GuardrailContext, Guardrails};
use crate::mcp::Server;
use crate::plan::{JournalFolder, Made, recover};
use crate::trust::{Origin, Trust};

/// What every job needs to know.
#[derive(Debug)]
pub struct JobRequest {
    /// What to do, or what the plan was made for.
    pub task: String,
    /// Text that the agent reads before the task.
    pub preface: Option<String>,
    /// How.
    pub mode: RunMode,
    /// The name of the agent that works, or that has planned.
    pub agent: String,
    /// Its model, as people name it.
    pub model_name: String,
    /// Where: an existing folder, absolute.
    pub workspace: PathBuf,
    /// Where it is in its repository, or in the checkout if that is none.
    pub location: WorkspaceLocation,
    /// Its repository.
    pub repository: Option<Repository>,
    /// Programs of the workspace that hooks, the model and MCP servers are; the run must not change them.
    pub programs: ProgramFiles,
    /// Where programs with a secret start; `None` if that is the checkout, or if there are none.
    pub base_files: Option<Arc<BaseFiles>>,
    /// The configuration and its origin; limits and model are already those of this job.
    pub origin: Origin,
    /// Where the files of the job go; an existing folder.
    pub out: PathBuf,
    /// GitHub, if the job is for it.
    pub github: Option<Environment>,
    /// Where changes go.
    pub deliver: Deliver,
    /// What the job is expected to leave behind.
    pub expected: Expectation,
    /// The plan of the comment that is applied; the comment continues to show it if that fails.
    pub applies: Option<PlanMark>,
    /// All variables of the process.
    pub variables: Variables,
    /// Variables that hold secrets besides those that look like it.
    pub secret_variables: Vec<String>,
    /// Secrets that no variable holds: credentials that the checkout keeps for Git.
    pub secrets: Vec<String>,
    /// What people should know before the job starts.
    pub warnings: Vec<String>,
    /// The sets of hosts that the agent's commands can ask for, if the configuration says nothing and this is CI.
    pub default_hosts: Option<Vec<HostRule>>,
    /// Whether this is a job by itself, and not one of many.
    pub standalone: bool,
    /// Folders that the checkout shares with that of a batch.
    pub shared_folders: Vec<SharedFolder>,
    /// Rate of requests to the model that other processes have a share in.
    pub(crate) shared_rate: Option<SharedRate>,
    /// Number of pull requests that the process has delivered to so far.
    pub pull_requests: Arc<AtomicUsize>,
    /// When its time is up.
    pub deadline: Option<std::time::Instant>,
    /// States of the branches that all jobs of the process deliver to.
    pub branches: Option<Arc<BranchStates>>,
}

impl JobRequest {
    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.origin.config
    }

    /// Returns where plans of this job are made, but for what came of it; `None` outside of GitHub Actions.
    pub fn origin_of_plans(&self) -> Option<Made> {
        let github = self.github.as_ref()?;
        Some(Made {
            repository: github.full_name(),
            folder: self.folder(),
            workflow: self.variables.get("GITHUB_WORKFLOW_REF").filter(|text| !text.is_empty()).cloned(),
            run: github.run_id?,
            commit: github.commit().map(str::to_owned),
            at: now_utc().format(&Rfc3339).ok(),
            status: Status::Failed,
            gates: Vec::new(),
        })
    }

    /// Returns the folder of the repository that is worked on; `None` for its root.
    pub(super) fn folder(&self) -> Option<String> {
        let prefix = self.repository.as_ref().map(Repository::prefix).unwrap_or_default();
        prefix.strip_suffix('/').map(str::to_owned)
    }

    /// Notes that the branch of the pull request is at another commit than the event says.
    pub(super) fn move_to(&mut self, commit: &str) {
        if let Deliver::PullBranch { at, .. } = &mut self.deliver {
            *at = Some(commit.to_owned());
        }
        let subject = self.github.as_mut().map(|github| &mut github.subject);
        if let Some(github::Subject::PullRequest { head: Some(head), .. }) = subject {
            commit.clone_into(&mut head.sha);
        }
    }

    /// Returns number and title of the issue or pull request, where they are the task and the text of the task is only
    /// how the agent is told so.
    pub fn short_task(&self) -> Option<String> {
        let github = self.github.as_ref().filter(|_| self.task.starts_with(DESCRIBED))?;
        Some(format!("#{} {}", github.number()?, github.about.as_ref()?.title))
    }
}

/// What a job is about.
pub(super) struct Subject {
    pub(super) task: String,
    pub(super) mode: RunMode,
    pub(super) agent: String,
    pub(super) model_name: String,
    pub(super) secret_variables: Vec<String>,
}

/// A request in the making: all that does not depend on what the job does.
pub(super) struct Draft<'a> {
    context: &'a RequestContext<'a>,
    inputs: &'a Inputs,
    pub(super) origin: Origin,
    pub(super) workspace: PathBuf,
    repository: Option<Repository>,
    /// Servers that may be started.
    pub(super) servers: Vec<Server>,
    /// Programs of the checkout that the run starts by itself.
    programs: ProgramFiles,
    /// Where those start that get a secret.
    base_files: Option<Arc<BaseFiles>>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(context: &'a RequestContext<'a>, inputs: &'a Inputs) -> Result<Self, InputError> {
        let mut origin = context.origin.clone();
        let mut warnings = context.warnings.clone();
        let mut workspace = rooted(&context.checkout, &origin.config.workspace.root)?;
        if let Some(folder) = &inputs.folder {
            workspace = rooted(&workspace, folder)?;
        }
        if inputs.in_ci && origin.config.commands.allowed_only.replace(true) == Some(false) {
            warnings.push(
                "`commands.allowed_only` is always true in CI, so `false` in the configuration is ignored"
                    .to_owned(),
            );
        }
        let commands = &origin.config.commands;
        let opened =
            [("readable_paths", &commands.readable_paths), ("writable_paths", &commands.writable_paths)];
        for (key, paths) in opened {
            paths.iter().try_for_each(|path| context.check_opened(&workspace, key, path))?;
        }
        let servers = Server::all(&origin.config.mcp.servers).map_err(InputError::rules)?;
        let repository = context.repository.as_ref().map(|repository| repository.seen_from(&workspace));
        let (programs, base_files) = (ProgramFiles::default(), None);
        Ok(Self { context, inputs, origin, workspace, repository, servers, programs, base_files, warnings })
    }

    /// Returns where the workspace is in its repository.
    fn location(&self) -> WorkspaceLocation {
        let root = self.repository.as_ref().map_or(self.context.checkout.as_path(), Repository::root);
        WorkspaceLocation::below(root, &self.workspace)
    }

    /// Rolls back an apply that was interrupted. It comes before anything of the checkout is compared with its base or
    /// looked at for changes, so that what it writes is looked at as well. A dry run changes nothing: it is refused.
    pub(super) fn roll_back(&mut self, mode: RunMode) -> Result<(), InputError> {
        let path = &self.workspace;
        let journal = JournalFolder::of(path, self.repository.as_ref(), &self.inputs.variables);
        if mode == RunMode::DryRun {
            return Ok(journal.check_complete()?);
        }
        if !journal.exists() {
            return Ok(());
        }
        let disk = DiskWorkspace::open(path);
        let disk = disk.map_err(|error| InputError::Workspace { path: path.clone(), error })?;
        let ground = GuardrailContext {
            location: self.location(),
            config_file: self.origin.file.as_deref(),
            allow_workflow_edits: self.origin.config.workspace.allow_workflow_edits,
            ..GuardrailContext::of_repository(self.repository.as_ref(), path)
        };
        let guardrails =
            Guardrails::new(&self.origin.config.guardrails, ground).map_err(InputError::rules)?;
        if recover(&disk, &journal, |path| Ok(guardrails.check_write(path)?), &|_| {})? {
            self.warnings.push("an earlier apply was interrupted; its files were restored".to_owned());
        }
        Ok(())
    }

    /// Checks the programs of hooks and servers, and leaves out servers that must not be started.
    pub(super) fn check_programs(&mut self) -> Result<(), InputError> {
        let Self { context, repository, workspace, inputs, programs, origin, servers, warnings, .. } = self;
        let known = known(context, repository.as_ref(), workspace, inputs);
        known.check_hooks(&origin.config.hooks, programs)?;
        known.keep_servers(servers, programs, |warning| warnings.push(warning));
        known.doubt_gates(&origin.config.guardrails.quality_gates, |warning| warnings.push(warning));
        Ok(())
    }

    /// Checks the program or the transcript that is the model, where it is one.
    pub(super) fn check_model(&mut self, model: &ModelChoice) -> Result<(), ProgramRefusal> {
        let Self { context, repository, workspace, inputs, programs, .. } = self;
        let known = known(context, repository.as_ref(), workspace, inputs);
        match model {
            ModelChoice::Exec { command, variables } => {
                known.check_line(command, !variables.is_empty(), programs)
            }
            ModelChoice::Replay { file, .. } => {
                let file = std::path::absolute(file).map_err(ProgramRefusal::Place)?;
                known.check_file(&file)
            }
            ModelChoice::Provider { .. } | ModelChoice::Recipe(_) => Ok(()),
        }
    }

    /// Writes the files of the base commit where a program with a secret has to start among them.
    pub(super) fn write_base_files(&mut self, model: &ModelChoice) -> Result<(), ProgramRefusal> {
        let Self { context, workspace, servers, warnings, .. } = self;
        self.base_files = base_files(context, workspace, model, servers, |told| warnings.push(told))?;
        Ok(())
    }

    /// Removes from the configuration what would execute something of the checkout. Returns the names of its required gates.
    pub(super) fn execute_nothing(&mut self) -> Vec<String> {
        let config = &mut self.origin.config;
        config.hooks = Hooks::default();
        config.commands.enabled = false;
        self.servers = Vec::new();
        let gates = std::mem::take(&mut config.guardrails.quality_gates);
        gates.into_iter().filter(|gate| gate.required).map(|gate| gate.name).collect()
    }

    /// Returns why nothing may be changed here, where that is so.
    pub(super) fn plans_only(&self) -> Option<&'static str> {
        let github = self.context.github.as_ref()?;
        if github.is_fork() {
            return Some("the pull request is from a fork");
        }
        github
            .is_after_another_run()
            .then_some("another workflow's run may have been about anybody's pull request")
    }

    /// Makes the checks gates after each of which a round may end the run: the agent is not sent back to work by them,
    /// but begins again. Returns the most rounds, where there are rounds.
    pub(super) fn rounds(&mut self) -> Option<u32> {
        let Inputs { until, max_rounds, .. } = self.inputs;
        if until.is_empty() {
            return None;
        }
        let rules = &mut self.origin.config.guardrails;
        rules.quality_gates.extend(until.iter().map(|check| GateConfig {
            name: check.clone(),
            command: check.clone(),
            required: true,
            timeout: Bounded::fixed::<600>(),
            network: None,
        }));
        rules.max_gate_rounds = Bounded::fixed::<1>();
        let most = max_rounds.unwrap_or(Bounded::fixed::<10>());
        Some(u32::try_from(most.get()).unwrap_or(u32::MAX))
    }

    /// Completes the request. `by_comment` says whether a comment has asked for what is delivered: it goes to the
    /// branch of its pull request then.
    pub(super) fn complete(mut self, subject: Subject, by_comment: bool) -> Result<JobRequest, InputError> {
        let Subject { task, mode, agent, model_name, mut secret_variables } = subject;
        let (inputs, github) = (self.inputs, self.context.github.clone());
        secret_variables.extend(self.servers.iter().filter_map(Server::token_variable).map(str::to_owned));
        overrule(inputs, &mut self.origin.config);
        let config = &self.origin.config;
        let deliver = Deliver::new(config, github.as_ref(), (&agent, &task), mode, by_comment)?;
        let deliver = match &inputs.task_id {
            Some(id) => deliver.with_id(id),
            None => deliver,
        };
        let out = out(inputs)?;
        if mode == RunMode::DryRun
            && self.workspace.canonicalize().is_ok_and(|workspace| workspace.starts_with(&out))
        {
            return Err(InputError::OutHoldsCheckout(out));
        }
        let asks = inputs.in_ci && config.commands.network.is_none();
        let default_hosts = asks.then(|| sets_of(|name| self.has_manifest(name)));
        let mut secrets = self.repository.as_ref().map(credentials::of_checkout).unwrap_or_default();
        if !secrets.is_empty() && config.commands.enabled && mode != RunMode::DryRun {
            self.warnings.push(
                "the checkout contains a Git credential, which a command could read; check it out with \
                 `persist-credentials: false`"
                    .to_owned(),
            );
        }
        secrets.extend(crate::telemetry::secrets(&inputs.variables));
        secrets.extend(self.servers.iter().flat_map(Server::secrets));
        let addresses = [&config.llm.base_url, &config.review.base_url];
        secrets.extend(addresses.into_iter().flatten().flat_map(|url| passwords(url)).map(str::to_owned));
        Ok(JobRequest {
            location: self.location(),
            task,
            preface: None,
            mode,
            agent,
            model_name,
            workspace: self.workspace,
            repository: self.repository,
            programs: self.programs,
            base_files: self.base_files,
            origin: self.origin,
            out,
            github,
            deliver,
            expected: Expectation::Any,
            applies: None,
            variables: inputs.variables.clone(),
            secret_variables,
            secrets,
            warnings: self.warnings,
            default_hosts,
            standalone: true,
            shared_folders: Vec::new(),
            shared_rate: None,
            pull_requests: Arc::default(),
            deadline: inputs.deadline,
            branches: None,
        })
    }

    /// Returns whether the trusted state of the workspace has a file of this name at its root. A pull request could name
    /// more hosts than its base does.
    fn has_manifest(&self, name: &str) -> bool {
        match &self.context.trust {
            Trust::Checkout => self.workspace.join(name).is_file(),
            Trust::Base(commit) => self.repository.as_ref().is_some_and(|repository| {
                let path = format!("{}{name}", repository.prefix());
                repository.entry_at(commit, &path).is_ok_and(|entry| entry.is_some())
            }),
        }
    }
}

/// Returns what the programs of a checkout are compared with.
fn known<'a>(
    context: &'a RequestContext<'_>,
    repository: Option<&'a Repository>,
    workspace: &'a Path,
    inputs: &'a Inputs,
) -> Programs<'a> {
    Programs { trust: &context.trust, repository, workspace, variables: &inputs.variables }
}

/// Inputs stand above the configuration.
fn overrule(inputs: &Inputs, config: &mut Config) {
    if let Some(comment) = inputs.comment {
        config.github.comment = comment;
    }
    if let Some(key) = &inputs.comment_key {
        config.github.comment_key.clone_from(key);
    }
    if let Some(to) = inputs.deliver {
        config.deliver.to = to;
    }
    if let Some(enabled) = inputs.commands {
        config.commands.enabled = enabled;
    }
    if let Some(budget) = inputs.budget_usd {
        config.costs.budget_usd = Some(budget);
    }
}
