//! Worktrees: further checkouts that share the repository.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::program::Call;
use super::{Cone, GitError, Repository};

/// Lock file in the repository's common folder. Git looks at all worktrees whenever it creates or removes one, and fails
/// on those that another process has half created.
const LOCK: &str = "architect-ci-worktrees.lock";

impl Repository {
    /// Waits until no other process that works with this lock creates or removes worktrees. Returns the lock, which
    /// holds while the file is open.
    pub fn lock_worktrees(&self) -> Result<File, GitError> {
        let path = self.held.common.path()?.join(LOCK);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    }

    /// Creates a worktree at `path` with a detached `HEAD` at `commit`, without files.
    pub fn add_worktree(&self, path: &Path, commit: &str) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--detach", "--force", "--no-checkout"].map(OsStr::new);
        self.on_clone(path, args.into_iter().chain([path.as_os_str(), OsStr::new(commit)]))
    }

    /// Resets index and files to the commit that is checked out, and so discards changes.
    pub fn fill(&self) -> Result<(), GitError> {
        self.on_clone(self.root(), ["reset", "--quiet", "--hard"])
    }

    /// Fills a new worktree with a part of the commit that is checked out. Git takes the other files for unchanged. No setting
    /// of the clone is touched.
    pub fn fill_sparsely(&self, cone: &Cone) -> Result<(), GitError> {
        let info = self.held.git_dir.path()?.join("info");
        fs::create_dir_all(&info)?;
        fs::write(info.join("sparse-checkout"), cone.patterns())?;
        let sparse = ["-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=true"];
        self.on_clone(self.root(), sparse.into_iter().chain(["read-tree", "--reset", "-u", "HEAD"]))
    }

    /// Removes the records of worktrees whose folders no longer exist.
    pub fn prune_worktrees(&self) -> Result<(), GitError> {
        self.on_clone(self.root(), ["worktree", "prune"])
    }

    /// Runs `git` on the clone itself, which has to know of its worktrees. The folder that contains `path` is
    /// writable.
    pub(super) fn on_clone<S: AsRef<OsStr>>(
        &self,
        path: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Result<(), GitError> {
        let above = path.parent().unwrap_or(path).to_owned();
        let common = self.held.common.path()?.to_owned();
        let writable: Vec<PathBuf> = vec![common, above, self.root().to_owned()];
        let call = Call {
            git_dir: self.held.git_dir.path()?,
            root: self.root(),
            folder: self.root(),
            variables: Vec::new(),
            input: &[],
            writable,
            network: false,
        };
        call.run(args).map(drop)
    }
}
