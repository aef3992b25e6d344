//! A worktree for each task: a checkout of its own that shares the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::Entry;
use super::manifest::Task;
use super::shared_folders;
use crate::command::sandbox::SharedFolder;
use crate::git::{Cone, GitError, Repository};

/// Where worktrees of a batch lie, below its output folder; hidden, so that no artifact takes them along.
const FOLDER: &str = ".worktrees";

/// After how many removed worktrees Git's records of them are removed as well. Each `git worktree add` reads all records, and
/// removing them takes a process.
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
}

impl Worktrees {
    pub(super) fn new(repository: &Repository, out: &Path) -> Self {
        let prefix = repository.prefix();
        Self { repository: repository.clone(), folder: out.join(FOLDER), prefix, removed: Arc::default() }
    }

    /// Where they lie.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes one; gives the folder in it that is the batch's checkout. One that is there already is of an attempt
    /// that was interrupted, and goes.
    pub(super) fn add(&self, task: &Task, commit: &str) -> Result<PathBuf, GitError> {
        self.remove(&task.id);
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(&task.id);
        {
            let _alone = self.repository.lock_worktrees()?;
            self.repository.add_worktree(&path, commit)?;
        }
        // Files take the time, and concern nobody else.
        if let Some(worktree) = Repository::find(&path, Some(&path))? {
            match self.cone(&task.entry) {
                Some(cone) => worktree.fill_sparsely(&cone)?,
                None => worktree.fill()?,
            }
        }
        Ok(path.join(&self.prefix))
    }

    /// Prepares the folders that a task shares with the batch's checkout; `checkout` is the task's.
    pub(super) fn share(&self, task: &Task, checkout: &Path) -> Result<Vec<SharedFolder>, GitError> {
        Ok(shared_folders::prepare(&self.repository.root().join(&self.prefix), task, checkout)?)
    }

    /// Returns the part of the commit that a task works with; `None` for all of it.
    fn cone(&self, entry: &Entry) -> Option<Cone> {
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
            self.remove_records();
        }
    }

    /// Removes Git's records of worktrees that are gone.
    fn remove_records(&self) {
        // Without the lock as well: what is in the way has to go.
        let _alone = self.repository.lock_worktrees().ok();
        let _ = self.repository.prune_worktrees();
    }

    /// Removes all, of an earlier start as well.
    pub(super) fn clear(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if let Some(id) = entry.file_name().to_str() {
                self.remove(id);
            }
        }
        let _ = fs::remove_dir(&self.folder);
        self.remove_records();
    }
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
