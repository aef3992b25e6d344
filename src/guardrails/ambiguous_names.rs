//! Names of new files that other systems take for others: they fold case and accents, and drop dots and spaces at ends.

use std::collections::HashMap;

use workspace::{ChangeSet, FileChange, WorkspacePath};

use super::dependencies::BaseFiles;

/// Names of the files that a plan leaves, by how other systems may read them.
pub(super) struct Names<'a> {
    changes: &'a ChangeSet,
    base: &'a BaseFiles<'a>,
    folded: HashMap<String, Vec<&'a WorkspacePath>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(changes: &'a ChangeSet, base: &'a BaseFiles<'a>) -> Self {
        let mut folded: HashMap<String, Vec<&WorkspacePath>> = HashMap::new();
        for change in changes.iter().filter(|change| change.after.is_some()) {
            folded.entry(change.path.folded()).or_default().push(&change.path);
        }
        Self { changes, base, folded }
    }

    /// Returns why the name of a new file could be that of another one on some systems, which it would replace there.
    pub(super) fn ambiguity(&self, path: &WorkspacePath) -> Option<String> {
        let is_cut = |name: &str| name.ends_with(['.', ' ']) || name.starts_with(' ');
        if path.names().any(is_cut) {
            return Some("it has a dot or a space at an end of a name".to_owned());
        }
        if let Some(letter) = path.as_str().chars().find(|letter| "\\:*?\"<>|".contains(*letter)) {
            return Some(format!("it has a `{letter}`"));
        }
        let same = self.folded.get(&path.folded());
        let twin = same.and_then(|same| same.iter().find(|other| **other != path));
        let twin = twin.map(|other| (*other).clone()).or_else(|| self.twin_on_disk(path))?;
        Some(format!("there it is the same as {twin}"))
    }

    /// Returns a file or folder that some systems could take for the path, or for a folder on the way to it. One that the changes
    /// empty is in nobody's way.
    fn twin_on_disk(&self, path: &WorkspacePath) -> Option<WorkspacePath> {
        let mut folder = WorkspacePath::root();
        for own in path.names() {
            let folded = folder.child(own).folded();
            let is_twin = |name: &String| may_be_same(name, own) && folder.child(name).folded() == folded;
            let twins =
                (self.base.names)(&folder).into_iter().filter(is_twin).map(|name| folder.child(&name));
            let goes = |change: &FileChange, twin: &WorkspacePath| {
                change.after.is_none() && change.path.is_within(twin)
            };
            let is_left = |twin: &WorkspacePath| !self.changes.iter().any(|change| goes(change, twin));
            if let Some(twin) = twins.into_iter().find(is_left) {
                return Some(twin);
            }
            folder = folder.child(own);
        }
        None
    }
}

/// Returns `false` if two names are certainly different, or one: most are, which takes little time to see.
fn may_be_same(name: &str, own: &str) -> bool {
    let is_plain = |name: &str| name.is_ascii() && !name.contains(['~', ':']) && !name.ends_with(['.', ' ']);
    name != own && (!is_plain(name) || !is_plain(own) || name.eq_ignore_ascii_case(own))
}
