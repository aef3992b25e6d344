//! Targets that GitHub shows and the saved state does not know, because the branch with the state was deleted. The pull requests of
//! targets are found by the names of their branches, and the parts of a target by the branches that there are.

use std::collections::{BTreeMap, BTreeSet};

use super::error::CampaignError;
use super::file::Split;
use super::session::{LookAhead, Session};
use super::state::State;
use super::target::{TargetId, is_task_id};
use crate::github::{RepositoryName, branches_below};

impl Session<'_> {
    /// Finds the parts of some targets by their branches. Each joins the wave of its target.
    pub(super) async fn find_parts(&mut self, wholes: &[TargetId]) -> Result<(), CampaignError> {
        let mut groups: BTreeMap<&str, BTreeSet<&RepositoryName>> = BTreeMap::new();
        for id in wholes {
            groups.entry(self.account(id)).or_default().insert(&id.repository);
        }
        let folder = self.request.campaign.folder();
        let mut branches: BTreeMap<&RepositoryName, Vec<String>> = BTreeMap::new();
        for (account, repositories) in groups {
            // The app is installed for accounts: one of their repositories may be left out.
            let Some(api) = self.request.api_of(account).await? else { continue };
            let repositories: Vec<&RepositoryName> = repositories.into_iter().collect();
            let found = branches_below(&api, &repositories, &folder).await?;
            branches.extend(repositories.into_iter().zip(found));
        }
        for whole in wholes {
            let branch = self.request.campaign.branch(whole);
            let start = branch.strip_prefix(&folder).unwrap_or_default().trim_start_matches('/');
            for name in branches.get(&whole.repository).into_iter().flatten() {
                let part = name.strip_prefix(start).and_then(|rest| rest.strip_prefix('.'));
                if let Some(part) = part.filter(|part| is_task_id(part)) {
                    self.state.record_of(&whole.with_part(part));
                }
            }
        }
        Ok(())
    }

    /// Finds the pull requests of targets whose wave has not begun as far as is known, and of parts that nobody remembers; of all
    /// targets if `only` is empty. Whatever has one has begun.
    pub(super) async fn find_lost(&mut self, only: &BTreeSet<TargetId>) -> Result<(), CampaignError> {
        let is_meant = |id: &TargetId| only.is_empty() || only.contains(&id.whole());
        let all = self.state.targets.keys();
        let wholes: Vec<TargetId> = all.filter(|id| id.part.is_empty() && is_meant(id)).cloned().collect();
        self.find_parts(&wholes).await?;
        let is_waiting =
            |id: &TargetId, state: &State| state.targets.get(id).is_some_and(|it| it.wave.is_none());
        let is_unknown = |id: &TargetId, state: &State| {
            state.targets.get(id).is_some_and(|it| it.wave.is_none() && !it.has_begun())
        };
        let all = self.state.targets.keys();
        let waiting: Vec<TargetId> =
            all.filter(|id| is_meant(id) && is_waiting(id, &self.state)).cloned().collect();
        self.look_at(&waiting).await?;
        let has_pull = |id: &TargetId, session: &Self| {
            session.observed.get(id).is_some_and(|observed| !observed.pulls.is_empty())
        };
        for id in &waiting {
            if has_pull(id, self) {
                self.state.begin(id);
            } else if !id.part.is_empty() && is_unknown(id, &self.state) {
                // Somebody has a branch of that name.
                self.state.targets.remove(id);
            }
        }
        self.observe(LookAhead::None).await
    }

    /// Returns what people have to know of parts that are not found; `None` if there cannot be any.
    pub(super) fn lost_for_good(&self) -> Option<String> {
        let is_split = self.request.campaign.file.pull_request.split == Split::Owners;
        let told = "there was no saved state: a part that was merged and whose branch was deleted is not found, so nothing reverts it; \
                    look for such pull requests yourself";
        (is_split && !self.has_saved_state()).then(|| told.to_owned())
    }
}

impl State {
    /// Records that a target has begun, with what it is a part of.
    fn begin(&mut self, id: &TargetId) {
        self.waves = self.waves.max(1);
        let wave = Some(self.waves - 1);
        for id in [&id.whole(), id] {
            if let Some(record) = self.targets.get_mut(id).filter(|record| record.wave.is_none()) {
                record.wave = wave;
            }
        }
    }
}
