//! Texts by people and the agent: the task and the final message, cut where space is short.

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
        let cut = end_of(&report.message, *most)?;
        let text = markdown(&report.message[..cut]);
        Some(format!("{text}\n\n… (the whole message is in `report.md`)\n\n"))
    };
    let shorter = MESSAGE_CUTS.iter().filter_map(cut);
    Section::with_forms(8, std::iter::once(full).chain(shorter).collect())
}

/// Returns where a text has had as many UTF-16 units, or `None` if it has no more.
fn end_of(text: &str, most: usize) -> Option<usize> {
    let mut units = 0;
    let is_beyond = |sign: char| {
        units += sign.len_utf16();
        units > most
    };
    text.find(is_beyond)
}

/// Lengths to which a message is cut, in UTF-16 units, which GitHub counts: as little as it takes.
const MESSAGE_CUTS: [usize; 9] = [60_000, 50_000, 40_000, 30_000, 20_000, 12_000, 8_000, 4_000, 2_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_count_as_github_counts_them() {
        for (text, most, expected) in [
            ("abc", 3, None),
            ("abc", 2, Some(2)),
            ("ありがとう", 4, Some(12)),
            ("a👍👍", 3, Some(5)),
            ("a👍👍", 4, Some(5)),
        ] {
            assert_eq!(end_of(text, most), expected, "{text}, {most}");
        }
    }
}
