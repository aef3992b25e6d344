//! Texts about a run on GitHub: the comment, and remarks at lines.

use crate::config::DEFAULT_KEY;
use crate::event::Status;
use crate::github::{Environment, Head, PlanMark, ReviewedMark, Subject, hidden_lines, marker_key};
use crate::report::{CommentFrame, Diagnostic, RunReport, comment, diagnostics, of_gates};
use crate::request::JobRequest;

/// Returns the lines that gates speak of, in files that there are.
pub(super) fn diagnostics_of(request: &JobRequest, report: &RunReport, prefix: &str) -> Vec<Diagnostic> {
    diagnostics(report, &request.workspace, prefix, &is_file(request))
}

/// Returns the lines that failed gates speak of.
pub(super) fn gates_of(request: &JobRequest, report: &RunReport, prefix: &str) -> Vec<Diagnostic> {
    let mut remarks = Vec::new();
    of_gates(&report.gates, &request.workspace, prefix, &is_file(request), &mut remarks);
    remarks
}

fn is_file(request: &JobRequest) -> impl Fn(&str) -> bool {
    move |path: &str| request.workspace.join(path).is_file()
}

/// Returns the comment on a run.
pub(super) fn comment_of(request: &JobRequest, report: &RunReport) -> String {
    let pending = || request.applies.clone().filter(|_| report.status != Status::Success);
    let mark = plan_mark(request.github.as_ref(), report).or_else(pending);
    let key = &request.config().github.comment_key;
    let github = request.github.as_ref();
    let head = github.and_then(|github| match &github.subject {
        Subject::PullRequest { head, .. } => head.as_ref().map(|head| head.sha.clone()),
        Subject::Issue { .. } | Subject::Repository => None,
    });
    let reviewed = report.reviewed.clone().zip(report.reviewed_base.clone());
    let reviewed = reviewed.map_or_else(String::new, |(head, base)| ReviewedMark { head, base }.line());
    let frame = CommentFrame {
        hidden: format!("{}{reviewed}", hidden_lines(key, mark.as_ref())),
        name: (key != DEFAULT_KEY).then(|| marker_key(key)),
        can_order: mark.is_some(),
        order: github.map(Environment::order_line).unwrap_or_default(),
        task: request.short_task(),
        repository_url: github.map(Environment::repository_url),
        commit: head.or_else(|| report.base.as_ref().map(|base| base.commit.clone())),
    };
    comment(report, &frame)
}

/// Returns what is needed to apply a plan from its comment.
pub(super) fn plan_mark(github: Option<&Environment>, report: &RunReport) -> Option<PlanMark> {
    let github = github?;
    let plan = report.applicable_plan().filter(|plan| !plan.actions.is_empty())?;
    let Subject::PullRequest { head: Some(Head { sha, .. }), fork: false, .. } = &github.subject else {
        return None;
    };
    Some(PlanMark { digest: plan.digest.clone(), run: github.run_id?, head: sha.clone() })
}
