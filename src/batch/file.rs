//! A batch as people write it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use crate::base::bounded::{Bounded, Usd};
use crate::config::{DeliverTo, GateConfig};
use crate::event::{Expectation, RunMode};

/// A list of tasks, and limits on all of them together.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchFile {
    /// Its name: part of branches and of the comment's key. By default, that of the file.
    #[serde(default)]
    pub name: String,
    /// Maximum number of concurrent tasks.
    #[serde(default)]
    pub jobs: Option<Bounded<1, 64>>,
    /// Maximum cost of all tasks, in USD.
    #[serde(default)]
    pub budget_usd: Option<Usd>,
    /// Time limit for all tasks, in seconds.
    #[serde(default)]
    pub timeout: Option<Bounded<1, 604_800>>,
    /// Maximum number of requests to a model per minute. Shards on other machines share it: each gets its tasks' part.
    #[serde(default)]
    pub requests_per_minute: Option<Bounded<1, 1_000_000>>,
    /// The tasks that run first, before all others. Each shard has a share of them.
    #[serde(default)]
    pub pilot: Option<Pilot>,
    /// Defaults for every task.
    #[serde(default)]
    pub defaults: Entry,
    /// The tasks.
    pub tasks: Vec<Entry>,
}

/// A task, or with `for_each` many of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    /// Identifies the task, in later batches as well: the same id means the same branch and pull request.
    pub id: Option<String>,
    /// Placeholders and where their values come from; every combination becomes a task.
    pub for_each: BTreeMap<String, Source>,
    /// What to do.
    pub task: Option<String>,
    /// What to do, in a Markdown file.
    pub task_file: Option<String>,
    /// A recipe in place of a model.
    pub recipe: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// `dry-run` or `yolo`.
    pub mode: Option<RunMode>,
    /// Folder of the checkout in which the agent works.
    pub folder: Option<String>,
    /// Further folders that the task needs. The worktree then contains only these, the task's folder, `.github`, and the
    /// files next to the folders above them, which saves time in large repositories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Vec<String>>,
    /// Folders of the batch's checkout that Git ignores, such as `node_modules`, and that commands of the task see as well. What
    /// they write there is discarded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Maximum number of model calls, after which one more asks for a summary.
    pub max_steps: Option<Bounded<1, 10_000>>,
    /// Maximum cost, in USD.
    pub budget_usd: Option<Usd>,
    /// Time limit, in seconds.
    pub timeout: Option<Bounded<1, 86_400>>,
    /// Quality gates in addition to those of the configuration.
    pub gates: Vec<GateConfig>,
    /// Commands that have to succeed: the agent works in rounds until they do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
    /// Maximum number of rounds with `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<Bounded<1, 1000>>,
    /// Where changes go.
    pub deliver: Option<DeliverTo>,
    /// What the task must leave behind, or else it fails.
    pub expect: Option<Expectation>,
    /// When the task is repeated.
    pub retry: Option<Retry>,
}

/// Source of a placeholder's values: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Source {
    /// These.
    pub values: Vec<String>,
    /// Files of the commit that match one of these globs.
    pub files: Vec<String>,
    /// Folders that contain a file with one of these names, such as `Cargo.toml` or `package.json`.
    pub folders_with: Vec<String>,
    /// The lines that a command prints.
    pub lines: Option<String>,
    /// Globs of values to leave out.
    pub exclude: Vec<String>,
}

impl Source {
    /// Returns whether the values are paths of the repository.
    pub(super) fn lists_paths(&self) -> bool {
        !self.files.is_empty() || !self.folders_with.is_empty()
    }
}

/// When and how often a task is repeated, each time from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// How often.
    pub times: Bounded<0, 10>,
    /// Seconds before the first repetition; each further one waits twice as long.
    pub wait: Bounded<0, 3600>,
    /// After which ends.
    pub on: Vec<RetryOn>,
    /// What the agent is told about the previous attempt, before the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<RetryWith>,
    /// The models for further attempts, in order; the last one is used for all that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// What the next attempt is told about a failed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryWith {
    /// The output of the failed gates, or else the errors and the last message.
    Output,
    /// Its changes.
    Diff,
    /// For a task with a recipe: what models did in other tasks on which the recipe also failed.
    Neighbours,
}

/// The first tasks of a batch, which run before all others: if too many of them fail, the batch stops before more is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pilot {
    /// How many tasks, of all shards together. Each shard begins with its part, in proportion to its tasks and at least one, and is
    /// stopped by that alone.
    pub tasks: Bounded<1, 10_000>,
    /// The share of them that may fail or stay partial, such as `20%`.
    pub stop_above: Percent,
}

/// A share, written as `20%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Percent(u8);

/// Error for a text that is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid share {0:?}; use a whole number from 0 to 100 with `%`, such as `20%`")]
pub struct InvalidPercent(String);

impl Percent {
    /// Creates a constant; one above 100 does not compile.
    pub const fn fixed<const VALUE: u8>() -> Self {
        const { assert!(VALUE <= 100) };
        Self(VALUE)
    }

    /// Returns the number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<String> for Percent {
    type Error = InvalidPercent;

    fn try_from(text: String) -> Result<Self, InvalidPercent> {
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
        number.filter(|number| *number <= 100).map(Self).ok_or(InvalidPercent(text))
    }
}

impl From<Percent> for String {
    fn from(share: Percent) -> Self {
        share.to_string()
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: Bounded::fixed::<0>(),
            wait: Bounded::fixed::<0>(),
            on: vec![RetryOn::Failed, RetryOn::Timeout],
            with: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// An outcome after which a task is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryOn {
    /// It failed.
    Failed,
    /// A limit other than time was reached.
    Partial,
    /// Its time was up.
    Timeout,
}

impl Source {
    /// Checks that there is one source, with valid patterns.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let given = [
            !self.values.is_empty(),
            !self.files.is_empty(),
            !self.folders_with.is_empty(),
            self.lines.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err(Problem::OneSource);
        }
        for glob in self.files.iter().chain(&self.exclude) {
            workspace::Glob::parse(glob)?;
        }
        Ok(())
    }
}

impl Entry {
    /// Returns what is to be done, as the file says it: the task, or the file that holds it.
    pub(super) fn title(&self) -> String {
        let given = [&self.task, &self.task_file, &self.recipe].into_iter().flatten().next();
        given.cloned().unwrap_or_default()
    }

    /// Fills in what `defaults` says where the entry says nothing.
    pub(crate) fn over(mut self, defaults: &Self) -> Self {
        fn fill<T: Clone>(own: &mut Option<T>, other: Option<&T>) {
            if own.is_none() {
                *own = other.cloned();
            }
        }
        // A task of its own kind wants nothing of the default's.
        if self.recipe.is_none() && self.model.is_none() {
            fill(&mut self.recipe, defaults.recipe.as_ref());
            fill(&mut self.model, defaults.model.as_ref());
        }
        fill(&mut self.agent, defaults.agent.as_ref());
        fill(&mut self.mode, defaults.mode.as_ref());
        fill(&mut self.folder, defaults.folder.as_ref());
        fill(&mut self.sparse, defaults.sparse.as_ref());
        if self.shared.is_empty() {
            self.shared.clone_from(&defaults.shared);
        }
        fill(&mut self.max_steps, defaults.max_steps.as_ref());
        fill(&mut self.budget_usd, defaults.budget_usd.as_ref());
        fill(&mut self.timeout, defaults.timeout.as_ref());
        fill(&mut self.max_rounds, defaults.max_rounds.as_ref());
        if self.until.is_empty() {
            self.until.clone_from(&defaults.until);
        }
        fill(&mut self.deliver, defaults.deliver.as_ref());
        fill(&mut self.expect, defaults.expect.as_ref());
        fill(&mut self.retry, defaults.retry.as_ref());
        self.gates.splice(0..0, defaults.gates.iter().cloned());
        self
    }
}
