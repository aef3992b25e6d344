//! Repository around a workspace: what children see of it besides the workspace itself.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::{PathGlobs, WorkspacePath, holds_credentials};

/// The parts of the checkout's repository outside of the workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Repository {
    /// The root of the repository, if the workspace is a subfolder of it.
    pub(super) root: Option<PathBuf>,
    /// Git folders outside of the workspace.
    pub(super) folders: Vec<PathBuf>,
}

impl Repository {
    /// Finds the repository by going upwards from the workspace.
    pub(super) fn around(workspace: &Path, home: Option<&Path>) -> Self {
        let found = workspace.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
        let Some(root) = found else { return Self::default() };
        let git = root.join(".git");
        let mut folders = Vec::new();
        if git.is_dir() {
            folders.extend(git.canonicalize());
        } else if let Some(folder) = linked(&git) {
            // A worktree shares the rest with its repository.
            let common = fs::read_to_string(folder.join("commondir")).ok();
            folders.extend(common.and_then(|common| folder.join(common.trim()).canonicalize().ok()));
            folders.push(folder);
        }
        folders.retain(|folder| !folder.starts_with(workspace));
        folders.dedup_by(|below, above| below.starts_with(above));
        let root = Some(root.to_owned())
            .filter(|root| root != workspace && !home.is_some_and(|home| home.starts_with(root)));
        Self { root, folders }
    }
}

impl Repository {
    /// Lists the sensitive files of the repository outside of the workspace.
    pub(super) fn sensitive(&self, workspace: &Path, sensitive: &PathGlobs) -> Vec<PathBuf> {
        let Some(root) = self.root.as_ref().filter(|_| !sensitive.is_empty()) else { return Vec::new() };
        let walk = ignore::WalkBuilder::new(root).standard_filters(false).build().flatten();
        let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let is_sensitive = |path: &Path| {
            let relative = path.strip_prefix(root).ok().and_then(Path::to_str).map(WorkspacePath::parse);
            relative.is_some_and(|path| path.is_ok_and(|path| sensitive.find(&path).is_some()))
        };
        files
            .map(ignore::DirEntry::into_path)
            .filter(|path| !path.starts_with(workspace) && is_sensitive(path))
            .collect()
    }

    /// Returns the Git folders that contain no credential.
    pub(super) fn harmless(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.iter().filter(|folder| !holds_credentials(folder))
    }
}

/// Returns the folder that a `.git` file names.
fn linked(git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(git).ok()?;
    git.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}
