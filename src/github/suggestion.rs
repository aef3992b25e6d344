//! Planned hunks as suggestions on lines of a pull request.
//!
//! A suggestion replaces whole lines on the head's side of the diff. What it cannot express (binary files,
//! changed line endings, invisible characters) stays in the plan.

use diffy::{DiffOptions, Line};
use sanitize::untrusted::visible;
use workspace::{FileChange, Mode};

use crate::base::integrity::short_digest;

/// The beginning of the hidden first line of a suggestion's comment.
pub(super) const MARKER: &str = "<!-- architect-ci suggestion: ";

/// Number of lines on either side of others by which equal lines of a file are told apart.
const AROUND: usize = 3;

/// A replacement for a range of lines in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suggestion {
    /// The path of the file, relative to the repository.
    pub(super) path: String,
    /// The first line to replace, from 1.
    pub(super) first: u64,
    /// The last line to replace, inclusive.
    pub(super) last: u64,
    /// The replacement: whole lines, or nothing.
    pub(super) text: String,
    /// A hash of the path and of the old and new lines, by which the suggestion is found again.
    pub(super) id: String,
    /// A hash of the lines around them, which tells equal lines of a file apart.
    pub(super) place: String,
    /// The same of all other places of the file that have the old lines.
    pub(super) elsewhere: Vec<String>,
}

/// Parses the hunks of a pull request's diff into the line ranges (first, last) on the head's side that
/// GitHub accepts comments on.
pub(super) fn commentable(patch: &str) -> Vec<(u64, u64)> {
    let range = |header: &str| {
        let new = header.strip_prefix("@@ -")?.split_once(" +")?.1.split(' ').next()?;
        let (first, count) = new.split_once(',').unwrap_or((new, "1"));
        let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
        let last = first.checked_add(count)?.checked_sub(1)?;
        (count > 0).then_some((first, last))
    };
    patch.lines().filter(|line| line.starts_with("@@ -")).filter_map(range).collect()
}

/// Returns those hunks of a change that lie within one of `ranges`, as suggestions.
pub(super) fn suggestions(change: &FileChange, path: &str, ranges: &[(u64, u64)]) -> Vec<Suggestion> {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return Vec::new() };
    if change.is_binary() || before.mode == Mode::Link || after.mode == Mode::Link {
        return Vec::new();
    }
    let (Ok(before), Ok(after)) = (std::str::from_utf8(&before.content), std::str::from_utf8(&after.content))
    else {
        return Vec::new();
    };
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let patch = DiffOptions::new().set_context_len(0).create_patch(before, after);
    let hunks = patch.hunks().iter().filter_map(|hunk| {
        let new: String = hunk
            .lines()
            .iter()
            .filter_map(|line| match line {
                Line::Insert(text) => Some(*text),
                Line::Context(_) | Line::Delete(_) => None,
            })
            .collect();
        let gone = hunk.lines().iter().filter(|line| matches!(line, Line::Delete(_))).count();
        let at = hunk.old_range().start();
        let (first, last, text) = if gone > 0 {
            (at, at + gone - 1, new)
        } else {
            // A suggestion cannot insert: it replaces the line above by itself and the new lines.
            match at {
                0 => (1, 1, format!("{new}{}", old.first()?)),
                above => (above, above, format!("{}{new}", old.get(above - 1)?)),
            }
        };
        let replaced: String = old.get(first - 1..last)?.concat();
        let is_within = |(from, to): &(u64, u64)| *from <= first as u64 && last as u64 <= *to;
        let within = ranges.iter().any(is_within);
        let sayable = |text: &str| (text.is_empty() || text.ends_with('\n')) && visible(text) == text;
        (within && sayable(&text) && sayable(&replaced)).then(|| {
            let id = short_digest(&format!("{path}\0{replaced}\0{text}"));
            let place = short_digest(&around(&old, first, last));
            let starts = (1..=old.len().saturating_sub(last - first)).filter(|start| *start != first);
            let is_same = |start: &usize| old[*start - 1..*start + last - first] == old[first - 1..last];
            let elsewhere = starts
                .filter(is_same)
                .map(|start| short_digest(&around(&old, start, start + last - first)))
                .collect();
            let (first, last) = (first as u64, last as u64);
            Suggestion { path: path.to_owned(), first, last, text, id, place, elsewhere }
        })
    });
    hunks.collect()
}

/// Returns the lines around those from `first` to `last`, which count from 1.
fn around(lines: &[&str], first: usize, last: usize) -> String {
    let above = &lines[(first - 1).saturating_sub(AROUND)..first - 1];
    let below = &lines[last..lines.len().min(last + AROUND)];
    format!("{}\0{}", above.concat(), below.concat())
}

impl Suggestion {
    /// Renders the comment: a hidden line to recognize it by, the suggestion, and its origin.
    pub(super) fn body(&self, key: &str, origin: &str) -> String {
        let longest = self.text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let ticks = "`".repeat(longest.max(2) + 1);
        let marker = self.marker(key);
        format!("{marker}\n{ticks}suggestion\n{}{ticks}\n<sub>{origin}</sub>", self.text)
    }

    pub(super) fn marker(&self, key: &str) -> String {
        format!("{MARKER}{key} {}-{} -->", self.id, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workspace::{FileState, WorkspacePath};

    fn of(before: &str, after: &str, ranges: &[(u64, u64)]) -> Vec<(u64, u64, String)> {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let path = WorkspacePath::parse("a.txt").expect("a path");
        let change = FileChange::new(path, Some(state(before)), Some(state(after))).expect("a change");
        suggestions(&change, "a.txt", ranges)
            .into_iter()
            .map(|found| (found.first, found.last, found.text))
            .collect()
    }

    #[test]
    fn hunks_become_whole_lines() {
        let all = [(1, 9)];
        let text = "1\n2\n3\n4\n5\n";
        for (after, expected) in [
            ("1\ntwo\n3\n4\n5\n", vec![(2, 2, "two\n")]),
            ("1\ntwo\ntoo\n4\n5\n", vec![(2, 3, "two\ntoo\n")]),
            ("1\n4\n5\n", vec![(2, 3, "")]),
            ("1\n2\nnew\n3\n4\n5\n", vec![(2, 2, "2\nnew\n")]),
            ("new\n1\n2\n3\n4\n5\n", vec![(1, 1, "new\n1\n")]),
            ("1\n2\n3\n4\n5\nnew\n", vec![(5, 5, "5\nnew\n")]),
            ("one\n2\n3\n4\nfive\n", vec![(1, 1, "one\n"), (5, 5, "five\n")]),
            // What a suggestion cannot express.
            ("1\n2\n3\n4\n5", vec![]),
            ("1\r\n2\n3\n4\n5\n", vec![]),
            ("1\n2\u{202e}\n3\n4\n5\n", vec![]),
        ] {
            let expected: Vec<(u64, u64, String)> =
                expected.into_iter().map(|(first, last, text)| (first, last, text.to_owned())).collect();
            assert_eq!(of(text, after, &all), expected, "{after:?}");
        }
    }

    #[test]
    fn only_lines_of_one_hunk_can_be_commented_on() {
        let ranges = commentable(
            "@@ -1,2 +1,3 @@ fn a()\n 1\n+2\n 3\n@@ -9 +10 @@\n-x\n+y\n@@ -20,2 +20,0 @@\n-a\n-b",
        );
        assert_eq!(ranges, [(1, 3), (10, 10)]);
        let text = "1\n2\n3\n4\n5\n";
        assert_eq!(of(text, "1\n2\nx\ny\n5\n", &[(1, 3), (4, 9)]), []);
        assert_eq!(of(text, "1\n2\nx\n4\n5\n", &[(1, 3), (4, 9)]), [(3, 3, "x\n".to_owned())]);
    }

    #[test]
    fn equal_lines_elsewhere_in_the_file_are_known() {
        let state = |text: &str| Some(FileState { content: text.as_bytes().into(), mode: Mode::Regular });
        let path = WorkspacePath::parse("a.txt").expect("a path");
        let change =
            FileChange::new(path, state("a\nx\nb\nc\nx\n"), state("a\ny\nb\nc\nx\n")).expect("a change");
        let [found] = suggestions(&change, "a.txt", &[(1, 9)]).try_into().expect("one suggestion");
        let lines = ["a\n", "x\n", "b\n", "c\n", "x\n"];
        assert_eq!((found.first, found.last), (2, 2));
        assert_eq!(
            (found.place, found.elsewhere),
            (short_digest(&around(&lines, 2, 2)), vec![short_digest(&around(&lines, 5, 5))])
        );
    }

    #[test]
    fn a_fence_inside_does_not_end_the_suggestion() {
        let found = Suggestion {
            path: "a.md".into(),
            first: 1,
            last: 1,
            text: "````\n".into(),
            id: "0".into(),
            place: "1".into(),
            elsewhere: Vec::new(),
        };
        assert_eq!(
            found.body("k", "o"),
            "<!-- architect-ci suggestion: k 0-1 -->\n`````suggestion\n````\n`````\n<sub>o</sub>"
        );
    }
}
