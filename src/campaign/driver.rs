//! Commands of a campaign: observe GitHub, decide, act, report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::CampaignError;
use super::planning::first_steps;
use super::plans::{Index, Planned};
use super::reconcile::{Decision, Step, StepOutcome};
use super::report::CampaignReport;
use super::request::CampaignRequest;
use super::session::{Abilities, Session};
use super::state::Intent;
use super::target::TargetId;
use crate::base::integrity::digest;
use crate::batch::Shard;
use crate::github::{
    ApiError, ObservedRepository, OwnBranch, close_pull, marker_key, merge_pull, revert_pull,
};
use crate::run::Signal;

/// Number of times that one start tries the same step.
const MAX_TRIES: u32 = 2;

/// A command that changes a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignCommand {
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

impl CampaignCommand {
    /// Returns whether targets are planned for it.
    pub fn plans(&self) -> bool {
        matches!(self, Self::Run | Self::Continue | Self::Rerun { .. })
    }

    /// Returns whether waves begin by it: whoever ends something, or mends it, starts nothing else.
    fn begins(&self) -> bool {
        matches!(self, Self::Run | Self::Continue)
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
    /// Carries out a command, as far as it does not have to wait for people.
    pub async fn run(
        &self,
        command: &CampaignCommand,
        plans: Option<PlansOfJobs<'_>>,
        signal: &Signal,
    ) -> Result<CampaignReport, CampaignError> {
        // A start that writes the plans of others makes none itself: there may be no model and no key.
        let can_plan = plans.is_none() && command.plans();
        let merges = *command == CampaignCommand::Merge;
        let abilities = Abilities { plans: can_plan, begins: command.begins(), merges };
        if can_plan {
            self.check_recipes().await?;
        }
        let mut session = Session::open(self, abilities).await?;
        session.apply_commands(command).await?;
        if let Some(PlansOfJobs { folder, digests }) = plans {
            if digests.is_none() && self.environment.in_actions {
                return Err(super::plans::UnverifiedPlans::NoDigests.into());
            }
            session.take_over(folder, digests).await?;
        }
        self.act_on(session, command, signal, true).await
    }

    /// Acts until it has to wait for people or for GitHub's limits; does nothing without `acts`.
    pub(super) async fn act_on(
        &self,
        mut session: Session<'_>,
        command: &CampaignCommand,
        signal: &Signal,
        acts: bool,
    ) -> Result<CampaignReport, CampaignError> {
        match self.work(&mut session, command, signal, acts).await {
            // The next start sees what was done but not saved.
            Err(error) if error.is_about_limit() => {
                session.notices.push(format!("{error}; the next start continues"));
                let decision = session.decide_without_github();
                Ok(CampaignReport::new(&session, &decision))
            }
            ended => ended,
        }
    }

    /// Decides and acts, repeatedly.
    async fn work(
        &self,
        session: &mut Session<'_>,
        command: &CampaignCommand,
        signal: &Signal,
        acts: bool,
    ) -> Result<CampaignReport, CampaignError> {
        // Decisions of people are saved before they are acted on.
        session.save(command.word()).await?;
        let mut tried: BTreeMap<Step, u32> = BTreeMap::new();
        loop {
            let decision = session.decide().await?;
            let is_left = |step: &Step| {
                let is_refused = session.refused.contains_key(step);
                !is_refused && tried.get(step).is_none_or(|tries| *tries < MAX_TRIES)
            };
            let steps = first_steps(decision.steps.iter().filter(|step| is_left(step)));
            if steps.is_empty() || signal.is_set() || !acts {
                return conclude(session, &decision).await;
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
        let mut session = Session::open(self, Abilities { plans: true, begins: true, merges: false }).await?;
        session.apply_commands_if_readable().await?;
        let decision = session.decide().await?;
        let is_own = |step: &&Step| matches!(step, Step::Plan(..)) && is_of(shard, step.target());
        let steps = decision.steps.iter().filter(is_own).cloned().collect();
        let steps = session.with_undelivered(steps);
        let results = session.plan_all(&steps, signal).await;
        let targets =
            results.iter().filter_map(|(step, done)| Some((step.target().clone(), Planned::of(done)?)));
        let index = Index { campaign: self.campaign.file.name.clone(), targets: targets.collect() };
        let written = index.write(&self.out);
        let digest = written
            .map_err(|error| CampaignError::Write { path: self.out.join(super::plans::INDEX), error })?;
        for (step, done) in results {
            session.state.record_outcome(&step, done);
        }
        let decision = session.decide().await?;
        Ok((CampaignReport::new(&session, &decision), digest))
    }

    /// Counts the plans that can be made now.
    pub async fn count_plans(&self) -> Result<usize, CampaignError> {
        self.check_recipes().await?;
        let mut session = Session::open(self, Abilities { plans: true, begins: true, merges: false }).await?;
        session.apply_commands_if_readable().await?;
        let decision = session.decide().await?;
        Ok(decision.steps.iter().filter(|step| matches!(step, Step::Plan(..))).count())
    }

    /// Reports on the campaign, and changes nothing.
    pub async fn status(&self) -> Result<CampaignReport, CampaignError> {
        // It shows what `run` would begin with, and saves none of it.
        let mut session = Session::open(self, Abilities { begins: true, ..Abilities::default() }).await?;
        session.read_commands().await?;
        let decision = session.decide().await?;
        Ok(CampaignReport::new(&session, &decision))
    }
}

/// Returns whether a target belongs to a shard. Found targets come and go, so each has its shard by its name.
fn is_of(shard: Option<Shard>, id: &TargetId) -> bool {
    let Some(shard) = shard else { return true };
    // The parts of a plan are made together.
    let hash = digest(id.whole().to_string().as_bytes());
    let number = u32::from_str_radix(&hash[..7], 16).unwrap_or(0);
    number % shard.of == shard.index - 1
}

impl Session<'_> {
    /// Applies `command`, and the commands that people gave on the dashboard. A comment counts as read from
    /// then on, so whoever reads it has to act on it.
    pub(super) async fn apply_commands(&mut self, command: &CampaignCommand) -> Result<(), CampaignError> {
        let wants_to_continue = self.read_commands().await?;
        self.set_goal(command, wants_to_continue).await
    }

    /// Applies the commands that people gave on the dashboard, if it can be read: a job that plans may not be allowed
    /// to read issues.
    async fn apply_commands_if_readable(&mut self) -> Result<(), CampaignError> {
        let wants_to_continue = self.read_commands().await.unwrap_or(false);
        self.set_goal(&CampaignCommand::Run, wants_to_continue).await
    }

    /// Changes the goal of the campaign. `wants_to_continue` says that somebody asked for that on the dashboard.
    async fn set_goal(
        &mut self,
        command: &CampaignCommand,
        wants_to_continue: bool,
    ) -> Result<(), CampaignError> {
        let needs_standings =
            wants_to_continue || matches!(command, CampaignCommand::Continue | CampaignCommand::Rerun { .. });
        if needs_standings {
            let decision = self.decide().await?;
            if wants_to_continue || *command == CampaignCommand::Continue {
                self.state.resume(&decision.standings);
            }
            if let CampaignCommand::Rerun { closed } = command {
                let name = || self.state.campaign.clone();
                match self.state.intent {
                    Intent::Abandoned => return Err(CampaignError::Abandoned(name())),
                    Intent::RollingBack => return Err(CampaignError::RolledBack(name())),
                    Intent::Forward => drop(self.state.rerun(&decision.standings, *closed)),
                }
            }
        }
        match command {
            CampaignCommand::Run
            | CampaignCommand::Continue
            | CampaignCommand::Rerun { .. }
            | CampaignCommand::Merge => {}
            CampaignCommand::Close(names) => {
                let missing = |name: &String| CampaignError::NoTarget(name.clone());
                let only =
                    names.iter().map(|name| TargetId::try_from(name.clone()).map_err(|_| missing(name)));
                let only = only.collect::<Result<BTreeSet<TargetId>, _>>()?;
                self.find_lost(&only.iter().map(TargetId::whole).collect()).await?;
                if let Some(unknown) = only.iter().find(|id| !self.state.targets.contains_key(id)) {
                    return Err(missing(&unknown.to_string()));
                }
                self.state.withdraw(&only);
            }
            CampaignCommand::Abandon => {
                self.find_lost(&BTreeSet::new()).await?;
                self.state.intent = Intent::Abandoned;
            }
            CampaignCommand::RollBack => {
                self.find_lost(&BTreeSet::new()).await?;
                self.notices.extend(self.lost_for_good());
                self.state.intent = Intent::RollingBack;
            }
        }
        Ok(())
    }
}

/// Saves and reports the state.
async fn conclude(session: &mut Session<'_>, decision: &Decision) -> Result<CampaignReport, CampaignError> {
    let report = CampaignReport::new(session, decision);
    // The location of the dashboard has to be known before the state is saved for the last time.
    let shown = session.update_dashboard(&report.title(), &report.dashboard()).await;
    session.save("end").await?;
    let mut report = CampaignReport::new(session, decision);
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
            self.mark_stale(step.target());
            // Interrupted work starts again.
            if !(signal.is_set() && matches!(done, StepOutcome::Failed(_))) {
                self.state.record_outcome(&step, done);
            }
        }
        for (step, done) in self.plan_all(&self.with_undelivered(plans), signal).await {
            if let StepOutcome::Planned { digest, .. } = &done {
                let path = super::plans::folder(&self.request.out, step.target()).join("plan.json");
                self.plans.insert(step.target(), path, digest.clone());
            }
            self.state.record_outcome(&step, done);
        }
    }

    async fn perform(&mut self, step: &Step, signal: &Signal) -> StepOutcome {
        let id = step.target();
        if let (Step::Deliver(..), Some(record)) = (step, self.state.targets.get(id)) {
            let observed = self.observed.get(id);
            return self.request.deliver((id, record), &self.plans, observed, signal).await;
        }
        match self.act(step).await {
            Ok(told) => self.notices.extend(told.map(|told| format!("{id}: {told}"))),
            // A later look shows whether it was done anyway.
            Err(error) => {
                self.notices.push(format!("{id}: {error}"));
                self.refused.insert(step.clone(), error.to_string());
            }
        }
        StepOutcome::Seen
    }

    /// Does what a step says on GitHub. Returns what people have to know of it, if anything.
    async fn act(&self, step: &Step) -> Result<Option<String>, CampaignError> {
        let id = step.target();
        let observed = self.observed.get(id);
        let (name, head) = match observed.map(|observed| &observed.repository) {
            Some(ObservedRepository::Present { name, head, .. }) => (name, head.as_ref()),
            _ => (&id.repository, None),
        };
        let api = self.request.writer(name).await?;
        match step {
            Step::Close(_, number) => {
                let campaign = &self.request.campaign;
                // As it stands in the commits.
                let (name, key) = (campaign.branch(id), marker_key(&campaign.key(id)));
                // Where there is no default branch, there is nothing that ours could be compared with.
                let base = head.map_or("HEAD", |(_, commit)| commit.as_str());
                if !close_pull(&api, *number, OwnBranch { name: &name, base, key: &key }).await? {
                    let told = format!(
                        "#{number} is closed, but its branch {name} stays, because it contains commits that this campaign \
                         did not make, or because GitHub could not compare it before it is deleted; merge or delete it"
                    );
                    return Ok(Some(told));
                }
            }
            Step::Merge(_, number, head) => merge_pull(&api, *number, head).await?,
            Step::Revert(_, number) => {
                let pull = observed.and_then(|it| it.pulls.iter().find(|pull| pull.number == *number));
                let gone = || ApiError::NoSuchPull(*number);
                let title = format!("Revert: {} (#{number})", self.request.campaign.file.name);
                revert_pull(&api, &pull.ok_or_else(gone)?.node, &title).await?;
            }
            Step::Plan(..) | Step::Deliver(..) => {}
        }
        Ok(None)
    }
}
