//! The shape of the checkout, for the system prompt: enough to know where to look first.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::workspace::{LastLink, Walk, Workspace, WorkspacePath};

/// Levels that the outline shows.
const DEPTH: usize = 3;
/// Most lines of the outline.
const MAX_LINES: usize = 120;
/// Most files listed of one folder; of more, the number is told.
const MAX_FILES: usize = 12;

#[derive(Default)]
struct Folder<'a> {
    folders: BTreeMap<&'a str, Folder<'a>>,
    files: Vec<&'a str>,
}

/// The tree of folders and files, indented, within a budget.
pub fn outline(workspace: &dyn Workspace) -> String {
    let walk = workspace
        .resolve(&WorkspacePath::root(), LastLink::Follow)
        .and_then(|root| workspace.walk(&root, Some(DEPTH)))
        .unwrap_or_default();
    let mut text = String::new();
    let mut lines = 0;
    render(&tree(&walk), 0, &mut text, &mut lines);
    if lines >= MAX_LINES {
        text += "… more; use list_files\n";
    }
    text
}

fn tree(walk: &Walk) -> Folder<'_> {
    let mut root = Folder::default();
    for found in &walk.found {
        let mut names: Vec<&str> = found.path.names().collect();
        let file = if found.directory { None } else { names.pop() };
        let folder =
            names.into_iter().fold(&mut root, |folder, name| folder.folders.entry(name).or_default());
        folder.files.extend(file);
    }
    root
}

fn render(folder: &Folder<'_>, depth: usize, text: &mut String, lines: &mut usize) {
    let indent = "  ".repeat(depth);
    for (name, below) in &folder.folders {
        if *lines >= MAX_LINES {
            return;
        }
        *lines += 1;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}{name}/");
        render(below, depth + 1, text, lines);
    }
    if folder.files.is_empty() || *lines >= MAX_LINES {
        return;
    }
    *lines += 1;
    let shown = folder.files.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(", ");
    let rest = folder.files.len().saturating_sub(MAX_FILES);
    let more = if rest > 0 { format!(", … {rest} more") } else { String::new() };
    let _ = writeln!(text, "{indent}{shown}{more}");
}
