//! `report.md`: the complete report, without a limit.

use std::fmt::Write;

use sanitize::untrusted::{code, fence};

use super::RunReport;
use super::evidence;
use super::figures::duration;
use super::footer;
use super::gates;
use super::listed::{listed, more};
use super::network;
use super::proof;
use super::prose;
use super::sections;
use super::size_budget::{Section, fit};
use super::test_findings;
use super::usage;
use crate::event::Outcome;

/// Renders the complete report as Markdown.
pub fn markdown(report: &RunReport) -> String {
    fit(all(report), usize::MAX)
}

/// Returns all sections of the report, in order; the step summary shows the same within its limit.
pub(super) fn all(report: &RunReport) -> Vec<Section> {
    let mut all = vec![
        Section::fixed(format!("## {}\n\n{}", sections::headline(report), sections::facts(report))),
        proof::line(report),
        Section::new(4, format!("{}\n", fence(&report.task, "")), "(the task is in `report.json`)\n\n"),
    ];
    all.extend(body(report));
    all.push(usage::table(report));
    all.push(calls(report));
    all.push(footer::footer(report));
    all
}

/// Returns what the complete renderings have in common: how the run ended, and what was done and checked.
pub(super) fn body(report: &RunReport) -> Vec<Section> {
    let mut all = vec![
        sections::next_step(report),
        sections::notices(report),
        footer::delivery(report),
        prose::message(report),
        evidence::section(report),
        proof::section(report),
    ];
    all.extend(sections::changes(report));
    all.extend(gates::sections(report));
    all.push(test_findings::section(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.push(network::network(report));
    all.extend(sections::subagents(report));
    all.push(sections::hooks(report));
    all
}

fn calls(report: &RunReport) -> Section {
    if report.calls.is_empty() {
        return Section::fixed(String::new());
    }
    let mut table = "| Step | Tool | Target | Outcome | Time |\n|--:|---|---|---|--:|\n".to_owned();
    for (_, call) in listed(&report.calls) {
        let outcome = match (call.outcome, call.success) {
            (Outcome::Refused, _) => "⛔ refused",
            (_, false) => "⚠️ failed",
            (Outcome::Planned, true) => "planned",
            (Outcome::Executed, true) => "done",
        };
        let target = call.target.as_deref().map(code).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {target} | {outcome} | {} |",
            call.step,
            code(&call.tool),
            duration(call.duration_ms)
        );
    }
    table.extend(more(report.calls.len(), "calls").map(|more| format!("\n{more}\n")));
    let full =
        format!("<details><summary>Tool calls: {}</summary>\n\n{table}\n</details>\n\n", report.calls.len());
    Section::new(1, full, String::new())
}
