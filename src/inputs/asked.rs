//! What an event asks for becomes a request, an answer, or nothing.

use super::basis::Basis;
use super::{Deliver, InputError, Lookup, RunRequest};
use crate::config::Verb;
use crate::event::Exit;
use crate::github::{
    ARTIFACT, Api, ApiError, Decision, Environment, Left, Order, PlanMark, Pull, Reaction, Rules, Sticky,
    Subject, complete, help, in_marker, marker, may_write, plan_of_run, react, reply, trailer,
};
use crate::plan::Plan;

/// What is to be done.
#[derive(Debug)]
pub enum Asked {
    /// An agent works on the task.
    Work(Box<RunRequest>),
    /// The plan of the sticky comment is applied.
    Apply(Box<RunRequest>, Box<Plan>),
    /// Nothing; why.
    Nothing(String),
    /// Nothing more: whoever asked was answered.
    Answered {
        /// What was said.
        text: String,
        /// How the process ends.
        exit: Exit,
    },
}

/// What a run is about where nothing else says so.
pub(super) const DESCRIBED: &str =
    "Do what this issue or pull request asks for: its title and description follow.";

impl Asked {
    /// Looks at the event, and at who caused it, and puts the request together.
    pub fn resolve(lookup: &Lookup) -> Result<Self, InputError> {
        let mut basis = Basis::read(lookup)?;
        let Some(github) = basis.github.clone() else {
            return RunRequest::of_task(&basis, lookup).map(Self::work);
        };
        let rules = basis.rules();
        let (order, asker, complaint) = match Decision::on(&github, &rules) {
            Decision::Ignore(reason) => return Ok(Self::Nothing(reason)),
            Decision::Start { order, asker } => (order, asker, None),
            Decision::Explain { asker, reason } => (None, asker, Some(reason)),
        };
        // Whoever runs this by hand may do so.
        if let Some(login) = asker.filter(|_| github.in_actions)
            && !basis.may_start(&github, &login)?
        {
            basis.react(&github, Reaction::Failed);
            return Ok(Self::Nothing(format!(
                "{login} has no write permission; add the name to `allow-users` to let this person start runs"
            )));
        }
        if let Some(reason) = complaint {
            return Ok(basis.answer(
                &github,
                &help(Some(&reason), &rules.orders),
                Exit::Success,
                Reaction::Failed,
            ));
        }
        match order {
            None => {
                let request = RunRequest::of_task(&basis, &described(lookup, &github))?;
                // With another token than the job's own, each delivery would start the next run.
                let delivers = !matches!(request.deliver, Deliver::Nowhere | Deliver::Patch);
                let key = in_marker(&request.config().github.comment_key);
                if delivers
                    && is_of_commit(&github)
                    && basis.repository.as_ref().is_some_and(|found| found.is_at_trailer(&trailer(&key)))
                {
                    return Ok(Self::Nothing("the latest commit was delivered by this job".to_owned()));
                }
                Ok(Self::work(request))
            }
            Some(order) => {
                basis.react(&github, Reaction::Seen);
                let asked = basis.ordered(&github, &order, &rules);
                if asked.is_err() {
                    basis.react(&github, Reaction::Failed);
                }
                asked
            }
        }
    }

    fn work(request: RunRequest) -> Self {
        Self::Work(Box::new(request))
    }
}

/// Whether an event tells of new commits.
fn is_of_commit(github: &Environment) -> bool {
    matches!(github.event.as_str(), "push" | "pull_request" | "pull_request_target")
}

/// An event about an issue needs no other task than the issue.
fn described(lookup: &Lookup, github: &Environment) -> Lookup {
    let asks = matches!(github.event.as_str(), "issues" | "issue_comment");
    if asks && lookup.text("task").is_none() && lookup.text("task-file").is_none() {
        return lookup.with("task", DESCRIBED);
    }
    lookup.clone()
}

impl Basis<'_> {
    /// Whether whoever caused the event may start a batch; the error says why not.
    pub(crate) fn may_start_batch(&self, github: &Environment) -> Result<(), InputError> {
        let no = |reason: String| Err(InputError::Unusable(format!("the batch is not started: {reason}")));
        match Decision::on(github, &self.rules()) {
            Decision::Start { order: None, asker: None } => Ok(()),
            Decision::Start { order: None, asker: Some(login) } if self.may_start(github, &login)? => Ok(()),
            Decision::Start { order: None, asker: Some(login) } => no(format!(
                "{login} has no write permission; add the name to `allow-users` to let this person start runs"
            )),
            Decision::Ignore(reason) => no(reason),
            Decision::Start { order: Some(_), .. } | Decision::Explain { .. } => {
                no("comments can start runs, but not batches".to_owned())
            }
        }
    }

    fn rules(&self) -> Rules {
        let config = &self.origin.config.github;
        let more = |name: &str| {
            let given = self.lookup.text(name).unwrap_or_default();
            let names = given.split([',', '\n']).map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        Rules {
            allow_users: [config.allow_users.clone(), more("allow-users")].concat(),
            allow_bots: [config.allow_bots.clone(), more("allow-bots")].concat(),
            label: config.label.clone(),
            orders: config.commands.clone(),
        }
    }

    fn may_start(&self, github: &Environment, login: &str) -> Result<bool, InputError> {
        let asked = self.desk.ask(github, |api| async move { may_write(&api, login).await });
        asked.map_err(|error| InputError::Permission { login: login.to_owned(), error })
    }

    /// A reaction that fails is no reason to stop.
    fn react(&self, github: &Environment, reaction: Reaction) {
        let Some(comment) = &github.comment else { return };
        let id = comment.id;
        if let Err(error) = self.desk.ask(github, |api| async move { react(&api, id, reaction).await }) {
            self.desk.warn(error.to_string());
        }
    }

    fn answer(&self, github: &Environment, text: &str, exit: Exit, reaction: Reaction) -> Asked {
        if let Some(number) = github.number() {
            let on_pull = github.is_on_pull();
            let posted = self
                .desk
                .ask(github, |api| async move { reply(&api, number, on_pull, text).await.map(drop) });
            if let Err(error) = posted {
                self.desk.warn(error.to_string());
            }
        }
        self.react(github, reaction);
        let warnings: String =
            self.desk.warnings().iter().map(|warning| format!("warning: {warning}\n")).collect();
        Asked::Answered { text: format!("{text}{warnings}"), exit }
    }

    fn ordered(&mut self, github: &Environment, order: &Order, rules: &Rules) -> Result<Asked, InputError> {
        if order.verb == Verb::Help {
            return Ok(self.answer(github, &help(None, &rules.orders), Exit::Success, Reaction::Done));
        }
        let mut known = github.clone();
        let completed =
            self.desk.ask(github, |api| async move { complete(&api, &mut known).await.map(|()| known) });
        let github = completed.map_err(InputError::GitHub)?;
        self.github = Some(github.clone());
        if order.verb == Verb::Apply {
            return match self.plan(&github, order.text.as_deref()) {
                Ok((mark, plan)) => {
                    let mut request = RunRequest::of_plan(self, self.lookup, &plan)?;
                    request.applies = Some(mark);
                    Ok(Asked::Apply(Box::new(request), Box::new(plan)))
                }
                Err(NoPlan::Failed(error)) => Err(InputError::GitHub(error)),
                Err(NoPlan::Told(reason)) => {
                    let text = format!("The plan was not applied: {reason}.\n");
                    Ok(self.answer(&github, &text, Exit::NotApplied, Reaction::Failed))
                }
            };
        }
        let mode = if order.verb == Verb::Run { "yolo" } else { "dry-run" };
        let mut lookup = self.lookup.with("mode", mode);
        if let Some(task) = &order.text {
            lookup = lookup.with("task", task).without("task-file");
        }
        RunRequest::of_task(self, &described(&lookup, &github)).map(Asked::work)
    }

    /// The plan that the sticky comment shows, if it still fits the pull request.
    fn plan(&self, github: &Environment, digest: Option<&str>) -> Result<(PlanMark, Plan), NoPlan> {
        let Subject::PullRequest { number, fork, .. } = github.subject else {
            return Err(NoPlan::told("there is no pull request to apply it to"));
        };
        if fork {
            return Err(NoPlan::told(
                "the pull request is from a fork, and the branch of a fork cannot be \
                                     written",
            ));
        }
        let key = self.comment_key();
        let read = |api: Api| async move {
            let text = Sticky::new(api.clone(), number, true, marker(&key)).text().await?;
            let Some(mark) = text.as_deref().and_then(PlanMark::find) else { return Ok(None) };
            let pull = Pull::get(&api, number).await?;
            Ok(Some((mark, pull)))
        };
        let found = self.desk.ask(github, read)?;
        let (mark, pull) =
            found.ok_or_else(|| NoPlan::told("no comment on this pull request shows a plan"))?;
        if let Some(digest) = digest
            && (digest.len() < 8 || !mark.digest.starts_with(&digest.to_ascii_lowercase()))
        {
            return Err(NoPlan::told("the comment now shows a plan with another digest"));
        }
        if pull.state != "open" {
            return Err(NoPlan::told("the pull request is closed"));
        }
        if pull.head.sha != mark.head {
            let (then, now) = (short(&mark.head), short(&pull.head.sha));
            return Err(NoPlan::Told(format!(
                "the pull request has moved from `{then}` to `{now}`; ask for a new plan with `/architect \
                 plan`"
            )));
        }
        if !self.repository.as_ref().is_some_and(|repository| repository.stands_on(&pull.head.sha)) {
            return Err(NoPlan::Told(format!(
                "the workflow did not check out the pull request's head; set `ref: refs/pull/{number}/head` \
                 for `actions/checkout`"
            )));
        }
        let (run, digest) = (mark.run, mark.digest.clone());
        match self.desk.ask(github, |api| async move { plan_of_run(&api, run, &digest).await })? {
            Left::Plan(plan) => Ok((mark, *plan)),
            Left::Expired => Err(NoPlan::Told(format!(
                "the artifacts of the run {} have expired; ask for a new plan with `/architect plan`",
                mark.run
            ))),
            Left::Nothing => Err(NoPlan::Told(format!(
                "the run {} has no artifact with this plan; upload the output folder with \
                 `actions/upload-artifact` under a name that begins with `{ARTIFACT}`",
                mark.run
            ))),
        }
    }
}

enum NoPlan {
    /// GitHub could not be asked.
    Failed(ApiError),
    /// What stands against it, for whoever asked.
    Told(String),
}

impl NoPlan {
    fn told(reason: &str) -> Self {
        Self::Told(reason.to_owned())
    }
}

impl From<ApiError> for NoPlan {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
