//! Files of the trusted commit for programs that get a key: written out where the checkout is not trusted.

use std::io;
use std::path::Path;

use super::{Trust, Trusted};
use crate::command::BaseFiles;
use crate::git::{GitError, WriteOutError};

/// Reason why there are no files of the base for a program to start among.
#[derive(Debug, thiserror::Error)]
pub enum BaseFilesError {
    /// There is no repository to take them from.
    #[error("the checkout is no clone of the repository")]
    NoRepository,
    /// They could not be read or written.
    #[error(transparent)]
    WriteOut(#[from] WriteOutError),
    /// The folder for them could not be prepared.
    #[error("could not prepare a folder for them: {0}")]
    Folder(#[from] io::Error),
}

impl Trusted<'_> {
    /// Writes the files of the trusted commit to a private folder below `temp`, for programs that would otherwise start in
    /// `workspace`. Returns `None` where the checkout itself is trusted.
    pub(crate) fn base_files(
        &self,
        temp: &Path,
        workspace: &Path,
    ) -> Result<Option<BaseFiles>, BaseFilesError> {
        let Trust::Base(commit) = &self.trust else { return Ok(None) };
        let repository = self.repository.ok_or(BaseFilesError::NoRepository)?;
        let write = || {
            BaseFiles::make(temp, repository.root(), workspace, |to| Ok(repository.write_files(commit, to)?))
        };
        let mut tried = write();
        for place in &self.places {
            if !tried.as_ref().is_err_and(is_missing) {
                break;
            }
            // A shallow clone may lack the commit, and a partial one its files.
            match repository.fetch(*place, commit) {
                Ok(()) => tried = write(),
                Err(error) => tried = Err(WriteOutError::Git(error).into()),
            }
        }
        tried.map(Some)
    }
}

/// Returns whether another place may have what the clone lacks.
fn is_missing(error: &BaseFilesError) -> bool {
    use GitError::{Corrupt, Failed, Missing};
    matches!(error, BaseFilesError::WriteOut(WriteOutError::Git(Missing(_) | Corrupt { .. } | Failed { .. })))
}
