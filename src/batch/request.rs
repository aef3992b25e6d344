//! A batch's own request, and the request of each of its tasks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use workspace::ProgramFiles;

use super::budget::share_of_shard;
use super::journal_branch::journal_branch;
use super::outside_folders::keep_outside;
use super::shard::shards;
use super::task_paths::TaskPaths;
use super::{BatchFile, Manifest, ReportDigests, RetryOn, Shard, StartError, Task};
use crate::base::bounded::{Bounded, Usd};
use crate::config::{Config, ConfigError, parse_as};
use crate::event::RunMode;
use crate::git::Repository;
use crate::github::{BranchStates, RecordBranch};
use crate::plan::Plan;
use crate::publish::BatchDestination;
use crate::report::HeldDelivery;
use crate::request::{
    ApplyRequest, InputError, Inputs, JobRequest, Lookup, Programs, RequestContext, RunRequest, SharedLedger,
    own_branch,
};
use crate::trust::Trust;

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
    /// The list of the earlier start in the output folder.
    Earlier,
}

/// What a start is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStart {
    /// To work on tasks.
    Work,
    /// To deliver what an earlier start could not deliver, and nothing else.
    DeliverHeld,
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
    /// Whether the checkout may steer the batch.
    pub is_checkout_trusted: bool,
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
    /// When the time for all tasks is up, as far as that is known before the journal of an earlier start is read.
    pub deadline: Option<Instant>,
    /// The part of the batch that is done here.
    pub shard: Option<Shard>,
    /// What is done.
    pub start: BatchStart,
    /// The ledger on a branch, of which all tasks write a copy.
    pub shared_ledger: Option<SharedLedger>,
    /// The branch on which what is done is kept, sealed.
    pub journal: Option<RecordBranch>,
    /// Whether an earlier start is gone on with.
    pub resume: bool,
    /// Ends of an earlier start after which tasks are done again.
    pub retry: Vec<RetryOn>,
    /// Reports of an earlier night, which may have settled tasks.
    pub previous: Option<PathBuf>,
    /// What another job of this workflow run has planned, where this one only writes it.
    pub plans: Option<PathBuf>,
    /// Digests of the reports there, as the jobs that wrote them have put them out.
    pub report_digests: Option<ReportDigests>,
    /// Number of pull requests that the batch has delivered to so far.
    pub pull_requests: Arc<AtomicUsize>,
    /// States of the branches of all tasks.
    pub branches: OnceLock<Arc<BranchStates>>,
    /// What people should know.
    pub warnings: Vec<String>,
    inputs: Inputs,
}

/// Tasks at a time where nothing is said.
const JOBS: usize = 4;

impl BatchRequest {
    /// Reads what a batch needs.
    pub async fn resolve(lookup: &Lookup, start: BatchStart) -> Result<Self, InputError> {
        let started = Instant::now();
        let inputs = Inputs::read_for_batch(lookup)?;
        let shard = lookup.text("shard").map(|text| Shard::parse(&text)).transpose();
        let shard = shard.map_err(|error| InputError::Batch(Box::new(error)))?;
        let mut context = RequestContext::read(&inputs)?;
        if let (Some(github), Some(shard)) = (&mut context.github, shard) {
            github.share = shard.share_of_token();
        }
        if let Some(github) = context.github.as_ref().filter(|github| github.in_actions)
            && SPOKEN.contains(&github.event.as_str())
        {
            return Err(StartError::Event(github.event.clone()).into());
        }
        // Outside of Actions, a person runs this by hand, and needs no permission.
        if let Some(github) = context.github.as_ref().filter(|github| github.in_actions) {
            context.may_start_batch(github).await?;
        }
        let mut jobs = lookup.number::<1, 64>("jobs")?;
        let tasks = match (lookup.path("batch"), lookup.path("manifest")) {
            (Some(_), Some(_)) => return Err(StartError::TwoLists.into()),
            (None, None) if start == BatchStart::DeliverHeld => Tasks::Earlier,
            (None, None) => return Err(StartError::NoList.into()),
            (None, Some(path)) => {
                if context.with_trusted(|trusted| trusted.is_withheld(&path)) {
                    return Err(StartError::UntrustedManifest(path).into());
                }
                let manifest = Manifest::read(&path)?;
                if let Some(wanted) = lookup.text("manifest-digest").filter(|it| *it != manifest.digest()) {
                    return Err(StartError::OtherManifest { wanted, found: manifest.digest() }.into());
                }
                Tasks::Manifest(Box::new(manifest))
            }
            (Some(path), None) => {
                let missing = || ConfigError::MissingFile("batch file", path.display().to_string());
                let found = context.with_trusted(|trusted| trusted.read(&path))?.ok_or_else(missing)?;
                let mut batch: BatchFile = parse_as(&found.text, &found.shown())?;
                if batch.name.is_empty() {
                    batch.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                }
                jobs = jobs.or(batch.jobs);
                check_lines(&context, &batch)?;
                Tasks::File { batch: Box::new(batch), shown: found.shown(), text: found.text }
            }
        };
        let plans = lookup.path("plans");
        let in_actions = context.github.as_ref().is_some_and(|github| github.in_actions);
        if let Some(missing) = ["manifest-digest", "report-digests"]
            .into_iter()
            .find(|name| plans.is_some() && in_actions && lookup.text(name).is_none())
        {
            return Err(StartError::NoDigest(missing).into());
        }
        let of_list = match &tasks {
            Tasks::File { batch, .. } => batch.timeout.map(Bounded::get),
            Tasks::Manifest(manifest) => manifest.timeout,
            Tasks::Earlier => None,
        };
        let deadline = inputs.deadline.or(of_list.map(|seconds| started + Duration::from_secs(seconds)));
        let report_digests = lookup.text("report-digests").map(|text| ReportDigests::parse(&text));
        Ok(Self {
            tasks,
            checkout: context.checkout.clone(),
            repository: context.repository.clone(),
            is_checkout_trusted: context.trust == Trust::Checkout,
            config: context.origin.config.clone(),
            destination: BatchDestination::of(&context)?,
            jobs: jobs.map_or(JOBS, Bounded::count),
            budget_usd: inputs.budget_usd.map(Usd::get),
            timeout: inputs.timeout,
            deadline,
            shard,
            start,
            shared_ledger: SharedLedger::new(&inputs, &context.origin.config, context.github.as_ref())?,
            journal: journal_branch(lookup, context.github.as_ref())?,
            resume: start == BatchStart::DeliverHeld || lookup.flag("resume")?,
            retry: retry(lookup)?,
            previous: previous(lookup, &context)?,
            plans,
            report_digests: report_digests.transpose().map_err(StartError::from)?,
            pull_requests: Arc::default(),
            branches: OnceLock::new(),
            warnings: context.warnings.clone(),
            inputs: inputs.clone(),
        })
    }

    /// Returns the most that all of this can cost, in USD, if that is limited.
    pub fn most_usd(&self) -> Option<f64> {
        let of_list = match &self.tasks {
            Tasks::File { batch, .. } => batch.budget_usd,
            Tasks::Manifest(manifest) => manifest.budget_usd,
            Tasks::Earlier => None,
        };
        let usd = self.budget_usd.or(of_list.map(Usd::get))?;
        Some(match (&self.tasks, self.shard) {
            (Tasks::Manifest(manifest), Some(shard)) => {
                let parts = shards(&manifest.tasks, shard.of);
                let own = parts.get(shard.index as usize - 1).map_or(0, Vec::len);
                share_of_shard(usd, own, manifest.tasks.len())
            }
            // No shard spends more than all of them.
            _ => usd,
        })
    }

    /// Notes which tasks will be delivered, so that the states of their branches are asked for together.
    pub(super) fn expect_deliveries<'a>(&self, name: &str, tasks: impl Iterator<Item = &'a Task>) {
        let Some(github) = &self.destination.github else { return };
        let keys = tasks.map(|task| comment_key(name, &task.id));
        let branches = keys.filter_map(|key| own_branch(&self.config, github, &key)).collect();
        let _ = self.branches.set(Arc::new(BranchStates::new(branches)));
    }

    /// Returns the inputs that were given for the whole batch, by name.
    pub fn given(&self) -> &BTreeMap<String, String> {
        &self.inputs.given
    }

    /// Makes the request of one task. What was given for the whole batch stands above what the task says; budget and
    /// time are shares of the batch's.
    pub fn of_task(&self, name: &str, task: &Task, place: &TaskPaths<'_>) -> Result<RunRequest, InputError> {
        let mut request = RunRequest::resolve(&self.inputs_of_task(name, task, place)?)?;
        let job = &mut request.job;
        if !matches!(job.mode, RunMode::DryRun | RunMode::Yolo) {
            // Nobody can answer several at a time.
            return Err(InputError::ModeNeedsTerminal(job.mode));
        }
        let llm = &mut job.origin.config.llm;
        let granted = place.requests_per_minute.map(Bounded::new).transpose().map_err(InputError::rules)?;
        llm.requests_per_minute = match (llm.requests_per_minute, granted) {
            (Some(own), Some(granted)) => Some(if own.get() < granted.get() { own } else { granted }),
            (own, granted) => own.or(granted),
        };
        job.shared_rate = place.shared_rate.cloned();
        job.shared_folders = place.shared.to_vec();
        job.preface = place.lesson.map(str::to_owned);
        if let Some(git) = &self.repository {
            keep_outside(&mut job.origin.config.workspace, task.entry.folder.as_deref(), git);
        }
        job.origin.config.guardrails.quality_gates.extend(task.entry.gates.iter().cloned());
        self.share(job);
        Ok(request)
    }

    /// Makes the request to write what another job has planned for a task.
    pub fn of_planned_task(
        &self,
        name: &str,
        task: &Task,
        place: &TaskPaths<'_>,
        plan: Plan,
        digest: String,
    ) -> Result<ApplyRequest, InputError> {
        let inputs = self.inputs_of_task(name, task, place)?;
        let mut request = ApplyRequest::for_second_job(&inputs, plan, Some(digest))?;
        let required = task.entry.gates.iter().filter(|gate| gate.required);
        request.require_gates(required.map(|gate| gate.name.clone()));
        self.share(&mut request.job);
        Ok(request)
    }

    /// Makes the request to deliver what a task holds, to where it was to go.
    pub fn of_held_task(
        &self,
        name: &str,
        task: &Task,
        place: &TaskPaths<'_>,
        plan: Plan,
        held: &HeldDelivery,
    ) -> Result<ApplyRequest, InputError> {
        let mut inputs = self.inputs_of_task(name, task, place)?;
        inputs.deliver = self.inputs.deliver.or(Some(held.to));
        let mut request = ApplyRequest::for_held(&inputs, plan, &held.digest)?;
        self.share(&mut request.job);
        Ok(request)
    }

    /// Gives a task's run what all of them share.
    fn share(&self, job: &mut JobRequest) {
        job.make_one_of_many();
        if let (Some(github), Some(own)) = (&mut job.github, &self.destination.github) {
            github.share.clone_from(&own.share);
        }
        job.pull_requests = Arc::clone(&self.pull_requests);
        job.branches = self.branches.get().map(Arc::clone);
    }

    fn inputs_of_task(&self, name: &str, task: &Task, place: &TaskPaths<'_>) -> Result<Inputs, InputError> {
        let given = &self.inputs;
        let mut inputs = task.entry.inputs(given, task.entry.recipe.clone());
        // The runner receives results of the whole batch only.
        for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            inputs.variables.remove(file);
        }
        // A further try may have a model of its own.
        inputs.model = place.model.map(str::to_owned).or(inputs.model);
        let budget_usd = place.budget_usd.map(Usd::new).transpose();
        Ok(Inputs {
            budget_usd: budget_usd.map_err(|error| InputError::Batch(Box::new(error)))?,
            timeout: place.timeout,
            deadline: place.deadline,
            network: given.network.detached(),
            workspace: Some(place.checkout.to_owned()),
            task_id: Some(task.id.clone()),
            out: Some(place.out.to_owned()),
            ledger: self
                .shared_ledger
                .as_ref()
                .map(|shared| shared.file().to_owned())
                .or(given.ledger.clone()),
            comment_key: Some(comment_key(name, &task.id)),
            ..inputs
        })
    }
}

/// Returns the key that distinguishes a task's branch and comment from all others.
fn comment_key(name: &str, id: &str) -> String {
    format!("{name}-{id}")
}

/// Returns the place of an earlier night's reports, unless everything is to be done afresh.
fn previous(lookup: &Lookup, context: &RequestContext<'_>) -> Result<Option<PathBuf>, InputError> {
    let path = lookup.path("previous");
    if let Some(path) = path.as_ref().filter(|path| context.with_trusted(|trusted| trusted.is_withheld(path)))
    {
        return Err(StartError::UntrustedReports(path.clone()).into());
    }
    Ok(if lookup.flag("fresh")? { None } else { path })
}

/// Reads the ends after which tasks are done again.
fn retry(lookup: &Lookup) -> Result<Vec<RetryOn>, InputError> {
    let Some(given) = lookup.text("retry") else { return Ok(Vec::new()) };
    if !lookup.flag("resume")? {
        return Err(StartError::RetryWithoutResume.into());
    }
    let end = |name: &str| match name.trim() {
        "failed" => Ok(RetryOn::Failed),
        "partial" => Ok(RetryOn::Partial),
        "timeout" => Ok(RetryOn::Timeout),
        _ => Err(InputError::Value {
            name: "retry".to_owned(),
            given: given.clone(),
            expected: "a comma-separated list of failed, partial and timeout".to_owned(),
        }),
    };
    given.split(',').map(end).collect()
}

/// Checks the commands whose lines are values: what they run has to be that of the trusted commit.
fn check_lines(context: &RequestContext<'_>, batch: &BatchFile) -> Result<(), InputError> {
    let programs = Programs {
        trust: &context.trust,
        repository: context.repository.as_ref(),
        workspace: &context.checkout,
        variables: &context.inputs.variables,
    };
    let sources = batch.tasks.iter().flat_map(|entry| entry.for_each.values());
    for command in sources.filter_map(|source| source.lines.as_ref()) {
        let refused = |refusal| InputError::Lines { command: command.clone(), refusal };
        programs.check_line(command, false, &mut ProgramFiles::default()).map_err(refused)?;
    }
    Ok(())
}
