//! Validated campaign file.

use std::collections::BTreeSet;

use workspace::{Glob, InvalidGlob, PathError, WorkspacePath};

use super::file::CampaignFile;
use super::target::{TargetId, is_task_id};
use crate::batch::Entry;
use crate::github::{RepositoryName, is_owner};

/// What is wrong with a part of a campaign file, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A name that branches could not have.
    #[error("invalid name {0:?}; use at most 60 lower-case letters, digits and single `-`")]
    Name(String),
    /// No repositories are selected.
    #[error("no repositories; set `list`, `file`, `organizations` or `search`")]
    Nowhere,
    /// Topics without accounts.
    #[error("`topics` selects repositories of `organizations`, which is not set; set `organizations`")]
    TopicsAlone,
    /// A name that no account can have.
    #[error("invalid account {0:?}")]
    Account(String),
    /// A pattern.
    #[error(transparent)]
    Glob(#[from] InvalidGlob),
    /// A path that leads out of the checkout.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nothing to do.
    #[error("no tasks; list at least one in `tasks`")]
    NoTasks,
    /// A task without an id, although there are several.
    #[error("`id` is missing; with several tasks, it distinguishes their branches")]
    NoId,
    /// A duplicate id.
    #[error("duplicate id {0:?}; give each task a unique id")]
    SameId(String),
    /// A task with no kind of work, or with more than one.
    #[error("set one of `task`, `task_file` and `recipe`")]
    OneKind,
    /// A key that a campaign sets for all tasks.
    #[error("`{0}` has no effect in a campaign; remove it")]
    NotHere(&'static str),
}

/// Error for an invalid campaign file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {place}: {problem}")]
pub struct InvalidCampaign {
    /// The file.
    pub file: String,
    /// The position in the file.
    pub place: String,
    /// What is wrong and what to do.
    #[source]
    pub problem: Problem,
}

/// Validated campaign file.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The file.
    pub file: CampaignFile,
    /// The tasks by id, with everything that `defaults` says.
    pub tasks: Vec<(String, Entry)>,
    /// Repositories that are left out.
    exclude: Vec<Glob>,
}

impl Campaign {
    /// Checks what a file says; `shown` names it in messages.
    pub fn new(file: CampaignFile, shown: &str) -> Result<Self, InvalidCampaign> {
        let wrong = |place: String, problem| InvalidCampaign { file: shown.to_owned(), place, problem };
        if !is_task_id(&file.name) {
            return Err(wrong("name".to_owned(), Problem::Name(file.name.clone())));
        }
        let exclude =
            repositories(&file).map_err(|(place, problem)| wrong(format!("repositories{place}"), problem))?;
        if file.tasks.is_empty() {
            return Err(wrong("tasks".to_owned(), Problem::NoTasks));
        }
        let (mut tasks, mut ids) = (Vec::new(), BTreeSet::new());
        for (at, entry) in file.tasks.iter().enumerate() {
            let is_only = file.tasks.len() == 1;
            let id = task(entry, &file.defaults, is_only)
                .map_err(|problem| wrong(format!("tasks[{at}]"), problem))?;
            if !ids.insert(id.clone()) {
                return Err(wrong(format!("tasks[{at}]"), Problem::SameId(id)));
            }
            tasks.push((id, entry.clone().over(&file.defaults)));
        }
        Ok(Self { file, tasks, exclude })
    }

    /// Returns the targets of some repositories.
    pub fn targets(&self, found: impl IntoIterator<Item = RepositoryName>) -> BTreeSet<TargetId> {
        let is_in = |name: &RepositoryName| !self.exclude.iter().any(|glob| glob.matches(&name.to_string()));
        let of = |repository: RepositoryName| {
            let id = move |(task, _): &(String, Entry)| TargetId {
                repository: repository.clone(),
                task: task.clone(),
                part: String::new(),
            };
            self.tasks.iter().map(id).collect::<Vec<_>>()
        };
        found.into_iter().filter(is_in).flat_map(of).collect()
    }

    /// Returns the task of a target; `None` if the file no longer has it.
    pub fn task(&self, id: &TargetId) -> Option<&Entry> {
        self.tasks.iter().find(|(task, _)| *task == id.task).map(|(_, entry)| entry)
    }

    /// Returns the text that distinguishes the commits and branches of a target from those of others in its repository.
    pub fn key(&self, id: &TargetId) -> String {
        match id.work("") {
            work if work.is_empty() => self.file.name.clone(),
            work => format!("{}--{work}", self.file.name),
        }
    }

    /// Returns the branch of a target, the same on every machine.
    pub fn branch(&self, id: &TargetId) -> String {
        // All are of letters, digits and dashes, with a dot before the part.
        format!("{}/{}", self.folder(), id.work("campaign"))
    }

    /// Returns what the names of all branches of the campaign begin with, before a `/`.
    pub(super) fn folder(&self) -> String {
        format!("architect-ci/{}", self.file.name)
    }
}

fn repositories(file: &CampaignFile) -> Result<Vec<Glob>, (&'static str, Problem)> {
    let places = &file.repositories;
    let is_anywhere = !places.list.is_empty() || places.file.is_some() || places.search.is_some();
    if places.organizations.is_empty() && !places.topics.is_empty() {
        return Err((".topics", Problem::TopicsAlone));
    }
    if !is_anywhere && places.organizations.is_empty() {
        return Err(("", Problem::Nowhere));
    }
    if let Some(file) = &places.file {
        WorkspacePath::parse(file).map_err(|error| (".file", error.into()))?;
    }
    if let Some(account) = places.organizations.iter().find(|account| !is_owner(account)) {
        return Err((".organizations", Problem::Account(account.clone())));
    }
    let globs = places.exclude.iter().map(|glob| Glob::parse(&glob.to_ascii_lowercase()));
    globs.collect::<Result<_, _>>().map_err(|error| (".exclude", error.into()))
}

/// Checks a task. Returns its id; the only task needs none.
fn task(entry: &Entry, defaults: &Entry, is_only: bool) -> Result<String, Problem> {
    let kinds = [entry.task.is_some(), entry.task_file.is_some(), entry.recipe.is_some()];
    if kinds.iter().filter(|given| **given).count() != 1 {
        return Err(Problem::OneKind);
    }
    if let Some(recipe) = &entry.recipe {
        WorkspacePath::parse(recipe)?;
    }
    let decided = [
        ("for_each", !entry.for_each.is_empty()),
        ("mode", entry.mode.or(defaults.mode).is_some()),
        ("deliver", entry.deliver.or(defaults.deliver).is_some()),
        ("retry", entry.retry.as_ref().or(defaults.retry.as_ref()).is_some()),
    ];
    if let Some((name, _)) = decided.into_iter().find(|(_, given)| *given) {
        return Err(Problem::NotHere(name));
    }
    match &entry.id {
        Some(id) if is_task_id(id) => Ok(id.clone()),
        Some(id) => Err(Problem::Name(id.clone())),
        None if is_only => Ok(String::new()),
        None => Err(Problem::NoId),
    }
}
