//! Available plans: made by this start, by an earlier one on this machine, or by another job of the same workflow run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::reconcile::StepOutcome;
use super::target::TargetId;
use crate::base::fs::{open_file, read_at_most, write_atomic};
use crate::base::integrity::digest;
use crate::plan::Plan;
use crate::request::read_plan;

/// The file in which a job lists its plans.
pub(super) const INDEX: &str = "campaign-plans.json";

/// Largest such file, in bytes.
const MAX_INDEX: u64 = 100_000_000;

/// The plans of a job.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    /// The campaign.
    pub(super) campaign: String,
    /// The outcome of each target.
    pub(super) targets: BTreeMap<TargetId, Planned>,
}

/// The outcome of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Planned {
    /// There is a plan.
    Plan {
        /// Its digest.
        digest: String,
        /// Code owners of the changed files.
        owners: Vec<String>,
    },
    /// There is nothing to change.
    Nothing,
    /// It failed.
    Failed(String),
}

impl Planned {
    /// Returns the saved outcome; `None` if it is not a result of planning.
    pub(super) fn of(done: &StepOutcome) -> Option<Self> {
        match done {
            StepOutcome::Planned { digest, owners } => {
                Some(Self::Plan { digest: digest.clone(), owners: owners.clone() })
            }
            StepOutcome::Nothing => Some(Self::Nothing),
            StepOutcome::Failed(message) => Some(Self::Failed(message.clone())),
            StepOutcome::Delivered { .. } | StepOutcome::Seen => None,
        }
    }

    /// Returns the resulting outcome of a step.
    pub(super) fn done(self) -> StepOutcome {
        match self {
            Self::Plan { digest, owners } => StepOutcome::Planned { digest, owners },
            Self::Nothing => StepOutcome::Nothing,
            Self::Failed(message) => StepOutcome::Failed(message),
        }
    }
}

/// Reason why plans of another job are not trusted.
#[derive(Debug, thiserror::Error)]
pub enum UnverifiedPlans {
    /// Their digests are not known.
    #[error("`report-digests` is missing; set it from the outputs of the planning jobs")]
    NoDigests,
    /// The digests are not JSON.
    #[error("invalid `report-digests`: {0}")]
    Digests(#[source] serde_json::Error),
    /// One cannot be read.
    #[error("could not read {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// No job has produced it.
    #[error("{0} was not produced by a job of this workflow run (`report-digests`)")]
    Unknown(PathBuf),
    /// It cannot be parsed.
    #[error("invalid {path}: {error}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: serde_json::Error,
    },
    /// It belongs to another campaign.
    #[error("{path} belongs to the campaign {campaign:?}")]
    Other {
        /// The file.
        path: PathBuf,
        /// The campaign.
        campaign: String,
    },
}

/// The plans of earlier jobs.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    /// The trusted plans, with their folders.
    pub(super) indexes: Vec<(PathBuf, Index)>,
    /// Reasons why others are left out.
    pub(super) left_out: Vec<UnverifiedPlans>,
}

impl Index {
    /// Writes it. Returns its digest.
    pub(super) fn write(&self, out: &Path) -> std::io::Result<String> {
        // The types hold nothing that JSON cannot.
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_atomic(&out.join(INDEX), &text)?;
        Ok(digest(&text))
    }

    /// Reads the plans of earlier jobs: the files of this name in `folder` and in the folders there, each with a
    /// digest that a job has produced, if `digests` says which these are. Others are left out, because any job of a
    /// workflow run can write artifacts. It is an error if no plan is left.
    pub(super) fn read_all(
        folder: &Path,
        campaign: &str,
        digests: Option<&str>,
    ) -> Result<Indexes, UnverifiedPlans> {
        let known: Option<BTreeMap<String, String>> =
            digests.map(serde_json::from_str).transpose().map_err(UnverifiedPlans::Digests)?;
        let known: Option<BTreeSet<String>> =
            known.map(|known| known.into_values().filter(|digest| !digest.is_empty()).collect());
        // If no job has planned anything, no artifact is downloaded.
        if known.as_ref().is_some_and(BTreeSet::is_empty) && !folder.exists() {
            return Ok(Indexes::default());
        }
        let failed = |error| UnverifiedPlans::Read { path: folder.to_owned(), error };
        // As links lead there: a file in it is never opened through one.
        let folder = folder.canonicalize().map_err(failed)?;
        let mut folders = vec![folder.clone()];
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
        folders.sort();
        let mut found = Indexes::default();
        for folder in folders {
            let path = folder.join(INDEX);
            if path.symlink_metadata().is_err() {
                continue;
            }
            match Self::read(path, campaign, known.as_ref()) {
                Ok(index) => found.indexes.push((folder, index)),
                Err(error) => found.left_out.push(error),
            }
        }
        let is_expected = known.as_ref().is_none_or(|known| !known.is_empty());
        match found.left_out.pop() {
            Some(error) if found.indexes.is_empty() && is_expected => Err(error),
            last => {
                found.left_out.extend(last);
                Ok(found)
            }
        }
    }

    fn read(
        path: PathBuf,
        campaign: &str,
        known: Option<&BTreeSet<String>>,
    ) -> Result<Self, UnverifiedPlans> {
        let text = match open_file(&path).and_then(|file| read_at_most(file, MAX_INDEX)) {
            Ok(text) => text,
            Err(error) => return Err(UnverifiedPlans::Read { path, error }),
        };
        if known.is_some_and(|known| !known.contains(&digest(&text))) {
            return Err(UnverifiedPlans::Unknown(path));
        }
        match serde_json::from_slice::<Self>(&text) {
            Ok(index) if index.campaign == campaign => Ok(index),
            Ok(index) => Err(UnverifiedPlans::Other { path, campaign: index.campaign }),
            Err(error) => Err(UnverifiedPlans::Invalid { path, error }),
        }
    }
}

/// Returns the folder of a target's files below that of the campaign's. Names of targets are safe names of folders.
pub(super) fn folder(out: &Path, id: &TargetId) -> PathBuf {
    out.join("targets").join(id.repository.owner()).join(id.repository.name()).join(id.work("_"))
}

/// Plans by target, with their paths.
#[derive(Debug, Default)]
pub(super) struct Plans {
    places: BTreeMap<TargetId, PathBuf>,
    /// The digests, for judging.
    pub(super) digests: BTreeMap<TargetId, String>,
}

impl Plans {
    /// Records the path of a plan.
    pub(super) fn insert(&mut self, id: &TargetId, path: PathBuf, digest: String) {
        self.places.insert(id.clone(), path);
        self.digests.insert(id.clone(), digest);
    }

    /// Finds the plan of an earlier start on this machine.
    pub(super) fn find_earlier(&mut self, out: &Path, id: &TargetId, digest: &str) {
        let path = folder(out, id).join("plan.json");
        if !self.digests.contains_key(id)
            && path.is_file()
            && read_plan(&path).is_ok_and(|plan| plan.digest == digest && plan.computed_digest() == digest)
        {
            self.insert(id, path, digest.to_owned());
        }
    }

    /// Reads a plan; `None` if it is not the one that was recorded, which others may have replaced since.
    pub(super) fn read(&self, id: &TargetId) -> Option<Plan> {
        let plan = read_plan(self.places.get(id)?).ok()?;
        (self.digests.get(id) == Some(&plan.digest)).then_some(plan)
    }
}
