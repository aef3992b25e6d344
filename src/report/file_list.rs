//! The files of a comment: diffs that are open as long as they are short, and folders where there are many files.

use std::collections::BTreeMap;
use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sanitize::untrusted::{code, fence};
use workspace::{LineCounts, Operation};

use super::figures::plural;
use super::footer::is_link;
use super::sections::{html_code, letter};
use super::size_budget::Section;
use super::{FileSummary, RunReport};
use crate::event::RunMode;

/// Number of lines up to which all diffs together are shown open.
const OPEN_LINES: usize = 40;
/// Number of files up to which each one is listed by itself.
const MAX_SINGLE: usize = 20;
/// Number of diffs that are shown of more files than that: the largest.
const LARGEST: usize = 10;
/// Maximum number of folders.
const MAX_FOLDERS: usize = 100;

/// What may stand in a link as it is.
pub(super) const IN_LINK: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-');

/// Renders the files that changed or would change. `base_url` is the address below which files are shown: those of the
/// commit to which the changes were delivered, else those of the commit before them.
pub(super) fn files(report: &RunReport, base_url: Option<&str>) -> Vec<Section> {
    let files = &report.files;
    if files.is_empty() {
        return Vec::new();
    }
    let planned = report.mode == RunMode::DryRun;
    let title = if planned { "Planned changes" } else { "Changes" };
    let (count, lines) = (plural(files.len(), "file", "files"), report.lines());
    let mut sections = vec![Section::fixed(format!("#### {title}: {count}, {lines}\n\n{}", legend(files)))];
    let elsewhere = if planned { "diff in `plan.patch`" } else { "diff in the commit" };
    let is_short = files.iter().map(|file| file.diff.lines().count()).sum::<usize>() <= OPEN_LINES;
    let is_delivered = report.delivery.as_ref().is_some_and(|delivery| delivery.commit.is_some());
    let absent = if is_delivered { Operation::Delete } else { Operation::Add };
    let link = |file: &FileSummary| link(file, base_url.filter(|_| file.op != absent));
    if files.len() <= MAX_SINGLE {
        let single = |file| Section::new(2, diff(file, is_short, &link(file)), line(file, elsewhere));
        sections.extend(files.iter().map(single));
    } else {
        sections.extend(by_folder(files, elsewhere));
        let mut largest: Vec<&FileSummary> = files.iter().collect();
        largest.sort_unstable_by_key(|file| (usize::MAX - file.lines.added - file.lines.removed, &file.path));
        largest.truncate(LARGEST);
        sections.push(Section::fixed(format!("\nThe {LARGEST} largest changes:\n\n")));
        sections.extend(largest.iter().map(|file| Section::new(2, diff(file, false, &link(file)), "")));
    }
    sections.push(Section::fixed("\n".to_owned()));
    sections
}

/// Says what the letters before the files mean, unless all of them were modified.
fn legend(files: &[FileSummary]) -> String {
    let kinds = [(Operation::Add, "added"), (Operation::Modify, "modified"), (Operation::Delete, "deleted")];
    let there = kinds.into_iter().filter(|(op, _)| files.iter().any(|file| file.op == *op));
    let words: Vec<String> = there.map(|(op, word)| format!("{}: {word}", letter(op))).collect();
    if files.iter().all(|file| file.op == Operation::Modify) {
        return String::new();
    }
    format!("<sub>{}</sub>\n\n", words.join(" · "))
}

/// Returns the name of a file for a summary in HTML: a link, where there is something to link to.
fn link(file: &FileSummary, base_url: Option<&str>) -> String {
    let name = html_code(file.path.as_str());
    let path = utf8_percent_encode(file.path.as_str(), &IN_LINK);
    let url = base_url.map(|base| format!("{base}/{path}")).filter(|url| is_link(url));
    url.map_or_else(|| name.clone(), |url| format!("<a href=\"{url}\">{name}</a>"))
}

fn diff(file: &FileSummary, open: bool, name: &str) -> String {
    let open = if open { " open" } else { "" };
    let text = if file.diff.is_empty() { "(no lines)\n".to_owned() } else { fence(&file.diff, "diff") };
    let summary = format!("{} {name} {}{}", letter(file.op), file.lines, file.mode_note());
    format!("<details{open}><summary>{summary}</summary>\n\n{text}\n</details>\n\n")
}

fn line(file: &FileSummary, elsewhere: &str) -> String {
    let (name, mode) = (code(file.path.as_str()), file.mode_note());
    format!("- {} {name} {}{mode} ({elsewhere})\n", letter(file.op), file.lines)
}

/// Folds the files by their folders; those with most changes come first.
fn by_folder(files: &[FileSummary], elsewhere: &str) -> Vec<Section> {
    let mut folders: BTreeMap<&str, (Vec<&FileSummary>, LineCounts)> = BTreeMap::new();
    for file in files {
        let folder = file.path.as_str().rsplit_once('/').map_or(".", |(folder, _)| folder);
        let (inside, lines) = folders.entry(folder).or_default();
        inside.push(file);
        *lines += file.lines;
    }
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_unstable_by_key(|(name, (inside, _))| (usize::MAX - inside.len(), *name));
    let rest = folders.split_off(folders.len().min(MAX_FOLDERS));
    let each = |(name, (inside, lines)): &(&str, (Vec<&FileSummary>, LineCounts))| {
        let count = plural(inside.len(), "file", "files");
        let mut full = format!("<details><summary>{}: {count}, {lines}</summary>\n\n", html_code(name));
        for file in inside {
            // Writing to a String cannot fail.
            let (name, mode) = (code(file.path.as_str()), file.mode_note());
            let _ = writeln!(full, "- {} {name} {}{mode}", letter(file.op), file.lines);
        }
        full += "\n</details>\n\n";
        Section::new(3, full, format!("- {}: {count}, {lines} ({elsewhere})\n", code(name)))
    };
    let mut sections: Vec<Section> = folders.iter().map(each).collect();
    if !rest.is_empty() {
        let files = rest.iter().map(|(_, (inside, _))| inside.len()).sum();
        let (folders, files) = (plural(rest.len(), "folder", "folders"), plural(files, "file", "files"));
        sections.push(Section::fixed(format!("- … {folders} more with {files} ({elsewhere})\n")));
    }
    sections
}

#[cfg(test)]
mod tests {
    use workspace::{FileChange, FileDiff, FileState, Mode, WorkspacePath};

    use super::*;

    #[test]
    fn modes_are_told_with_and_without_diffs() {
        let state = |mode| Some(FileState { content: b"x\n".as_slice().into(), mode });
        for (before, after, shown, listed) in [
            (
                state(Mode::Regular),
                state(Mode::Executable),
                "old mode 100644\nnew mode 100755\n",
                " (executable)",
            ),
            (
                state(Mode::Executable),
                state(Mode::Regular),
                "old mode 100755\nnew mode 100644\n",
                " (mode 100644)",
            ),
            (None, state(Mode::Executable), "new file mode 100755\n@@ ", " (executable)"),
            (None, state(Mode::Link), "new file mode 120000\n@@ ", " (link)"),
            (None, state(Mode::Regular), "@@ ", ""),
            (state(Mode::Executable), None, "@@ ", ""),
        ] {
            let path = WorkspacePath::parse("a.sh").expect("a plain path");
            let change = FileChange::new(path, before, after).expect("a change");
            let file = FileSummary::new(&FileDiff::of(&change));
            assert!(file.diff.starts_with(shown), "{:?}", file.diff);
            assert!(line(&file, "elsewhere").contains(&format!("{listed} (elsewhere)")), "{listed}");
            assert!(diff(&file, true, "a.sh").contains(shown), "{shown}");
        }
    }
}
