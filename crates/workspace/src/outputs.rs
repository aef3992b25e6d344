//! Decides which new files are outputs of builds, which need no review.
//!
//! Only what Git itself leaves out is left out: a file that `git add` would take is a change, whatever other tools make of
//! `.ignore` files, braces or backslashes.

use gix_glob::pattern::Case;
use gix_glob::{Pattern, wildmatch};

use super::changes::{FileState, Mode};
use super::path::WorkspacePath;

/// The name of Git's ignore files.
const IGNORE_FILE: &str = ".gitignore";

/// Folders in which builds and package managers commonly leave what they make.
const USUAL_OUTPUTS: [&str; 16] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".gradle",
    ".next",
    "coverage",
];

/// The rules of Git's ignore files in and above one folder.
pub struct GitIgnoreRules {
    /// Rules with the folder that each list belongs to, from the root downwards.
    lists: Vec<(WorkspacePath, Vec<Pattern>)>,
}

impl GitIgnoreRules {
    /// Collects the rules for entries of `folder`; `read` returns an ignore file, if there is one.
    pub fn collect(folder: &WorkspacePath, read: impl Fn(&WorkspacePath) -> Option<FileState>) -> Self {
        let mut folders = vec![folder.clone()];
        while let Some(parent) = folders.last().and_then(WorkspacePath::parent) {
            folders.push(parent);
        }
        let list = |folder: WorkspacePath| {
            // Git does not follow a link.
            let file = read(&folder.child(IGNORE_FILE)).filter(|state| state.mode != Mode::Link)?;
            let patterns = gix_ignore::parse(&file.content, false).map(|(pattern, ..)| pattern).collect();
            Some((folder, patterns))
        };
        Self { lists: folders.into_iter().rev().filter_map(list).collect() }
    }

    /// Returns whether a file, or a folder above it, is excluded.
    pub fn excludes(&self, file: &WorkspacePath) -> bool {
        let mut prefix = WorkspacePath::root();
        let count = file.names().count();
        file.names().enumerate().any(|(index, name)| {
            prefix = prefix.child(name);
            self.excludes_itself(&prefix, index + 1 < count)
        })
    }

    /// Returns whether this very path is excluded; the last rule of the deepest file that matches it decides.
    fn excludes_itself(&self, path: &WorkspacePath, is_folder: bool) -> bool {
        let name = path.file_name().unwrap_or_default();
        let decides = |(folder, patterns): &(WorkspacePath, Vec<Pattern>)| {
            let relative = path.relative_to(folder)?;
            let name_at = Some(relative.len() - name.len()).filter(|at| *at > 0);
            let matches = |pattern: &&Pattern| {
                let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
                let path = relative.into();
                pattern.matches_repo_relative_path(path, name_at, Some(is_folder), Case::Sensitive, mode)
            };
            patterns.iter().rev().find(matches).map(Pattern::is_negative)
        };
        self.lists.iter().rev().find_map(decides) == Some(false)
    }
}

/// Which new files are outputs of builds.
///
/// What ignore files excluded before the run is one. What only the run's own ignore files exclude is one where builds
/// commonly leave theirs; otherwise an agent could hide its work by a line in `.gitignore`.
pub struct Exclusion {
    /// The rules from before the run.
    pub original: GitIgnoreRules,
    /// The rules as they are now.
    pub now: GitIgnoreRules,
}

impl Exclusion {
    /// Returns whether a file is an output.
    pub fn is_output(&self, path: &WorkspacePath) -> bool {
        let is_usual = || path.names().any(|name| USUAL_OUTPUTS.contains(&name));
        self.original.excludes(path) || (is_usual() && self.now.excludes(path))
    }
}
