//! The world: repositories in memory alone, and what people do there.

use std::collections::{BTreeMap, BTreeSet};

use architect_ci::campaign::reconcile::{Decision, Step, StepOutcome};
use architect_ci::campaign::{Intent, Standing, State, TargetId};
use architect_ci::github::{Checks, Observed, ObservedRepository, PullFacts, PullState};

/// A source of choices that a seed decides.
pub(super) struct Choice(pub(super) u64);

impl Choice {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        // Knuth's constants; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    pub(super) fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// What a repository is like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Archived,
    Empty,
    Missing,
    /// Has nothing to change.
    Same,
    /// Refuses branches.
    Protected,
}

pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) pulls: Vec<PullFacts>,
    pub(super) revert: Option<PullFacts>,
    pub(super) created: usize,
}

pub(super) struct World {
    pub(super) places: BTreeMap<TargetId, Place>,
    /// Targets that the campaign's file does not select for now.
    pub(super) left_out: BTreeSet<TargetId>,
    pub(super) now: u64,
    pub(super) numbers: u64,
    pub(super) heads: u64,
}

/// Limits of the campaign.
pub(super) const OPEN: usize = 9;
pub(super) const PER_OWNER: usize = 4;
pub(super) const PER_HOUR: usize = 5;

impl World {
    pub(super) fn new(choice: &mut Choice) -> Self {
        let mut places = BTreeMap::new();
        for at in 0..2 + choice.below(30) {
            let owner = ["octo", "other", "third"][usize::try_from(choice.below(3)).expect("small")];
            let id = TargetId::try_from(format!("{owner}/r{at}")).expect("a name");
            let kind = match choice.below(12) {
                0 => Kind::Archived,
                1 => Kind::Empty,
                2 => Kind::Missing,
                3 => Kind::Same,
                4 => Kind::Protected,
                _ => Kind::Plain,
            };
            places.insert(id, Place { kind, pulls: Vec::new(), revert: None, created: 0 });
        }
        Self { places, left_out: BTreeSet::new(), now: 1_000_000, numbers: 0, heads: 0 }
    }

    /// The targets that the campaign's file selects.
    pub(super) fn selected(&self) -> impl Iterator<Item = &TargetId> {
        self.places.keys().filter(|id| id.part.is_empty() && !self.left_out.contains(id))
    }

    /// Selects a target no longer, or again.
    pub(super) fn select_others(&mut self, choice: &mut Choice) {
        let at = usize::try_from(choice.below(self.places.len() as u64)).expect("small");
        let whole = self.places.keys().nth(at).expect("a target").whole();
        if !self.left_out.remove(&whole) {
            self.left_out.insert(whole);
        }
    }

    pub(super) fn observe(&self, state: &State) -> BTreeMap<TargetId, Observed> {
        let begun = state.targets.iter().filter(|(_, record)| record.wave.is_some());
        begun
            .map(|(id, _)| {
                let place = &self.places[id];
                let repository = match place.kind {
                    Kind::Missing => ObservedRepository::Missing,
                    kind => ObservedRepository::Present {
                        name: id.repository.clone(),
                        is_archived: kind == Kind::Archived,
                        has_file: true,
                        head: (kind != Kind::Empty).then(|| ("main".to_owned(), "c".repeat(40))),
                    },
                };
                let newest = place.pulls.iter().max_by_key(|pull| pull.number).map(|pull| pull.number);
                let reverts = newest.map(|number| (number, place.revert.clone())).into_iter().collect();
                let observed = Observed { repository, pulls: place.pulls.clone(), reverts };
                (id.clone(), observed)
            })
            .collect()
    }

    pub(super) fn pull(&mut self) -> PullFacts {
        (self.numbers, self.heads) = (self.numbers + 1, self.heads + 1);
        PullFacts {
            number: self.numbers,
            node: format!("PR_{}", self.numbers),
            state: PullState::Open,
            head: format!("h{}", self.heads),
            is_draft: false,
            checks: Checks::Pending,
            is_conflicting: false,
            created_at: self.now,
            is_reverted: false,
        }
    }

    /// Does what a step says, and returns what came of it.
    pub(super) fn carry_out(&mut self, step: &Step, plans: &mut BTreeMap<TargetId, String>) -> StepOutcome {
        let fresh = self.pull();
        let place = self.places.get_mut(step.target()).expect("a target");
        assert!(
            !matches!(place.kind, Kind::Archived | Kind::Empty | Kind::Missing),
            "nothing can be done there: {step:?}"
        );
        let at = |place: &Place, number: &u64| {
            place.pulls.iter().position(|pull| pull.number == *number).expect("the pull request")
        };
        match step {
            Step::Plan(_, _) if place.kind == Kind::Same => StepOutcome::Nothing,
            Step::Plan(id, _) => {
                let digest = format!("d-{}", fresh.head);
                plans.insert(id.clone(), digest.clone());
                StepOutcome::Planned { digest, owners: owners(id) }
            }
            Step::Deliver(_, _) if place.kind == Kind::Protected => {
                StepOutcome::Failed("protected".to_owned())
            }
            Step::Deliver(id, digest) => {
                assert_eq!(plans.get(id), Some(digest), "a plan that is not at hand");
                let digest = digest.clone();
                if let Some(open) = place.pulls.iter_mut().find(|pull| pull.state == PullState::Open) {
                    (open.head, open.checks, open.is_conflicting) = (fresh.head, Checks::Pending, false);
                    return StepOutcome::Delivered { digest, pull: Some(open.number) };
                }
                assert!(place.pulls.is_empty(), "a second pull request: {id}");
                place.created += 1;
                let pull = Some(fresh.number);
                place.pulls.push(fresh);
                StepOutcome::Delivered { digest, pull }
            }
            Step::Merge(_, number, head) => {
                let at = at(place, number);
                let pull = &mut place.pulls[at];
                assert!(pull.head == *head && pull.checks == Checks::Passed && !pull.is_conflicting);
                pull.state = PullState::Merged;
                StepOutcome::Seen
            }
            Step::Close(_, number) => {
                let at = at(place, number);
                place.pulls[at].state = PullState::Closed;
                StepOutcome::Seen
            }
            Step::Revert(id, _) => {
                assert!(place.revert.is_none(), "a second revert: {id}");
                place.revert = Some(fresh);
                StepOutcome::Seen
            }
        }
    }

    /// Splits the plan of a repository now and then: a part of it is a target that nobody knew of.
    pub(super) fn split(
        &mut self,
        step: &Step,
        plans: &mut BTreeMap<TargetId, String>,
    ) -> Option<(Step, StepOutcome)> {
        let (Step::Plan(id, _), true) = (step, self.heads.is_multiple_of(3)) else { return None };
        let part = TargetId { part: "web".to_owned(), ..id.clone() };
        let whole = self.places.get(id).filter(|_| id.part.is_empty())?;
        let kind = if whole.kind == Kind::Same { Kind::Plain } else { whole.kind };
        self.places.entry(part.clone()).or_insert(Place {
            kind,
            pulls: Vec::new(),
            revert: None,
            created: 0,
        });
        plans.insert(part.clone(), format!("d-{}", self.heads));
        Some((
            Step::Plan(part.clone(), None),
            StepOutcome::Planned { digest: plans[&part].clone(), owners: owners(&part) },
        ))
    }

    /// What people, checks and time do.
    pub(super) fn go_on(&mut self, choice: &mut Choice, is_friendly: bool) {
        self.now += choice.below(2400);
        for place in self.places.values_mut() {
            for pull in place.pulls.iter_mut().chain(&mut place.revert) {
                match (pull.state, if is_friendly { 1 } else { choice.below(9) }) {
                    (PullState::Open, 0) => pull.checks = Checks::Failed,
                    (PullState::Open, 1) if !pull.is_conflicting => {
                        (pull.checks, pull.state) = (Checks::Passed, PullState::Merged);
                    }
                    (PullState::Open, 2) => pull.checks = Checks::Passed,
                    (PullState::Open, 3) => pull.is_conflicting = true,
                    (PullState::Open, 4) => pull.state = PullState::Closed,
                    (PullState::Merged, 5) if choice.one_in(4) => pull.is_reverted = true,
                    _ => {}
                }
            }
            match place.kind {
                Kind::Archived if !is_friendly && choice.one_in(5) => place.kind = Kind::Plain,
                Kind::Plain if choice.one_in(30) => place.kind = Kind::Archived,
                _ => {}
            }
        }
    }

    pub(super) fn check(&self, before: &Observations, next: &Decision) {
        let known: BTreeSet<&TargetId> = next.state.targets.keys().collect();
        assert!(self.selected().all(|id| known.contains(id)), "a target was lost");
        assert_eq!(known, next.standings.keys().collect(), "every target is told, once");
        let open = |id: &TargetId| matches!(next.standings[id], Standing::Open(_));
        let is_new = |step: &&Step| match step {
            Step::Deliver(id, _) => !open(id),
            Step::Revert(..) => true,
            _ => false,
        };
        let new: Vec<&TargetId> = next.steps.iter().filter(is_new).map(Step::target).collect();
        let lately = before
            .values()
            .flat_map(|observed| observed.pulls.iter().chain(observed.reverts.values().flatten()))
            .filter(|pull| pull.created_at + 3600 > self.now)
            .count();
        assert!(lately.max(PER_HOUR) >= lately + new.len(), "too many within an hour");
        let opened = known.iter().filter(|id| open(id)).count();
        assert!(new.is_empty() || opened + new.len() <= OPEN, "too many are open");
        for owner in ["octo", "other", "third"] {
            let of = |id: &TargetId| id.part.is_empty() && id.repository.owner() == owner;
            let count =
                known.iter().filter(|id| of(id) && open(id)).count() + new.iter().filter(|id| of(id)).count();
            assert!(count <= PER_OWNER || new.iter().all(|id| !of(id)), "too many of {owner}");
        }
        let of_team = |id: &TargetId| !id.part.is_empty();
        let new_of_team = new.iter().filter(|id| of_team(id)).count();
        let count = known.iter().filter(|id| of_team(id) && open(id)).count() + new_of_team;
        assert!(count <= PER_OWNER || new_of_team == 0, "too many of a team");
        let wave = |id: &TargetId| next.state.targets[id].wave;
        assert!(known.iter().all(|id| wave(id) == wave(&id.whole())), "a part is in the wave of its whole");
        if next.state.stopped.is_some() && next.state.intent == Intent::Forward {
            assert!(next.steps.iter().all(|step| matches!(step, Step::Close(..))), "{:?}", next.steps);
        }
        assert!(next.steps.iter().all(|step| next.state.targets[step.target()].wave.is_some()));
    }
}

/// Who has to review what a target changes.
fn owners(id: &TargetId) -> Vec<String> {
    if id.part.is_empty() { Vec::new() } else { vec!["@octo/web".to_owned()] }
}

type Observations = BTreeMap<TargetId, Observed>;
