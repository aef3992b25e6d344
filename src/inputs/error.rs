//! What is wrong with the inputs, and what to write instead.

use std::path::PathBuf;

use crate::agent::UnknownAgent;
use crate::config::ConfigError;
use crate::event::{Exit, RunMode};
use crate::github::{ApiError, EnvironmentError};
use crate::model::NameError;
use crate::recipe::RecipeError;
use crate::report::masked::MaskError;
use crate::sessions::SessionError;

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Neither `task` nor `task-file`.
    #[error("there is no task; give `task` (the text) or `task-file` (a Markdown file)")]
    NoTask,
    /// Both.
    #[error("both `task` and `task-file` are given; leave one out")]
    TwoTasks,
    /// The task is there but says nothing.
    #[error("the task {0} is empty")]
    EmptyTask(String),
    /// A mode that is not known.
    #[error("`mode` is {given:?}, which is no mode{}; it is dry-run or yolo (on a terminal also confirm-all or confirm-sensitive)", did_you_mean(near.as_deref()))]
    UnknownMode {
        /// As written.
        given: String,
        /// The nearest mode.
        near: Option<String>,
    },
    /// A mode that asks, and nobody to answer.
    #[error(
        "`mode` is {0}, but there is no TTY available for confirmation; in CI use --mode yolo or --mode dry-run"
    )]
    ModeNeedsTerminal(RunMode),
    /// No model anywhere.
    #[error(
        "no model is given; set `model` to `provider::name`, for example `anthropic::claude-sonnet-4-6`, or `replay::FILE`"
    )]
    NoModel,
    /// A model's name that makes no sense.
    #[error(transparent)]
    ModelName(#[from] NameError),
    /// The key is not there.
    #[error(
        "the variable {variable}, which holds the model's key, is not set or empty; pass it to the step with `env:`, or name another with `api-key-env`"
    )]
    MissingKey {
        /// The variable.
        variable: String,
    },
    /// The provider's address is not there.
    #[error(
        "the variable {variable}, which holds the model provider's address, is not set; pass it to the step with `env:`, or set `base-url`"
    )]
    MissingAddress {
        /// The variable.
        variable: &'static str,
    },
    /// An agent that nobody defined.
    #[error(transparent)]
    Agent(#[from] UnknownAgent),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The recipe is wrong.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// What was asked for does not go together, or not here.
    #[error("{0}")]
    Unusable(String),
    /// The list of tasks of a batch is wrong, what an earlier start of it has left does not fit, or another is at work.
    #[error(transparent)]
    Batch(Box<dyn std::error::Error + Send + Sync>),
    /// There is no such session, or it cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The event is wrong.
    #[error(transparent)]
    Event(EnvironmentError),
    /// The workspace is not there.
    #[error("the workspace {path} is not a folder that can be opened: {error}; check `workspace`")]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The repository cannot be used.
    #[error("{0}; check `workspace`")]
    Repository(crate::git::GitError),
    /// A repository that the pull request may have put there.
    #[error(
        "{inner} is a repository inside of {outer}, whose commit chooses it (a submodule, say), so that no pull request \
         can be trusted there; set `workspace` to the outer repository"
    )]
    Nested {
        /// The root of the one that holds the workspace.
        inner: PathBuf,
        /// The root of the one around it.
        outer: PathBuf,
    },
    /// What the event is about has no commit that can be trusted.
    #[error(
        "the event {0} does not say which commit of the default branch it is about, so that nothing steers the run; set \
         `trust-head-config: true` if everybody who can cause it may change what the agent does"
    )]
    NoBase(String),
    /// A program of the configuration must not run.
    #[error("{0}")]
    Program(String),
    /// The output folder cannot be made.
    #[error("the output folder {path} cannot be made: {error}; check `out`")]
    Out {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The schema for the final message is none.
    #[error("`output-schema` is no JSON Schema: {0}")]
    OutputSchema(String),
    /// A value of the wrong form.
    #[error("`{name}` is {given:?}; it has to be {expected}")]
    Value {
        /// The input.
        name: String,
        /// As written.
        given: String,
        /// What it has to be.
        expected: String,
    },
    /// It cannot be seen whether somebody may start a run.
    #[error("it cannot be seen whether {login} may start a run: {error}")]
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
    #[error(
        "the pull request is from a fork, so that no plan is applied here; apply it in a checkout of your own"
    )]
    Fork,
    /// Changes cannot go where they should.
    #[error("`deliver` cannot be used: {0}")]
    Deliver(String),
    /// Guardrails or hooks that cannot be used.
    #[error("the configuration cannot be used: {0}")]
    Rules(String),
    /// Walls are wanted that the kernel does not offer.
    #[error(
        "{0}; run on a kernel with Landlock (Linux 5.13, for `network: deny` 6.7), or change `commands.sandbox`"
    )]
    Sandbox(&'static str),
    /// No plan to apply.
    #[error("there is no plan; name the plan.json of a dry run (as an Action input, `plan`)")]
    NoPlan,
    /// A report cannot be read.
    #[error(
        "the report {path} cannot be read: {error}; give the report.json of a run (as an Action input, `report`)"
    )]
    Report {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// The plan cannot be read.
    #[error("the plan {path} cannot be read: {error}; give the plan.json of a dry run")]
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
    #[error("the model cannot be set up: {0}")]
    Model(crate::model::ModelError),
    /// A file of the run cannot be written.
    #[error("{path} cannot be written: {error}; check `out`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Secrets cannot be masked in the report.
    #[error("the report is not published: {0}; the transcript in the output folder tells what happened")]
    Unmasked(#[from] MaskError),
}

impl InputError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::MissingKey { .. } | Self::Permission { .. } | Self::GitHub(_) | Self::Fork => {
                Exit::Authentication
            }
            Self::Journal(_) => Exit::NotApplied,
            Self::Unmasked(_) => Exit::Failed,
            _ => Exit::Configuration,
        }
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}
