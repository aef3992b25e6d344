//! Errors of a journal.

use std::io;
use std::path::PathBuf;

use workspace::FileError;

use crate::git::GitError;

/// Reason why the files were not changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process is applying a plan to this checkout.
    #[error("another apply is running on this checkout; wait until it ends")]
    Busy,
    /// There is no place for the journal.
    #[error(
        "there is no folder for the journal of an apply: the checkout is not in a Git repository, and neither \
         `XDG_STATE_HOME` nor `HOME` is set; set one of them"
    )]
    NoFolder,
    /// Git's folder cannot be trusted any more.
    #[error(transparent)]
    Repository(#[from] GitError),
    /// An earlier apply was interrupted, and this run changes nothing.
    #[error(
        "an earlier apply to this checkout was interrupted, and a dry run does not roll it back, because it changes \
         nothing; run `architect-ci apply` with that plan again, or `architect-ci run --mode yolo`, which begin \
         with the rollback (the journal is in {})", .0.display()
    )]
    Interrupted(PathBuf),
    /// The journal could not be written.
    #[error("nothing was written: {path}: {error}")]
    Write {
        /// Path that could not be written.
        path: PathBuf,
        /// I/O error.
        error: io::Error,
    },
    /// The time for it was up before anything was changed.
    #[error("the time of the run was up before the changes could be kept, so none of them were")]
    TimeUp,
    /// A file could not be changed; all files were put back.
    #[error("could not write every file, so all files were restored: {0}")]
    PutBack(FileError),
    /// A file could not be changed, and another one could not be put back.
    #[error(
        "could not write every file ({failed}) or restore every file ({left}); the next run tries again with \
         the journal in {journal}"
    )]
    Stuck {
        /// Why it was not applied.
        failed: Box<FileError>,
        /// Why it was not reverted.
        left: Box<FileError>,
        /// Path of the journal's folder.
        journal: PathBuf,
    },
    /// An interrupted apply could not be reverted.
    #[error(
        "an earlier apply was interrupted and could not be rolled back: {error}; its journal is in {journal}"
    )]
    Recover {
        /// Why it could not be reverted.
        error: Box<FileError>,
        /// Path of the journal's folder.
        journal: PathBuf,
    },
}
