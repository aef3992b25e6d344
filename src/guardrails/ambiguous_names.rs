//! Names of new files that other systems take for others: they fold case and accents, and drop dots and spaces at ends.

use workspace::{ChangeSet, FileChange, WorkspacePath};

use super::dependencies::BaseFiles;

/// Returns why the name of a new file could be that of another one on some systems, which it would replace there.
pub(super) fn ambiguity(path: &WorkspacePath, changes: &ChangeSet, base: &BaseFiles<'_>) -> Option<String> {
    let is_cut = |name: &str| name.ends_with(['.', ' ']) || name.starts_with(' ');
    if path.names().any(is_cut) {
        return Some("it has a dot or a space at an end of a name".to_owned());
    }
    if let Some(letter) = path.as_str().chars().find(|letter| "\\:*?\"<>|".contains(*letter)) {
        return Some(format!("it has a `{letter}`"));
    }
    let others = changes.iter().filter(|other| other.after.is_some() && other.path != *path);
    let folded = path.folded();
    let twin = others.map(|other| &other.path).find(|other| other.folded() == folded).cloned();
    let twin = twin.or_else(|| twin_on_disk(path, changes, base))?;
    Some(format!("there it is the same as {twin}"))
}

/// Returns a file or folder that some systems could take for the path, or for a folder on the way to it. One that the changes
/// empty is in nobody's way.
fn twin_on_disk(path: &WorkspacePath, changes: &ChangeSet, base: &BaseFiles<'_>) -> Option<WorkspacePath> {
    let mut folder = WorkspacePath::root();
    for own in path.names() {
        let is_twin =
            |name: &String| name != own && folder.child(name).folded() == folder.child(own).folded();
        let twins = (base.names)(&folder).into_iter().filter(is_twin).map(|name| folder.child(&name));
        let is_left = |twin: &WorkspacePath| {
            let goes = |change: &FileChange| change.after.is_none() && change.path.is_within(twin);
            !changes.iter().any(goes)
        };
        if let Some(twin) = twins.into_iter().find(is_left) {
            return Some(twin);
        }
        folder = folder.child(own);
    }
    None
}
