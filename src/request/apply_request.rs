//! The request of a job that applies a plan.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::context::RequestContext;
use super::job_request::{Draft, JobRequest, Subject};
use super::{Deliver, InputError, Inputs};
use crate::config::Follow;
use crate::event::RunMode;
use crate::github::{Api, Planner, Pull, ShownPlan, Subject as PullSubject};
use crate::plan::{Expected, MAX_PLAN, Plan, SCHEMA_VERSION, SecondJob};

/// Everything that it takes to apply a plan.
#[derive(Debug)]
pub struct ApplyRequest {
    /// What every job needs to know.
    pub job: JobRequest,
    /// The plan.
    pub plan: Plan,
    /// The digest that was reviewed.
    pub digest: Option<String>,
    /// Whether the plan's commands run again.
    pub run_commands: bool,
    /// Where the plan has to come from; `None` outside of GitHub.
    pub made: Option<Expected>,
    /// How the branch has moved since the plan was made, if the plan is to follow it.
    pub moved: Option<Moved>,
}

/// A branch that has moved since a plan was made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The commit that the plan was made for.
    pub from: String,
    /// The commit that the branch is at now, and the checkout with it.
    pub to: String,
}

impl ApplyRequest {
    /// Makes a request to apply a plan, whatever event there was.
    pub fn resolve(
        inputs: &Inputs,
        plan: Plan,
        digest: Option<String>,
        run_commands: bool,
    ) -> Result<Self, InputError> {
        let context = RequestContext::read(inputs)?;
        let job = job(&context, &plan)?.0;
        let made = context.github.as_ref().map(|github| Expected {
            repository: github.full_name(),
            folder: job.folder(),
            ..Expected::default()
        });
        Ok(Self { job, plan, digest, run_commands, made, moved: None })
    }

    /// Makes a request to write what another job of the same workflow run has planned, and to execute nothing of the
    /// checkout for it. `digest` is required where somebody else than the plan itself can say it.
    pub fn for_second_job(inputs: &Inputs, plan: Plan, digest: Option<String>) -> Result<Self, InputError> {
        let context = RequestContext::read(inputs)?;
        let run = context.github.as_ref().and_then(|github| Some((github.full_name(), github.run_id?)));
        let (repository, run) = run.ok_or(InputError::NoWorkflowRun)?;
        let (mut job, gates) = job_of(&context, &plan, true)?;
        let origin = job.origin_of_plans();
        let second = SecondJob {
            workflow: origin.as_ref().and_then(|origin| origin.workflow.clone()),
            commit: origin.and_then(|origin| origin.commit),
            gates,
        };
        // The branch has to be where the plan was made.
        let head = job.github.as_ref().and_then(|github| github.commit().map(str::to_owned));
        if let Deliver::PullBranch { at, .. } = &mut job.deliver {
            *at = head;
        }
        let made = Expected { repository, folder: job.folder(), run: Some(run), second_job: Some(second) };
        Ok(Self { job, plan, digest, run_commands: false, made: Some(made), moved: None })
    }

    /// Makes a request to deliver what a run of this user had finished and could not deliver. Nothing is executed: the
    /// gates passed on these very files.
    pub(crate) fn for_held(inputs: &Inputs, plan: Plan, digest: &str) -> Result<Self, InputError> {
        let context = RequestContext::read(inputs)?;
        let (job, _) = job_of(&context, &plan, true)?;
        Ok(Self { job, plan, digest: Some(digest.to_owned()), run_commands: false, made: None, moved: None })
    }

    /// Follows the branch of the event's pull request, if that has moved since the event and the checkout is where it is
    /// now.
    pub async fn follow_branch(mut self) -> Result<Self, InputError> {
        if self.job.config().apply.follow == Follow::Never {
            return Ok(self);
        }
        let Deliver::PullBranch { at: Some(at), .. } = &self.job.deliver else { return Ok(self) };
        let (Some(github), Some(repository)) = (&self.job.github, &self.job.repository) else {
            return Ok(self);
        };
        let PullSubject::PullRequest { number, .. } = github.subject else { return Ok(self) };
        if repository.stands_on(at) {
            return Ok(self);
        }
        let pull = async { Pull::get(&Api::new(github)?, number).await };
        let now = pull.await.map_err(InputError::GitHub)?.head.sha;
        if repository.stands_on(&now) {
            self.moved = Some(Moved { from: at.clone(), to: now.clone() });
            self.job.move_to(&now);
        }
        Ok(self)
    }

    /// Makes a request to apply the plan that a comment shows.
    pub(super) fn for_comment(
        context: &RequestContext<'_>,
        plan: Plan,
        shown: ShownPlan,
    ) -> Result<Self, InputError> {
        let run = shown.mark.run;
        let head = context.github.as_ref().and_then(|github| github.commit());
        let to = head.filter(|head| *head != shown.mark.head);
        let moved = to.map(|to| Moved { from: shown.mark.head.clone(), to: to.to_owned() });
        let mut job = JobRequest { applies: Some(shown.mark), ..job(context, &plan)?.0 };
        // The outcome is reported where the plan was shown.
        job.origin.config.github.comment_key = shown.key;
        let made = context.github.as_ref().map(|github| Expected {
            repository: github.full_name(),
            folder: job.folder(),
            run: Some(run),
            second_job: None,
        });
        Ok(Self { job, digest: Some(plan.digest.clone()), plan, run_commands: false, made, moved })
    }
}

impl ApplyRequest {
    /// Adds names of gates that must have passed where the plan was made.
    pub(crate) fn require_gates(&mut self, names: impl Iterator<Item = String>) {
        if let Some(second) = self.made.as_mut().and_then(|made| made.second_job.as_mut()) {
            second.gates.extend(names);
        }
    }

    /// Returns what has made the plan. Only where nobody else says it, the plan does.
    pub(crate) fn planner(&self) -> Option<Planner> {
        match self.made.as_ref().and_then(|made| made.run) {
            Some(run) if self.is_second_job() => Some(Planner::EarlierJob(run)),
            Some(run) => Some(Planner::Run(run)),
            None => self.plan.made.as_ref().map(|made| Planner::Run(made.run)),
        }
    }

    /// Returns whether this is the second of two jobs, which executes nothing.
    pub fn is_second_job(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.second_job.is_some())
    }
}

/// Resolves the inputs; what the plan was made with comes from the plan.
fn job(context: &RequestContext<'_>, plan: &Plan) -> Result<(JobRequest, Vec<String>), InputError> {
    job_of(context, plan, false)
}

/// The same; if `executes_nothing`, with the names of the gates that do not run.
fn job_of(
    context: &RequestContext<'_>,
    plan: &Plan,
    executes_nothing: bool,
) -> Result<(JobRequest, Vec<String>), InputError> {
    let mut draft = Draft::new(context, context.inputs)?;
    if draft.plans_only().is_some() {
        return Err(InputError::Fork);
    }
    draft.roll_back(RunMode::Apply)?;
    draft.check_programs()?;
    // Checks that a run would have had to pass are gates of the plan as well.
    draft.rounds();
    let gates = if executes_nothing { draft.execute_nothing() } else { Vec::new() };
    // A comment that asks for a plan's application wants it on the pull request's branch, wherever runs deliver to.
    let by_comment = context.github.as_ref().is_some_and(|github| github.event == "issue_comment");
    let subject = Subject {
        task: plan.task.clone(),
        mode: RunMode::Apply,
        agent: plan.agent.clone(),
        model_name: plan.model.clone(),
        secret_variables: Vec::new(),
    };
    Ok((draft.complete(subject, by_comment)?, gates))
}

/// Reads a file that is no longer than a plan may be.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_PLAN + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_PLAN {
        return Err(io::Error::other(format!("it is longer than {} MB", MAX_PLAN / 1_000_000)));
    }
    Ok(text)
}

/// Reads a plan from its file.
pub(crate) fn read_plan(path: &Path) -> Result<Plan, InputError> {
    let failed = |error: String| InputError::Plan { path: path.to_owned(), error };
    let text = read_bounded(path).map_err(|error| failed(error.to_string()))?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    if plan.schema_version != SCHEMA_VERSION {
        let version = plan.schema_version;
        return Err(failed(format!(
            "its schema_version is {version}, but this program supports {SCHEMA_VERSION}"
        )));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_of_any_size_is_read_up_to_limit() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        // Most of it is no more than a length.
        file.as_file().set_len(1_000_000_000_000).expect("a long file");
        let error = read_plan(file.path()).expect_err("it is too long").to_string();
        assert!(error.contains("it is longer than 100 MB"), "{error}");
    }
}
