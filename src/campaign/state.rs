//! State of a campaign between two starts, on any machine. It contains what GitHub does not show: which target belongs to
//! which wave, what failed, what people decided.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::target::TargetId;
use crate::base::integrity::digest;

/// The version of the format.
pub(super) const STATE_VERSION: u32 = 1;

/// Saved state of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The version of the format.
    pub schema_version: u32,
    /// The campaign's name.
    pub campaign: String,
    /// The goal of the campaign.
    #[serde(default)]
    pub intent: Intent,
    /// How many waves have begun.
    pub waves: u32,
    /// How many waves may begin, as people have approved; counts where the file asks for approval.
    #[serde(default)]
    pub approved: u32,
    /// Why nothing more is started, if the campaign has stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The newest comment on the dashboard that was read.
    #[serde(default)]
    pub last_comment: u64,
    /// The number of the dashboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard: Option<u64>,
    /// The targets.
    #[serde(default)]
    pub targets: BTreeMap<TargetId, Record>,
}

/// Goal of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// The change in all repositories.
    #[default]
    Forward,
    /// No changes; open pull requests are closed.
    Abandoned,
    /// The state before the campaign: open pull requests are closed, merged ones reverted.
    RollingBack,
}

/// Saved record of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Record {
    /// The wave that it belongs to, from 0, once that has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// The outcome of the last attempt.
    pub outcome: AttemptOutcome,
    /// Number of consecutive failures.
    pub attempts: u32,
    /// The digest of the plan that its pull request holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<String>,
    /// The head that the pull request had when it was planned again because of a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refreshed: Option<String>,
    /// Its pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<u64>,
    /// Its other pull requests that are merged, of times when it was begun before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<u64>,
    /// Pull requests up to this number belong to the past: the target was begun again since. Where it is not 0, it keeps the place of its
    /// wave.
    #[serde(skip_serializing_if = "is_zero")]
    pub past: u64,
    /// Code owners who have to review the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Whether its outcome no longer counts towards stopping, because somebody has looked at it and continued.
    #[serde(skip_serializing_if = "is_false")]
    pub excused: bool,
    /// Whether its pull request was closed by a command.
    #[serde(skip_serializing_if = "is_false")]
    pub withdrawn: bool,
    /// Whether the campaign's file no longer selects it, although it has begun.
    #[serde(skip_serializing_if = "is_false")]
    pub left_out: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Record {
    /// Returns the pull requests that are known to be the campaign's own.
    pub fn pulls(&self) -> Vec<u64> {
        self.pull.iter().chain(&self.earlier).copied().collect()
    }

    /// Returns whether anything was done for it, or decided about it.
    pub fn has_begun(&self) -> bool {
        let of_wave = Self { wave: self.wave, left_out: self.left_out, ..Self::default() };
        *self != of_wave
    }
}

/// Outcome of the last attempt at a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptOutcome {
    /// There was none.
    #[default]
    New,
    /// There is a plan with this digest.
    Planned(String),
    /// There is nothing to change.
    Nothing,
    /// It failed.
    Failed(String),
}

impl State {
    /// Returns the state of a campaign that has not begun.
    pub fn new(campaign: &str) -> Self {
        Self {
            schema_version: STATE_VERSION,
            campaign: campaign.to_owned(),
            intent: Intent::Forward,
            waves: 0,
            approved: 1,
            stopped: None,
            last_comment: 0,
            dashboard: None,
            targets: BTreeMap::new(),
        }
    }

    /// Returns the targets that have a plan in common: the whole one, and its parts.
    pub(super) fn parts_of(&self, whole: &TargetId) -> impl Iterator<Item = (&TargetId, &Record)> {
        // The whole one comes first in their order.
        self.targets.range(whole..).take_while(move |(id, _)| id.is_part_of(whole))
    }

    /// Returns them to be changed.
    pub(super) fn parts_of_mut(
        &mut self,
        whole: &TargetId,
    ) -> impl Iterator<Item = (&TargetId, &mut Record)> {
        self.targets.range_mut(whole..).take_while(move |(id, _)| id.is_part_of(whole))
    }

    /// Replaces the targets by those that were found now. Those that are no longer found stay if they have begun: they may have a pull
    /// request, but get no other one.
    pub fn update_targets(&mut self, found: impl IntoIterator<Item = TargetId>) {
        let found: BTreeSet<TargetId> = found.into_iter().collect();
        self.targets.retain(|id, record| record.wave.is_some() || found.contains(&id.whole()));
        for (id, record) in &mut self.targets {
            record.left_out = !found.contains(&id.whole());
        }
        for id in found {
            self.targets.entry(id).or_default();
        }
    }
}

/// Targets of one file of the state, about: a change rewrites few of them, and few requests read all.
const PER_FILE: usize = 200;

/// Maximum number of waves, because each is counted and shown; the last one takes all that is left.
pub(super) const MAX_WAVES: u32 = 10_000;

/// The file with everything but the targets.
pub(super) const HEADER: &str = "campaign.json";

/// Error for files that are not state.
#[derive(Debug, thiserror::Error)]
pub enum InvalidState {
    /// One cannot be read.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Why.
        #[source]
        error: serde_json::Error,
    },
    /// There is none.
    #[error("{HEADER} is missing")]
    NoHeader,
    /// It is of another version of the program.
    #[error("its schema_version is {0}, but this program supports {STATE_VERSION}")]
    Version(u32),
    /// It belongs to another campaign.
    #[error("it is the state of the campaign {0:?}")]
    Other(String),
    /// It has so many waves that counting them would take too long.
    #[error("it has {0} waves; a campaign has at most {MAX_WAVES}")]
    Waves(u32),
}

impl State {
    /// Returns the files that hold it, by name.
    pub fn files(&self) -> BTreeMap<String, String> {
        let count = self.targets.len().div_ceil(PER_FILE).max(1);
        let mut parts: BTreeMap<String, BTreeMap<&TargetId, &Record>> = BTreeMap::new();
        for (id, record) in &self.targets {
            let hash = digest(id.to_string().as_bytes());
            let at = usize::from_str_radix(&hash[..8], 16).unwrap_or(0) % count;
            parts.entry(format!("targets-{at:03}.json")).or_default().insert(id, record);
        }
        let header = Self { targets: BTreeMap::new(), ..self.clone() };
        let mut files = BTreeMap::from([(HEADER.to_owned(), json(&header))]);
        files.extend(parts.into_iter().map(|(name, part)| (name, json(&part))));
        files
    }

    /// Reads the files that hold it.
    pub fn of_files(campaign: &str, files: &BTreeMap<String, String>) -> Result<Self, InvalidState> {
        let failed = |file: &str| {
            let file = file.to_owned();
            move |error| InvalidState::File { file, error }
        };
        let header = files.get(HEADER).ok_or(InvalidState::NoHeader)?;
        let mut state: Self = serde_json::from_str(header).map_err(failed(HEADER))?;
        if state.schema_version != STATE_VERSION {
            return Err(InvalidState::Version(state.schema_version));
        }
        if state.campaign != campaign {
            return Err(InvalidState::Other(state.campaign));
        }
        if state.waves > MAX_WAVES {
            return Err(InvalidState::Waves(state.waves));
        }
        for (name, text) in files.iter().filter(|(name, _)| name.as_str() != HEADER) {
            let part: BTreeMap<TargetId, Record> = serde_json::from_str(text).map_err(failed(name))?;
            state.targets.extend(part);
        }
        Ok(state)
    }
}

/// A line for each value, so that people can read what changed.
fn json<T: Serialize>(value: &T) -> String {
    // The types hold nothing that JSON cannot.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
