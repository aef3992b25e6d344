//! Copy of the repository around a checkout that is a subfolder of it: commands find Git's own folder, and what is beside
//! the checkout.

use std::io;
use std::path::{Path, PathBuf};

use super::IsolationSource;
use super::masks::Masks;

/// A copy of a repository without the checkout in it.
pub(super) struct EnclosingCopy {
    /// The repository.
    pub(super) root: PathBuf,
    /// Its copy.
    pub(super) folder: PathBuf,
    pub(super) masks: Masks,
}

impl EnclosingCopy {
    /// Copies the repository to `folder`, without the checkout, sensitive files, and other repositories. Returns `None`
    /// if the checkout is no subfolder of a repository. The error has the path at which it occurred.
    pub(super) fn copied(
        source: &IsolationSource,
        folder: &Path,
        masks: PathBuf,
    ) -> Result<Option<Self>, (PathBuf, io::Error)> {
        let Some(root) = &source.around else { return Ok(None) };
        let masks = Masks::around(source, root, masks.clone()).map_err(|error| (masks, error))?;
        let is_hidden = |path: &super::WorkspacePath| {
            root.join(path.as_str()) == source.root
                || path.file_name() == Some(".git")
                || source.sensitive.hides_beside(path)
        };
        // What cannot be read there is no part of the checkout.
        workspace::copy::copy(root, folder, &is_hidden)?;
        masks.copy(root, Path::new(".git"), &folder.join(".git"))?;
        Ok(Some(Self { root: root.clone(), folder: folder.to_owned(), masks }))
    }

    /// Returns the path of the checkout's copy.
    pub(super) fn workspace(&self, source: &IsolationSource) -> PathBuf {
        self.folder.join(source.root.strip_prefix(&self.root).unwrap_or(Path::new("")))
    }
}
