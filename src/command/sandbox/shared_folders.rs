//! Shared folders: folders of another checkout, such as its `node_modules`, that children see in a checkout which lacks
//! them. Each sandbox mounts an overlay there, so nobody changes the folder itself, and nobody sees what the children of
//! another sandbox leave in it.

use std::io;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use workspace::{SensitiveFiles, WorkspacePath};

use super::Mount;
use super::plan::{Sandbox, View};

/// A folder that several checkouts share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFolder {
    /// The folder.
    pub from: PathBuf,
    /// The empty folder of the checkout over which it is mounted.
    pub at: PathBuf,
}

/// A shared folder, with what is hidden in it.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) folder: SharedFolder,
    /// Sensitive files, and Git's own folders, which may hold credentials; absolute, as children would see them.
    hidden: Vec<PathBuf>,
}

impl Shared {
    /// Finds what has to be hidden in a folder. `repository` is the root of the repository around the workspace.
    pub(super) fn new(
        folder: &SharedFolder,
        workspace: &Path,
        repository: Option<&Path>,
        sensitive: &SensitiveFiles,
    ) -> Self {
        let SharedFolder { from, at } = folder;
        let is_git = |entry: &DirEntry| entry.depth() > 0 && entry.file_name() == ".git";
        let leads_into_git = |entry: &DirEntry| {
            entry.depth() > 1 && entry.path().parent().and_then(Path::file_name) == Some(".git".as_ref())
        };
        let relative = |path: &Path, root: &Path| {
            path.strip_prefix(root).ok()?.to_str().and_then(|path| WorkspacePath::parse(path).ok())
        };
        let is_sensitive = |path: &Path| match relative(path, workspace) {
            Some(path) => sensitive.hides(&path),
            None => repository
                .and_then(|root| relative(path, root))
                .is_some_and(|path| sensitive.hides_beside(&path)),
        };
        let seen = |entry: &DirEntry| entry.path().strip_prefix(from).ok().map(|below| at.join(below));
        let walk = WalkBuilder::new(from)
            .standard_filters(false)
            .filter_entry(move |entry| !leads_into_git(entry))
            .build();
        let hidden = walk.flatten().filter_map(|entry| {
            let is_file = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_file());
            let path = seen(&entry)?;
            (is_git(&entry) || is_file && is_sensitive(&path)).then_some(path)
        });
        Self { hidden: hidden.collect(), folder: folder.clone() }
    }
}

impl Sandbox {
    /// Returns the parts of a new root that show shared folders.
    pub(super) fn shared_mounts(&self, view: View<'_>, writable: bool) -> io::Result<Vec<Mount>> {
        let mut mounts = Vec::new();
        // A copy is at another path.
        let shared = if matches!(view, View::Copy { .. } | View::Base { .. }) {
            &[][..]
        } else {
            self.0.shared.as_slice()
        };
        for (index, Shared { folder, hidden }) in shared.iter().enumerate() {
            let (overlay, at) = (self.overlay("shared", index, &folder.from)?, folder.at.clone());
            mounts.push(if writable {
                Mount::Cache { overlay, at }
            } else {
                Mount::Overlay { overlay, at, writable: false }
            });
            mounts.extend(hidden.iter().map(|at| Mount::Hide { at: at.clone() }));
        }
        Ok(mounts)
    }
}
