//! What people and the agent said: the task and the final message, cut where space is short.

use sanitize::untrusted::{code, markdown};

use super::RunReport;
use super::size_budget::Section;

/// Renders the first line of the task, or `short` in its place.
pub(super) fn task(report: &RunReport, short: Option<&str>) -> Section {
    let whole = short.unwrap_or(&report.task).trim();
    let first = whole.lines().next().unwrap_or_default();
    let line = match first.char_indices().nth(200) {
        // At the end of a word, if there is one near.
        Some((cut, _)) => first[..cut].rsplit_once(' ').map_or(&first[..cut], |(words, _)| words),
        None => first,
    };
    let more = if line.len() < whole.len() { " …" } else { "" };
    Section::fixed(format!("> **Task:** {}{more}\n\n", code(line)))
}

pub(super) fn message(report: &RunReport) -> Section {
    if report.message.trim().is_empty() {
        return Section::fixed(String::new());
    }
    let full = format!("{}\n\n", markdown(&report.message));
    let cut = |most: &usize| {
        let cut = report.message.floor_char_boundary(*most);
        format!("{}\n\n… (the whole message is in `report.md`)\n\n", markdown(&report.message[..cut]))
    };
    let shorter = MESSAGE_CUTS.iter().filter(|most| **most < report.message.len()).map(cut);
    Section::with_forms(8, std::iter::once(full).chain(shorter).collect())
}

/// Lengths to which a message is cut, in bytes: as little as it takes.
const MESSAGE_CUTS: [usize; 9] = [60_000, 50_000, 40_000, 30_000, 20_000, 12_000, 8_000, 4_000, 2_000];
