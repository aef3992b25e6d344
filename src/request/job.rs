//! Turns what an event asks for into a job, an answer, or nothing.

use sanitize::Masker;
use sanitize::untrusted::markdown_behind;

use super::chosen_plan::{NoPlan, choose};
use super::context::RequestContext;
use super::refusal::BatchRefusal;
use super::resume::{find_sealed, resume_sealed};
use super::{ApplyRequest, Deliver, InputError, Inputs, JobRequest, RunRequest};
use crate::config::{Follow, Verb};
use crate::event::{Exit, RunMode};
use crate::github::{
    ARTIFACT, ArtifactLookup, CommentCommand, Environment, Pull, Reaction, Rules, ShownPlan, StickyComment,
    Subject, Trigger, comment_marker, complete, help, hidden_lines, marker_key, may_write, plan_of_run,
    react, trailer,
};
use crate::plan::Plan;
use crate::report::reason_not_to_apply;

/// What is to be done.
#[derive(Debug)]
pub enum Job {
    /// An agent works on a task.
    RunAgent(Box<RunRequest>),
    /// A plan is applied.
    ApplyPlan(Box<ApplyRequest>),
    /// Nothing, or nothing more: whoever asked was answered.
    Skip(Skip),
}

/// Why there is nothing to do.
#[derive(Debug)]
pub struct Skip {
    /// The reason, or what was answered.
    pub message: String,
    /// How the process ends.
    pub exit: Exit,
}

impl Skip {
    fn because(reason: &str) -> Job {
        Job::Skip(Self { message: format!("nothing to do: {reason}"), exit: Exit::Success })
    }
}

impl Job {
    /// Looks at the event, and at who caused it, and makes the request.
    pub async fn resolve(inputs: &Inputs) -> Result<Self, InputError> {
        let mut context = RequestContext::read(inputs)?;
        let Some(github) = context.github.clone() else {
            return RunRequest::for_task(&context, inputs).map(Self::run);
        };
        let rules = context.rules();
        let (order, asker, complaint) = match Trigger::of(&github, &rules) {
            Trigger::Ignore(reason) => return Ok(Skip::because(&reason)),
            Trigger::Start { order, asker } => (order, asker, None),
            Trigger::Explain { asker, reason } => (None, asker, Some(reason)),
        };
        // Outside of Actions, a person runs this by hand, and needs no permission.
        if let Some(login) = asker.filter(|_| github.in_actions)
            && !context.may_start(&github, &login).await?
        {
            context.react(&github, Reaction::Failed).await;
            return Ok(Skip::because(&format!(
                "{login} has no write permission; add the name to `allow-users` to let this person start runs"
            )));
        }
        if let Some(reason) = complaint {
            let text = help(Some(&reason), &rules.orders);
            return Ok(context.answer(&github, &text, Exit::Success, Reaction::Failed).await);
        }
        let Some(order) = order else { return context.unordered(&github) };
        context.react(&github, Reaction::Seen).await;
        let job = context.ordered(&github, &order, &rules).await;
        if let Err(error) = &job {
            context.answer_failure(&github, &error.explained()).await;
        }
        job
    }

    /// Returns why the event that the variables describe starts nothing, or `None` if it may start something.
    pub fn ignored(inputs: &Inputs) -> Result<Option<String>, InputError> {
        let context = RequestContext::read(inputs)?;
        let trigger = context.github.as_ref().map(|github| Trigger::of(github, &context.rules()));
        Ok(match trigger {
            Some(Trigger::Ignore(reason)) => Some(reason),
            Some(Trigger::Start { .. } | Trigger::Explain { .. }) | None => None,
        })
    }

    /// Returns what the job needs to know like every other.
    pub fn request(&self) -> Option<&JobRequest> {
        match self {
            Self::RunAgent(request) => Some(&request.job),
            Self::ApplyPlan(request) => Some(&request.job),
            Self::Skip(_) => None,
        }
    }

    fn run(request: RunRequest) -> Self {
        Self::RunAgent(Box::new(request))
    }
}

/// Returns whether an event announces new commits.
fn is_of_commit(github: &Environment) -> bool {
    matches!(github.event.as_str(), "push" | "pull_request" | "pull_request_target")
}

/// An event about an issue needs no other task than the issue.
fn describe(inputs: &mut Inputs, github: &Environment) {
    if matches!(github.event.as_str(), "issues" | "issue_comment") {
        inputs.describe();
    }
}

impl RequestContext<'_> {
    /// Whether whoever caused the event may start a batch; the error says why not.
    pub(crate) async fn may_start_batch(&self, github: &Environment) -> Result<(), InputError> {
        let no = |refusal| Err(InputError::BatchNotStarted(refusal));
        match Trigger::of(github, &self.rules()) {
            Trigger::Start { order: None, asker: None } => Ok(()),
            Trigger::Start { order: None, asker: Some(login) } if self.may_start(github, &login).await? => {
                Ok(())
            }
            Trigger::Start { order: None, asker: Some(login) } => no(BatchRefusal::NoPermission(login)),
            Trigger::Ignore(reason) => no(BatchRefusal::Ignored(reason)),
            Trigger::Start { order: Some(_), .. } | Trigger::Explain { .. } => no(BatchRefusal::Comment),
        }
    }

    fn rules(&self) -> Rules {
        let config = &self.origin.config.github;
        Rules {
            allow_users: [config.allow_users.clone(), self.inputs.allow_users.clone()].concat(),
            allow_bots: [config.allow_bots.clone(), self.inputs.allow_bots.clone()].concat(),
            label: config.label.clone(),
            orders: config.commands.clone(),
        }
    }

    async fn may_start(&self, github: &Environment, login: &str) -> Result<bool, InputError> {
        let asked = async { may_write(self.api(github)?, login).await };
        asked.await.map_err(|error| InputError::Permission { login: login.to_owned(), error })
    }

    /// Reacts to the comment, where there is one; a reaction that fails is no reason to stop.
    async fn react(&mut self, github: &Environment, reaction: Reaction) {
        let Some(comment) = &github.comment else { return };
        let reacted = async { react(self.api(github)?, comment.id, reaction).await };
        if let Err(error) = reacted.await {
            self.warnings.push(error.to_string());
        }
    }

    async fn answer(&mut self, github: &Environment, text: &str, exit: Exit, reaction: Reaction) -> Job {
        self.post_answer(github, text).await;
        self.react(github, reaction).await;
        let warnings: String = self.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        Job::Skip(Skip { message: format!("{text}{warnings}"), exit })
    }

    /// Answers the person who gave a command with why it failed; the run itself ends with the error.
    async fn answer_failure(&mut self, github: &Environment, error: &str) {
        let masker = Masker::from_environment(&self.inputs.variables, &[], &[]);
        let text = format!("The command was not carried out: {}\n", markdown_behind(&masker.mask(error)));
        self.post_answer(github, &text).await;
        self.react(github, Reaction::Failed).await;
    }

    /// Posts an answer to the comment that ordered something. All answers are one comment, which is updated.
    async fn post_answer(&mut self, github: &Environment, text: &str) {
        let Some(number) = github.number() else { return };
        // A key of its own: that of no job has a colon.
        let key = format!("{}: orders", self.comment_key());
        let body = format!("{}{}{text}", hidden_lines(&key, None), github.order_line());
        let posted = async {
            let api = self.api(github)?.clone();
            StickyComment::new(api, number, github.is_on_pull(), comment_marker(&key))
                .put(&body)
                .await
                .map(drop)
        };
        if let Err(error) = posted.await {
            self.warnings.push(error.to_string());
        }
    }

    /// Makes the job of an event that orders nothing by itself.
    fn unordered(&self, github: &Environment) -> Result<Job, InputError> {
        let mut inputs = self.inputs.clone();
        describe(&mut inputs, github);
        let request = RunRequest::for_task(self, &inputs)?;
        // With another token than the job's own, each delivery would start the next run.
        let delivers = !matches!(request.job.deliver, Deliver::Nowhere | Deliver::Patch);
        let key = marker_key(&request.job.config().github.comment_key);
        let is_ours = || self.repository.as_ref().is_some_and(|found| found.is_at_trailer(&trailer(&key)));
        if delivers && is_of_commit(github) && is_ours() {
            return Ok(Skip::because("the latest commit was delivered by this job"));
        }
        Ok(Job::run(request))
    }

    /// Makes the job that a comment orders.
    async fn ordered(
        &mut self,
        github: &Environment,
        order: &CommentCommand,
        rules: &Rules,
    ) -> Result<Job, InputError> {
        let mode = match order.verb {
            Verb::Help => {
                let text = help(None, &rules.orders);
                return Ok(self.answer(github, &text, Exit::Success, Reaction::Done).await);
            }
            Verb::Run => Some(RunMode::Yolo),
            Verb::Plan => Some(RunMode::DryRun),
            Verb::Apply | Verb::Continue => None,
        };
        let mut known = github.clone();
        let completed = async { complete(self.api(github)?, &mut known).await };
        completed.await.map_err(InputError::GitHub)?;
        self.github = Some(known.clone());
        if order.verb == Verb::Continue {
            return self.continued(&known, order.text.as_deref()).await;
        }
        let Some(mode) = mode else { return self.apply_shown(&known, order.text.as_deref()).await };
        let mut inputs = self.inputs.clone();
        inputs.order(mode, order.text.as_deref());
        describe(&mut inputs, &known);
        RunRequest::for_task(self, &inputs).map(Job::run)
    }

    /// Makes the job that continues with an interrupted session, of a workflow run that is named or the latest one.
    async fn continued(&mut self, github: &Environment, run: Option<&str>) -> Result<Job, InputError> {
        let run = match run.map(str::parse) {
            None => None,
            Some(Ok(run)) => Some(run),
            Some(Err(_)) => {
                let text = "The session was not continued: `/architect continue` takes the id of a workflow run, or nothing.\n";
                return Ok(self.answer(github, text, Exit::Configuration, Reaction::Failed).await);
            }
        };
        let number = github.number();
        let api = self.api(github).map_err(InputError::GitHub)?;
        let opened = find_sealed(api, run, number, &self.inputs.variables).await?;
        let mut inputs = self.inputs.clone();
        inputs.order(opened.file().mode, Some(&opened.file().task));
        let request = RunRequest::for_task(self, &inputs)?;
        resume_sealed(request, opened).map(Job::run)
    }

    /// Makes the job that applies the plan of the sticky comment; or answers why it is not applied.
    async fn apply_shown(&mut self, github: &Environment, digest: Option<&str>) -> Result<Job, InputError> {
        match self.plan(github, digest).await {
            Ok((shown, plan)) => {
                ApplyRequest::for_comment(self, plan, shown).map(|request| Job::ApplyPlan(Box::new(request)))
            }
            Err(NoPlan::Failed(error)) => Err(InputError::GitHub(error)),
            Err(NoPlan::Refused(reason)) => {
                let text = format!("The plan was not applied: {reason}.\n");
                Ok(self.answer(github, &text, Exit::NotApplied, Reaction::Failed).await)
            }
        }
    }

    /// Returns the requested plan if a comment of ours shows it and it still fits the pull request.
    async fn plan(&self, github: &Environment, digest: Option<&str>) -> Result<(ShownPlan, Plan), NoPlan> {
        let Subject::PullRequest { number, fork, .. } = github.subject else {
            return Err(NoPlan::refused("there is no pull request to apply it to"));
        };
        if fork {
            return Err(NoPlan::refused(
                "the pull request is from a fork, and the branch of a fork cannot be written to",
            ));
        }
        let key = self.comment_key();
        let api = self.api(github)?;
        let sticky = StickyComment::new(api.clone(), number, true, comment_marker(&key));
        let (all, others) = sticky.shown_plans().await?;
        let why = others.iter().find_map(|text| reason_not_to_apply(text));
        let shown = choose(all, &marker_key(&key), digest, why)?;
        let mark = &shown.mark;
        let pull = Pull::get(api, number).await?;
        if pull.state != "open" {
            return Err(NoPlan::refused("the pull request is closed"));
        }
        let follows =
            self.origin.config.apply.follow != Follow::Never && github.commit() == Some(&pull.head.sha);
        if pull.head.sha != mark.head && !follows {
            let (then, now) = (short(&mark.head), short(&pull.head.sha));
            return Err(NoPlan::Refused(format!(
                "the pull request has moved from `{then}` to `{now}`; ask for a new plan with `/architect \
                 plan`"
            )));
        }
        if !self.repository.as_ref().is_some_and(|repository| repository.stands_on(&pull.head.sha)) {
            return Err(NoPlan::Refused(format!(
                "the workflow did not check out the pull request's head; set `ref: refs/pull/{number}/head` \
                 for `actions/checkout`"
            )));
        }
        match plan_of_run(api, mark.run, &mark.digest).await? {
            ArtifactLookup::Found(plan) => Ok((shown, *plan)),
            ArtifactLookup::Expired => Err(NoPlan::Refused(format!(
                "the artifacts of the run {} have expired; ask for a new plan with `/architect plan`",
                mark.run
            ))),
            ArtifactLookup::Nothing => Err(NoPlan::Refused(format!(
                "the run {} has no artifact with this plan; upload the output folder with \
                 `actions/upload-artifact` under a name that begins with `{ARTIFACT}`",
                mark.run
            ))),
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
