//! Colours of the words in a diff, by the grammar of the file's language.

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use grammar::{Language, TokenKind, tokens};

/// A part of a line, in bytes, and the class of its colour.
pub(super) type Painted = (Range<usize>, &'static str);

/// Longest diff that is coloured, in bytes, and most time for a side of it.
const LONGEST: usize = 200_000;
const LIMIT: Duration = Duration::from_secs(2);

/// Number of lines of diffs that are coloured in a report. Nobody reads thousands, and each diff has to be parsed twice.
const MAX_LINES: usize = 2_000;

/// Colours for the diffs of one report, as long as there are some left.
#[derive(Debug)]
pub(super) struct Palette {
    /// Number of lines that may still get colours.
    left: Cell<usize>,
}

impl Default for Palette {
    fn default() -> Self {
        Self { left: Cell::new(MAX_LINES) }
    }
}

impl Palette {
    /// Returns the coloured parts of each line of the diff of a file.
    pub(super) fn colour(&self, diff: &str, file: Option<&str>) -> Vec<Vec<Painted>> {
        let Some(language) = file.and_then(Language::of).filter(|_| self.left.get() > 0) else {
            return Vec::new();
        };
        self.left.set(self.left.get().saturating_sub(diff.lines().count()));
        coloured(diff, language)
    }
}

/// Returns the coloured parts of each line of a diff. Both sides are read as the file has them, as far as the diff shows it.
fn coloured(diff: &str, language: Language) -> Vec<Vec<Painted>> {
    let lines: Vec<&str> = diff.lines().collect();
    let mut painted = vec![Vec::new(); lines.len()];
    if diff.len() > LONGEST {
        return painted;
    }
    // What is on both sides has the colours of the new one.
    for (sign, also) in [('-', None), ('+', Some(' '))] {
        side(&lines, (sign, also), language, &mut painted);
    }
    painted
}

/// Colours one side of a diff: the lines with a sign, between those that are on both sides. `also` is the sign of further lines
/// that get colours.
fn side(
    lines: &[&str],
    (sign, also): (char, Option<char>),
    language: Language,
    painted: &mut [Vec<Painted>],
) {
    let mut text = String::new();
    // Of each line: where it begins in the text, and which one it is.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with(sign) || line.starts_with(' ') {
            places.push((text.len(), index));
            text += &line[1..];
        }
        // A hunk begins anew.
        text.push('\n');
    }
    for (range, kind) in tokens(&text, language, LIMIT) {
        let class = match kind {
            TokenKind::Comment => "tc",
            TokenKind::Keyword => "tk",
            TokenKind::Number => "tn",
            TokenKind::Text => "ts",
        };
        let first = places.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        for (start, index) in &places[first.min(places.len())..] {
            if *start >= range.end {
                break;
            }
            let line = lines[*index];
            let (from, to) = (range.start.max(*start) - start, (range.end - start).min(line.len() - 1));
            if from < to && line.starts_with(|own| own == sign || Some(own) == also) {
                painted[*index].push((from + 1..to + 1, class));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_end_after_so_many_lines() {
        let palette = Palette::default();
        let diff = format!("@@ -0,0 +1,{MAX_LINES} @@\n{}", "+x = 1\n".repeat(MAX_LINES));
        assert_eq!(palette.colour(&diff, Some("a.txt")), [] as [Vec<Painted>; 0]);
        assert_eq!(palette.colour(&diff, Some("a.py")).iter().flatten().count(), MAX_LINES);
        assert_eq!(palette.colour(&diff, Some("b.py")), [] as [Vec<Painted>; 0]);
    }

    #[test]
    fn both_sides_of_a_diff_have_colours() {
        let diff = "@@ -1,4 +1,4 @@\n def f():\n-    return 'old'  # é\n+    return 12\n \"\"\"one\n two\"\"\"\n\\ No newline at end of file\n";
        let lines: Vec<&str> = diff.lines().collect();
        let painted = coloured(diff, Language::Python);
        let shown: Vec<Vec<(&str, &str)>> = lines
            .iter()
            .zip(&painted)
            .map(|(line, parts)| parts.iter().map(|(range, class)| (&line[range.clone()], *class)).collect())
            .collect();
        assert_eq!(shown[0], []);
        assert_eq!(shown[1], [("def", "tk")]);
        assert_eq!(shown[2], [("return", "tk"), ("'old'", "ts"), ("# é", "tc")]);
        assert_eq!(shown[3], [("return", "tk"), ("12", "tn")]);
        // What goes over several lines is coloured in each.
        assert_eq!(
            (shown[4].as_slice(), shown[5].as_slice()),
            (&[("\"\"\"one", "ts")][..], &[("two\"\"\"", "ts")][..])
        );
        assert_eq!(shown[6], []);
    }

    #[test]
    fn long_and_odd_diffs_have_none() {
        assert!(coloured(&"+x = 1\n".repeat(50_000), Language::Python).iter().all(Vec::is_empty));
        for odd in ["", "\n", "+", "-\n+\n", "é\n+é", "@@\n \u{202e}"] {
            for language in Language::ALL {
                coloured(odd, language);
            }
        }
    }
}
