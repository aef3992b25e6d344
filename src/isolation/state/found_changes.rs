//! Changes that a command made in its isolated state, compared with what is below.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use workspace::outputs::{Exclusion, GitIgnoreRules};
use workspace::{FileChange, FileError, FileState, Inventory, MAX_FILE, Proposed, Touched, WorkspacePath};

use super::base_state::size_on;
use super::upper_changes;
use super::{BaseState, Isolated, Kind};
use crate::base::time_limit::{Grace, TimeLimit};
use crate::isolation::tool_folders::ToolFolders;

/// Most bytes that files of the project which a command changed may hold, all together, before and after it: both sides are
/// read, compared and kept as a whole, in memory.
const MAX_CHANGED: u64 = 256 * 1024 * 1024;

/// Reasons why what a command changed was not read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadChanges {
    /// A file that could not be read.
    #[error("could not read what the command changed: {0}")]
    File(#[from] FileError),
    /// More than can be kept.
    #[error(
        "the command changed {} files that Git does not ignore, of {} MiB in all before and after it, but at most {} MiB of one \
         command can be kept; change fewer of them with one command, or write what is no part of the project where Git ignores it",
        .files.len(), .bytes.div_ceil(1 << 20), MAX_CHANGED >> 20
    )]
    TooMuch {
        /// The files.
        files: Vec<WorkspacePath>,
        /// How much they held before and hold afterwards.
        bytes: u64,
    },
    /// The time of the run was up.
    #[error("the time of the run was up before all that the command changed had been read")]
    TimeUp,
}

impl UnreadChanges {
    /// Returns the files that were changed, as far as they are known.
    pub fn files(&self) -> Vec<WorkspacePath> {
        match self {
            Self::TooMuch { files, .. } => files.clone(),
            Self::File(_) | Self::TimeUp => Vec::new(),
        }
    }
}

/// Returns all folders that these paths are in.
fn folders_above<'p>(paths: impl IntoIterator<Item = &'p WorkspacePath>) -> BTreeSet<WorkspacePath> {
    let above = |path: &WorkspacePath| std::iter::successors(path.parent(), WorkspacePath::parent);
    paths.into_iter().flat_map(above).collect()
}

/// The metadata of all files before a command. In a copy, changes are found by it; above planned edits, what a command
/// leaves is told by it from what others had left.
pub struct Before(Option<Inventory>);

/// What a command changed, compared with what is below.
#[derive(Debug, Default)]
pub struct FoundChanges {
    /// Changes to files that belong to the project.
    pub changes: Vec<FileChange>,
    /// Changed files of the project that are too large to be held in memory; with one, nothing is kept.
    pub large: Vec<WorkspacePath>,
    /// Changed files that ignore files exclude: what builds leave behind.
    pub outputs: Vec<WorkspacePath>,
    /// Git folders of repositories that the command created, which are not kept.
    pub repositories: Vec<WorkspacePath>,
    /// Pipes, sockets and devices, which are removed.
    pub special: Vec<WorkspacePath>,
    /// The number of entries whose names are not UTF-8; they are not kept.
    pub unnamed: usize,
    /// New folders without files.
    pub folders: BTreeSet<WorkspacePath>,
    pub(super) gone_folders: BTreeSet<WorkspacePath>,
}

impl FoundChanges {
    /// Returns the build outputs alone, without the other changes.
    #[must_use]
    pub fn outputs_alone(&self) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::default() }
    }

    /// Returns the files of the project among them.
    pub fn files(&self) -> Vec<WorkspacePath> {
        self.changes.iter().map(|change| &change.path).chain(&self.large).cloned().collect()
    }

    /// Returns the folders that are gone and held no files of the project. Among build outputs, nobody minds.
    pub(super) fn hollow_folders(&self) -> Vec<WorkspacePath> {
        let removed = self.changes.iter().filter(|change| change.after.is_none()).map(|change| &change.path);
        let (of_project, of_outputs) = (folders_above(removed), folders_above(&self.outputs));
        let outermost = |folder: &WorkspacePath| {
            let above = std::iter::successors(Some(folder.clone()), WorkspacePath::parent);
            above.take_while(|folder| self.gone_folders.contains(folder)).last()
        };
        let is_of_outputs = |folder: &WorkspacePath| {
            outermost(folder)
                .is_some_and(|outermost| of_outputs.contains(&outermost) && !of_project.contains(&outermost))
        };
        let is_hollow = |folder: &&WorkspacePath| !of_project.contains(*folder) && !is_of_outputs(folder);
        self.gone_folders.iter().filter(is_hollow).cloned().collect()
    }

    /// Returns the build outputs alone, to be judged.
    pub fn outputs_proposed(&self) -> Proposed<'_> {
        Proposed { outputs: &self.outputs, ..Proposed::default() }
    }
}

impl Isolated {
    /// Records what is needed to find the changes of the next command, or to forget them.
    pub fn before(&self, below: &BaseState) -> Result<Before, FileError> {
        // Above the checkout itself, an overlay holds nothing between two commands.
        let is_empty = matches!((&self.kind, below), (Kind::Mounted(_), BaseState::Real(_)));
        Ok(Before((!is_empty).then(|| Inventory::take(self.disk.path())).transpose()?))
    }

    /// Returns what a command has changed, compared with what is below. Whether a file belongs to the project
    /// is decided by the ignore files from before the command, and by what Git tracks.
    pub fn found(
        &mut self,
        before: &Before,
        below: &BaseState,
        time_limit: &TimeLimit,
    ) -> Result<FoundChanges, UnreadChanges> {
        let touched = match &self.kind {
            Kind::Copied => match &before.0 {
                Some(before) => before.touched(self.disk.path())?,
                None => Inventory::default().touched(self.disk.path())?,
            },
            #[cfg(unix)]
            Kind::Mounted(_) => upper_changes::touched(&self.disk, &self.root, below, &self.masks.sensitive)?,
            #[cfg(not(unix))]
            Kind::Mounted(_) => Touched::default(),
        };
        touched.files.iter().try_for_each(|path| self.spares_unreadable(path))?;
        let Touched { files, folders, gone_folders, repositories, special, unnamed } = touched;
        let (repositories, special) = (repositories.into_iter().collect(), special.into_iter().collect());
        let mut found =
            FoundChanges { repositories, special, unnamed, folders, gone_folders, ..FoundChanges::default() };
        let changed = below.changed()?;
        let in_time = || if time_limit.is_over(Grace::Changes) { Err(UnreadChanges::TimeUp) } else { Ok(()) };
        in_time()?;
        // Above planned edits, there is also what earlier commands have left.
        let later = match (&self.kind, &before.0) {
            (Kind::Mounted(_), Some(before)) => {
                found.folders.retain(|folder| !before.has_folder(folder));
                Some(before.touched(self.disk.path())?.files)
            }
            _ => None,
        };
        let is_later = |path: &WorkspacePath| later.as_ref().is_none_or(|later| later.contains(path));
        let mut rules: Option<(WorkspacePath, Exclusion)> = None;
        let (mut to_read, mut bytes) = (Vec::new(), 0);
        for path in files {
            in_time()?;
            let folder = path.parent().unwrap_or_else(WorkspacePath::root);
            let (_, known) = match &mut rules {
                Some(known) if known.0 == folder => known,
                other => {
                    let now = GitIgnoreRules::collect(&folder, |path| below.state(path).ok()?);
                    let original = GitIgnoreRules::collect(&folder, |path| below.original(path).ok()?);
                    other.insert((folder, Exclusion { original, now }))
                }
            };
            let belongs = || self.tracked.contains(&path) || changed.contains(&path);
            if known.is_output(&path) && !belongs() {
                if is_later(&path) {
                    found.outputs.push(path);
                }
                continue;
            }
            self.applied.insert(path.clone());
            match self.size(&path) {
                large if large > MAX_FILE => found.large.push(path),
                size => {
                    bytes += size + below.size(&path);
                    to_read.push(path);
                }
            }
        }
        if bytes > MAX_CHANGED {
            return Err(UnreadChanges::TooMuch { files: to_read, bytes });
        }
        for path in to_read {
            in_time()?;
            let (before, after) = (below.state(&path)?, self.state(&path)?);
            found.changes.extend(FileChange::new(path, before, after));
        }
        Ok(found)
    }

    /// Removes from an overlay above planned edits what a command left there, of which nothing is kept. Of what others had
    /// left, files that it changed are removed as well: builds create them again. The next update reverts files of the project.
    pub fn forget(&self, before: &Before) -> Result<(), FileError> {
        match (&self.kind, &before.0) {
            (Kind::Mounted(_), Some(before)) => {
                before.remove_later(&self.disk, &|path| self.applied.contains(path))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a command left something at a path.
    pub fn has(&self, path: &WorkspacePath) -> bool {
        self.state(path).is_ok_and(|state| state.is_some())
    }

    /// Removes the new folders without files, which are none of what a build leaves behind.
    pub fn forget_folders(&self, found: &FoundChanges) {
        self.disk.remove_empty(&found.folders.iter().cloned().collect::<Vec<_>>());
    }

    /// Returns whether a command left a link at a path.
    pub fn has_link(&self, path: &WorkspacePath) -> bool {
        self.disk.entry(path).ok().flatten().is_some_and(|entry| entry.metadata.is_symlink())
    }

    /// Returns the path of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Fails if a change is at, above or below something that could not be read: the command did not see it, and it would
    /// be lost.
    fn spares_unreadable(&self, path: &WorkspacePath) -> Result<(), FileError> {
        let changed = Path::new(path.as_str());
        let meets = |unreadable: &PathBuf| changed.starts_with(unreadable) || unreadable.starts_with(changed);
        if self.unreadable.iter().any(meets) {
            return Err(FileError::Io { path: path.clone(), error: io::ErrorKind::PermissionDenied.into() });
        }
        Ok(())
    }

    /// Returns whether a file that a command wrote is as it was: something that is built or installed again often is.
    pub fn is_as_below(&self, path: &WorkspacePath, below: &BaseState) -> bool {
        // Most of what is installed was not there, which is known without reading it.
        below.state(path).is_ok_and(|before| {
            (before.is_some() || !self.has_entry(path)) && self.state(path).is_ok_and(|now| before == now)
        })
    }

    /// Returns whether there was a file before a command, other than in a cache.
    pub fn was_there(&self, path: &WorkspacePath, below: &BaseState) -> bool {
        !path.names().any(|name| name == ".cache") && below.state(path).is_ok_and(|state| state.is_some())
    }

    fn has_entry(&self, path: &WorkspacePath) -> bool {
        !matches!(self.disk.entry(path), Ok(None))
    }

    /// Returns which folders are of tools, for what a command changed.
    pub(in crate::isolation) fn tool_folders(&self, found: &FoundChanges, below: &BaseState) -> ToolFolders {
        if found.outputs.is_empty() {
            return ToolFolders::default();
        }
        let changed = below.changed().unwrap_or_default();
        let now = found.changes.iter().map(|change| &change.path);
        ToolFolders::new(self.tracked.iter().chain(&changed).chain(now))
    }

    /// Returns the state of a file as a command left it.
    fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        // A whiteout, which marks a removed file, is not a regular file, so the result is `None`.
        self.disk.state_of(path)
    }

    /// Returns the size of a file as a command left it, in bytes; 0 if it left none.
    fn size(&self, path: &WorkspacePath) -> u64 {
        size_on(&self.disk, path)
    }
}
