//! State of one of many repositories on GitHub, with the pull requests from one branch there. Campaigns decide by this, so that
//! a lost or outdated state never leads to a second pull request.

use std::collections::BTreeMap;

use super::RepositoryName;

/// What GitHub says of a repository and of the pull requests from a branch there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The repository.
    pub repository: ObservedRepository,
    /// Pull requests from the branch to the default branch, of any state, in any order.
    pub pulls: Vec<PullFacts>,
    /// The pull requests that take merged ones back, by the numbers of those; `None` where there is none.
    pub reverts: BTreeMap<u64, Option<PullFacts>>,
}

/// One of many repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedRepository {
    /// It does not exist, or the token cannot access it.
    Missing,
    /// It is there.
    Present {
        /// Its name now; it may have been renamed or moved.
        name: RepositoryName,
        /// Whether nobody can write to it.
        is_archived: bool,
        /// Whether the default branch has the file that was requested; `true` if none was.
        has_file: bool,
        /// The default branch and the commit there; `None` before the first commit.
        head: Option<(String, String)>,
    },
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullFacts {
    /// Its number.
    pub number: u64,
    /// Its id for GraphQL.
    pub node: String,
    /// Whether it is open.
    pub state: PullState,
    /// The commit at its head.
    pub head: String,
    /// Whether it is a draft, which GitHub does not merge.
    pub is_draft: bool,
    /// What its checks say.
    pub checks: Checks,
    /// Whether it cannot be merged into its base.
    pub is_conflicting: bool,
    /// When it was opened, in seconds since 1970.
    pub created_at: u64,
    /// Whether a later commit of the default branch takes it back.
    pub is_reverted: bool,
}

/// The state of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullState {
    /// Open.
    Open,
    /// Merged.
    Merged,
    /// Closed without being merged.
    Closed,
}

/// What the checks of a commit say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// There are none.
    Absent,
    /// Some have not ended.
    Pending,
    /// All have passed.
    Passed,
    /// One has failed.
    Failed,
}

impl Observed {
    /// Returns what is seen of a repository that is not there, or that the token may not see.
    pub fn missing() -> Self {
        Self { repository: ObservedRepository::Missing, pulls: Vec::new(), reverts: BTreeMap::new() }
    }

    /// Returns the pull request that counts among those after `past`: the open one, or else the newest.
    pub fn pull(&self, past: u64) -> Option<&PullFacts> {
        let later = || self.pulls.iter().filter(|pull| pull.number > past);
        let open = later().find(|pull| pull.state == PullState::Open);
        open.or_else(|| later().max_by_key(|pull| pull.number))
    }

    /// Returns the pull request that takes this one back, if there is one.
    pub fn revert(&self, number: u64) -> Option<&PullFacts> {
        self.reverts.get(&number)?.as_ref()
    }

    /// Returns the pull requests whose change is merged and was not taken back.
    pub fn in_effect(&self) -> impl Iterator<Item = &PullFacts> {
        self.pulls.iter().filter(|pull| {
            let revert = self.revert(pull.number);
            let is_back = pull.is_reverted || revert.is_some_and(|it| it.state == PullState::Merged);
            pull.state == PullState::Merged && !is_back
        })
    }

    /// Returns whether it was not asked of all merged pull requests what takes them back.
    pub fn lacks_reverts(&self) -> bool {
        let mut merged = self.pulls.iter().filter(|pull| pull.state == PullState::Merged);
        merged.any(|pull| !self.reverts.contains_key(&pull.number))
    }
}
