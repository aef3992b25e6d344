//! Listings of files and folders. One that is too long is folded: folders are shown with the number of entries in
//! them, and opened as far as there is room.

use std::collections::BTreeMap;

use workspace::WorkspacePath;

use super::scope::Entries;
use crate::base::text::{counted, grouped};

/// Maximum number of lines of one listing.
const MAX_LINES: usize = 300;
/// Maximum number of entries of a folder that is opened although the listing is too long; those of the folder that is
/// listed are always shown.
const MAX_OPEN: usize = 60;

/// Folder with what is in it.
#[derive(Default)]
struct Folder<'a> {
    folders: BTreeMap<&'a str, Folder<'a>>,
    /// Names of files and links, and what follows them.
    files: Vec<(&'a str, String)>,
    /// Number of files below, at any depth.
    count: usize,
}

/// Renders a listing; `start` is the folder that is listed.
pub(super) fn listing(entries: &Entries, start: &WorkspacePath) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(entries.found.len() + entries.links.len());
    let all = entries.found.len() + entries.links.len();
    let cut = if all <= MAX_LINES {
        for found in &entries.found {
            lines.push(format!("{}{}", found.path, if found.directory { "/" } else { "" }));
        }
        lines.extend(entries.links.iter().map(|(link, target)| format!("{link} -> {target}")));
        lines.sort_unstable();
        0
    } else {
        folded(entries, start, &mut lines)
    };
    let mut text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
    if lines.is_empty() {
        text += "No files found\n";
    }
    if cut > 0 {
        text += &format!("… {} more not shown; narrow the path or the pattern\n", entries_of(cut));
    }
    if all > MAX_LINES {
        text += &format!("[{} in all; folders with a count are not opened]\n", entries_of(all));
    }
    if entries.skipped > 0 {
        text += &format!("({} skipped: unreadable or not named in UTF-8)\n", entries_of(entries.skipped));
    }
    text
}

fn entries_of(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{} entries", grouped(number)) }
}

/// Adds the lines of a folded listing, and returns how many entries of the folder itself had no room.
fn folded(entries: &Entries, start: &WorkspacePath, lines: &mut Vec<String>) -> usize {
    let mut root = Folder::default();
    let below = |path: &'_ WorkspacePath| {
        path.relative_to(start).map(str::len).map(|length| path.as_str().len() - length)
    };
    for found in &entries.found {
        let Some(at) = below(&found.path) else { continue };
        let path = &found.path.as_str()[at..];
        if found.directory {
            root.folder(path);
        } else {
            root.file(path, String::new());
        }
    }
    for (link, target) in &entries.links {
        let Some(at) = below(link) else { continue };
        root.file(&link.as_str()[at..], format!(" -> {target}"));
    }
    let prefix = if start.is_root() { String::new() } else { format!("{start}/") };
    // Level by level, the small folders first, for as long as there is room.
    let mut room = MAX_LINES.saturating_sub(root.folders.len() + root.files.len());
    let mut open: Vec<String> = Vec::new();
    let mut level: Vec<(String, &Folder<'_>)> =
        root.folders.iter().map(|(name, folder)| (format!("{prefix}{name}/"), folder)).collect();
    while !level.is_empty() {
        let mut next = Vec::new();
        level.sort_by_key(|(_, folder)| folder.len());
        for (path, folder) in level {
            if folder.len() <= room.min(MAX_OPEN) {
                room -= folder.len();
                next.extend(folder.folders.iter().map(|(name, below)| (format!("{path}{name}/"), below)));
                open.push(path);
            }
        }
        level = next;
    }
    open.sort_unstable();
    root.render(&prefix, &open, lines);
    let cut = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    cut
}

impl<'a> Folder<'a> {
    fn len(&self) -> usize {
        self.folders.len() + self.files.len()
    }

    fn folder(&mut self, path: &'a str) -> &mut Self {
        path.split('/').fold(self, |folder, name| folder.folders.entry(name).or_default())
    }

    fn file(&mut self, path: &'a str, suffix: String) {
        let (above, name) = path.rsplit_once('/').map_or(("", path), |(above, name)| (above, name));
        let mut folder = self;
        folder.count += 1;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            folder = folder.folders.entry(name).or_default();
            folder.count += 1;
        }
        folder.files.push((name, suffix));
    }

    fn render(&self, prefix: &str, open: &[String], lines: &mut Vec<String>) {
        for (name, folder) in &self.folders {
            let path = format!("{prefix}{name}/");
            if folder.len() == 0 || open.binary_search(&path).is_ok() {
                lines.push(path.clone());
                folder.render(&path, open, lines);
            } else {
                lines.push(format!("{path}  ({})", folder.contents()));
            }
        }
        lines.extend(self.files.iter().map(|(name, suffix)| format!("{prefix}{name}{suffix}")));
    }

    /// Returns what is in the folder, as in `225 folders, 1,840 files`.
    fn contents(&self) -> String {
        let files = counted(self.count, "file", "s");
        match self.folders.len() {
            0 => files,
            folders => format!("{}, {files}", counted(folders, "folder", "s")),
        }
    }
}
