//! Text so far to the right that a reviewer does not look there.

use workspace::WorkspacePath;

/// Most spaces that may stand in front of text.
const MAX_SPACES: usize = 200;

/// Number of spaces in a row from which they count together with others of the line. Signs between fewer fill what is seen of the line.
const LONG: usize = 4;

/// Endings of names of documents, whose tables have wide columns. Text files are none: some are lists of packages, or programs.
const DOCUMENTS: [&str; 6] = ["adoc", "csv", "markdown", "md", "rst", "tsv"];

/// Returns how many spaces stand before text in a line, if they are too many. They may be in one place, or with a few letters between.
pub(super) fn text_aside(path: &WorkspacePath, gained: &str) -> Option<usize> {
    let suffix = path.as_str().rsplit_once('.').map_or("", |(_, suffix)| suffix).to_ascii_lowercase();
    let is_document = DOCUMENTS.contains(&suffix.as_str());
    let spaces = |line: &str| -> usize {
        let runs = line.trim_end().split(|letter: char| !letter.is_whitespace());
        let widths =
            runs.map(|run| run.chars().map(|letter| if letter == '\t' { 4 } else { 1 }).sum::<usize>());
        if is_document { widths.max().unwrap_or(0) } else { widths.filter(|width| *width >= LONG).sum() }
    };
    gained.lines().map(spaces).find(|spaces| *spaces > MAX_SPACES)
}
