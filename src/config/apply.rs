//! Section `apply`: conditions for applying a plan, and limits on what one job may write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::bounded::Bounded;

/// Conditions for applying a plan, and limits on what one job may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Apply {
    /// Conditions that a pull request has to meet before a plan is applied to its branch.
    pub requires: Vec<Requirement>,
    /// File with the authorities that sign attestations, as `gh attestation trusted-root` prints them, read from the base commit.
    pub trusted_root: Option<String>,
    /// What happens to a plan if the branch of its pull request has moved since then.
    pub follow: Follow,
    /// Whether plans may change lock files. On GitHub, a place to fetch packages from that was not known before is refused in any
    /// case, in lock files and in the settings of package managers.
    pub lock_files: LockFiles,
    /// Maximum number of files that a plan may change.
    pub max_files: Option<Bounded<1, 1_000_000>>,
    /// Maximum number of lines that a plan may add and remove.
    pub max_lines: Option<Bounded<1, 100_000_000>>,
    /// Maximum number of plans that a job may deliver as pull requests.
    pub max_pull_requests: Option<Bounded<0, 1_000_000>>,
    /// Maximum number of comments that a job may write.
    pub max_comments: Option<Bounded<0, 1_000_000>>,
}

impl Apply {
    /// Returns whether a job may write any comment.
    pub fn allows_comments(&self) -> bool {
        self.max_comments.is_none_or(|most| most.get() > 0)
    }
}

/// A condition that a pull request has to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// This many people with write permission have approved its latest commit, and nobody has requested changes. Its author, bots,
    /// and everybody who asks to apply the plan or has started this run, also again, do not count.
    Approved(Bounded<1, 100>),
    /// For every planned file that `CODEOWNERS` of the base branch lists, one of its owners has approved the latest commit.
    CodeOwners,
    /// It can be merged without conflicts.
    Mergeable,
    /// It has all commits of its base branch.
    UpToDate,
    /// The checks of its latest commit have succeeded; those of this run do not count.
    Checks,
    /// GitHub has an attestation of the plan, signed in the workflow run that made it. This holds for every plan, not only those
    /// for pull requests.
    Attested,
}

/// Whether plans may change lock files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockFiles {
    /// Together with a change of the dependencies in the file that lists them.
    #[default]
    WithManifest,
    /// Always.
    Allow,
    /// Never.
    Refuse,
}

/// What happens to a plan if the branch of its pull request has moved since then: by further commits, a rebase or a forced
/// push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// It is carried over; a planned file that has changed since is merged if that is possible without conflicts.
    #[default]
    Merge,
    /// It is carried over if no planned file has changed since.
    Unchanged,
    /// It is refused.
    Never,
}
