//! Files of a run and their diffs.

use std::collections::BTreeMap;
use std::ops::Range;

use maud::{Markup, html};
use sanitize::untrusted::visible;
use workspace::Operation;

use super::syntax::{Painted, Palette};
use super::{filters, section};
use crate::report::listed::{MAX_LISTED, more};
use crate::report::{FileSummary, RunReport};

/// Number of lines of diffs that are open; further files are folded.
const OPEN_LINES: usize = 400;

/// Renders the files that changed.
pub(super) fn files(report: &RunReport, palette: &Palette) -> Markup {
    if report.files.is_empty() {
        return Markup::default();
    }
    let mut lines = 0;
    let shown = &report.files[..report.files.len().min(MAX_LISTED)];
    let states: Vec<&str> = shown.iter().map(|file| operation(file.op).1).collect();
    let list = html! {
        (filters("Show files", &states))
        @for file in shown {
            @let is_open = { lines += file.diff.lines().count(); lines <= OPEN_LINES };
            (diff(file, is_open, palette))
        }
        @if let Some(more) = more(report.files.len(), "files") { p class="muted" { (more) } }
    };
    section("Files", &list)
}

/// Returns the letter by which Git abbreviates the operation, and a word.
fn operation(op: Operation) -> (&'static str, &'static str) {
    match op {
        Operation::Add => ("A", "added"),
        Operation::Modify => ("M", "modified"),
        Operation::Delete => ("D", "deleted"),
    }
}

fn diff(file: &FileSummary, is_open: bool, palette: &Palette) -> Markup {
    let (letter, word) = operation(file.op);
    html! {
        details class="item" data-state=(word) open[is_open] {
            summary {
                span class="muted" title=(word) { (letter) } " "
                code { (visible(file.path.as_str())) } " " span class="lines" { (file.lines) (file.mode_note()) }
            }
            (diff_lines(&file.diff, Some(file.path.as_str()), palette))
        }
    }
}

/// Renders a diff line by line. The file's name says in which language it is.
pub(super) fn diff_lines(diff: &str, file: Option<&str>, palette: &Palette) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "",
    };
    // A region that scrolls has to be reached by the keyboard as well.
    let marks = changed_parts(diff);
    let colours = palette.colour(diff, file);
    html! {
        pre class="diff" tabindex="0" {
            @for (index, (number, line)) in numbered(diff).enumerate() {
                span class=(class(line)) data-line=(number) {
                    @let parts = colours.get(index).map_or(&[][..], Vec::as_slice);
                    @match marks.get(&index) {
                        Some(part) => {
                            (painted(line, 0..part.start, parts)) mark { (visible(&line[part.clone()])) }
                            (painted(line, part.end..line.len(), parts))
                        }
                        None => { (painted(line, 0..line.len(), parts)) }
                    }
                }
            }
        }
    }
}

/// Renders a part of a line with the colours of what is in it.
fn painted(line: &str, part: Range<usize>, parts: &[Painted]) -> Markup {
    let mut at = part.start;
    html! {
        @for (range, class) in parts {
            @let (start, end) = (range.start.max(at), range.end.min(part.end));
            @if start < end {
                @let before = at..start;
                @let () = { at = end; };
                (visible(&line[before])) i class=(*class) { (visible(&line[start..end])) }
            }
        }
        (visible(&line[at..part.end]))
    }
}

/// Returns which part of a line has changed, by the index of the line, where lines were replaced by as many others.
fn changed_parts(diff: &str) -> BTreeMap<usize, Range<usize>> {
    let lines: Vec<&str> = diff.lines().collect();
    let mut marks = BTreeMap::new();
    let mut at = 0;
    while at < lines.len() {
        let run =
            |from: usize, sign: char| lines[from..].iter().take_while(|line| line.starts_with(sign)).count();
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed == added {
            for index in at..at + removed {
                if let Some((old, new)) = differing_parts(lines[index], lines[index + removed]) {
                    marks.insert(index, old);
                    marks.insert(index + removed, new);
                }
            }
        }
        at += (removed + added).max(1);
    }
    marks
}

/// Returns what differs between two lines of a diff, to whole words; `None` if they have too little in common.
fn differing_parts(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (before, after) = (words(&old[1..]), words(&new[1..]));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before[same..].iter().rev().zip(after[same..].iter().rev());
    let last = rest.take_while(|(a, b)| a == b).count();
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let (start, end) = (1 + length(&before[..same]), length(&before[before.len() - last..]));
    let common = before[..same].iter().chain(&before[before.len() - last..]);
    if !common.into_iter().any(|word| word.chars().any(char::is_alphanumeric)) {
        return None;
    }
    Some((start..old.len() - end, start..new.len() - end))
}

/// Splits a line into words and single other characters.
fn words(line: &str) -> Vec<&str> {
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) { rest.find(|sign| !is_word(sign)) } else { Some(first.len_utf8()) };
        let (word, others) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = others;
    }
    words
}

/// Returns the lines of a diff, with their numbers in the new file; what that does not have goes without.
fn numbered(diff: &str) -> impl Iterator<Item = (String, &str)> {
    let mut next: Option<u64> = None;
    diff.lines().map(move |line| {
        if line.starts_with("@@ ") {
            let start = line.split(" +").nth(1).and_then(|rest| rest.split([',', ' ']).next());
            next = start.and_then(|start| start.parse().ok());
            return (String::new(), line);
        }
        let is_there = line.starts_with('+') || line.starts_with(' ') || line.is_empty();
        let number = next.filter(|_| is_there).map_or_else(String::new, |number| number.to_string());
        if is_there {
            next = next.and_then(|number| number.checked_add(1));
        }
        (number, line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_lines_have_marks_on_what_differs() {
        let diff = "@@ -1,3 +1,3 @@\n same\n-let rate = old(1, é);\n-}\n+let rate = new(1, é);\n+/* all else */\n-one\n+two\n+three";
        let marks = changed_parts(diff);
        let lines: Vec<&str> = diff.lines().collect();
        let marked: Vec<(usize, &str)> =
            marks.iter().map(|(index, part)| (*index, &lines[*index][part.clone()])).collect();
        assert_eq!(marked, [(2, "old"), (4, "new")]);
    }

    #[test]
    fn marks_are_where_characters_begin() {
        for (old, new) in [
            ("-é a", "+ü a"),
            ("-", "+"),
            ("-a", "+a"),
            ("-a a", "+a"),
            ("-a", "+a a"),
            ("-日本 x", "+日木 x"),
        ] {
            if let Some((old_part, new_part)) = differing_parts(old, new) {
                assert!(old.get(old_part).is_some() && new.get(new_part).is_some(), "{old} {new}");
            }
        }
    }
}
