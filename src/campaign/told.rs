//! Remarks of a report on a target, besides its standing.

use super::file::MergeRule;
use super::reconcile::{Step, can_write};
use super::session::Session;
use super::standing::Standing;
use super::state::{AttemptOutcome, Intent, Record, State};
use super::target::TargetId;
use crate::github::{Checks, Observed, PullFacts, PullState};

/// Why a target stands where it does.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The reasons, in one line.
    pub(super) note: String,
    /// Whether somebody has to look at it, whatever its standing.
    pub(super) is_stuck: bool,
}

impl Told {
    pub(super) fn of(session: &Session<'_>, state: &State, (id, standing): (&TargetId, &Standing)) -> Self {
        let (record, observed) = (state.targets.get(id), session.observed.get(id));
        let refused = session.refused.iter().find(|(step, _)| step.target() == id);
        let mut told = match standing {
            Standing::Failed(message) => Self { note: message.clone(), is_stuck: false },
            Standing::Skipped(skip) => Self { note: skip.to_string(), is_stuck: false },
            Standing::Open(pull) => of_open(session, record, pull),
            Standing::Merged(_) if state.intent == Intent::RollingBack => of_merged(id, observed),
            _ => Self::default(),
        };
        if let Some((step, error)) = refused.filter(|_| told.note.is_empty()) {
            let is_stuck = matches!(step, Step::Revert(..));
            told = Self { note: error.clone(), is_stuck };
        }
        let is_excused = record.is_some_and(|record| record.excused);
        if is_excused && !told.note.is_empty() {
            told.note += " (no longer counts)";
        }
        told
    }
}

/// Tells why an open pull request stays as it is.
fn of_open(session: &Session<'_>, record: Option<&Record>, pull: &PullFacts) -> Told {
    let is_tried = |record: &&Record| record.refreshed.as_ref() == Some(&pull.head);
    if pull.is_conflicting
        && let Some(AttemptOutcome::Failed(why)) = record.filter(is_tried).map(|record| &record.outcome)
    {
        return Told { note: format!("not planned anew until it changes: {why}"), is_stuck: true };
    }
    let merges = session.request.campaign.file.merge == MergeRule::Green;
    if pull.is_draft && pull.checks == Checks::Passed && merges {
        let note = "a draft, which is merged once somebody marks it as ready for review";
        return Told { note: note.to_owned(), is_stuck: true };
    }
    Told::default()
}

/// Tells what becomes of a change that is to be taken back.
fn of_merged(id: &TargetId, observed: Option<&Observed>) -> Told {
    let Some(observed) = observed else { return Told::default() };
    if !can_write(id, Some(observed)) {
        let note = "not reverted, because it is archived or moved".to_owned();
        return Told { note, is_stuck: true };
    }
    let closed: Vec<String> = observed
        .in_effect()
        .filter_map(|pull| observed.revert(pull.number))
        .filter(|revert| revert.state == PullState::Closed)
        .map(|revert| format!("#{}", revert.number))
        .collect();
    if closed.is_empty() {
        return Told::default();
    }
    Told { note: format!("not reverted, because {} was closed", closed.join(", ")), is_stuck: true }
}
