//! The checkout as the agent sees it.
//!
//! Tools know [`Workspace`] only. Behind it is the checkout itself with a memory of what was there
//! before ([`TrackedWorkspace`]), or an overlay above it that keeps every write in memory
//! ([`OverlayWorkspace`]): a dry run is the same tool code on the overlay.

mod changes;
mod confined;
mod disk;
mod git_folder;
mod git_patch;
mod globs;
mod ignored;
mod isolate;
mod moves;
mod overlay;
mod path;
mod protected;
mod resolve;
mod snapshot;
mod tracked;
mod watch;

use std::io::Read;
use std::sync::Arc;

pub(crate) use changes::hex;
pub use changes::{ChangeSet, FileChange, FileState, LineCounts, Mode, Operation};
pub use disk::DiskWorkspace;
pub use git_folder::{GitFolder, Restored};
pub use globs::{Glob, PathGlobs};
pub use isolate::{
    Author, Before, Below, CarryError, Isolated, IsolationError, Outcome, Plot, Scratch, Secrets,
    TrackedFiles, mask_repository, sweep,
};
pub use overlay::OverlayWorkspace;
pub use path::{PathError, ResolvedPath, WorkspacePath};
pub use protected::{IsProtected, ProtectedFiles};
pub use snapshot::{Difference, Snapshot, Stamp};
pub use tracked::TrackedWorkspace;
pub use watch::{Mirror, Observed};

/// Largest file that is read or edited as a whole, in bytes.
pub const MAX_FILE: u64 = 10 * 1024 * 1024;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link that was not followed.
    Link,
    /// A device, pipe or socket: never opened.
    Special,
}

/// Kind, size and mode of what a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Size in bytes; 0 for folders.
    pub size: u64,
    /// Regular or executable.
    pub mode: Mode,
}

/// One thing found by [`Workspace::walk`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Where it is.
    pub path: ResolvedPath,
    /// Whether it is a folder.
    pub directory: bool,
}

/// What a walk found, sorted by path, and how much it had to leave out.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Files and folders, sorted.
    pub found: Vec<Found>,
    /// Entries that cannot be named in UTF-8 or could not be read.
    pub skipped: usize,
}

/// Whether the last name of a path is followed when it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// Reads and writes go where the link points.
    Follow,
    /// Removing a link removes the link.
    Keep,
}

/// Why a file operation failed; the text goes to the model as it is.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path itself is not allowed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nothing is there.
    #[error("{0} does not exist")]
    Missing(WorkspacePath),
    /// A folder where a file is needed.
    #[error("{0} is a directory, not a file")]
    IsDirectory(WorkspacePath),
    /// A file where a folder is needed.
    #[error("{0} is not a directory")]
    NotDirectory(WorkspacePath),
    /// A device, pipe, socket or a link met where none may be.
    #[error("ACCESS DENIED: {0} is not a regular file")]
    Special(WorkspacePath),
    /// Links that lead to each other.
    #[error("{0} leads through too many symbolic links")]
    LinkLoop(WorkspacePath),
    /// Larger than [`MAX_FILE`].
    #[error(
        "{path} is {size} bytes, more than the {limit} that are handled as a whole; use grep or search_code to find the part you need"
    )]
    TooLarge {
        /// The file.
        path: WorkspacePath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The operating system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: WorkspacePath,
        /// What the system said.
        error: std::io::Error,
    },
}

/// A checkout, confined: no call reaches anything outside of it.
pub trait Workspace: Send + Sync {
    /// Follows every symbolic link of `path`; the result need not exist.
    fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError>;

    /// What is at `path`, or `None`.
    fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError>;

    /// Opens a regular file for reading.
    fn open(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError>;

    /// Replaces a file's content in one step, keeping its mode; creates missing folders.
    fn write(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError>;

    /// Removes a file or a link.
    fn remove(&self, path: &ResolvedPath) -> Result<(), FileError>;

    /// Files and folders below `folder` that no ignore file excludes, at most `depth` levels down.
    fn walk(&self, folder: &ResolvedPath, depth: Option<usize>) -> Result<Walk, FileError>;

    /// Everything that differs from the checkout at the start.
    fn changes(&self) -> Result<ChangeSet, FileError>;

    /// A workspace that holds what this one does; what is written to it is forgotten.
    fn preview(&self) -> Arc<dyn Workspace>;

    /// Takes a change back: the file is again what it was before.
    fn revert(&self, change: &FileChange) -> Result<(), FileError>;

    /// Reads a whole regular file of at most [`MAX_FILE`] bytes.
    fn read(&self, path: &ResolvedPath) -> Result<FileState, FileError> {
        let stat = self.stat(path)?.ok_or_else(|| FileError::Missing(path.0.clone()))?;
        match stat.kind {
            Kind::File => {}
            Kind::Directory => return Err(FileError::IsDirectory(path.0.clone())),
            Kind::Link | Kind::Special => return Err(FileError::Special(path.0.clone())),
        }
        let too_large = |size| FileError::TooLarge { path: path.0.clone(), size, limit: MAX_FILE };
        if stat.size > MAX_FILE {
            return Err(too_large(stat.size));
        }
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        // One byte past the limit shows a file that grows while it is read.
        let read = self.open(path)?.take(MAX_FILE + 1).read_to_end(&mut content);
        read.map_err(|error| FileError::Io { path: path.0.clone(), error })?;
        if content.len() as u64 > MAX_FILE {
            return Err(too_large(content.len() as u64));
        }
        Ok(FileState { content: Arc::from(content), mode: stat.mode })
    }
}
