//! Which planned files the ignore files exclude: the walker knows those on disk, this knows the rest.

use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::WorkspacePath;

/// Names of the files whose rules count, the weaker ones first.
pub(super) const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Makes the ignore files between the root and `folder` count in a walk that starts at `folder`.
///
/// The walker's own look at parents would go on above the root, into files that are not ours.
pub(super) fn add_ancestors(builder: &mut WalkBuilder, root: &Path, folder: &WorkspacePath) {
    let mut above = folder.parent();
    while let Some(parent) = above {
        for name in IGNORE_FILES {
            let file = root.join(parent.as_str()).join(name);
            if file.is_file() {
                // A broken line in it is skipped, the rest counts.
                let _ = builder.add_ignore(file);
            }
        }
        above = parent.parent();
    }
}

/// The rules of all ignore files that lie above one path.
pub(super) struct IgnoreRules {
    /// From the root downwards, with the folder that each belongs to.
    matchers: Vec<(WorkspacePath, Gitignore)>,
}

impl IgnoreRules {
    /// Collects the rules for what lies in `folder`; `read` gives an ignore file's text.
    pub(super) fn collect(folder: &WorkspacePath, read: impl Fn(&WorkspacePath) -> Option<String>) -> Self {
        let mut folders = vec![folder.clone()];
        while let Some(parent) = folders.last().and_then(WorkspacePath::parent) {
            folders.push(parent);
        }
        let matchers = folders.into_iter().rev().flat_map(|folder| {
            let texts = IGNORE_FILES.map(|name| read(&folder.child(name)));
            texts.into_iter().flatten().map(|text| (folder.clone(), matcher(&text))).collect::<Vec<_>>()
        });
        Self { matchers: matchers.collect() }
    }

    /// Whether `path` or a folder above it is excluded.
    pub(super) fn excludes(&self, path: &WorkspacePath, directory: bool) -> bool {
        let mut prefix = WorkspacePath::root();
        let count = path.names().count();
        for (index, name) in path.names().enumerate() {
            prefix = prefix.child(name);
            if self.excludes_itself(&prefix, directory || index + 1 < count) {
                return true;
            }
        }
        false
    }

    /// The deepest rule that says something about this very path decides.
    fn excludes_itself(&self, path: &WorkspacePath, directory: bool) -> bool {
        self.matchers
            .iter()
            .rev()
            .filter_map(|(folder, matcher)| Some(matcher.matched(path.relative_to(folder)?, directory)))
            .find(|matched| !matched.is_none())
            .is_some_and(|matched| matched.is_ignore())
    }
}

fn matcher(text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A broken line is skipped, as Git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
