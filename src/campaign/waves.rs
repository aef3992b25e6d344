//! Waves: how many targets start at a time, and what stops the campaign.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{After, Approval, CampaignFile};
use super::standing::Standing;
use super::state::{MAX_WAVES, Record, State};
use super::target::TargetId;
use crate::base::integrity::digest;
use crate::batch::Percent;
use crate::github::Checks;

/// Tally of a wave's targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that take part.
    pub members: usize,
    /// Those that have reached what the next wave waits for.
    pub reached: usize,
    /// Those that have still to be planned or delivered.
    pub begun: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those whose checks failed.
    pub red: usize,
    /// Those that people closed.
    pub closed: usize,
    /// Those that were reverted.
    pub reverted: usize,
    /// Those that people have excused: they are no longer waited for.
    pub excused: usize,
    /// Those that a command has withdrawn, which do not take part any more.
    pub withdrawn: usize,
}

/// Counts the targets of a wave.
pub fn tally(
    file: &CampaignFile,
    state: &State,
    standings: &BTreeMap<TargetId, Standing>,
    wave: u32,
) -> Tally {
    let mut tally = Tally::default();
    let members = state.targets.iter().filter(|(_, record)| record.wave == Some(wave));
    for (id, record) in members {
        let Some(standing) = standings.get(id) else { continue };
        tally.withdrawn += usize::from(*standing == Standing::Withdrawn && !record.excused);
        if !standing.takes_part() {
            continue;
        }
        tally.members += 1;
        let is_bad = match standing {
            Standing::Failed(_) => count(&mut tally.failed, record.excused),
            Standing::Closed(_) => count(&mut tally.closed, record.excused),
            Standing::Reverted(_) => count(&mut tally.reverted, record.excused),
            Standing::Open(pull) if pull.checks == Checks::Failed => count(&mut tally.red, record.excused),
            _ => false,
        };
        let is_reached = match standing {
            Standing::Merged(_) => true,
            Standing::Open(pull) => {
                file.waves.after == After::Green && pull.checks == Checks::Passed && !pull.is_conflicting
            }
            _ => false,
        };
        tally.reached += usize::from(is_reached);
        tally.excused += usize::from(is_bad && record.excused);
        let is_begun = matches!(standing, Standing::ToPlan | Standing::Planned(_) | Standing::Unknown);
        tally.begun += usize::from(is_begun);
    }
    tally
}

fn count(counter: &mut usize, is_excused: bool) -> bool {
    *counter += usize::from(!is_excused);
    true
}

impl Tally {
    /// Returns whether the next wave may begin, as far as this one is concerned.
    pub fn is_complete(&self, share: Percent) -> bool {
        let waited_for = self.members - self.excused;
        // Of a wave that was withdrawn, nothing has shown that the change is good.
        let is_proven = self.members > 0 || self.withdrawn == 0;
        is_proven && self.begun == 0 && self.reached * 100 >= waited_for * usize::from(share.get())
    }

    /// Returns why the campaign has to stop, if so.
    pub fn fault(&self, file: &CampaignFile, wave: u32) -> Option<String> {
        let rules = [
            (self.reverted, file.stop.reverted, "reverted"),
            (self.failed, file.stop.failed, "failed"),
            (self.closed, file.stop.closed, "closed by people"),
            (self.red, file.stop.red, "red"),
        ];
        let exceeded = |(count, share, _): &(usize, Percent, &str)| {
            count * 100 > self.members * usize::from(share.get()) && *count > 0
        };
        let (count, share, word) = rules.into_iter().find(exceeded)?;
        Some(format!("wave {}: {count} of {} {word}, more than {share}", wave + 1, self.members))
    }
}

/// Returns the size of a wave.
pub(super) fn size(file: &CampaignFile, wave: u32) -> usize {
    if wave + 1 >= MAX_WAVES {
        return usize::MAX;
    }
    let grown = file.waves.growth.get().saturating_pow(wave).saturating_mul(file.waves.canary.get());
    // A wave never shrinks below the first.
    let size = grown.min(file.waves.largest.get().max(file.waves.canary.get()));
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Lets repositories wait again for which their wave has no place any more: they took no part when it was filled, do so now, and would
/// get their first pull request. Whoever has had one keeps its place, because nothing undoes that.
pub(super) fn give_back(
    file: &CampaignFile,
    state: &mut State,
    standings: &mut BTreeMap<TargetId, Standing>,
) {
    let mut places: BTreeMap<u32, BTreeSet<TargetId>> = BTreeMap::new();
    for (id, record) in &state.targets {
        if let (Some(wave), Some(standing)) = (record.wave, standings.get(id))
            && standing.takes_place()
        {
            places.entry(wave).or_default().insert(id.whole());
        }
    }
    for (wave, places) in places {
        let (mut new, taken): (Vec<TargetId>, Vec<TargetId>) =
            places.into_iter().partition(|whole| waits_for_first_pull(state, standings, whole));
        let free = size(file, wave).saturating_sub(taken.len());
        if new.len() <= free {
            continue;
        }
        // What nothing was spent on waits first.
        let is_untouched = |whole: &TargetId| !state.parts_of(whole).any(|(_, record)| record.has_begun());
        new.sort_by_cached_key(|whole| (is_untouched(whole), order(file, &state.campaign, whole)));
        for whole in new.split_off(free) {
            for (id, record) in state.parts_of_mut(&whole) {
                let Record { withdrawn, left_out, .. } = *record;
                *record = Record { withdrawn, left_out, ..Record::default() };
                let now = if withdrawn { Standing::Withdrawn } else { Standing::Waiting };
                standings.insert(id.clone(), now);
            }
        }
    }
}

/// Returns whether the next pull request of a repository that takes a place would be its first one.
fn waits_for_first_pull(state: &State, standings: &BTreeMap<TargetId, Standing>, whole: &TargetId) -> bool {
    let is_next = |standing: &Standing| matches!(standing, Standing::ToPlan | Standing::Planned(_));
    let may_have_one = |record: &Record, standing: &Standing| {
        record.pull.is_some() || record.past > 0 || *standing == Standing::Unknown
    };
    let of_parts = || state.parts_of(whole).filter_map(|(id, record)| Some((record, standings.get(id)?)));
    of_parts().any(|(_, standing)| is_next(standing))
        && !of_parts().any(|(record, standing)| may_have_one(record, standing))
}

/// Starts waves until one has to be waited for, or is not allowed to start yet. Places of a wave are for targets that take part: where
/// one turns out not to, another one gets its place before the next wave begins.
pub(super) fn begin(
    file: &CampaignFile,
    state: &mut State,
    standings: &mut BTreeMap<TargetId, Standing>,
    standing: impl Fn(&State, &TargetId) -> Standing,
) {
    let mut waiting = waiting(file, state).into_iter().peekable();
    let mut last = state.waves.checked_sub(1);
    while waiting.peek().is_some() {
        let wave = match last {
            Some(wave) if taken_places(state, standings, wave) < size(file, wave) => wave,
            Some(wave) if !tally(file, state, standings, wave).is_complete(file.waves.share) => return,
            _ if file.waves.approval == Approval::Comment && state.waves >= state.approved => return,
            _ => {
                state.waves += 1;
                state.waves - 1
            }
        };
        last = Some(wave);
        let free = size(file, wave) - taken_places(state, standings, wave);
        for whole in waiting.by_ref().take(free) {
            let mut ids = Vec::new();
            for (id, record) in state.parts_of_mut(&whole).filter(|(_, record)| record.wave.is_none()) {
                record.wave = Some(wave);
                ids.push(id.clone());
            }
            for id in ids {
                let now = standing(state, &id);
                standings.insert(id, now);
            }
        }
    }
}

/// Returns the targets whose wave has not begun, in the order in which they get places. Parts wait with their target.
pub(super) fn waiting(file: &CampaignFile, state: &State) -> Vec<TargetId> {
    let is_waiting = |(_, record): &(&TargetId, &Record)| record.wave.is_none() && !record.withdrawn;
    let wholes: BTreeSet<TargetId> =
        state.targets.iter().filter(is_waiting).map(|(id, _)| id.whole()).collect();
    let mut waiting: Vec<TargetId> = wholes.into_iter().collect();
    waiting.sort_by_cached_key(|id| order(file, &state.campaign, id));
    waiting
}

/// Returns how many places of a wave are taken: by the repositories that take part, with any of their parts, or that a command has
/// withdrawn.
fn taken_places(state: &State, standings: &BTreeMap<TargetId, Standing>, wave: u32) -> usize {
    let members = state.targets.iter().filter(|(_, record)| record.wave == Some(wave));
    let taking = members.filter(|(id, _)| standings.get(*id).is_some_and(Standing::takes_place));
    taking.map(|(id, _)| id.whole()).collect::<BTreeSet<_>>().len()
}

/// Returns the sort key of a target: those that come first, in their order; the others by a hash, so that no wave is one
/// team's alone.
fn order(file: &CampaignFile, campaign: &str, id: &TargetId) -> (usize, String) {
    let first = file.waves.first.iter().position(|name| *name == id.repository);
    (first.unwrap_or(usize::MAX), digest(format!("{campaign}\n{id}").as_bytes()))
}
