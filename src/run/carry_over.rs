//! Carries a plan over to where the pull request's branch is now, before anything of it is checked, and compares what of it the
//! checkout already has with that branch.

use std::collections::BTreeMap;

use workspace::{FileState, WorkspacePath};

use super::Run;
use super::not_applied::NotApplied;
use crate::base::verbose_log::detail;
use crate::config::Follow;
use crate::event::Base;
use crate::git::Repository;
use crate::github::{Api, content_at};
use crate::plan::{CarryOverError, Checked, Plan, PlanFile};
use crate::request::{ApplyRequest, Moved};

/// Error for a file of a commit that could not be read.
struct Unread;

impl Run<'_> {
    /// Returns the plan for where the branch is now, or `None` if the branch is where the plan was made.
    pub(super) async fn carry_over(&self, request: &ApplyRequest) -> Result<Option<Plan>, NotApplied> {
        let Some(Moved { from, to }) = &request.moved else { return Ok(None) };
        let plan = &request.plan;
        plan.check_digest(request.digest.as_deref())?;
        let made_gates = plan.made.as_ref().is_some_and(|made| !made.gates.is_empty());
        if request.is_second_job() && (made_gates || !plan.gates.is_empty()) {
            return Err(NotApplied::GatesElsewhere);
        }
        let changed = plan.changed_since(&self.disk).map_err(CarryOverError::File)?;
        if let (Follow::Unchanged, Some(file)) = (self.request.config().apply.follow, changed.first()) {
            return Err(CarryOverError::Changed(file.path.clone()).into());
        }
        let mut earlier = BTreeMap::new();
        for file in changed {
            if let Some(content) = self.content_at(from, file.path.as_str()).await {
                earlier.insert(file.path.clone(), content);
            }
        }
        let repository = self.request.repository.as_ref();
        let branch = repository.and_then(Repository::branch);
        let base = Base { commit: to.clone(), branch, dirty: false };
        let committed = |path: &WorkspacePath| {
            repository.and_then(|repository| {
                repository.state_at(to, &format!("{}{path}", repository.prefix())).ok().flatten()
            })
        };
        Ok(Some(plan.carry_over(&self.disk, from, base, |path| earlier.get(path).cloned(), committed)?))
    }

    /// Adds what the checkout already has of a plan, and the commit that it was made for has not, to its changes if they are to
    /// be delivered: an attempt before may have failed to, or a step of the job may have made the same files.
    pub(super) async fn compare_with_commit(
        &self,
        checked: &mut Checked,
        plan: &Plan,
    ) -> Result<(), NotApplied> {
        if !self.request.deliver.is_to_branch() {
            return Ok(());
        }
        let repository = self.request.repository.as_ref();
        let head = || repository.and_then(Repository::head);
        let commit = plan.base.as_ref().map(|base| base.commit.clone()).or_else(head);
        let mut committed = BTreeMap::new();
        for file in checked.in_place() {
            let state = match &commit {
                Some(commit) => self.state_at(commit, file).await,
                None => Err(Unread),
            };
            committed
                .insert(file.path.clone(), state.map_err(|Unread| NotApplied::Unread(file.path.clone()))?);
        }
        Ok(checked.compare(&self.disk, |file| committed.get(&file.path).cloned().flatten())?)
    }

    /// Returns the state of a planned file at a commit, from the clone or, where that lacks the commit, from GitHub, which does
    /// not tell modes.
    async fn state_at(&self, commit: &str, file: &PlanFile) -> Result<Option<FileState>, Unread> {
        let repository = self.request.repository.as_ref();
        let path = format!("{}{}", repository.map(Repository::prefix).unwrap_or_default(), file.path);
        if let Some(Ok(state)) = repository.map(|repository| repository.state_at(commit, &path)) {
            return Ok(state);
        }
        let github = self.request.github.as_ref().ok_or(Unread)?;
        let asked = async { content_at(&Api::new(github)?, commit, &path).await };
        match asked.await {
            Ok(Some(content)) => {
                Ok(Some(FileState { content: content.into(), mode: file.mode_before().unwrap_or(file.mode) }))
            }
            Err(error) if error.is_missing() => Ok(None),
            Ok(None) | Err(_) => Err(Unread),
        }
    }

    /// Returns the content of a file at a commit, from the clone or, where that lacks the commit, from GitHub. A shallow
    /// clone never has it, and after a forced push no clone does.
    async fn content_at(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let repository = self.request.repository.as_ref();
        let path = format!("{}{path}", repository.map(Repository::prefix).unwrap_or_default());
        let held = repository.and_then(|repository| repository.read_at(commit, &path).ok().flatten());
        if held.is_some() {
            return held;
        }
        let github = self.request.github.as_ref()?;
        let asked = async { content_at(&Api::new(github)?, commit, &path).await };
        asked.await.unwrap_or_else(|error| {
            detail!("could not read {path} at {commit}: {error}");
            None
        })
    }
}
