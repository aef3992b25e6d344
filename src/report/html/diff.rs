//! Files of a run and their diffs.

use maud::{Markup, html};
use sanitize::untrusted::visible;
use workspace::Operation;

use super::section;
use crate::report::{FileSummary, RunReport};

/// Number of lines of diffs that are open; further files are folded.
const OPEN_LINES: usize = 400;

/// Renders the files that changed.
pub(super) fn files(report: &RunReport) -> Markup {
    if report.files.is_empty() {
        return Markup::default();
    }
    let mut lines = 0;
    let list = html! {
        @for file in &report.files {
            @let is_open = { lines += file.diff.lines().count(); lines <= OPEN_LINES };
            (diff(file, is_open))
        }
    };
    section("Files", &list)
}

fn diff(file: &FileSummary, is_open: bool) -> Markup {
    let (letter, word) = match file.op {
        Operation::Add => ("A", "added"),
        Operation::Modify => ("M", "modified"),
        Operation::Delete => ("D", "deleted"),
    };
    html! {
        details class="item" open[is_open] {
            summary {
                span class="muted" title=(word) { (letter) } " "
                code { (visible(file.path.as_str())) } " " span class="lines" { (file.lines) }
            }
            (diff_lines(&file.diff))
        }
    }
}

/// Renders a diff line by line.
pub(super) fn diff_lines(diff: &str) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "",
    };
    // A region that scrolls has to be reached by the keyboard as well.
    html! {
        pre class="diff" tabindex="0" {
            @for (number, line) in numbered(diff) { span class=(class(line)) data-line=(number) { (visible(line)) } }
        }
    }
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
