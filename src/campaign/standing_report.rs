//! Creates the report of a campaign from its state and what GitHub shows.

use std::collections::BTreeMap;

use super::reconcile::{Decision, is_finished};
use super::report::{CampaignReport, CampaignStatus, SCHEMA_VERSION, TargetReport, WaveReport};
use super::session::Session;
use super::standing::{Standing, StandingKind};
use super::state::Intent;
use super::target::TargetId;
use super::told::Told;
use super::waves::tally;

impl CampaignReport {
    /// Tells how a campaign stands once its next steps are known.
    pub(super) fn new(session: &Session<'_>, decision: &Decision) -> Self {
        let file = &session.request.campaign.file;
        let state = &decision.state;
        let server = &session.request.environment.server_url;
        let mut counts: BTreeMap<StandingKind, usize> = BTreeMap::new();
        let target = |(id, standing): (&TargetId, &Standing)| {
            *counts.entry(standing.kind()).or_default() += 1;
            let record = state.targets.get(id);
            let url = |number: u64| format!("{server}/{}/pull/{number}", id.repository);
            let observed = session.observed.get(id);
            let Told { note, is_stuck } = Told::of(session, state, (id, standing));
            let reverts = observed.into_iter().flat_map(|observed| observed.reverts.values().flatten());
            TargetReport {
                id: id.to_string(),
                wave: record.and_then(|record| record.wave).map(|wave| wave + 1),
                standing: standing.kind(),
                pull_request: standing.pull().map(url),
                reverts: reverts.map(|revert| url(revert.number)).collect(),
                needs_people: is_stuck || standing.kind().needs_people(),
                note,
            }
        };
        let targets: Vec<TargetReport> = decision.standings.iter().map(target).collect();
        let wave = |wave: u32| {
            let tally = tally(file, state, &decision.standings, wave);
            WaveReport {
                wave: wave + 1,
                members: tally.members,
                reached: tally.reached,
                left: tally.begun,
                failed: tally.failed,
                red: tally.red,
                closed: tally.closed,
                reverted: tally.reverted,
            }
        };
        let is_over = is_finished(state, decision, &session.observed);
        let status = match state.intent {
            Intent::Abandoned => CampaignStatus::Abandoned,
            // What nothing can revert, or people do not want to, stays merged.
            Intent::RollingBack if is_over && !counts.contains_key(&StandingKind::Merged) => {
                CampaignStatus::RolledBack
            }
            Intent::RollingBack => CampaignStatus::RollingBack,
            Intent::Forward if state.stopped.is_some() => CampaignStatus::Stopped,
            Intent::Forward if is_over => CampaignStatus::Finished,
            Intent::Forward if decision.steps.is_empty() => CampaignStatus::Waiting,
            Intent::Forward => CampaignStatus::Running,
        };
        let withdrawn = state.waves.checked_sub(1).filter(|last| {
            let tally = tally(file, state, &decision.standings, *last);
            let waits = state.intent == Intent::Forward && counts.contains_key(&StandingKind::Waiting);
            waits && tally.members == 0 && tally.withdrawn > 0
        });
        let notice = withdrawn.map(|last| {
            format!("wave {} was withdrawn; `architect-ci campaign continue` begins the next one", last + 1)
        });
        Self {
            schema_version: SCHEMA_VERSION,
            campaign: file.name.clone(),
            status,
            stopped: state.stopped.clone(),
            waves: (0..state.waves).map(wave).collect(),
            counts,
            held_back: decision.held_back,
            targets,
            fallen_back: session.fallen_back.clone(),
            dashboard: session.dashboard.as_ref().map(|dashboard| dashboard.url.clone()),
            notices: session.notices.iter().cloned().chain(notice).collect(),
        }
    }
}
