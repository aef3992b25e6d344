//! Top of the page: what failed, where things are, and how the plan is applied.

use maud::{Markup, html};
use sanitize::untrusted::visible;

use super::{id, section};
use crate::event::{Finding, Severity};
use crate::report::RunReport;
use crate::report::test_findings::{title, weakened};

/// Returns whether gates, weakened tests or findings are what people should see first.
pub(super) fn is_failing(report: &RunReport) -> bool {
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    report.gates.iter().any(|gate| !gate.passed)
        || weakened(&report.test_findings).next().is_some()
        || report.review.iter().any(|review| review.findings.iter().any(is_error))
}

/// Renders links to the sections that there are, with what is in them.
pub(super) fn navigation(report: &RunReport) -> Markup {
    let failed = report.gates.iter().filter(|gate| !gate.passed).count();
    let failed_calls = report.calls.iter().filter(|call| !call.success).count();
    let findings = report.review.as_ref().map_or(0, |review| review.findings.len());
    let all = [
        ("Quality gates", report.gates.len(), failed),
        (title(&report.test_findings).0, report.test_findings.len(), 0),
        ("Review", findings, 0),
        ("Files", report.files.len(), 0),
        ("Stopped by guardrails", report.guardrails.len(), 0),
        ("Hooks", report.hooks.len(), 0),
        ("Tool calls", report.calls.len(), failed_calls),
    ];
    html! {
        nav aria-label="Sections" {
            @for (title, count, failed) in all.into_iter().filter(|(_, count, _)| *count > 0) {
                a href={ "#" (id(title)) } {
                    (title) " " (count)
                    @if failed > 0 { span class="bad" { " (" (failed) " failed)" } }
                }
            }
        }
    }
}

/// Renders how the plan is applied.
pub(super) fn how_to_apply(report: &RunReport) -> Markup {
    let Some(plan) = report.applicable_plan().filter(|_| report.has_changes()) else {
        return Markup::default();
    };
    let line = format!("architect-ci apply plan.json --digest {}", plan.digest);
    section("Apply this plan", &html! { pre tabindex="0" { (visible(&line)) } })
}
