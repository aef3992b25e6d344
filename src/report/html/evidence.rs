//! Renders the evidence for the change and the final message, from tests and from the run's own calls.

use maud::{Markup, html};
use sanitize::untrusted::visible;

use super::section;
use crate::event::{MutationVerdict, ProofVerdict};
use crate::report::RunReport;
use crate::report::evidence::summary;
use crate::report::mutation::mutation_line;
use crate::report::test_findings::title;

/// Renders the claims of the final message that can be checked.
pub(super) fn evidence(report: &RunReport) -> Markup {
    if report.evidence.is_empty() {
        return Markup::default();
    }
    let holding = report.evidence.iter().filter(|claim| claim.holds).count();
    let list = html! {
        p { (summary(holding, report.evidence.len())) }
        ul {
            @for claim in &report.evidence {
                li { @if claim.holds { "✅ " } @else { "❌ " } code { (visible(&claim.claim)) } ": " (visible(&claim.evidence)) }
            }
        }
    };
    section("Evidence", &list)
}

/// Renders where the change weakens tests or checks.
pub(super) fn test_findings(report: &RunReport) -> Markup {
    let findings = &report.test_findings;
    if findings.is_empty() {
        return Markup::default();
    }
    let (title, count) = title(findings);
    let list = html! {
        p { (count) }
        ul { @for finding in findings {
            li class="item" {
                b { (finding.severity) } " " code { (visible(&finding.path)) ":" (finding.line) } " ("
                code { (visible(&finding.kind)) } "): " (visible(&finding.message))
            }
        } }
    };
    section(title, &list)
}

/// Renders what tests say about the change.
pub(super) fn tests(report: &RunReport) -> Markup {
    let proof = report.proof.as_ref().map(|record| {
        html! {
            p { (record.summary()) }
            ul {
                @for test in &record.tests {
                    li {
                        @if test.verdict == ProofVerdict::Proves { "✅ " } @else { "⚠️ " }
                        code { (visible(&test.path)) ":" (test.line) } " " code { (visible(&test.name)) } " " (test.told())
                        @if let Some(reason) = &test.reason { ": " (visible(reason)) }
                    }
                }
            }
        }
    });
    let mutations = report.mutations.as_ref().map(|record| {
        html! {
            p { (record.summary()) }
            ul { @for fault in record.of(MutationVerdict::Unnoticed) { li { code { (visible(&mutation_line(fault))) } } } }
        }
    });
    if proof.is_none() && mutations.is_none() {
        return Markup::default();
    }
    section("Tests of the change", &html! { @for part in proof.iter().chain(&mutations) { (part) } })
}
