//! Test integrity of the run's change, checked without a model on the planned state.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sanitize::untrusted::visible_line;
use test_integrity::{Change, MAX_BYTES, check_among, concerns, is_of_tests, matters};
use tokio::task::spawn_blocking;
use workspace::{
    ChangeSet, FileChange, FileError, FileState, LastLink, Mode, Operation, Workspace, WorkspacePath,
};

use super::Run;
use super::agent_run::AgentRun;
use crate::base::text::counted;
use crate::base::time_limit::Grace;
use crate::config::TestIntegrity;
use crate::event::{NoticeLevel, Severity, TestFinding};

/// Most findings that an agent or the log is told of.
const MAX_TOLD: usize = 20;

/// The judgement itself failed, which has been told.
pub(super) struct NotJudged;

/// One file before and after the change, as far as it is text.
struct Texts {
    path: String,
    before: Option<Text>,
    after: Option<Text>,
}

impl Texts {
    fn of(change: &FileChange) -> Self {
        Self {
            path: change.path.to_string(),
            before: text(change.before.as_ref()),
            after: text(change.after.as_ref()),
        }
    }

    fn change(&self) -> Change<'_> {
        Change {
            path: &self.path,
            before: self.before.as_ref().map(Text::as_str),
            after: self.after.as_ref().map(Text::as_str),
        }
    }
}

/// Text of a file; only what is not UTF-8 is copied.
enum Text {
    Shared(Arc<[u8]>),
    Lossy(String),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Shared(content) => std::str::from_utf8(content).unwrap_or_default(),
            Self::Lossy(text) => text,
        }
    }
}

impl Run<'_> {
    /// Returns what a change does to the meaning of tests; nothing if the configuration has nobody look. Files in which people
    /// permit it by the configuration are left out; what they permit on GitHub is a warning.
    pub(super) async fn judge_tests(&self, changes: &ChangeSet) -> Result<Vec<TestFinding>, NotJudged> {
        if self.request.config().tests.integrity == TestIntegrity::Off {
            return Ok(Vec::new());
        }
        let texts: Vec<Texts> =
            changes.iter().filter(|change| self.is_judged(&change.path)).map(Texts::of).collect();
        let workspace = self.engine.context.workspace.clone();
        let judged = spawn_blocking(move || {
            let changes: Vec<Change<'_>> = texts.iter().map(Texts::change).collect();
            check_among(&changes, || unchanged(&*workspace, &texts))
        });
        let not_judged = |reason: &str| {
            self.events
                .notice(NoticeLevel::Warning, format!("test integrity: not checked, because {reason}"));
            NotJudged
        };
        let found = tokio::select! {
            judged = judged => judged.map_err(|_| not_judged("the check itself failed"))?,
            () = self.time_is_up() => return Err(not_judged("the time of the run was up")),
        };
        let large = self.tracked.as_ref().map(|tracked| tracked.large()).unwrap_or_default();
        let overgrown = large
            .into_iter()
            .filter(|(path, operation)| *operation == Operation::Modify && self.is_judged(path));
        let found: Vec<TestFinding> =
            found.into_iter().map(finding).chain(overgrown.map(|(path, _)| unjudged(&path))).collect();
        Ok(self.permitted(found).await)
    }

    /// Waits until the time that changes have after the end of the run is over as well.
    async fn time_is_up(&self) {
        self.cancel.cancelled().await;
        tokio::time::sleep(self.time_limit.left(Grace::Changes, Grace::Changes.duration())).await;
    }

    /// Returns whether a change of this file can have findings that people have not permitted.
    fn is_judged(&self, path: &WorkspacePath) -> bool {
        concerns(path.as_str()) && self.allowed_tests.find(path).is_none()
    }

    /// Returns the changes that are to be judged: none of thousands where none of them has to do with tests.
    pub(super) fn changes_to_judge(&self) -> Result<ChangeSet, FileError> {
        if self.request.config().tests.integrity == TestIntegrity::Off {
            return Ok(ChangeSet::default());
        }
        let workspace = &self.engine.context.workspace;
        let is_judged = |path: &WorkspacePath| self.is_judged(path);
        let mut matter = false;
        workspace.visit_changes(&is_judged, &mut |change| {
            matter = matters(&Texts::of(&change).change());
            if matter || self.time_limit.is_over(Grace::Changes) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if matter { workspace.changes_of(&is_judged) } else { Ok(ChangeSet::default()) }
    }

    /// Returns whether the configuration refuses what was found.
    pub(super) fn refuses(&self, findings: &[TestFinding]) -> bool {
        self.request.config().tests.integrity == TestIntegrity::Refuse && demand_less(findings)
    }
}

impl AgentRun<'_> {
    /// Judges the change as it is now, and keeps what was found for the report.
    pub(super) async fn judge_tests(&self) -> Vec<TestFinding> {
        let is_late = || self.run.time_limit.is_over(Grace::Changes);
        // What cannot be collected fails the run when its report is made.
        let changes =
            if is_late() { ChangeSet::default() } else { self.run.changes_to_judge().unwrap_or_default() };
        let judged = if is_late() { Err(NotJudged) } else { self.run.judge_tests(&changes).await };
        let Ok(findings) = judged else {
            self.is_unchecked.store(true, Ordering::Relaxed);
            return Vec::new();
        };
        self.test_findings.lock().clone_from(&findings);
        findings
    }

    /// Returns what was found last.
    pub(super) fn test_findings(&self) -> Vec<TestFinding> {
        self.test_findings.lock().clone()
    }
}

/// Returns whether tests or checks demand less, by what was found.
pub(super) fn demand_less(findings: &[TestFinding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Returns the files of tests that did not change. What cannot be read says nothing.
fn unchanged(workspace: &dyn Workspace, changed: &[Texts]) -> Vec<(String, String)> {
    let walk = workspace
        .resolve(&WorkspacePath::root(), LastLink::Follow)
        .and_then(|root| workspace.walk(&root, None))
        .unwrap_or_default();
    let files = walk.found.into_iter().filter(|entry| !entry.directory);
    let is_wanted =
        |path: &str| concerns(path) && is_of_tests(path) && changed.iter().all(|file| file.path != path);
    files
        .filter(|entry| is_wanted(entry.path.as_str()))
        .filter_map(|entry| {
            let state = workspace.read(&entry.path).ok();
            Some((entry.path.to_string(), text(state.as_ref())?.as_str().to_owned()))
        })
        .collect()
}

/// Returns the text of a file. A link is no test, nor is what is too long to be judged: if such a thing takes a test's
/// place, the test is gone.
fn text(state: Option<&FileState>) -> Option<Text> {
    let state = state.filter(|state| state.mode != Mode::Link && state.content.len() <= MAX_BYTES)?;
    Some(match String::from_utf8_lossy(&state.content) {
        Cow::Borrowed(_) => Text::Shared(Arc::clone(&state.content)),
        Cow::Owned(text) => Text::Lossy(text),
    })
}

fn finding(found: test_integrity::Finding) -> TestFinding {
    let kind = serde_json::to_value(found.kind).ok();
    TestFinding {
        path: found.path,
        line: found.line,
        kind: kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or("finding").to_owned(),
        severity: match found.severity {
            test_integrity::Severity::Error => Severity::Error,
            test_integrity::Severity::Warning => Severity::Warning,
            test_integrity::Severity::Note => Severity::Note,
        },
        message: found.message,
    }
}

/// Returns the finding for a file that has become too long to be judged.
fn unjudged(path: &WorkspacePath) -> TestFinding {
    TestFinding {
        path: path.to_string(),
        line: 1,
        kind: "vanished-test".to_owned(),
        severity: Severity::Error,
        message: "the file is now too large to be checked".to_owned(),
    }
}

/// Logs the findings with which a run ends, but no notes.
pub(super) fn log_findings(findings: &[TestFinding]) {
    let mut findings = findings.iter().filter(|finding| finding.severity != Severity::Note);
    for TestFinding { path, line, kind, severity, message } in findings.by_ref().take(MAX_TOLD) {
        tracing::warn!("tests, {severity}: {}", visible_line(&format!("{path}:{line} ({kind}): {message}")));
    }
    if let more @ 1.. = findings.count() {
        tracing::warn!("tests: {}, which the report lists", counted(more, "more finding", "s"));
    }
}

/// Returns what the agent is told of findings.
pub(super) fn complaint(findings: &[TestFinding]) -> String {
    let mut text = "Your change weakens tests or checks:\n".to_owned();
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    for finding in errors.take(MAX_TOLD) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {}:{}: {}", finding.path, finding.line, finding.message);
    }
    text + "Undo what your task does not ask for: tests have to pass because the code is right. Then finish \
     again; explain what you leave, for the people who review this."
}
