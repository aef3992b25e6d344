//! Reconciliation: one pure function that decides everything in a campaign. It takes the file, the saved state and what
//! GitHub shows, and returns the new state and the next steps.
//!
//! It is called again after every few steps, and at every start on any machine. A step that was done but not saved is
//! seen on GitHub; one that was saved but not done is returned again.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{CampaignFile, MergeRule};
use super::standing::{Standing, twin};
use super::state::{AttemptOutcome, Intent, Record, State};
use super::target::TargetId;
use super::waves::{self, tally};
use crate::github::{Checks, Observed, ObservedRepository, PullFacts, PullState};

/// Within how many seconds pull requests are counted for `per_hour`.
const HOUR: u64 = 3600;

/// What a decision is based on besides the saved state.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What GitHub says of targets whose wave has begun.
    pub observed: &'a BTreeMap<TargetId, Observed>,
    /// Digests of the available plans.
    pub plans: &'a BTreeMap<TargetId, String>,
    /// Whether plans can be made here.
    pub can_plan: bool,
    /// Whether waves may begin.
    pub begins: bool,
    /// Whether green pull requests are to be merged, whatever the file says.
    pub merges: bool,
    /// Seconds since 1970.
    pub now: u64,
}

/// A step to take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Close a pull request.
    Close(TargetId, u64),
    /// Revert a merged pull request by another one.
    Revert(TargetId, u64),
    /// Merge a pull request whose head is still this commit.
    Merge(TargetId, u64, String),
    /// Deliver the plan with this digest.
    Deliver(TargetId, String),
    /// Make a plan; another one if the pull request at this head is in conflict.
    Plan(TargetId, Option<String>),
}

impl Step {
    /// Returns its target.
    pub fn target(&self) -> &TargetId {
        match self {
            Self::Close(id, _)
            | Self::Revert(id, _)
            | Self::Merge(id, ..)
            | Self::Deliver(id, _)
            | Self::Plan(id, _) => id,
        }
    }
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What is remembered from now on.
    pub state: State,
    /// What is to be done, in this order.
    pub steps: Vec<Step>,
    /// The standing of each target.
    pub standings: BTreeMap<TargetId, Standing>,
    /// Targets that a limit holds back.
    pub held_back: usize,
}

/// Decides what is to be done.
pub fn decide(file: &CampaignFile, mut state: State, situation: &Situation<'_>) -> Decision {
    let standing = |state: &State, id: &TargetId| {
        let record = state.targets.get(id);
        record.map_or(Standing::Waiting, |record| {
            let is_twin = twin(&state.targets, id);
            let (owner, observed) = (id.repository.owner(), situation.observed.get(id));
            let now = Standing::of(owner, record, observed, file.limits.attempts.get(), is_twin);
            if state.intent == Intent::RollingBack { now.until_rolled_back(observed) } else { now }
        })
    };
    let ids: Vec<TargetId> = state.targets.keys().cloned().collect();
    let mut standings: BTreeMap<TargetId, Standing> = BTreeMap::new();
    for id in ids {
        let now = standing(&state, &id);
        if let Some(record) = state.targets.get_mut(&id) {
            record.pull = now.pull().or(record.pull);
            if let Some(observed) = situation.observed.get(&id) {
                record.earlier = earlier(observed, record.pull);
            }
        }
        standings.insert(id, now);
    }
    if state.intent == Intent::Forward {
        waves::give_back(file, &mut state, &mut standings);
        let fault = |wave| tally(file, &state, &standings, wave).fault(file, wave);
        state.stopped = state.stopped.clone().or_else(|| (0..state.waves).find_map(fault));
    }
    if state.intent == Intent::Forward && state.stopped.is_none() && situation.begins {
        waves::begin(file, &mut state, &mut standings, standing);
    }
    let mut planner =
        Planner { file, situation, steps: Vec::new(), held_back: 0, capacity: Capacity::default() };
    planner.capacity = planner.capacity(&state, &standings);
    match state.intent {
        Intent::Abandoned | Intent::RollingBack => planner.backward(&state, &standings),
        Intent::Forward => planner.forward(&state, &standings),
    }
    let Planner { mut steps, held_back, .. } = planner;
    steps.sort();
    Decision { state, steps, standings, held_back }
}

/// How many pull requests may still be opened.
#[derive(Default)]
struct Capacity {
    open: u64,
    hour: u64,
    owners: BTreeMap<String, u64>,
}

struct Planner<'a> {
    file: &'a CampaignFile,
    situation: &'a Situation<'a>,
    steps: Vec<Step>,
    held_back: usize,
    capacity: Capacity,
}

impl Planner<'_> {
    /// Returns how many pull requests may still be opened: the limits less what is open and what was opened lately.
    fn capacity(&self, state: &State, standings: &BTreeMap<TargetId, Standing>) -> Capacity {
        let limits = &self.file.limits;
        let mut capacity =
            Capacity { open: limits.open.get(), hour: limits.per_hour.get(), owners: BTreeMap::new() };
        for (id, record) in &state.targets {
            if let Some(Standing::Open(_)) = standings.get(id) {
                capacity.open = capacity.open.saturating_sub(1);
                for owner in owners(id, record) {
                    *capacity.owners.entry(owner).or_default() += 1;
                }
            }
            let Some(observed) = self.situation.observed.get(id) else { continue };
            let all = observed.pulls.iter().chain(observed.reverts.values().flatten());
            let lately = all.filter(|pull| pull.created_at + HOUR > self.situation.now).count();
            capacity.hour = capacity.hour.saturating_sub(lately as u64);
        }
        capacity
    }

    /// Reserves capacity for one more pull request. Returns `false` if there is none; the target is then held back.
    fn reserve_capacity(&mut self, id: &TargetId, record: &Record) -> bool {
        let most = self.file.limits.open_per_owner.get();
        let owners = owners(id, record);
        let is_full = |owner: &String| self.capacity.owners.get(owner).is_some_and(|open| *open >= most);
        if self.capacity.open == 0 || self.capacity.hour == 0 || owners.iter().any(is_full) {
            self.held_back += 1;
            return false;
        }
        self.capacity.open -= 1;
        self.capacity.hour -= 1;
        for owner in owners {
            *self.capacity.owners.entry(owner).or_default() += 1;
        }
        true
    }

    fn forward(&mut self, state: &State, standings: &BTreeMap<TargetId, Standing>) {
        for (id, record) in &state.targets {
            let Some(standing) = standings.get(id) else { continue };
            if let (true, Standing::Open(pull)) = (record.withdrawn, standing) {
                self.steps.push(Step::Close(id.clone(), pull.number));
                continue;
            }
            if state.stopped.is_some() {
                continue;
            }
            match standing {
                Standing::ToPlan => self.plan(id, None),
                Standing::Planned(digest) => self.deliver(id, record, digest, None),
                Standing::Open(pull) => self.follow_up(id, record, pull),
                _ => {}
            }
        }
    }

    /// Follows up on an open pull request: one in conflict is planned again, once for each head.
    fn follow_up(&mut self, id: &TargetId, record: &Record, pull: &PullFacts) {
        let is_refreshed = record.refreshed.as_ref() == Some(&pull.head);
        match &record.outcome {
            AttemptOutcome::Planned(digest) if is_refreshed && record.delivered.as_ref() != Some(digest) => {
                self.deliver(id, record, digest, Some(&pull.head));
            }
            _ if pull.is_conflicting && !is_refreshed => self.plan(id, Some(&pull.head)),
            _ if pull.checks == Checks::Passed
                && !pull.is_conflicting
                && !pull.is_draft
                && (self.situation.merges || self.file.merge == MergeRule::Green) =>
            {
                self.steps.push(Step::Merge(id.clone(), pull.number, pull.head.clone()));
            }
            _ => {}
        }
    }

    /// Closes what is open and, if the campaign is rolled back, reverts what is merged, as often as it was.
    fn backward(&mut self, state: &State, standings: &BTreeMap<TargetId, Standing>) {
        for (id, record) in &state.targets {
            if let Some(Standing::Open(pull)) = standings.get(id) {
                self.steps.push(Step::Close(id.clone(), pull.number));
            }
            let observed = self.situation.observed.get(id).filter(|_| state.intent == Intent::RollingBack);
            for pull in observed.into_iter().flat_map(Observed::in_effect) {
                // A revert that people have closed is not opened again.
                let has_none = observed.is_some_and(|it| it.reverts.get(&pull.number) == Some(&None));
                if has_none && can_write(id, observed) && self.reserve_capacity(id, record) {
                    self.steps.push(Step::Revert(id.clone(), pull.number));
                }
            }
        }
    }

    fn plan(&mut self, id: &TargetId, head: Option<&String>) {
        if self.situation.can_plan {
            self.steps.push(Step::Plan(id.clone(), head.cloned()));
        } else {
            self.held_back += 1;
        }
    }

    /// Delivers an available plan, or makes another one if it is not available. `head` is that of the existing pull request. What
    /// may not be opened yet is not made again either, because that may cost money.
    fn deliver(&mut self, id: &TargetId, record: &Record, digest: &str, head: Option<&String>) {
        let is_available = self.situation.plans.get(id).is_some_and(|known| known == digest);
        let is_possible = is_available || self.situation.can_plan;
        if is_possible && head.is_none() && !self.reserve_capacity(id, record) {
            return;
        }
        if is_available {
            self.steps.push(Step::Deliver(id.clone(), digest.to_owned()));
        } else {
            self.plan(id, head);
        }
    }
}

/// Returns which merged pull requests there are besides the one that counts.
fn earlier(observed: &Observed, counts: Option<u64>) -> Vec<u64> {
    let merged = observed.pulls.iter().filter(|pull| pull.state == PullState::Merged);
    merged.map(|pull| pull.number).filter(|number| Some(*number) != counts).collect()
}

/// Returns whether a target's repository can be written to, and is where the campaign was sent.
pub(super) fn can_write(id: &TargetId, observed: Option<&Observed>) -> bool {
    match observed.map(|observed| &observed.repository) {
        Some(ObservedRepository::Present { name, is_archived, .. }) => {
            !is_archived && name.owner() == id.repository.owner()
        }
        _ => false,
    }
}

/// Returns who has to review a target's pull request.
fn owners(id: &TargetId, record: &Record) -> Vec<String> {
    if record.owners.is_empty() {
        return vec![id.repository.owner().to_owned()];
    }
    // Names of accounts and teams are the same in any case; earlier versions kept that of the file.
    record.owners.iter().map(|owner| owner.to_lowercase()).collect()
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// There is a plan with this digest, and these people have to review it.
    Planned {
        /// The digest.
        digest: String,
        /// Code owners of the changed files.
        owners: Vec<String>,
    },
    /// There is nothing to change.
    Nothing,
    /// The plan with this digest is delivered, in this pull request.
    Delivered {
        /// The digest.
        digest: String,
        /// The pull request; `None` if the branch to go to has all of it already.
        pull: Option<u64>,
    },
    /// It is closed, merged or reverted, as GitHub will show.
    Seen,
    /// It failed.
    Failed(String),
}

impl State {
    /// Records the outcome of a step.
    pub fn record_outcome(&mut self, step: &Step, done: StepOutcome) {
        let Some(record) = self.record_of(step.target()) else { return };
        if let Step::Plan(_, Some(head)) = step {
            record.refreshed = Some(head.clone());
        }
        match done {
            StepOutcome::Planned { digest, owners } => {
                (record.outcome, record.owners) = (AttemptOutcome::Planned(digest), owners);
            }
            StepOutcome::Nothing => (record.outcome, record.attempts) = (AttemptOutcome::Nothing, 0),
            StepOutcome::Delivered { digest, pull: Some(number) } => {
                (record.delivered, record.pull, record.attempts) = (Some(digest), Some(number), 0);
            }
            StepOutcome::Delivered { pull: None, .. } => record.outcome = AttemptOutcome::Nothing,
            StepOutcome::Seen => {}
            StepOutcome::Failed(message) => {
                record.attempts = record.attempts.saturating_add(1);
                record.outcome = AttemptOutcome::Failed(message);
            }
        }
    }

    /// Returns the record of a target. A part of a plan that is new joins the wave of what it is a part of.
    pub(super) fn record_of(&mut self, id: &TargetId) -> Option<&mut Record> {
        if !self.targets.contains_key(id) {
            let Record { wave, left_out, .. } = *self.targets.get(&id.whole())?;
            self.targets.insert(id.clone(), Record { wave, left_out, ..Record::default() });
        }
        self.targets.get_mut(id)
    }

    /// Restarts what failed and, if `closed`, what people closed. Returns how many targets these are.
    pub fn rerun(&mut self, standings: &BTreeMap<TargetId, Standing>, closed: bool) -> usize {
        let mut count = 0;
        for (id, record) in &mut self.targets {
            let again = match standings.get(id) {
                Some(Standing::Failed(_)) => true,
                Some(Standing::Closed(_) | Standing::Withdrawn) => closed,
                _ => false,
            };
            if again {
                let past = record.pull.unwrap_or(record.past).max(record.past);
                *record = Record { wave: record.wave, past, left_out: record.left_out, ..Record::default() };
                count += 1;
            }
        }
        self.stopped = None;
        count
    }

    /// Resumes after a stop, with the next wave: what has gone wrong until now no longer counts.
    pub fn resume(&mut self, standings: &BTreeMap<TargetId, Standing>) {
        for (id, record) in &mut self.targets {
            let is_bad = match standings.get(id) {
                Some(
                    Standing::Failed(_) | Standing::Closed(_) | Standing::Reverted(_) | Standing::Withdrawn,
                ) => true,
                Some(Standing::Open(pull)) => pull.checks == Checks::Failed || pull.is_conflicting,
                _ => false,
            };
            record.excused |= is_bad;
        }
        self.stopped = None;
        self.approved = self.waves + 1;
    }

    /// Closes the pull requests of these targets and of their parts, or keeps them from being opened; of all begun ones if there
    /// are none.
    pub fn withdraw(&mut self, only: &BTreeSet<TargetId>) {
        for (id, record) in &mut self.targets {
            let is_meant = only.is_empty() || only.contains(id) || only.contains(&id.whole());
            if (record.wave.is_some() || !only.is_empty()) && is_meant {
                record.withdrawn = true;
            }
        }
    }
}

/// Returns whether the campaign has come to its end: nothing is left to do or to wait for.
pub fn is_finished(state: &State, decision: &Decision, observed: &BTreeMap<TargetId, Observed>) -> bool {
    let is_over = |(id, standing): (&TargetId, &Standing)| match (state.intent, standing) {
        (Intent::Forward, standing) => standing.is_final(),
        (_, Standing::Open(_) | Standing::Unknown) => false,
        (Intent::RollingBack, Standing::Merged(_)) => {
            let is_closed = |observed: &Observed, pull: &PullFacts| {
                observed.revert(pull.number).is_some_and(|revert| revert.state == PullState::Closed)
            };
            let seen = observed.get(id);
            let is_left = seen.is_some_and(|seen| seen.in_effect().all(|pull| is_closed(seen, pull)));
            is_left || !can_write(id, seen)
        }
        _ => true,
    };
    decision.steps.is_empty() && decision.held_back == 0 && decision.standings.iter().all(is_over)
}
