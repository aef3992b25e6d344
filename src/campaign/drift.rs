//! Drift: detects where others have undone the changes of a finished campaign. The tasks are planned again where they were
//! done; a repository has drifted if anything is left to change.

use super::driver::CampaignCommand;
use super::error::CampaignError;
use super::plans::folder;
use super::reconcile::{Step, StepOutcome};
use super::report::{CampaignReport, FallenBack};
use super::request::CampaignRequest;
use super::session::{Abilities, Session};
use super::standing::Standing;
use super::state::{AttemptOutcome, Record, State};
use super::target::TargetId;
use crate::base::fs::write_atomic;
use crate::plan::{Contents, Plan, PlanFile};
use crate::report::drift_sarif;
use crate::request::read_plan;
use crate::run::Signal;

/// The file next to a target's plan that lists where its change has been undone.
const SARIF: &str = "drift.sarif";

impl CampaignRequest {
    /// Looks for targets whose change has been undone. With `mends`, opens further pull requests there, within the limits
    /// of the campaign.
    pub async fn drift(&self, mends: bool, signal: &Signal) -> Result<CampaignReport, CampaignError> {
        self.check_recipes().await?;
        let mut session = Session::open(self, Abilities { plans: true, ..Abilities::default() }).await?;
        session.apply_commands(&CampaignCommand::Run).await?;
        let decision = session.decide().await?;
        let is_done = |standing: &Standing| matches!(standing, Standing::Merged(_) | Standing::Nothing);
        let is_left_out = |id: &TargetId| session.state.targets.get(id).is_some_and(|it| it.left_out);
        let is_meant = |(id, standing): &(&TargetId, &Standing)| is_done(standing) && !is_left_out(id);
        let done = decision.standings.iter().filter(is_meant);
        let steps: Vec<Step> = done.map(|(id, _)| Step::Plan(id.clone(), None)).collect();
        let mut fallen = Vec::new();
        for (step, done) in session.plan_all(&steps, signal).await {
            let id = step.target();
            match done {
                StepOutcome::Planned { digest, owners } => {
                    fallen.push(self.report_drift(id)?);
                    if mends {
                        let path = folder(&self.out, id).join("plan.json");
                        session.plans.insert(id, path, digest.clone());
                        session.state.restart(id, digest, owners);
                    }
                }
                StepOutcome::Failed(message) => session.notices.push(format!("{id}: {message}")),
                _ => {}
            }
        }
        fallen.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        session.fallen_back = fallen;
        self.act_on(session, &CampaignCommand::Run, signal, mends).await
    }

    /// Writes where a target's change has been undone, for code scanning in its repository.
    fn report_drift(&self, id: &TargetId) -> Result<FallenBack, CampaignError> {
        let folder = folder(&self.out, id);
        let plan = read_plan(&folder.join("plan.json")).ok();
        let within = self.campaign.task(id).and_then(|entry| entry.folder.as_deref());
        let places = plan.as_ref().map(|plan| places(plan, within)).unwrap_or_default();
        let path = folder.join(SARIF);
        write_atomic(&path, drift_sarif(&self.campaign.file.name, &places).as_bytes())
            .map_err(|error| CampaignError::Write { path, error })?;
        Ok(FallenBack { id: id.to_string(), files: places.into_iter().map(|(file, _)| file).collect() })
    }
}

/// Returns the files that a plan changes, as paths of the repository, each with the line of its first change. `folder` is the one
/// that the task works in.
fn places(plan: &Plan, folder: Option<&str>) -> Vec<(String, usize)> {
    let path = |file: &PlanFile| match folder.map(|folder| folder.trim_matches('/')) {
        Some(folder) if !matches!(folder, "" | ".") => format!("{folder}/{}", file.path),
        _ => file.path.to_string(),
    };
    let line = |file: &PlanFile| match &file.contents {
        Contents::Patch(patch) => changed_line(&patch.text()),
        Contents::Base64(_) => 1,
    };
    plan.files.iter().map(|file| (path(file), line(file))).collect()
}

/// Returns the line of the file before a patch where its first change is: that of the first deleted line, or the one that an added
/// line comes before.
fn changed_line(patch: &str) -> usize {
    let mut lines = patch.lines().skip_while(|line| !line.starts_with("@@ -"));
    let header = lines.next().and_then(|line| line.strip_prefix("@@ -"));
    let range = header.and_then(|header| header.split(' ').next()).unwrap_or_default();
    let (first, count) = range.split_once(',').unwrap_or((range, "1"));
    let (first, count): (usize, usize) = (first.parse().unwrap_or(1), count.parse().unwrap_or(1));
    let before = lines.take_while(|line| line.starts_with(' ') || line.is_empty()).count();
    // What is added at the end comes after the last line, which is there.
    (first + before.min(count.saturating_sub(1))).max(1)
}

impl State {
    /// Restarts a target that has drifted and has been planned: what was merged there belongs to the past. It is mended now, even where
    /// there was nothing to change before and its place in the wave went to another one.
    fn restart(&mut self, id: &TargetId, digest: String, owners: Vec<String>) {
        if let Some(record) = self.record_of(id) {
            let past = record.pull.unwrap_or(record.past).max(record.past).max(1);
            let outcome = AttemptOutcome::Planned(digest);
            let Record { wave, left_out, .. } = *record;
            *record = Record { wave, outcome, past, owners, left_out, ..Record::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_changed_line_is_found() {
        for (patch, line) in [
            ("--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n two\n three\n-old\n+new\n five\n", 4),
            ("@@ -7,2 +7,2 @@\n-old\n+new\n eight\n", 7),
            ("@@ -3 +3 @@\n-old\n+new\n", 3),
            ("@@ -1,2 +1,3 @@\n one\n+more\n two\n", 2),
            ("@@ -1,2 +1,3 @@\n one\n two\n+at the end\n", 2),
            ("@@ -0,0 +1,2 @@\n+one\n+two\n", 1),
            ("", 1),
        ] {
            assert_eq!(changed_line(patch), line, "{patch}");
        }
    }
}
