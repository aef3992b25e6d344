//! The end of a session: what runs in the background is stopped, the last hooks run, and what they leave is looked at once more.

use std::collections::BTreeSet;

use serde_json::json;
use workspace::WorkspacePath;

use super::Run;
use super::integrity::{NotJudged, demand_less, log_findings};
use crate::agent::SessionOutcome;
use crate::base::text::counted;
use crate::base::time_limit::Grace;
use crate::base::verbose_log::detail;
use crate::event::{NoticeLevel, Status, StopReason, TestFinding};
use crate::hooks::{HookEvent, Subject};

/// How many files a warning names.
const MAX_NAMED: usize = 10;

impl Run<'_> {
    /// Stops what runs in the background, and runs the hooks of the session's end. What they change is judged like the rest, and
    /// may make the end of the run a worse one.
    pub(super) async fn end_session(&self, ended: &mut SessionOutcome, findings: &mut Vec<TestFinding>) {
        self.background.stop_all().await;
        let workspace = &self.engine.context.workspace;
        let before = workspace.touched_after(0).len();
        let details =
            json!({"status": ended.reason.status(), "stop_reason": ended.reason, "message": ended.message});
        let agent = &self.request.agent;
        self.engine.hooks.run(HookEvent::SessionEnd, Subject::of_run(agent, 0, details)).await;
        self.engine.hooks.collect().await;
        // It waits for a call that nobody waited for: its folders count as well.
        self.tell_size().await;
        if let Some(tracked) = &self.tracked {
            tracked.settle_folders();
        }
        let late: BTreeSet<WorkspacePath> = workspace.touched_after(before).into_iter().collect();
        if !late.is_empty() {
            let message = format!(
                "{} changed while the session ended, after its gates and other checks: {}",
                counted(late.len(), "file", "s"),
                named(&late)
            );
            self.events.notice(NoticeLevel::Warning, message);
            self.judge_late_changes(ended, findings).await;
        }
        log_findings(findings);
        self.isolation.warn_of_auto_loaded();
        self.isolation.warn_of_links();
        self.end_with_losses(ended);
    }

    /// Tells how much disk space throw-away states took, if there were any.
    async fn tell_size(&self) {
        if let Some(bytes) = self.isolation.bytes().await {
            detail!("isolated runs used {} kB on disk", bytes.div_ceil(1000));
        }
    }

    /// Judges tests once more, whose last judgement is from before the hooks.
    async fn judge_late_changes(&self, ended: &mut SessionOutcome, findings: &mut Vec<TestFinding>) {
        let is_late = || self.time_limit.is_over(Grace::Changes);
        let judged = match self.changes_to_judge() {
            Ok(changes) if !is_late() => self.judge_tests(&changes).await,
            // What cannot be collected fails the run when its report is made.
            _ => Err(NotJudged),
        };
        let is_done = matches!(ended.reason, StopReason::LlmDone | StopReason::Applied);
        match judged {
            Ok(found) => {
                *findings = found;
                if ended.reason.yields() && self.refuses(findings) {
                    ended.reason = StopReason::TestsWeakened;
                } else if is_done && demand_less(findings) {
                    ended.reason = StopReason::TestsDemandLess;
                }
            }
            Err(NotJudged) if is_done => ended.reason = StopReason::NotChecked,
            Err(NotJudged) => {}
        }
    }

    /// Makes the end of a run a worse one that has lost changes of its commands.
    fn end_with_losses(&self, ended: &mut SessionOutcome) {
        let lost = self.isolation.lost_changes();
        if lost.is_empty() {
            return;
        }
        let message = if lost.iter().any(WorkspacePath::is_root) {
            "changes made by commands were lost".to_owned()
        } else {
            format!(
                "changes made by commands were lost and not redone: {} ({})",
                counted(lost.len(), "file", "s"),
                named(&lost)
            )
        };
        self.events.notice(NoticeLevel::Warning, message);
        if ended.reason.status() == Status::Success {
            ended.reason = StopReason::ChangesLost;
        }
    }
}

/// Returns the first of these paths, and how many more there are.
fn named<'p>(paths: impl IntoIterator<Item = &'p WorkspacePath>) -> String {
    let all: Vec<&WorkspacePath> = paths.into_iter().collect();
    let mut named: Vec<String> = all.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    if all.len() > named.len() {
        named.push(format!("and {} more", all.len() - named.len()));
    }
    named.join(", ")
}
