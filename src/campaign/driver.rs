//! Commands of a campaign: observe GitHub, decide, act, report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures::StreamExt;

use super::error::CampaignError;
use super::plans::{Index, Planned};
use super::reconcile::{Done, Next, Step};
use super::report::CampaignReport;
use super::request::CampaignRequest;
use super::session::{Abilities, Session};
use super::state::Intent;
use super::target::TargetId;
use crate::base::integrity::digest;
use crate::batch::Shard;
use crate::github::{ApiError, ObservedRepository, close_pull, merge_pull, revert_pull};
use crate::run::Signal;

/// Number of times that one start tries the same step.
const MAX_TRIES: u32 = 2;

/// Number of steps after which the state is saved.
const STEPS_AT_ONCE: usize = 25;

/// An action on a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Everything that can be done now.
    Run,
    /// Resume after a stop, and start the next wave.
    Continue,
    /// Start failed targets again, and with `closed` also those that people closed.
    Rerun {
        /// Whether closed pull requests are reopened.
        closed: bool,
    },
    /// Merge what is green, and plan nothing.
    Merge,
    /// Close these pull requests; all if there are none.
    Close(Vec<String>),
    /// Close all, for good.
    Abandon,
    /// Close all, and revert what is merged.
    RollBack,
}

/// Plans that other jobs have made.
#[derive(Clone, Copy, Debug)]
pub struct PlansOfJobs<'a> {
    /// The folder with their artifacts.
    pub folder: &'a Path,
    /// The digests of their results, as JSON; required in GitHub Actions.
    pub digests: Option<&'a str>,
}

impl Order {
    /// Returns whether targets are planned for it.
    pub fn plans(&self) -> bool {
        matches!(self, Self::Run | Self::Continue | Self::Rerun { .. })
    }

    /// Returns a word for the history of the state.
    fn word(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Continue => "continue",
            Self::Rerun { .. } => "rerun",
            Self::Merge => "merge",
            Self::Close(_) => "close",
            Self::Abandon => "abandon",
            Self::RollBack => "roll back",
        }
    }
}

impl CampaignRequest {
    /// Carries out an action, as far as it does not have to wait for people.
    pub async fn run(
        &self,
        order: &Order,
        plans: Option<PlansOfJobs<'_>>,
        signal: &Signal,
    ) -> Result<CampaignReport, CampaignError> {
        // A start that writes the plans of others makes none itself: there may be no model and no key.
        let can_plan = plans.is_none() && order.plans();
        let abilities = Abilities { plans: can_plan, merges: *order == Order::Merge };
        if can_plan {
            self.check_recipes().await?;
        }
        let mut session = Session::open(self, abilities).await?;
        session.obey(order).await?;
        if let Some(PlansOfJobs { folder, digests }) = plans {
            if digests.is_none() && self.environment.in_actions {
                return Err(super::plans::UnverifiedPlans::NoDigests.into());
            }
            session.take_over(folder, digests).await?;
        }
        self.go_on(session, order, signal, true).await
    }

    /// Acts until it has to wait for people or for GitHub's limits; does nothing without `acts`.
    pub(super) async fn go_on(
        &self,
        mut session: Session<'_>,
        order: &Order,
        signal: &Signal,
        acts: bool,
    ) -> Result<CampaignReport, CampaignError> {
        match self.work(&mut session, order, signal, acts).await {
            // The next start sees what was done but not saved.
            Err(error) if error.is_about_limit() => {
                session.notices.push(format!("{error}; the next start continues"));
                let judged = session.judge_unasked();
                Ok(CampaignReport::new(&session, &judged))
            }
            ended => ended,
        }
    }

    /// Decides and acts, repeatedly.
    async fn work(
        &self,
        session: &mut Session<'_>,
        order: &Order,
        signal: &Signal,
        acts: bool,
    ) -> Result<CampaignReport, CampaignError> {
        // Decisions of people are saved before they are acted on.
        session.save(order.word()).await?;
        let mut tried: BTreeMap<Step, u32> = BTreeMap::new();
        loop {
            let judged = session.judge().await?;
            let is_left = |step: &Step| tried.get(step).is_none_or(|tries| *tries < MAX_TRIES);
            let steps: Vec<Step> =
                judged.steps.iter().filter(|step| is_left(step)).take(STEPS_AT_ONCE).cloned().collect();
            if steps.is_empty() || signal.is_set() || !acts {
                return conclude(session, &judged).await;
            }
            for step in &steps {
                *tried.entry(step.clone()).or_default() += 1;
            }
            let count = steps.len();
            session.carry_out(steps, signal).await;
            session.save(&format!("{count} steps")).await?;
        }
    }

    /// Makes the plans that can be made now for one shard of the targets, and writes nothing to GitHub.
    pub async fn plan_only(
        &self,
        shard: Option<Shard>,
        signal: &Signal,
    ) -> Result<(CampaignReport, String), CampaignError> {
        self.check_recipes().await?;
        let mut session = Session::open(self, Abilities { plans: true, merges: false }).await?;
        session.obey_if_readable().await?;
        let judged = session.judge().await?;
        let is_own = |step: &&Step| matches!(step, Step::Plan(..)) && is_of(shard, step.target());
        let steps: Vec<Step> = judged.steps.iter().filter(is_own).cloned().collect();
        let results = session.plan_all(&steps, signal).await;
        let targets =
            results.iter().filter_map(|(step, done)| Some((step.target().clone(), Planned::of(done)?)));
        let index = Index { campaign: self.campaign.file.name.clone(), targets: targets.collect() };
        let written = index.write(&self.out);
        let digest = written
            .map_err(|error| CampaignError::Write { path: self.out.join(super::plans::INDEX), error })?;
        for (step, done) in results {
            session.state.remember(&step, done);
        }
        let judged = session.judge().await?;
        Ok((CampaignReport::new(&session, &judged), digest))
    }

    /// Counts the plans that can be made now.
    pub async fn count_plans(&self) -> Result<usize, CampaignError> {
        self.check_recipes().await?;
        let mut session = Session::open(self, Abilities { plans: true, merges: false }).await?;
        session.obey_if_readable().await?;
        let judged = session.judge().await?;
        Ok(judged.steps.iter().filter(|step| matches!(step, Step::Plan(..))).count())
    }

    /// Looks at the campaign, and changes nothing.
    pub async fn status(&self) -> Result<CampaignReport, CampaignError> {
        let mut session = Session::open(self, Abilities::default()).await?;
        session.read_orders().await?;
        let judged = session.judge().await?;
        Ok(CampaignReport::new(&session, &judged))
    }
}

/// Returns whether a target belongs to a shard. Found targets come and go, so each has its shard by its name.
fn is_of(shard: Option<Shard>, id: &TargetId) -> bool {
    let Some(shard) = shard else { return true };
    let hash = digest(id.to_string().as_bytes());
    let number = u32::from_str_radix(&hash[..7], 16).unwrap_or(0);
    number % shard.of == shard.index - 1
}

impl Session<'_> {
    /// Changes the goal of the campaign: by `order`, and by what people say on the dashboard. A comment counts as read from
    /// then on, so whoever reads it has to obey it.
    pub(super) async fn obey(&mut self, order: &Order) -> Result<(), CampaignError> {
        let has_order = self.read_orders().await?;
        self.give(order, has_order).await
    }

    /// Carries out the commands that people give on the dashboard, if it can be read: a job that plans may not be allowed
    /// to read issues.
    async fn obey_if_readable(&mut self) -> Result<(), CampaignError> {
        let has_order = self.read_orders().await.unwrap_or(false);
        self.give(&Order::Run, has_order).await
    }

    /// Changes the goal of the campaign. `has_order` says that somebody wants to continue.
    async fn give(&mut self, order: &Order, has_order: bool) -> Result<(), CampaignError> {
        let needs_standings = has_order || matches!(order, Order::Continue | Order::Rerun { .. });
        if needs_standings {
            let judged = self.judge().await?;
            if has_order || *order == Order::Continue {
                self.state.go_on(&judged.standings);
            }
            if let Order::Rerun { closed } = order {
                self.state.rerun(&judged.standings, *closed);
                self.state.intent = Intent::Forward;
            }
        }
        match order {
            Order::Run | Order::Continue | Order::Rerun { .. } | Order::Merge => {}
            Order::Close(names) => {
                let mut only = BTreeSet::new();
                for name in names {
                    let id = TargetId::try_from(name.clone()).ok();
                    let known = id.filter(|id| self.state.targets.contains_key(id));
                    only.insert(known.ok_or_else(|| CampaignError::NoTarget(name.clone()))?);
                }
                self.state.withdraw(&only);
            }
            Order::Abandon => self.state.intent = Intent::Abandoned,
            Order::RollBack => self.state.intent = Intent::RollingBack,
        }
        Ok(())
    }
}

/// Saves and reports the state.
async fn conclude(session: &mut Session<'_>, judged: &Next) -> Result<CampaignReport, CampaignError> {
    let report = CampaignReport::new(session, judged);
    // The location of the dashboard has to be known before the state is saved for the last time.
    let shown = session.show(&report.title(), &report.dashboard()).await;
    session.save("end").await?;
    let mut report = CampaignReport::new(session, judged);
    if let Err(error) = shown {
        report.notices.push(format!("could not update the dashboard: {error}"));
    }
    Ok(report)
}

impl Session<'_> {
    /// Carries out steps, and records their outcomes.
    async fn carry_out(&mut self, steps: Vec<Step>, signal: &Signal) {
        let (plans, others): (Vec<Step>, Vec<Step>) =
            steps.into_iter().partition(|step| matches!(step, Step::Plan(..)));
        for step in others {
            if signal.is_set() {
                return;
            }
            let done = self.perform(&step, signal).await;
            self.changed(step.target());
            // Interrupted work starts again.
            if !(signal.is_set() && matches!(done, Done::Failed(_))) {
                self.state.remember(&step, done);
            }
        }
        for (step, done) in self.plan_all(&plans, signal).await {
            if let Done::Planned { digest, .. } = &done {
                let path = super::plans::folder(&self.request.out, step.target()).join("plan.json");
                self.plans.insert(step.target(), path, digest.clone());
            }
            self.state.remember(&step, done);
        }
    }

    /// Makes plans, some at a time.
    pub(super) async fn plan_all(&self, steps: &[Step], signal: &Signal) -> Vec<(Step, Done)> {
        let one = |step: &Step| {
            let step = step.clone();
            async move {
                if signal.is_set() {
                    return None;
                }
                let id = step.target();
                let done = self.request.plan(id, self.observed.get(id), signal).await;
                // Interrupted work starts again.
                (!signal.is_set()).then_some((step, done))
            }
        };
        let all = futures::stream::iter(steps.iter().map(one)).buffer_unordered(self.request.jobs);
        all.filter_map(std::future::ready).collect().await
    }

    async fn perform(&mut self, step: &Step, signal: &Signal) -> Done {
        let id = step.target();
        let past = self.state.targets.get(id).map_or(0, |record| record.past);
        if let Step::Deliver(..) = step {
            let observed = self.observed.get(id);
            return self.request.deliver((id, past), &self.plans, observed, signal).await;
        }
        if let Err(error) = self.act(step).await {
            // A later look shows whether it was done anyway.
            self.notices.push(format!("{id}: {error}"));
        }
        Done::Seen
    }

    async fn act(&self, step: &Step) -> Result<(), CampaignError> {
        let id = step.target();
        let observed = self.observed.get(id);
        let name = match observed.map(|observed| &observed.repository) {
            Some(ObservedRepository::Present { name, .. }) => name,
            _ => &id.repository,
        };
        let api = self.request.writer(name).await?;
        match step {
            Step::Close(_, number) => {
                close_pull(&api, *number, &self.request.campaign.branch(&id.task)).await?;
            }
            Step::Merge(_, number, head) => merge_pull(&api, *number, head).await?,
            Step::Revert(_, number) => {
                let pull = observed.and_then(|it| it.pulls.iter().find(|pull| pull.number == *number));
                let gone = || ApiError::Unusable(format!("#{number} was not found"));
                let title = format!("Revert: {} (#{number})", self.request.campaign.file.name);
                revert_pull(&api, &pull.ok_or_else(gone)?.node, &title).await?;
            }
            Step::Plan(..) | Step::Deliver(..) => {}
        }
        Ok(())
    }
}
