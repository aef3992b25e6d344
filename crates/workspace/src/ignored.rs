//! Ignore rules for the listings of planned files: the walker knows the ignore files on disk, this module those as planned.

use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::WorkspacePath;

/// Names of the ignore files that apply, by increasing precedence.
pub const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Makes the ignore files between the root and `folder` apply to a walk that starts at `folder`.
///
/// The walker's own search in parent folders would continue above the root, to files that are not part of the
/// checkout.
pub fn add_ancestors(builder: &mut WalkBuilder, root: &Path, folder: &WorkspacePath) {
    let mut above = folder.parent();
    while let Some(parent) = above {
        for name in IGNORE_FILES {
            let file = root.join(parent.as_str()).join(name);
            if file.is_file() {
                // Invalid lines are skipped; the others apply.
                let _ = builder.add_ignore(file);
            }
        }
        above = parent.parent();
    }
}

/// The rules of all ignore files above one path.
pub struct IgnoreRules {
    /// Rules with the folder that each belongs to, from the root downwards.
    matchers: Vec<(WorkspacePath, Gitignore)>,
}

impl IgnoreRules {
    /// Collects the rules for entries of `folder`; `read` returns the text of an ignore file, if there is
    /// one.
    pub fn collect(folder: &WorkspacePath, read: impl Fn(&WorkspacePath) -> Option<String>) -> Self {
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

    /// Returns whether `path` or a folder above it is excluded.
    pub fn excludes(&self, path: &WorkspacePath, directory: bool) -> bool {
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

    /// Returns whether this very path is excluded; the deepest rule that matches it decides.
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
        // Invalid lines are skipped, as in Git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
