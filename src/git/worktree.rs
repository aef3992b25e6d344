//! Worktrees: further checkouts that share the repository.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::program::{Call, CallLimit, MAX_TIME};
use super::{Cone, GitError, Repository};
use crate::base::file_locks::FileLocks;

/// Lock file in the repository's common folder. Git looks at all worktrees whenever it creates or removes one, and fails
/// on those that another process has half created.
const LOCK: &str = "architect-ci-worktrees.lock";

/// Returns the way in which the lock is waited for: whoever holds it has Git do one thing.
pub(crate) fn worktree_locks() -> FileLocks {
    FileLocks::patient(MAX_TIME)
}

/// The file in a repository's own folder that says which part of the commit is on disk.
pub(super) const SPARSE: &str = "info/sparse-checkout";

impl Repository {
    /// Waits until no other process that works with this lock creates or removes worktrees. Returns the lock, which
    /// holds while the file is open.
    pub(crate) fn lock_worktrees(&self, locks: &FileLocks) -> Result<File, GitError> {
        let path = self.held.common.path()?.join(LOCK);
        let locked = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let locked = locked.and_then(|file| locks.lock(&file).map(|()| file));
        locked.map_err(|error| GitError::Locked { file: path, error })
    }

    /// Creates a worktree at `path` with a detached `HEAD` at `commit`, without files.
    pub(crate) fn add_worktree(&self, path: &Path, commit: &str, limit: &CallLimit) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--detach", "--force", "--no-checkout"].map(OsStr::new);
        self.on_clone(path, args.into_iter().chain([path.as_os_str(), OsStr::new(commit)]), Some(limit))
    }

    /// Resets index and files to the commit that is checked out, and so discards changes.
    pub(crate) fn fill(&self, limit: &CallLimit) -> Result<(), GitError> {
        self.on_clone(self.root(), ["reset", "--quiet", "--hard"], Some(limit))
    }

    /// Fills a new worktree with a part of the commit that is checked out. Git takes the other files for unchanged. No setting
    /// of the clone is touched.
    pub(crate) fn fill_sparsely(&self, cone: &Cone, limit: Option<&CallLimit>) -> Result<(), GitError> {
        let own = self.held.git_dir.path()?;
        fs::create_dir_all(own.join("info"))?;
        fs::write(own.join(SPARSE), cone.patterns())?;
        let sparse = ["-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=true"];
        let args = sparse.into_iter().chain(["read-tree", "--reset", "-u", "HEAD"]);
        self.on_clone(self.root(), args, limit)
    }

    /// Removes the records of worktrees whose folders no longer exist.
    pub fn prune_worktrees(&self) -> Result<(), GitError> {
        self.on_clone(self.root(), ["worktree", "prune"], None)
    }

    /// Runs `git` on the clone itself, which has to know of its worktrees. The folder that contains `path` is
    /// writable.
    pub(super) fn on_clone<S: AsRef<OsStr>>(
        &self,
        path: &Path,
        args: impl IntoIterator<Item = S>,
        limit: Option<&CallLimit>,
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
            limit,
        };
        call.run(args).map(drop)
    }
}
