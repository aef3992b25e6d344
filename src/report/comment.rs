//! The sticky comment, and the other texts that are published at the end of a run: the description of the
//! pull request and the summary of the check run.

use super::RunReport;
use super::size_budget::{Section, fit};
use super::{footer, sections};

/// GitHub's limit for a comment, in characters.
pub const COMMENT_LIMIT: usize = 65_536;

/// Maximum size of a check run's summary, in bytes; GitHub accepts 65,535.
const CHECK_LIMIT: usize = 65_000;

/// Renders the comment within [`COMMENT_LIMIT`]. It begins with the `hidden` lines, by which it is found again;
/// `can_order` tells whether a comment may order the plan to be applied.
pub fn comment(report: &RunReport, hidden: &str, can_order: bool) -> String {
    let mut all = vec![Section::fixed(format!("{hidden}{}", title(report)))];
    all.extend(body(report));
    all.push(footer::footer(report, can_order));
    fit(all, COMMENT_LIMIT)
}

/// Renders the description of a pull request that the run opens: what was done, but no diffs, which the
/// pull request shows itself. `closes` is the number of an issue that merging it closes.
pub fn description(report: &RunReport, closes: Option<u64>) -> String {
    let mut all = vec![sections::task(report), sections::message(report)];
    all.extend(sections::gates(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.push(Section::fixed(sections::facts(report)));
    all.extend(closes.map(|number| Section::fixed(format!("Closes #{number}\n\n"))));
    all.push(footer::footer(report, false));
    fit(all, COMMENT_LIMIT)
}

/// Renders the summary of a check run.
pub fn check_summary(report: &RunReport) -> String {
    let mut all = vec![Section::fixed(sections::facts(report))];
    all.extend(body(report));
    all.push(footer::footer(report, false));
    // GitHub limits this text in bytes.
    let mut limit = CHECK_LIMIT;
    loop {
        let text = fit(all.clone(), limit);
        if text.len() <= CHECK_LIMIT {
            return text;
        }
        limit -= (text.len() - CHECK_LIMIT).min(limit / 2);
    }
}

fn title(report: &RunReport) -> String {
    format!("### {}\n\n{}", sections::headline(report), sections::facts(report))
}

fn body(report: &RunReport) -> Vec<Section> {
    let mut all = vec![
        sections::next_step(report),
        sections::task(report),
        sections::notices(report),
        footer::delivery(report),
    ];
    all.push(sections::message(report));
    all.extend(sections::changes(report));
    all.extend(sections::gates(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.extend(sections::subagents(report));
    all.push(sections::hooks(report));
    all
}
