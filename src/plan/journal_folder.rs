//! Folder of the journal of an apply: no commit can put anything there, because a journal that is found is carried out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use workspace::{APPLY_FOLDER, APPLY_JOURNAL};

use super::journal_error::JournalError;
use crate::base::env::{Variables, state_folder};
use crate::base::integrity::digest;
use crate::git::Repository;

/// Number of hexadecimal digits that tell journals of several workspaces apart.
const KEY: usize = 16;

/// Folder of a workspace's apply journal: in the Git folder that was found at the start (of a worktree or a submodule, its
/// own), or, outside of a repository, in the user's state folder. It is never in the checkout.
#[derive(Clone, Debug, Default)]
pub struct JournalFolder(Option<Arc<Location>>);

#[derive(Clone, Debug)]
enum Location {
    /// A folder of this name in the repository's own folder.
    Git(Repository, String),
    State(PathBuf),
}

impl JournalFolder {
    /// Returns the folder for a workspace, whose path is absolute and without symbolic links.
    pub fn of(workspace: &Path, repository: Option<&Repository>, variables: &Variables) -> Self {
        let key = |path: &Path| digest(path.as_os_str().as_encoded_bytes())[..KEY].to_owned();
        let location = match repository {
            Some(repository) if workspace == repository.root() => {
                Some(Location::Git(repository.clone(), APPLY_FOLDER.to_owned()))
            }
            Some(repository) => {
                // The repository may be mounted elsewhere by then.
                let within = workspace.strip_prefix(repository.root()).unwrap_or(workspace);
                Some(Location::Git(repository.clone(), format!("{APPLY_FOLDER}-{}", key(within))))
            }
            None => state_folder(variables)
                .map(|state| Location::State(state.join(format!("{APPLY_FOLDER}-{}", key(workspace))))),
        };
        Self(location.map(Arc::new))
    }

    /// Returns the path, or an error if there is no place for a journal, or if Git's folder was replaced.
    pub fn path(&self) -> Result<PathBuf, JournalError> {
        match self.0.as_deref() {
            Some(Location::Git(repository, name)) => Ok(repository.git_dir()?.join(name)),
            Some(Location::State(path)) => Ok(path.clone()),
            None => Err(JournalError::NoFolder),
        }
    }

    /// Returns whether there is a journal, of an apply that runs or was interrupted.
    pub(crate) fn exists(&self) -> bool {
        self.path().is_ok_and(|path| fs::symlink_metadata(path).is_ok())
    }

    /// Fails if an apply was interrupted: files of the workspace are neither as before nor as afterwards.
    pub fn check_complete(&self) -> Result<(), JournalError> {
        match self.path() {
            Ok(path) if fs::symlink_metadata(path.join(APPLY_JOURNAL)).is_ok() => {
                Err(JournalError::Interrupted(path))
            }
            // Without a place, there can be no journal.
            Ok(_) | Err(JournalError::NoFolder) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
