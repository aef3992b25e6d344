//! A batch's own request, and the request of each of its tasks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{BatchFile, Entry, Manifest, Shard, Task};
use crate::config::{Bounded, Config, ConfigError, Report, Usd, parse_as};
use crate::event::RunMode;
use crate::git::Repository;
use crate::inputs::{Basis, InputError, Lookup, RunRequest, rooted, usd};
use crate::publish::BatchDestination;

/// Events by which people who may not write to the repository speak; they start no batch.
const SPOKEN: [&str; 5] =
    ["issue_comment", "issues", "pull_request_review", "pull_request_review_comment", "discussion_comment"];

/// Where the list of tasks comes from.
#[derive(Debug)]
pub enum Tasks {
    /// A batch as people write it.
    File {
        /// What it says.
        batch: Box<BatchFile>,
        /// The file, for messages.
        shown: String,
        /// Its text.
        text: String,
    },
    /// A list that another job has made.
    Manifest(Box<Manifest>),
}

/// Everything that a batch needs to know.
#[derive(Debug)]
pub struct BatchRequest {
    /// The list of tasks.
    pub tasks: Tasks,
    /// The checkout.
    pub checkout: PathBuf,
    /// Its repository.
    pub repository: Option<Repository>,
    /// The configuration.
    pub config: Config,
    /// Where its report goes.
    pub destination: BatchDestination,
    /// Tasks at a time.
    pub jobs: usize,
    /// Most money for all tasks, where an input says so.
    pub budget_usd: Option<f64>,
    /// Most time for all tasks, where an input says so.
    pub timeout: Option<Duration>,
    /// The part of the batch that is done here.
    pub shard: Option<Shard>,
    /// Whether an earlier start is gone on with.
    pub resume: bool,
    /// What people should know.
    pub warnings: Vec<String>,
    lookup: Lookup,
}

/// Tasks at a time where nothing is said.
const JOBS: usize = 4;

impl BatchRequest {
    /// Reads what a batch needs.
    pub fn resolve(lookup: &Lookup) -> Result<Self, InputError> {
        let basis = Basis::read(lookup)?;
        if let Some(github) = basis.github.as_ref().filter(|github| github.in_actions)
            && SPOKEN.contains(&github.event.as_str())
        {
            return Err(InputError::Unusable(format!(
                "the event {}, which anybody can cause, does not start a batch; use `schedule`, \
                 `workflow_dispatch` or `push`",
                github.event
            )));
        }
        // Whoever runs this by hand may do so.
        if let Some(github) = basis.github.as_ref().filter(|github| github.in_actions) {
            basis.may_start_batch(github)?;
        }
        let mut jobs = lookup.number::<1, 64>("jobs")?;
        let tasks = match (lookup.path("batch"), lookup.path("manifest")) {
            (Some(_), Some(_)) => {
                return Err(InputError::Unusable(
                    "both a batch file and `manifest` are set; remove one of them".to_owned(),
                ));
            }
            (None, None) => {
                return Err(InputError::Unusable(
                    "no batch is set; name a batch file or a `manifest`".to_owned(),
                ));
            }
            (None, Some(path)) => Tasks::Manifest(Box::new(Manifest::read(&path)?)),
            (Some(path), None) => {
                let missing = || ConfigError::MissingFile("batch file", path.display().to_string());
                let found = basis.with_trusted(|trusted| trusted.read(&path))?.ok_or_else(missing)?;
                let batch: BatchFile = parse_as(&found.text, &found.shown())?;
                jobs = jobs.or(batch.jobs);
                Tasks::File { batch: Box::new(batch), shown: found.shown(), text: found.text }
            }
        };
        let shard = lookup.text("shard").map(|text| Shard::parse(&text)).transpose();
        Ok(Self {
            tasks,
            checkout: basis.checkout.clone(),
            repository: basis.repository.clone(),
            config: basis.origin.config.clone(),
            destination: BatchDestination::of(&basis, lookup)?,
            jobs: jobs.map_or(JOBS, Bounded::count),
            budget_usd: lookup.text("budget-usd").map(usd).transpose()?.map(Usd::get),
            timeout: lookup.number::<1, 604_800>("timeout")?.map(Bounded::seconds),
            shard: shard.map_err(InputError::Unusable)?,
            resume: lookup.flag("resume")?,
            warnings: basis.desk.warnings(),
            lookup: lookup.clone(),
        })
    }

    /// The request of one task. What was given for the whole batch stands above what the task says; budget and
    /// time are shares of the batch's.
    pub fn of_task(&self, name: &str, task: &Task, place: &Place<'_>) -> Result<RunRequest, InputError> {
        let Entry { task: text, task_file, recipe, model, agent, mode, folder, max_steps, deliver, .. } =
            &task.entry;
        let mut lookup = self.lookup.untold();
        let recipe = recipe.as_ref().map(|recipe| format!("recipe::{recipe}"));
        // What a recipe does no model can do in its place.
        if let Some(recipe) = &recipe {
            lookup = lookup.with("model", recipe);
        }
        let given = [
            ("model", model.clone()),
            ("agent", agent.clone()),
            ("mode", mode.map(|mode| mode.to_string())),
            ("max-steps", max_steps.map(|steps| steps.get().to_string())),
            ("deliver", deliver.map(|to| to.to_string())),
        ];
        for (input, value) in given {
            if let (None, Some(value)) = (lookup.text(input), value) {
                lookup = lookup.with(input, &value);
            }
        }
        let seconds = place.timeout.map(|left| left.as_secs().clamp(1, 86_400).to_string());
        for (input, value) in [
            ("task", text.clone()),
            ("task-file", task_file.clone()),
            ("budget-usd", place.budget_usd.map(|usd| format!("{usd:.6}"))),
            ("timeout", seconds),
            ("workspace", Some(place.checkout.display().to_string())),
            ("out", Some(place.out.display().to_string())),
            ("comment", Some("never".to_owned())),
            ("comment-key", Some(format!("{name}-{}", task.id))),
        ] {
            lookup = lookup.with(input, &value.unwrap_or_default());
        }
        let mut request = RunRequest::resolve(&lookup)?;
        if !matches!(request.mode, RunMode::DryRun | RunMode::Yolo) {
            // Nobody can answer several at a time.
            return Err(InputError::ModeNeedsTerminal(request.mode));
        }
        if let Some(folder) = folder {
            request.workspace = rooted(&request.workspace, folder)?;
            if !request.workspace.starts_with(place.checkout) {
                let problem =
                    format!("the task {}: the folder {folder:?} leads out of the checkout", task.id);
                return Err(InputError::Unusable(problem));
            }
            let repository = request.repository.take();
            request.repository = repository.map(|repository| repository.seen_from(&request.workspace));
        }
        request.alone = false;
        let config = &mut request.origin.config;
        config.guardrails.quality_gates.extend(task.entry.gates.iter().cloned());
        // All of it is told once, of the whole batch; and files of two tasks must not be the same.
        let github = &mut config.github;
        (github.check_run, github.inline_suggestions, github.progress, github.required) =
            (false, false, false, false);
        config.report = Report::default();
        Ok(request)
    }
}

/// Where a task is worked on, and what it may take.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its worktree, or the folder of it that the batch's checkout is.
    pub checkout: &'a Path,
    /// The folder for its files.
    pub out: &'a Path,
    /// Most money.
    pub budget_usd: Option<f64>,
    /// Most time.
    pub timeout: Option<Duration>,
}
