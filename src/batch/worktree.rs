//! A worktree for each task: a checkout of its own that shares the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::file::Entry;
use super::journal::JOURNAL;
use super::manifest::Task;
use super::shared_folders;
use crate::base::bounded::Bounded;
use crate::base::file_locks::FileLocks;
use crate::base::fs::spread_folders_in;
use crate::command::sandbox::SharedFolder;
use crate::git::{CallLimit, Cone, GitError, Repository, worktree_locks};

/// Where worktrees of a batch lie, below its output folder; hidden, so that no artifact takes them along.
const FOLDER: &str = ".worktrees";

/// After how many removed worktrees Git's records of them are removed as well. Each `git worktree add` reads all records, and
/// removing them takes the lock.
const RECORDS: usize = 16;

/// The worktrees of a batch.
#[derive(Clone, Debug)]
pub(super) struct Worktrees {
    repository: Repository,
    folder: PathBuf,
    /// The way from the repository to the checkout: empty, or ending in `/`.
    prefix: String,
    /// Number of worktrees that were removed.
    removed: Arc<AtomicUsize>,
    /// Cancelled when the batch has to end.
    end: CancellationToken,
    locks: Arc<FileLocks>,
}

impl Worktrees {
    /// Returns the worktrees below an output folder. When `end` is cancelled, nothing is waited for any more.
    pub(super) fn new(repository: &Repository, out: &Path, end: CancellationToken) -> Self {
        let locks = worktree_locks();
        locks.wait_until(end.clone());
        Self {
            repository: repository.clone(),
            folder: out.join(FOLDER),
            prefix: repository.prefix(),
            removed: Arc::default(),
            end,
            locks: Arc::new(locks),
        }
    }

    /// Where they lie.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes one; gives the folder in it that is the batch's checkout. One that is there already is of an attempt
    /// that was interrupted, and goes.
    pub(super) fn add(&self, task: &Task, commit: &str) -> Result<PathBuf, GitError> {
        self.remove(&task.id);
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)?;
            spread_folders_in(&self.folder);
        }
        let path = self.folder.join(&task.id);
        let timeout = task.entry.timeout.map(Bounded::seconds);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let limit = CallLimit { cancel: self.end.clone(), deadline };
        {
            let _alone = self.repository.lock_worktrees(&self.locks)?;
            if self.repository.add_worktree(&path, commit, &limit).is_err() {
                // Another batch may have been killed in the midst of this, and have left what is in the way of everybody.
                self.repository.clear_worktree_records(is_ours)?;
                let _ = fs::remove_dir_all(&path);
                self.repository.add_worktree(&path, commit, &limit)?;
            }
        }
        // Files take the time, and concern nobody else.
        if let Some(worktree) = Repository::find(&path, Some(&path))? {
            match self.cone(&task.entry) {
                Some(cone) => worktree.fill_sparsely(&cone, Some(&limit))?,
                None => worktree.fill(&limit)?,
            }
        }
        Ok(path.join(&self.prefix))
    }

    /// Prepares the folders that a task shares with the batch's checkout; `checkout` is the task's.
    pub(super) fn share(&self, task: &Task, checkout: &Path) -> Result<Vec<SharedFolder>, GitError> {
        Ok(shared_folders::prepare(&self.repository.root().join(&self.prefix), task, checkout)?)
    }

    /// Returns the part of the commit that a task works with; `None` for all of it.
    pub(super) fn cone(&self, entry: &Entry) -> Option<Cone> {
        let more = entry.sparse.as_ref()?;
        // What is worked on everywhere needs everything.
        entry.folder.as_ref()?;
        let folder_of = |path: &String| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let named = [&entry.recipe, &entry.task_file].into_iter().flatten().filter_map(folder_of);
        // The configuration may lie there.
        let own = entry.folder.iter().cloned().chain([".github".to_owned()]);
        let folders = own.chain(named).chain(more.iter().cloned());
        Cone::new(folders.map(|folder| format!("{}{folder}", self.prefix)))
    }

    /// Removes one, whatever is in it. Git's record of it is removed with those of others.
    pub(super) fn remove(&self, id: &str) {
        let path = self.folder.join(id);
        if !path.exists() {
            return;
        }
        if fs::remove_dir_all(&path).is_err() {
            make_removable(&path);
            let _ = fs::remove_dir_all(&path);
        }
        if (self.removed.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(RECORDS) {
            self.alone(|repository| repository.clear_worktree_records(is_ours));
        }
    }

    /// Does something to Git's records while nobody else does; it can be done at another time as well.
    fn alone(&self, act: impl FnOnce(&Repository) -> Result<(), GitError>) {
        let locked = self.repository.lock_worktrees(&self.locks);
        if let Err(error) = locked.and_then(|_alone| act(&self.repository)) {
            tracing::debug!("records of worktrees stay: {error}");
        }
    }

    /// Removes all, of an earlier start as well.
    pub(super) fn clear(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if let Some(id) = entry.file_name().to_str() {
                self.remove(id);
            }
        }
        let _ = fs::remove_dir(&self.folder);
        self.alone(|repository| {
            repository.clear_worktree_records(is_ours)?;
            repository.prune_worktrees()
        });
    }
}

/// Returns whether a folder is, or was, a worktree of a batch: one that lies beside a batch's journal.
fn is_ours(worktree: &Path) -> bool {
    let above = worktree.parent().filter(|above| above.file_name().is_some_and(|name| name == FOLDER));
    above.and_then(Path::parent).is_some_and(|out| out.join(JOURNAL).is_file())
}

/// Folders without write permission keep what is in them.
#[cfg(unix)]
fn make_removable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(entries) = fs::read_dir(path) else { return };
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        make_removable(&entry.path());
    }
}

#[cfg(not(unix))]
fn make_removable(_: &Path) {}
