//! Rules that hold for waves, whatever happens: places are for those who take part, and no wave opens more than it has places.

use std::collections::{BTreeMap, BTreeSet};

use architect_ci::campaign::reconcile::Decision;
use architect_ci::campaign::{Intent, Standing, State, TargetId};
use architect_ci::github::Observed;

/// How many places a wave has.
fn size(wave: u32) -> usize {
    (2usize << wave).min(8)
}

/// The repositories of a wave, by what is true of one of their parts.
fn members(next: &Decision, wave: u32, is_in: impl Fn(&TargetId) -> bool) -> BTreeSet<TargetId> {
    let members = next.state.targets.iter().filter(|(id, record)| record.wave == Some(wave) && is_in(id));
    members.map(|(id, _)| id.whole()).collect()
}

/// The repositories in which a pull request was ever opened.
fn with_pulls(observed: &BTreeMap<TargetId, Observed>) -> BTreeSet<TargetId> {
    observed.iter().filter(|(_, seen)| !seen.pulls.is_empty()).map(|(id, _)| id.whole()).collect()
}

/// Places of waves are for targets that take part, and a wave begins only where one may, after one that has shown something.
pub(super) fn check_waves(
    before: &State,
    observed: &BTreeMap<TargetId, Observed>,
    next: &Decision,
    begins: bool,
) {
    let is_begun = |state: &State, id: &TargetId| state.targets.get(id).is_some_and(|it| it.wave.is_some());
    let is_new = |id: &&TargetId| is_begun(&next.state, id) && !is_begun(before, id);
    assert!(begins || next.state.targets.keys().find(is_new).is_none(), "nothing may begin");
    let of_wave = |wave| members(next, wave, |id| next.standings[id].takes_part());
    let with_pulls = with_pulls(observed);
    for wave in (0..next.state.waves).filter(|_| next.state.intent == Intent::Forward) {
        let is_next = |id: &TargetId| matches!(next.standings[id], Standing::ToPlan | Standing::Planned(_));
        let first = members(next, wave, is_next).into_iter().find(|whole| !with_pulls.contains(whole));
        let count = members(next, wave, |id| next.standings[id].takes_place()).len();
        assert!(count <= size(wave) || first.is_none(), "wave {wave} has no place for {first:?}");
    }
    for wave in before.waves.saturating_sub(1)..next.state.waves.saturating_sub(1) {
        let withdrawn = next.standings.values().filter(|it| **it == Standing::Withdrawn).count();
        assert!(of_wave(wave).len() + withdrawn >= size(wave), "wave {wave} was left with empty places");
        let is_excused = next.state.targets.values().any(|record| record.excused);
        assert!(!of_wave(wave).is_empty() || is_excused, "nothing is shown");
    }
}

/// What the waves of a campaign have opened.
#[derive(Default)]
pub(super) struct History {
    /// The repositories with a pull request, by wave.
    opened: BTreeMap<u32, BTreeSet<TargetId>>,
    /// Those of them that took no part later, so that their places were for others.
    left: BTreeSet<TargetId>,
}

impl History {
    /// A wave never opens more than it has places, besides those whose repositories have left it with a pull request.
    pub(super) fn check(&mut self, observed: &BTreeMap<TargetId, Observed>, next: &Decision) {
        let with_pulls = with_pulls(observed);
        for wave in 0..next.state.waves {
            let takes_place = members(next, wave, |id| next.standings[id].takes_place());
            let opened = members(next, wave, |id| with_pulls.contains(&id.whole()));
            self.left.extend(opened.difference(&takes_place).cloned());
            let all = self.opened.entry(wave).or_default();
            all.extend(opened);
            let count = all.difference(&self.left).count();
            assert!(count <= size(wave), "wave {wave} has opened {count}: {all:?}");
        }
    }
}
