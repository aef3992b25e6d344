//! Errors of inputs: what is wrong, and what to write instead.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use super::deliver_error::DeliverError;
use super::refusal::{BatchRefusal, ProgramRefusal};
use crate::agent::UnknownAgent;
use crate::base::did_you_mean::nearest;
use crate::base::error::chain;
use crate::base::network_clock::CutOff;
use crate::config::ConfigError;
use crate::event::{Exit, RunMode};
use crate::github::{ApiError, EnvironmentError, RecordError};
use crate::model::{NameError, UnsetVariable};
use crate::recipe::RecipeError;
use crate::report::JunitError;
use crate::report::masked::MaskError;
use crate::sessions::SessionError;

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Neither `task` nor `task-file`.
    #[error("no task is set; set `task` (a text) or `task-file` (a Markdown file)")]
    NoTask,
    /// Both.
    #[error("both `task` and `task-file` are set; remove one of them")]
    TwoTasks,
    /// The task is there but says nothing.
    #[error("the task {0} is empty")]
    EmptyTask(String),
    /// A folder of `workspace.extra_dirs` that cannot be read.
    #[error("workspace.extra_dirs: {given}: {problem}")]
    ExtraFolder {
        /// As written.
        given: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A mode that is not known.
    #[error("invalid value {given:?} for `mode`{}; use `dry-run` or `yolo` (on a terminal also `confirm-all` \
             or `confirm-sensitive`)", did_you_mean(near.as_deref()))]
    UnknownMode {
        /// As written.
        given: String,
        /// The nearest mode.
        near: Option<String>,
    },
    /// A mode that asks, and nobody to answer.
    #[error(
        "`mode` is `{0}`, but there is no TTY available for confirmation; in CI use --mode yolo or --mode \
         dry-run"
    )]
    ModeNeedsTerminal(RunMode),
    /// No model anywhere.
    #[error(
        "no model is set; set `model` to `provider::name`, for example `anthropic::claude-sonnet-4-6`, or \
         `replay::FILE`"
    )]
    NoModel,
    /// A model's name that makes no sense.
    #[error(transparent)]
    ModelName(#[from] NameError),
    /// The key is not there.
    #[error(
        "the variable `{variable}` with the model's key is not set or empty; pass it to the step with \
         `env:`, or name another one with `api-key-env`"
    )]
    MissingKey {
        /// The variable.
        variable: String,
    },
    /// The key is not there, because GitHub gives none to a fork.
    #[error(
        "the pull request is from a fork, whose runs get no secrets from GitHub, so `{variable}` is empty; skip such \
         pull requests with `if: github.event.pull_request.head.repo.full_name == github.repository`, or plan them \
         with the sample workflows fork-plan.yml and fork-comment.yml, which need no key"
    )]
    NoKeyForFork {
        /// The variable.
        variable: String,
    },
    /// The provider's address is not there.
    #[error(transparent)]
    MissingAddress(#[from] UnsetVariable),
    /// An agent that nobody defined.
    #[error(transparent)]
    Agent(#[from] UnknownAgent),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The recipe is wrong.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// An event that starts no batch.
    #[error("the batch is not started: {0}")]
    BatchNotStarted(#[source] BatchRefusal),
    /// A batch whose JUnit report cannot be rendered.
    #[error("could not render `junit.xml`: {0}")]
    Junit(#[source] JunitError),
    /// The list of tasks of a batch is wrong, what an earlier start of it has left does not fit, or another is at work.
    #[error(transparent)]
    Batch(Box<dyn Error + Send + Sync>),
    /// There is no such session, or it cannot continue.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The event is wrong.
    #[error(transparent)]
    Event(EnvironmentError),
    /// The workspace is not there.
    #[error("could not open the workspace {path}: {error}; check `workspace`")]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No worktree can be created for a task of a batch.
    #[error("could not create a worktree: {0}")]
    Worktree(crate::git::GitError),
    /// Another run writes to the same output folder.
    #[error("another run is using the output folder {0}; wait until it ends, or set a different `out`")]
    OutInUse(PathBuf),
    /// The files of a dry run would lie among those of the checkout.
    #[error(
        "the output folder {0} contains the checkout, which a dry run does not change; set a different `out`"
    )]
    OutHoldsCheckout(PathBuf),
    /// Another run changes the same checkout.
    #[error(
        "another run is changing the checkout {0}; wait until it ends, use another checkout (for example a Git \
         worktree), or set `mode: dry-run`"
    )]
    CheckoutInUse(PathBuf),
    /// The repository cannot be used.
    #[error("{0}; check `workspace`")]
    Repository(crate::git::GitError),
    /// A repository that the pull request may have put there.
    #[error(
        "{inner} is a repository inside {outer} (for example a submodule), so a pull request controls \
         which commit it has; set `workspace` to the outer repository"
    )]
    Nested {
        /// The root of the one that holds the workspace.
        inner: PathBuf,
        /// The root of the one around it.
        outer: PathBuf,
    },
    /// What the event is about has no commit that can be trusted.
    #[error(
        "the event {0} does not name a commit (`GITHUB_SHA`), so there is no trusted configuration; set \
         `trust-head-config: true` if everybody who can cause the event may change what the agent does"
    )]
    NoBase(String),
    /// A hook that is not run.
    #[error("the hook {name:?} is not run: {refusal}")]
    Hook {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        refusal: ProgramRefusal,
    },
    /// A program, or a transcript, that does not become the model.
    #[error("the model {model} is not started: {refusal}")]
    ModelProgram {
        /// Its name.
        model: String,
        /// Why.
        #[source]
        refusal: ProgramRefusal,
    },
    /// A command whose lines are values of a batch that is not run.
    #[error("the command `{command}` (`lines`) is not run: {refusal}")]
    Lines {
        /// The command.
        command: String,
        /// Why.
        #[source]
        refusal: ProgramRefusal,
    },
    /// The time of a batch was up, or a signal came, before its tasks were listed.
    #[error("{message}")]
    NotListed {
        /// What happened, and what to do.
        message: String,
        /// How the batch ends.
        exit: Exit,
    },
    /// The output folder cannot be made.
    #[error("could not create the output folder {path}: {error}; check `out`")]
    Out {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The schema for the final message is none.
    #[error("invalid JSON Schema in `output-schema`: {0}")]
    OutputSchema(String),
    /// A value of the wrong form.
    #[error("invalid value {given:?} for `{name}`{}; use {expected}", near_choice(given, expected))]
    Value {
        /// The input.
        name: String,
        /// As written.
        given: String,
        /// What it has to be.
        expected: String,
    },
    /// It cannot be seen whether somebody may start a run.
    #[error("could not check whether {login} has write permission: {error}")]
    Permission {
        /// Who.
        login: String,
        /// Why.
        error: ApiError,
    },
    /// GitHub cannot be asked for what the run needs.
    #[error(transparent)]
    GitHub(ApiError),
    /// A plan cannot go to a fork.
    #[error("plans are not applied to pull requests from forks; apply the plan in a checkout of your own")]
    Fork,
    /// Changes cannot go where they should.
    #[error("invalid `deliver` settings: {0}")]
    Deliver(#[from] DeliverError),
    /// A part of the configuration that cannot be used.
    #[error("invalid configuration: {0}")]
    Rules(#[source] Box<dyn Error + Send + Sync>),
    /// The signals that end a run cannot be received.
    #[error("could not install signal handlers")]
    Signals(#[source] io::Error),
    /// No thread can be started.
    #[error(
        "could not start threads; allow the process more of them (`ulimit -u`, or the container's limit of processes), or \
         more address space (`ulimit -v`)"
    )]
    Threads(#[source] io::Error),
    /// Child processes cannot be started.
    #[error("could not prepare child processes")]
    Children(#[source] io::Error),
    /// The sandbox is required, and the kernel does not offer it.
    #[error(
        "{0}; use a kernel with Landlock (Linux 5.13, or 6.7 to limit the network), or change \
         `commands.sandbox` or `commands.network`"
    )]
    Sandbox(&'static str),
    /// A list of hosts that this machine cannot enforce as a whole, though the configuration requires it.
    #[error(
        "{0}; use a machine for which `architect-ci doctor` says that commands have their own network, or change \
         `commands.network` or `commands.sandbox`"
    )]
    Hosts(&'static str),
    /// No plan to apply.
    #[error("no plan is set; name the `plan.json` of a dry run (as an Action input, `plan`)")]
    NoPlan,
    /// A second job outside of a workflow run.
    #[error(
        "`write` requires a plan from another job of the same workflow run, but this is not a workflow run; use `apply`"
    )]
    NoWorkflowRun,
    /// A second job without the digest of the plan that is meant.
    #[error("no digest is set; pass on the first job's output `plan-digest` as `digest`")]
    NoDigest,
    /// A report cannot be read.
    #[error(
        "could not read the report {path}: {error}; name the `report.json` of a run (as an Action input, \
         `report`)"
    )]
    Report {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// The plan cannot be read.
    #[error("could not read the plan {path}: {error}; name the `plan.json` of a dry run")]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// An earlier apply left something that stands in the way.
    #[error(transparent)]
    Journal(#[from] crate::plan::JournalError),
    /// The transcript cannot be played.
    #[error(transparent)]
    Replay(#[from] crate::model::ReplayError),
    /// The model cannot be set up.
    #[error("could not set up the model: {0}")]
    Model(crate::model::ModelError),
    /// A file of the run cannot be written.
    #[error("could not write {path}: {error}; check `out`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The budget of a day or a month is spent, or cannot be kept.
    #[error(transparent)]
    Ledger(#[from] crate::model::LedgerError),
    /// The ledger on a branch cannot be read or written.
    #[error("could not use the ledger on its branch: {0}; set `costs.unmeasured: warn` to spend anyway")]
    SharedLedger(#[from] RecordError),
    /// Another start of the same work has gone on with it meanwhile.
    #[error(transparent)]
    Overtaken(Box<dyn Error + Send + Sync>),
    /// Secrets cannot be masked in the report.
    #[error("the report was not published: {0}; see the transcript in the output folder")]
    Unmasked(#[from] MaskError),
}

impl InputError {
    /// Wraps what is wrong with a part of the configuration.
    pub(crate) fn rules(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Rules(error.into())
    }

    /// Returns the message, followed by everything that caused the error.
    pub fn explained(&self) -> String {
        chain(self)
    }

    /// Returns whether the machine is to blame rather than an input, so that the same may succeed at another time.
    pub(crate) fn is_fault_of_machine(&self) -> bool {
        matches!(
            self,
            Self::Worktree(_)
                | Self::OutInUse(_)
                | Self::CheckoutInUse(_)
                | Self::Out { .. }
                | Self::Write { .. }
                | Self::Workspace { .. }
                | Self::Threads(_)
                | Self::Children(_)
                | Self::Ledger(crate::model::LedgerError::Io { .. })
        )
    }

    /// Returns why GitHub was not waited for any longer, if the end of the time, or a signal, is the reason.
    pub(crate) fn cut_off(&self) -> Option<CutOff> {
        match self {
            Self::Permission { error, .. }
            | Self::GitHub(error)
            | Self::SharedLedger(RecordError::Api(error)) => error.cut_off(),
            _ => None,
        }
    }

    /// Returns how the process ends.
    pub fn exit(&self) -> Exit {
        if let Some(why) = self.cut_off() {
            return if why.is_late() { Exit::Timeout } else { Exit::Interrupted };
        }
        match self {
            Self::MissingKey { .. }
            | Self::NoKeyForFork { .. }
            | Self::Permission { .. }
            | Self::GitHub(_)
            | Self::Fork => Exit::Authentication,
            Self::Journal(_) => Exit::NotApplied,
            Self::NotListed { exit, .. } => *exit,
            Self::Ledger(crate::model::LedgerError::Spent { .. }) | Self::Overtaken(_) => Exit::Partial,
            Self::Unmasked(_) => Exit::Failed,
            _ => Exit::Configuration,
        }
    }
}

/// Suggests one of the choices that a value has, if they are single words: the nearest, or the one with these initials.
fn near_choice(given: &str, expected: &str) -> String {
    let choices: Vec<&str> = expected.split(',').flat_map(|part| part.split(" or ")).map(str::trim).collect();
    if choices.len() < 2 || choices.iter().any(|choice| choice.is_empty() || choice.contains(' ')) {
        return String::new();
    }
    let given = given.to_lowercase();
    let initials =
        |choice: &str| choice.split('-').filter_map(|word| word.chars().next()).collect::<String>();
    let by_initials = choices.iter().find(|choice| choice.contains('-') && initials(choice) == given);
    did_you_mean(by_initials.copied().or_else(|| nearest(&given, choices)))
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}
