//! Standing of a target: combines the saved state and what GitHub shows into one value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::{AttemptOutcome, Record};
use super::target::TargetId;
use crate::github::{Checks, Observed, ObservedRepository, PullFacts, PullState, RepositoryName};

/// Standing of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its wave has not begun.
    Waiting,
    /// It has to be planned.
    ToPlan,
    /// It is planned; the digest of the plan.
    Planned(String),
    /// There is nothing to change.
    Nothing,
    /// It does not take part.
    Skipped(Skip),
    /// It has used up its attempts.
    Failed(String),
    /// Its pull request is open.
    Open(PullFacts),
    /// Its pull request is merged.
    Merged(PullFacts),
    /// People closed its pull request.
    Closed(u64),
    /// The change was merged and reverted.
    Reverted(u64),
    /// A command closed its pull request, or prevented it.
    Withdrawn,
    /// GitHub was not asked.
    Unknown,
}

/// Reason why a target does not take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// It does not exist, or the token cannot access it.
    Missing,
    /// Nobody can write to it.
    Archived,
    /// It has no commit.
    Empty,
    /// It does not have the file that the campaign requires.
    NoFile,
    /// It has another name now, which is a target by itself.
    Renamed(RepositoryName),
    /// It belongs to another account now, where the campaign was not sent.
    Moved(RepositoryName),
    /// The campaign's file no longer selects it.
    LeftOut,
    /// It was archived, or went to another account, after its pull request was opened.
    ArchivedWith(u64),
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist, or the token cannot access it"),
            Self::Archived => f.write_str("archived"),
            Self::Empty => f.write_str("empty"),
            Self::NoFile => f.write_str("does not contain the file that the campaign requires"),
            Self::Renamed(name) => write!(f, "renamed to {name}, which is also a target"),
            Self::Moved(name) => write!(f, "moved to another account, as {name}"),
            Self::LeftOut => f.write_str("no longer selected by the campaign's file"),
            Self::ArchivedWith(number) => write!(f, "archived or moved while #{number} was open"),
        }
    }
}

impl Standing {
    /// Combines the saved record of a target of this account and what GitHub shows. `attempts` is how often a target is
    /// tried.
    pub fn of(
        owner: &str,
        record: &Record,
        observed: Option<&Observed>,
        attempts: u64,
        is_twin: impl Fn(&RepositoryName) -> bool,
    ) -> Self {
        if record.wave.is_none() {
            return if record.withdrawn { Self::Withdrawn } else { Self::Waiting };
        }
        let Some(observed) = observed else { return Self::Unknown };
        let is_reverted = |number| {
            observed.revert(number).is_some_and(|revert: &PullFacts| revert.state == PullState::Merged)
        };
        let skip = skip(owner, &observed.repository, is_twin);
        if let Some(pull) = observed.pull(record.past) {
            return match pull.state {
                PullState::Merged if pull.is_reverted || is_reverted(pull.number) => {
                    Self::Reverted(pull.number)
                }
                PullState::Merged => Self::Merged(pull.clone()),
                PullState::Closed if record.withdrawn => Self::Withdrawn,
                PullState::Closed => Self::Closed(pull.number),
                PullState::Open if matches!(skip, Some(Skip::Archived | Skip::Moved(_))) => {
                    Self::Skipped(Skip::ArchivedWith(pull.number))
                }
                PullState::Open => Self::Open(pull.clone()),
            };
        }
        if record.withdrawn {
            return Self::Withdrawn;
        }
        if let Some(skip) = skip {
            return Self::Skipped(skip);
        }
        if record.left_out {
            return Self::Skipped(Skip::LeftOut);
        }
        if let Some(number) = record.pull.filter(|number| *number > record.past) {
            // GitHub never deletes one: the branch has another name, or the repository is another one.
            return Self::Failed(format!("its pull request #{number} no longer exists"));
        }
        match &record.outcome {
            AttemptOutcome::Nothing => Self::Nothing,
            AttemptOutcome::Failed(message) if u64::from(record.attempts) >= attempts => {
                Self::Failed(message.clone())
            }
            AttemptOutcome::New | AttemptOutcome::Failed(_) => Self::ToPlan,
            AttemptOutcome::Planned(digest) => Self::Planned(digest.clone()),
        }
    }

    /// Returns the standing in a campaign that is rolled back: a target is merged for as long as any of its changes is in effect.
    #[must_use]
    pub fn until_rolled_back(self, observed: Option<&Observed>) -> Self {
        let newest = observed.and_then(|observed| observed.in_effect().max_by_key(|pull| pull.number));
        match (self, newest) {
            (now @ (Self::Waiting | Self::Open(_)), _) | (now, None) => now,
            (_, Some(pull)) => Self::Merged(pull.clone()),
        }
    }

    /// Returns whether the target counts when a wave is measured.
    pub fn takes_part(&self) -> bool {
        !matches!(self, Self::Skipped(_) | Self::Nothing | Self::Withdrawn | Self::Waiting)
    }

    /// Returns whether the target takes a place of its wave: it takes part, or a command has withdrawn it.
    pub fn takes_place(&self) -> bool {
        self.takes_part() || *self == Self::Withdrawn
    }

    /// Returns whether nothing more happens to it by itself.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Waiting | Self::ToPlan | Self::Planned(_) | Self::Open(_) | Self::Unknown)
    }

    /// Returns its kind.
    pub fn kind(&self) -> StandingKind {
        match self {
            Self::Waiting => StandingKind::Waiting,
            Self::ToPlan => StandingKind::ToPlan,
            Self::Planned(_) => StandingKind::Planned,
            Self::Nothing => StandingKind::Nothing,
            Self::Skipped(_) => StandingKind::Skipped,
            Self::Failed(_) => StandingKind::Failed,
            Self::Open(pull) => match pull.checks {
                _ if pull.is_conflicting => StandingKind::OpenConflict,
                Checks::Failed => StandingKind::OpenRed,
                Checks::Passed => StandingKind::OpenGreen,
                Checks::Absent | Checks::Pending => StandingKind::Open,
            },
            Self::Merged(_) => StandingKind::Merged,
            Self::Closed(_) => StandingKind::Closed,
            Self::Reverted(_) => StandingKind::Reverted,
            Self::Withdrawn => StandingKind::Withdrawn,
            Self::Unknown => StandingKind::Unknown,
        }
    }

    /// Returns the number of the pull request that it is about.
    pub fn pull(&self) -> Option<u64> {
        match self {
            Self::Open(pull) | Self::Merged(pull) => Some(pull.number),
            Self::Closed(number) | Self::Reverted(number) | Self::Skipped(Skip::ArchivedWith(number)) => {
                Some(*number)
            }
            _ => None,
        }
    }
}

/// State of a target, without details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum StandingKind {
    /// Its wave has not begun.
    #[serde(rename = "waiting")]
    Waiting,
    /// It has to be planned.
    #[serde(rename = "to plan")]
    ToPlan,
    /// It is planned.
    #[serde(rename = "planned")]
    Planned,
    /// There is nothing to change.
    #[serde(rename = "nothing to change")]
    Nothing,
    /// It does not take part.
    #[serde(rename = "skipped")]
    Skipped,
    /// It has used up its attempts.
    #[serde(rename = "failed")]
    Failed,
    /// Its pull request is open, and checks are not done or absent.
    #[serde(rename = "open")]
    Open,
    /// Its pull request is open, and all checks have passed.
    #[serde(rename = "open, green")]
    OpenGreen,
    /// Its pull request is open, and a check has failed.
    #[serde(rename = "open, red")]
    OpenRed,
    /// Its pull request is open and in conflict.
    #[serde(rename = "open, conflict")]
    OpenConflict,
    /// Its pull request is merged.
    #[serde(rename = "merged")]
    Merged,
    /// People closed its pull request.
    #[serde(rename = "closed")]
    Closed,
    /// The change was merged and reverted.
    #[serde(rename = "reverted")]
    Reverted,
    /// A command closed its pull request, or prevented it.
    #[serde(rename = "withdrawn")]
    Withdrawn,
    /// GitHub was not asked.
    #[serde(rename = "unknown")]
    Unknown,
}

impl StandingKind {
    /// Returns whether its pull request is open.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::OpenGreen | Self::OpenRed | Self::OpenConflict)
    }

    /// Returns whether it is stuck until somebody looks at it.
    pub fn needs_people(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Closed | Self::Reverted | Self::OpenRed | Self::OpenConflict | Self::Skipped
        )
    }
}

impl std::fmt::Display for StandingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The same words as in JSON.
        self.serialize(f)
    }
}

/// Returns why a repository does not take part, if it does not.
fn skip(
    owner: &str,
    repository: &ObservedRepository,
    is_twin: impl Fn(&RepositoryName) -> bool,
) -> Option<Skip> {
    match repository {
        ObservedRepository::Missing => Some(Skip::Missing),
        ObservedRepository::Present { name, .. } if name.owner() != owner => Some(Skip::Moved(name.clone())),
        ObservedRepository::Present { name, .. } if is_twin(name) => Some(Skip::Renamed(name.clone())),
        ObservedRepository::Present { is_archived: true, .. } => Some(Skip::Archived),
        ObservedRepository::Present { head: None, .. } => Some(Skip::Empty),
        ObservedRepository::Present { has_file: false, .. } => Some(Skip::NoFile),
        ObservedRepository::Present { .. } => None,
    }
}

/// Returns whether a name that a target's repository has now is that of another target with the same task.
pub(super) fn twin<'a, T>(
    targets: &'a std::collections::BTreeMap<TargetId, T>,
    id: &'a TargetId,
) -> impl Fn(&RepositoryName) -> bool + 'a {
    move |name| {
        let other = TargetId { repository: name.clone(), ..id.clone() };
        *name != id.repository && targets.contains_key(&other)
    }
}
