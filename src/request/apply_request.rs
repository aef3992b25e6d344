//! The request of a job that applies a plan.

use super::context::RequestContext;
use super::job_request::{Draft, JobRequest, Subject};
use super::{InputError, Inputs};
use crate::event::RunMode;
use crate::github::ShownPlan;
use crate::plan::Plan;

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
        Ok(Self { job: job(&context, &plan)?, plan, digest, run_commands })
    }

    /// Makes a request to apply the plan that a comment shows.
    pub(super) fn for_comment(
        context: &RequestContext<'_>,
        plan: Plan,
        shown: ShownPlan,
    ) -> Result<Self, InputError> {
        let mut job = JobRequest { applies: Some(shown.mark), ..job(context, &plan)? };
        // What becomes of the plan is told where it was shown.
        job.origin.config.github.comment_key = shown.key;
        Ok(Self { job, digest: Some(plan.digest.clone()), plan, run_commands: false })
    }
}

/// Resolves the inputs; what the plan was made with comes from the plan.
fn job(context: &RequestContext<'_>, plan: &Plan) -> Result<JobRequest, InputError> {
    let mut draft = Draft::new(context, context.inputs)?;
    if draft.plans_only().is_some() {
        return Err(InputError::Fork);
    }
    // Checks that a run would have had to pass are gates of the plan as well.
    draft.rounds();
    // A comment that asks for a plan's application wants it on the pull request's branch, wherever runs deliver to.
    let by_comment = context.github.as_ref().is_some_and(|github| github.event == "issue_comment");
    let subject = Subject {
        task: plan.task.clone(),
        mode: RunMode::Apply,
        agent: plan.agent.clone(),
        model_name: plan.model.clone(),
        secret_variables: Vec::new(),
    };
    draft.complete(subject, by_comment)
}
