//! One start of a campaign: the saved state, what GitHub shows now, and what is still to be reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::CampaignError;
use super::file::Split;
use super::plans::{Index, Indexes, Plans};
use super::reconcile::{Decision, Situation, Step, decide};
use super::report::FallenBack;
use super::request::CampaignRequest;
use super::standing::{Standing, twin};
use super::state::{AttemptOutcome, Intent, Record, State};
use super::target::TargetId;
use super::waves::waiting;
use crate::base::clock::unix_seconds;
use crate::base::error::chain;
use crate::github::{BranchFiles, Dashboard, OBSERVED_AT_ONCE, ObserveTarget, Observed, Writers, observe};

/// The command that comments on the dashboard can give.
const CONTINUE: &str = "/architect continue";

/// One start of a campaign.
pub(super) struct Session<'a> {
    pub(super) request: &'a CampaignRequest,
    pub(super) state: State,
    pub(super) observed: BTreeMap<TargetId, Observed>,
    pub(super) plans: Plans,
    pub(super) dashboard: Option<Dashboard>,
    /// Notices for people.
    pub(super) notices: Vec<String>,
    /// Steps that GitHub has refused, with its reasons; they are not tried again by this start.
    pub(super) refused: BTreeMap<Step, String>,
    /// Targets whose change has been undone, if this was checked.
    pub(super) fallen_back: Vec<FallenBack>,
    /// The account of the token.
    login: String,
    files: BranchFiles,
    /// Targets that have to be looked at again.
    stale: BTreeSet<TargetId>,
    abilities: Abilities,
}

/// Permissions of a start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    /// Whether it makes plans.
    pub plans: bool,
    /// Whether it begins waves.
    pub begins: bool,
    /// Whether it merges what is green, whatever the file says.
    pub merges: bool,
}

/// Which targets are observed before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookAhead {
    /// None.
    None,
    /// Those for which a query has room.
    Query,
}

impl<'a> Session<'a> {
    /// Reads the saved state, finds the repositories, and observes those that have begun.
    pub(super) async fn open(
        request: &'a CampaignRequest,
        abilities: Abilities,
    ) -> Result<Self, CampaignError> {
        let login = request.home.login().await?;
        let branch = request.state_branch();
        let writers = Writers { own: &login, others: &request.campaign.file.state.writers };
        let files = BranchFiles::read(&request.home, &branch, &writers).await?;
        let name = &request.campaign.file.name;
        let mut state = if files.files.is_empty() {
            State::new(name)
        } else {
            State::of_files(name, &files.files).map_err(|error| CampaignError::State { branch, error })?
        };
        let (repositories, mut notices) = request.discover().await?;
        state.update_targets(request.campaign.targets(repositories));
        if state.targets.is_empty() {
            return Err(CampaignError::NoTargets);
        }
        notices.splice(0..0, request.warnings.iter().cloned());
        let mut session = Self {
            request,
            state,
            observed: BTreeMap::new(),
            plans: Plans::default(),
            dashboard: None,
            notices,
            refused: BTreeMap::new(),
            fallen_back: Vec::new(),
            login,
            files,
            stale: BTreeSet::new(),
            abilities,
        };
        session.observe(LookAhead::None).await?;
        session.find_earlier_plans();
        Ok(session)
    }

    /// Returns the marker by which the dashboard is found.
    fn marker(&self) -> String {
        format!("<!-- architect-ci campaign {} -->", self.request.campaign.file.name)
    }

    /// Returns whether there was any saved state.
    pub(super) fn has_saved_state(&self) -> bool {
        !self.files.files.is_empty()
    }

    /// Returns the account whose token is used for a target; empty where one is used for all.
    pub(super) fn account<'t>(&self, id: &'t TargetId) -> &'t str {
        if self.request.is_app() { id.repository.owner() } else { "" }
    }

    /// Observes targets that have begun and were not observed yet, or were changed since. Parts of those that have no plan yet were
    /// opened by a start whose state is lost. With a look ahead, targets that are next are observed if they take no part.
    pub(super) async fn observe(&mut self, look_ahead: LookAhead) -> Result<(), CampaignError> {
        let is_new = |id: &TargetId, record: &Record| {
            let is_known = self.observed.contains_key(id) || record.outcome != AttemptOutcome::New;
            id.part.is_empty() && record.wave.is_some() && !is_known
        };
        if self.request.campaign.file.pull_request.split == Split::Owners {
            let new: Vec<TargetId> = self.select(is_new);
            self.find_parts(&new).await?;
        }
        let wanted = self.select(|id, record| {
            record.wave.is_some() && (self.stale.contains(id) || !self.observed.contains_key(id))
        });
        let ahead = match look_ahead {
            LookAhead::None => Vec::new(),
            LookAhead::Query => self.next_to_begin(&wanted),
        };
        self.look_at(&[wanted, ahead.clone()].concat()).await?;
        // The others are observed when they begin, as they are then.
        for id in ahead {
            if self.would_take_part(&id) {
                self.observed.remove(&id);
            }
        }
        self.stale.clear();
        // What goes on under another name is seen there.
        let renamed = self.select(|id, record| record.wave.is_some() && !self.observed.contains_key(id));
        self.look_at(&renamed).await
    }

    /// Returns the targets that begin next if those that have begun turn out to take no part, as many as one query has room for:
    /// where few take part, asking for one after the other would take a query for each.
    fn next_to_begin(&self, wanted: &[TargetId]) -> Vec<TargetId> {
        let room = OBSERVED_AT_ONCE.saturating_sub(wanted.len());
        let accounts: BTreeSet<&str> = wanted.iter().map(|id| self.account(id)).collect();
        let is_new = |id: &TargetId| !self.observed.contains_key(id) && accounts.contains(self.account(id));
        let waiting = waiting(&self.request.campaign.file, &self.state);
        waiting.into_iter().filter(is_new).take(room).collect()
    }

    /// Returns whether an observed target would take part if its wave began now.
    fn would_take_part(&self, id: &TargetId) -> bool {
        let Some(record) = self.state.targets.get(id) else { return false };
        let record = Record { wave: Some(0), ..record.clone() };
        let attempts = self.request.campaign.file.limits.attempts.get();
        let (owner, is_twin) = (id.repository.owner(), twin(&self.state.targets, id));
        Standing::of(owner, &record, self.observed.get(id), attempts, is_twin).takes_part()
    }

    /// Returns some of the targets.
    fn select(&self, is_in: impl Fn(&TargetId, &Record) -> bool) -> Vec<TargetId> {
        let chosen = self.state.targets.iter().filter(|(id, record)| is_in(id, record));
        chosen.map(|(id, _)| id.clone()).collect()
    }

    /// Observes targets.
    pub(super) async fn look_at(&mut self, wanted: &[TargetId]) -> Result<(), CampaignError> {
        let mut groups: BTreeMap<&str, Vec<&TargetId>> = BTreeMap::new();
        for id in wanted {
            groups.entry(self.account(id)).or_default().push(id);
        }
        let with_file = self.request.campaign.file.repositories.with_file.as_deref();
        for (owner, ids) in groups {
            // The app is installed for accounts: one of their repositories may be left out.
            let Some(api) = self.request.api_of(owner).await? else {
                self.observed.extend(ids.into_iter().map(|id| (id.clone(), Observed::missing())));
                continue;
            };
            let branches: Vec<String> = ids.iter().map(|id| self.request.campaign.branch(id)).collect();
            let looks: Vec<ObserveTarget<'_>> = ids
                .iter()
                .zip(&branches)
                .map(|(id, branch)| ObserveTarget {
                    repository: &id.repository,
                    branch,
                    known: self.state.targets.get(*id).map(Record::pulls).unwrap_or_default(),
                })
                .collect();
            let found = observe(&api, &looks, with_file).await?;
            self.observed.extend(ids.into_iter().cloned().zip(found));
        }
        self.follow_renames();
        Ok(())
    }

    /// Finds plans that an earlier start has left on this machine. What was planned for another recipe, or without a gate that there
    /// is now, is planned again.
    fn find_earlier_plans(&mut self) {
        let mut keys: BTreeMap<&str, Option<String>> = BTreeMap::new();
        for (id, record) in &self.state.targets {
            if let AttemptOutcome::Planned(digest) = &record.outcome {
                let key = keys.entry(&id.task).or_insert_with(|| self.request.plan_key(id));
                if self.request.is_plan_current(id, key.as_ref()) {
                    self.plans.find_earlier(&self.request.out, id, digest);
                }
            }
        }
    }

    /// Takes over the plans of other jobs, as far as they are still needed.
    pub(super) async fn take_over(
        &mut self,
        folder: &Path,
        digests: Option<&str>,
    ) -> Result<(), CampaignError> {
        let name = &self.request.campaign.file.name;
        // The decisions of these jobs are made again.
        let can_plan = std::mem::replace(&mut self.abilities.plans, true);
        let decision = self.decide().await?;
        self.abilities.plans = can_plan;
        let steps = decision.steps.into_iter().filter(|step| matches!(step, Step::Plan(..))).collect();
        let steps = self.with_undelivered(steps);
        let wholes: BTreeSet<TargetId> = steps.iter().map(|step| step.target().whole()).collect();
        let wanted: BTreeMap<TargetId, Step> =
            steps.into_iter().map(|step| (step.target().clone(), step)).collect();
        let Indexes { indexes, left_out } = Index::read_all(folder, name, digests)?;
        self.notices.extend(left_out.iter().map(|error| format!("left out: {}", chain(error))));
        for (folder, index) in indexes {
            for (id, planned) in index.targets {
                // Targets that have ended since are not started again. A part that nobody knew of was planned with its target.
                let is_new = !self.state.targets.contains_key(&id) && wholes.contains(&id.whole());
                let new = || is_new.then(|| Step::Plan(id.clone(), None));
                let Some(step) = wanted.get(&id).cloned().or_else(new) else { continue };
                let done = planned.done();
                if let super::reconcile::StepOutcome::Planned { digest, .. } = &done {
                    let path = super::plans::folder(&folder, &id).join("plan.json");
                    self.plans.insert(&id, path, digest.clone());
                }
                self.state.record_outcome(&step, done);
            }
        }
        Ok(())
    }

    fn situation(&self) -> Situation<'_> {
        Situation {
            observed: &self.observed,
            plans: &self.plans.digests,
            can_plan: self.abilities.plans,
            begins: self.abilities.begins,
            merges: self.abilities.merges,
            now: unix_seconds(),
        }
    }

    /// Decides on the next steps, and records the decisions. Targets that begin are observed first, and so
    /// are reverts of what turns out to be merged.
    pub(super) async fn decide(&mut self) -> Result<Decision, CampaignError> {
        let mut asked = BTreeSet::new();
        let mut growths = 0;
        loop {
            // Some of those that began before took no part, so the next ones may not either.
            let look_ahead = if growths > 1 { LookAhead::Query } else { LookAhead::None };
            self.observe(look_ahead).await?;
            let decision = decide(&self.request.campaign.file, self.state.clone(), &self.situation());
            let is_new = |(id, record): (&TargetId, &Record)| {
                let before = self.state.targets.get(id).and_then(|before| before.wave);
                record.wave.is_some() && before.is_none()
            };
            let has_grown = decision.state.targets.iter().any(is_new);
            growths += u32::from(has_grown);
            self.state = decision.state.clone();
            let unknown: BTreeSet<TargetId> = match self.state.intent {
                Intent::RollingBack => {
                    let lacking = self.observed.iter().filter(|(_, observed)| observed.lacks_reverts());
                    lacking.map(|(id, _)| id.clone()).filter(|id| asked.insert(id.clone())).collect()
                }
                Intent::Forward | Intent::Abandoned => BTreeSet::new(),
            };
            if !has_grown && unknown.is_empty() {
                return Ok(decision);
            }
            self.stale.extend(unknown);
        }
    }

    /// Decides for the report only, if GitHub cannot be queried: changes since the last look are unknown.
    pub(super) fn decide_without_github(&mut self) -> Decision {
        self.observed.retain(|id, _| !self.stale.contains(id));
        decide(&self.request.campaign.file, self.state.clone(), &self.situation())
    }

    /// Records that a target has to be observed again.
    pub(super) fn mark_stale(&mut self, id: &TargetId) {
        self.stale.insert(id.clone());
    }

    /// Saves the state. What another machine has saved since it was read is not overwritten.
    pub(super) async fn save(&mut self, why: &str) -> Result<(), CampaignError> {
        let branch = self.request.state_branch();
        let message = format!("{}: {why}", self.request.campaign.file.name);
        Ok(self.files.replace(&self.request.home, &branch, self.state.files(), &message).await?)
    }

    /// Reads the commands that people gave on the dashboard. Returns whether they want to continue.
    pub(super) async fn read_commands(&mut self) -> Result<bool, CampaignError> {
        let home = &self.request.home;
        let found = Dashboard::find(home, self.state.dashboard, &self.marker(), &self.login).await?;
        self.dashboard = found;
        let Some(dashboard) = &self.dashboard else { return Ok(false) };
        self.state.dashboard = Some(dashboard.number);
        let Some(comment) = dashboard.order(home, CONTINUE, self.state.last_comment).await? else {
            return Ok(false);
        };
        self.state.last_comment = comment;
        Ok(true)
    }

    /// Updates the dashboard.
    pub(super) async fn update_dashboard(&mut self, title: &str, body: &str) -> Result<(), CampaignError> {
        let home = &self.request.home;
        let body = format!("{}\n{body}", self.marker());
        if let Some(dashboard) = &self.dashboard {
            dashboard.update(home, title, &body).await?;
            return Ok(());
        }
        let made = Dashboard::open(home, title, &body).await?;
        self.state.dashboard = Some(made.number);
        self.dashboard = Some(made);
        Ok(())
    }
}
