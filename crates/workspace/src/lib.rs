//! The checkout as the agent sees it.
//!
//! Tools only know the trait [`Workspace`]. Behind it is either the checkout itself with a record of what was
//! there before ([`TrackedWorkspace`]), or an overlay above it that keeps every write in memory
//! ([`OverlayWorkspace`]): a dry run is the same tool code on the overlay.
//!
//! ```
//! use std::sync::Arc;
//!
//! use workspace::{DiskWorkspace, LastLink, OverlayWorkspace, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("notes.txt"), "one\n")?;
//! let checkout = OverlayWorkspace::new(Arc::new(DiskWorkspace::open(folder.path())?));
//!
//! // Paths are parsed, then their links are followed; only what that returns can be opened.
//! let notes = checkout.resolve(&checkout.parse("notes.txt")?, LastLink::Follow)?;
//! checkout.write(&notes, b"two\n")?;
//! assert_eq!(*checkout.read(&notes)?.content, *b"two\n");
//! assert_eq!(std::fs::read(folder.path().join("notes.txt"))?, b"one\n");
//!
//! let changes = checkout.changes()?;
//! assert_eq!(changes.len(), 1);
//! assert!(changes.iter().all(|change| change.diff().ends_with("-one\n+two\n")));
//! assert!(checkout.parse("../secret.txt").is_err());
//! # Ok(())
//! # }
//! ```

mod arrival;
mod attached;
mod bytecode;
mod changes;
mod checkout_modes;
pub mod confined;
pub mod copy;
pub mod descend;
mod disk;
mod empty_folders;
pub mod entry;
mod file_diff;
mod file_system;
mod git_folder_guard;
mod git_patch;
mod globs;
mod hunks;
pub mod ignored;
mod inventory;
mod line_map;
mod location;
mod mirror;
pub mod outputs;
mod overlay;
mod path;
mod pictures;
mod program_files;
mod protected;
pub mod removal;
pub mod repositories;
mod resolve;
mod scratch;
mod sensitive;
mod snapshot;
mod spool;
mod staging;
mod threads;
mod touches;
mod tracked;
mod write_log;

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub use attached::{AttachedFolder, AttachedWorkspace};
pub use bytecode::{is_bytecode, source_of_bytecode};
pub use changes::{ChangeSet, FileChange, FileState, LineCounts, Mode, Operation};
pub use checkout_modes::CheckoutModes;
pub use disk::DiskWorkspace;
pub use file_diff::FileDiff;
pub use file_system::is_executable;
pub use git_folder_guard::{APPLY_FOLDER, APPLY_JOURNAL, GitFolder, Restored};
pub use globs::{Glob, InvalidGlob, PathGlobs};
pub use inventory::{Inventory, Touched};
pub use line_map::LineMap;
pub use location::WorkspaceLocation;
pub use mirror::{Checks, Damage, LateChanges, Mirror, SettledChanges};
pub use overlay::OverlayWorkspace;
pub use path::{PathError, ResolvedPath, WorkspacePath};
pub use program_files::ProgramFiles;
pub use protected::{IsProtected, ProtectedFiles};
pub use scratch::{Scratch, sweep};
pub use sensitive::{SensitiveFiles, Tracked, TrackedFiles};
pub use snapshot::{Difference, FileStamp, Snapshot};
pub use spool::{Spool, Spooled};
pub use tracked::TrackedWorkspace;
pub use write_log::{StateBefore, WriteLog};

/// What others have changed, and is to be judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proposed<'a> {
    /// Changes with their contents.
    pub changes: &'a [FileChange],
    /// Files that are too large for their contents to be compared.
    pub large: &'a [WorkspacePath],
    /// What builds leave behind: only where it lies matters.
    pub outputs: &'a [WorkspacePath],
    /// Folders without files.
    pub folders: &'a [WorkspacePath],
}

/// A judgement of changes: `Ok` with warnings, or `Err` with the reasons for refusing them.
pub type Judge = Arc<dyn Fn(Proposed<'_>) -> Result<Vec<String>, Vec<String>> + Send + Sync>;

/// Returns whether others may write to a path, whatever they write there.
pub fn may_write(judge: &Judge, path: &WorkspacePath) -> bool {
    judge(Proposed { outputs: std::slice::from_ref(path), ..Proposed::default() }).is_ok()
}

/// Maximum size of a file that is read or edited as a whole, in bytes.
pub const MAX_FILE: u64 = 10 * 1024 * 1024;

/// The kind of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link that was not followed.
    Link,
    /// A device, pipe, or socket, which is never opened.
    Special,
}

/// Kind, size, and mode of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kind of the entry itself; a link is not followed.
    pub kind: Kind,
    /// The size in bytes; 0 unless it is a regular file.
    pub size: u64,
    /// The mode as Git knows it.
    pub mode: Mode,
}

/// An entry found by [`Workspace::walk`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalkEntry {
    /// The path, from the root of the workspace.
    pub path: ResolvedPath,
    /// Whether the entry is a folder; otherwise it is a regular file.
    pub directory: bool,
}

/// The result of a walk, and how much of it is missing.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Files and folders, sorted by path.
    pub found: Vec<WalkEntry>,
    /// Symbolic links, sorted by path. None was followed, so they may lead anywhere.
    pub links: Vec<WorkspacePath>,
    /// The number of entries whose names are not UTF-8 or that could not be read.
    pub skipped: usize,
}

/// What happens to a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// Follows the link, as reads and writes do.
    Follow,
    /// Keeps the link, so that removing it does not remove its target.
    Keep,
}

/// A failed file operation; the message is shown to the model unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A path that is not allowed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A path at which there is nothing.
    #[error("{0} does not exist")]
    Missing(WorkspacePath),
    /// A folder where a file is needed.
    #[error("{0} is a directory, not a file")]
    IsDirectory(WorkspacePath),
    /// Something other than a folder where a folder is needed.
    #[error("{0} is not a directory")]
    NotDirectory(WorkspacePath),
    /// A device, pipe, or socket, or a link where none is allowed.
    #[error("ACCESS DENIED: {0} is not a regular file")]
    Special(WorkspacePath),
    /// A file of a folder that is attached for reading.
    #[error("{0} is outside of the workspace, where files can only be read")]
    ReadOnly(WorkspacePath),
    /// Too many symbolic links in one path, as in a loop.
    #[error("{0} leads through too many symbolic links")]
    LinkLoop(WorkspacePath),
    /// A file larger than [`MAX_FILE`].
    #[error(
        "{path} is {size} bytes, but the limit for whole files is {limit} bytes; use grep or search_code to \
         find the part you need"
    )]
    TooLarge {
        /// The file or folder.
        path: WorkspacePath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An error of the operating system.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: WorkspacePath,
        /// The system's error.
        error: std::io::Error,
    },
}

/// A confined checkout: no call reaches anything outside of it.
pub trait Workspace: Send + Sync {
    /// Returns the path of the checkout: absolute, and without symbolic links.
    fn root(&self) -> &Path;

    /// Parses a path as a model writes it: relative to the workspace, or absolute and inside of it, as compilers and
    /// tracebacks print paths.
    fn parse(&self, text: &str) -> Result<WorkspacePath, PathError> {
        WorkspacePath::parse(self.root().to_str().and_then(|root| inside(text, root)).unwrap_or(text))
    }

    /// Follows every symbolic link in `path`. The result need not exist.
    fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError>;

    /// Returns kind, size, and mode of the entry at `path`, or `None` if there is none.
    fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError>;

    /// Opens a regular file for reading.
    fn open(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError>;

    /// Replaces the content of a file in one step and keeps its mode. Creates the file and missing folders.
    fn write(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError>;

    /// Writes a file like [`Self::write`], with its mode.
    fn place(&self, path: &ResolvedPath, state: &FileState) -> Result<(), FileError>;

    /// Removes a file or a link.
    fn remove(&self, path: &ResolvedPath) -> Result<(), FileError>;

    /// Lists the files and folders below `folder` that no ignore file excludes, at most `depth` levels down.
    fn walk(&self, folder: &ResolvedPath, depth: Option<usize>) -> Result<Walk, FileError>;

    /// Visits what differs from the checkout at the start, file by file and sorted by path, until the visitor breaks off. A file
    /// that is not wanted is not read. Neither function may use the workspace.
    fn visit_changes(
        &self,
        is_wanted: &dyn Fn(&WorkspacePath) -> bool,
        visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
    ) -> Result<(), FileError>;

    /// Returns the files that were written or removed and what became of them, sorted by path. Nothing is read, so a file that is as
    /// it was counts as modified.
    fn touched(&self) -> Result<Vec<(WorkspacePath, Operation)>, FileError>;

    /// Returns how a file differs from the checkout at the start, if it does.
    fn change_of(&self, path: &WorkspacePath) -> Result<Option<FileChange>, FileError>;

    /// Returns the files that were written or removed so far, once for each time and without the first `count`.
    fn touched_after(&self, count: usize) -> Vec<WorkspacePath>;

    /// Returns everything that differs from the checkout at the start.
    fn changes(&self) -> Result<ChangeSet, FileError> {
        self.changes_of(&|_| true)
    }

    /// Returns what differs from the checkout at the start, of the files that are wanted.
    fn changes_of(&self, is_wanted: &dyn Fn(&WorkspacePath) -> bool) -> Result<ChangeSet, FileError> {
        let mut changes = Vec::new();
        self.visit_changes(is_wanted, &mut |change| {
            changes.push(change);
            ControlFlow::Continue(())
        })?;
        Ok(ChangeSet::new(changes))
    }

    /// Returns whether anything differs from the checkout at the start; what follows the first difference is not read.
    fn has_changes(&self) -> Result<bool, FileError> {
        let mut is_found = false;
        self.visit_changes(&|_| true, &mut |_| {
            is_found = true;
            ControlFlow::Break(())
        })?;
        Ok(is_found)
    }

    /// Returns a workspace with the state of this one, for trial edits; what is written to it is discarded.
    fn preview(&self) -> Arc<dyn Workspace>;

    /// Reverts a change: the file is as it was before it.
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
        // One byte beyond the limit reveals a file that grows while it is read.
        let read = self.open(path)?.take(MAX_FILE + 1).read_to_end(&mut content);
        read.map_err(|error| FileError::Io { path: path.0.clone(), error })?;
        if content.len() as u64 > MAX_FILE {
            return Err(too_large(content.len() as u64));
        }
        Ok(FileState { content: Arc::from(content), mode: stat.mode })
    }
}

/// Returns an absolute path relative to `root`, or `None` if it is not inside of it by its text.
pub fn inside<'a>(text: &'a str, root: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(root.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some("") => Some("."),
        Some(below) => Some(below.trim_start_matches('/')).filter(|below| !below.is_empty()).or(Some(".")),
        None => rest.is_empty().then_some("."),
    }
}
