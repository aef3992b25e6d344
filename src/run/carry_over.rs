//! Carries a plan over to where the pull request's branch is now, before anything of it is checked.

use std::collections::BTreeMap;

use super::Run;
use super::not_applied::NotApplied;
use crate::base::verbose_log::detail;
use crate::config::Follow;
use crate::event::Base;
use crate::git::Repository;
use crate::github::{Api, content_at};
use crate::plan::{CarryOverError, Plan};
use crate::request::{ApplyRequest, Moved};

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
        Ok(Some(plan.carry_over(&self.disk, from, base, |path| earlier.get(path).cloned())?))
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
