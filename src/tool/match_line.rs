//! Line of a search result. Of a long one, what is around its first match is shown, and where it is in the line.

use std::ops::Range;

use crate::base::text::grouped;

/// Maximum length shown of one line, in bytes.
pub(super) const MAX_LINE: usize = 400;
/// Part of it that comes before the match.
const BEFORE: usize = 120;
/// Number of further matches whose columns are told.
const MAX_COLUMNS: usize = 5;

/// Returns a line as it is, or a long one clipped around the first of its matches; without any, its beginning.
pub(super) fn clipped(line: &str, matches: impl Iterator<Item = Range<usize>>) -> String {
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    let mut starts = matches.map(|found| found.start);
    let Some(first) = starts.next() else {
        return format!("{} …", &line[..line.floor_char_boundary(MAX_LINE)]);
    };
    let last_start = line.len() - MAX_LINE;
    let start = line.ceil_char_boundary(first.saturating_sub(BEFORE).min(last_start)).min(first);
    let end = line.floor_char_boundary(start + MAX_LINE);
    let column = |at: usize| grouped(line[..at].chars().count() + 1);
    let mut others: Vec<usize> = starts.take(MAX_COLUMNS + 1).collect();
    let more = if others.len() > MAX_COLUMNS { ", …" } else { "" };
    others.truncate(MAX_COLUMNS);
    let others: String = others.into_iter().map(|at| format!(", {}", column(at))).collect();
    let noun = if others.is_empty() { "column" } else { "columns" };
    format!(
        "{}{}{} [{noun} {}{others}{more} of {}]",
        if start > 0 { "… " } else { "" },
        &line[start..end],
        if end < line.len() { " …" } else { "" },
        column(first),
        grouped(line.chars().count()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_clipped_around_the_match() {
        let line = format!("{}needle{}needle", "ä".repeat(1_000), "z".repeat(1_000));
        let matches = || line.match_indices("needle").map(|(at, found)| at..at + found.len());
        let shown = clipped(&line, matches());
        assert_eq!(
            shown,
            format!("… {}needle{} … [columns 1,001, 2,007 of 2,012]", "ä".repeat(60), "z".repeat(274))
        );
        let end = clipped(&line, matches().skip(1));
        assert_eq!(end, format!("… {}needle [column 2,007 of 2,012]", "z".repeat(394)));
        let none = clipped(&line, std::iter::empty());
        assert_eq!(none, format!("{} …", "ä".repeat(200)));
        let many = "a".repeat(500);
        let shown = clipped(&many, (0..500).map(|at| at..at + 1));
        assert_eq!(shown, format!("{} … [columns 1, 2, 3, 4, 5, 6, … of 500]", "a".repeat(400)));
        assert_eq!(clipped("short", std::iter::once(0..1)), "short");
    }
}
