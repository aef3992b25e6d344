//! Isolated state: a throw-away state of the checkout on which commands run. It contains planned edits and no
//! sensitive files, and what is written to it reaches the checkout only through an explicit transfer
//! ([`Isolated::carry`]).
//!
//! Where the kernel allows it, the state is an overlay mounted on the checkout's own path, visible to the
//! command alone: it takes no time to create, and every absolute path stays valid. Elsewhere it is a copy at
//! another path.

mod carry;
mod copy;
mod credentials;
mod scratch;
#[cfg(unix)]
mod upper;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::ignored::IgnoreRules;
use super::overlay::OverlayWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::snapshot::Stamp;
use super::tracked::TrackedWorkspace;
use super::{FileError, MAX_FILE, PathGlobs, Workspace, watch};
use crate::command::sandbox::{Overlay, View};
use crate::git::{GitError, Repository};

pub use carry::CarryError;
pub(super) use copy::{copy, link};
pub use credentials::{holds_credentials, withhold};
pub use scratch::{Scratch, sweep};

/// The state that the isolated state is based on, and compared with.
#[derive(Clone)]
pub enum Below {
    /// The checkout with the planned edits above it.
    Planned(Arc<OverlayWorkspace>),
    /// The checkout itself.
    Real(Arc<TrackedWorkspace>),
}

impl Below {
    fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        match self {
            Self::Planned(planned) => planned.state(path),
            Self::Real(tracked) => tracked.disk().state_of(path),
        }
    }

    /// Returns the files that the run has changed, or plans to change.
    fn changed(&self) -> Result<BTreeSet<WorkspacePath>, FileError> {
        Ok(match self {
            Self::Planned(planned) => planned.changes()?.iter().map(|change| change.path.clone()).collect(),
            Self::Real(tracked) => tracked.changed().into_iter().collect(),
        })
    }

    /// Returns the text of a file, as it was before the command; `None` if it is too large or not UTF-8.
    fn text(&self, path: &WorkspacePath) -> Option<String> {
        let state = self.state(path).ok()??;
        String::from_utf8(state.content.to_vec()).ok()
    }
}

/// A throw-away state of the checkout; dropping it removes it.
pub struct Isolated {
    scratch: Scratch,
    disk: DiskWorkspace,
    kind: Kind,
    root: PathBuf,
    sensitive: Arc<PathGlobs>,
    /// Sensitive files, which do not exist for commands.
    hidden: BTreeSet<WorkspacePath>,
    tracked: TrackedFiles,
    /// Paths at which the state may differ from what is below.
    applied: BTreeSet<WorkspacePath>,
    /// Whether commands see no repository, because its history contains what they must not see and could not
    /// be provided without it.
    pub git_is_hidden: bool,
    /// The time that creation took.
    pub took: Duration,
}

enum Kind {
    /// An overlay mount; `disk` is its upper folder.
    Mounted(Overlay),
    /// A copy; `disk` is the copy.
    Copied,
}

/// The metadata of all files before a command; only a copy needs it to find changes.
pub struct Before(Option<BTreeMap<PathBuf, Stamp>>);

/// The paths that a command touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) files: BTreeSet<WorkspacePath>,
    /// New folders without files.
    folders: BTreeSet<WorkspacePath>,
    /// Folders that are gone, or were replaced.
    gone_folders: BTreeSet<WorkspacePath>,
    /// Git folders other than the checkout's own.
    pub(super) repositories: BTreeSet<WorkspacePath>,
    /// The number of entries whose names are not UTF-8.
    pub(super) unnamed: usize,
}

/// What a command changed, compared with what is below.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Changes to files that belong to the project.
    pub changes: Vec<FileChange>,
    /// Changed files of the project that are too large to be held in memory.
    pub large: Vec<WorkspacePath>,
    /// Changed files that ignore files exclude: what builds leave behind.
    pub outputs: Vec<WorkspacePath>,
    /// Git folders of repositories that the command created, which are not kept.
    pub repositories: Vec<WorkspacePath>,
    /// The number of entries whose names are not UTF-8; they are not kept.
    pub unnamed: usize,
    folders: BTreeSet<WorkspacePath>,
    gone_folders: BTreeSet<WorkspacePath>,
}

impl Outcome {
    /// Returns the build outputs alone, without the other changes.
    #[must_use]
    pub fn outputs_alone(&self) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::default() }
    }
}

/// Reasons why there is no usable isolated state.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// A file that could not be copied.
    #[error("could not copy the checkout for an isolated run: {path}: {error}")]
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Planned edits that could not be written to the state, or files that could not be read.
    #[error("could not write the planned edits for an isolated run: {0}")]
    Update(#[from] FileError),
}

/// What an isolated state is created from.
#[derive(Clone)]
pub struct Plot {
    /// The path of the checkout.
    pub root: PathBuf,
    /// The folder for throw-away folders.
    pub temp: PathBuf,
    /// Patterns for files that do not exist for commands.
    pub sensitive: Arc<PathGlobs>,
    /// The files that Git tracks.
    pub tracked: TrackedFiles,
    /// The repository of the checkout, if there is one.
    pub repository: Option<Repository>,
}

impl Plot {
    /// Writes to `to` what commands see of the Git folder if sensitive files were committed. Returns whether
    /// that includes objects.
    fn withhold(&self, to: &Path) -> Result<bool, GitError> {
        // For a worktree or a subfolder of a repository, the Git folder is elsewhere.
        let is_here = self.root.join(".git").is_dir() && !self.sensitive.is_empty();
        let Some(repository) = self.repository.as_ref().filter(|_| is_here) else {
            return Ok(false);
        };
        let is_withheld =
            |name: &str| WorkspacePath::parse(name).is_ok_and(|path| self.sensitive.find(&path).is_some());
        repository.withhold(&is_withheld, to)
    }
}

/// The files that Git tracks, listed on first use: ignore rules do not apply to them.
pub type TrackedFiles =
    Arc<LazyLock<BTreeSet<WorkspacePath>, Box<dyn FnOnce() -> BTreeSet<WorkspacePath> + Send>>>;

impl Isolated {
    /// Creates the folders for an overlay above the checkout; it is mounted by whoever runs a command.
    /// Returns `None` if a folder cannot be created, or if a path cannot be written in the kernel's mount
    /// options.
    #[cfg(unix)]
    pub fn mounted(plot: &Plot) -> Option<Self> {
        let started = Instant::now();
        let scratch = Scratch::new(&plot.temp).ok()?;
        let overlay = Overlay {
            lower: plot.root.clone(),
            upper: scratch.path().join("upper"),
            work: scratch.path().join("work"),
        };
        let paths = [&overlay.lower, &overlay.upper, &overlay.work];
        if paths.iter().any(|path| path.to_str().is_none_or(|path| path.contains([',', ':', '\\']))) {
            return None;
        }
        fs::create_dir(&overlay.upper).and_then(|()| fs::create_dir(&overlay.work)).ok()?;
        let disk = DiskWorkspace::open(&overlay.upper).ok()?;
        let hidden = sensitive_files(plot);
        hidden.iter().try_for_each(|path| upper::hide(&overlay.upper, path)).ok()?;
        let (git, above) = (plot.root.join(".git"), overlay.upper.join(".git"));
        if git.is_dir() {
            credentials::withhold(&git, &above).ok()?;
        }
        let git_is_hidden = match plot.withhold(&above) {
            Ok(true) => upper::hide_below(&above.join("objects")).is_err(),
            Ok(false) => false,
            Err(_) => true,
        };
        if git_is_hidden {
            scratch::remove(&above);
            upper::hide(&overlay.upper, &WorkspacePath::root().child(".git")).ok()?;
        }
        Some(Self {
            scratch,
            disk,
            kind: Kind::Mounted(overlay),
            root: plot.root.clone(),
            sensitive: Arc::clone(&plot.sensitive),
            hidden,
            git_is_hidden,
            tracked: Arc::clone(&plot.tracked),
            applied: BTreeSet::new(),
            took: started.elapsed(),
        })
    }

    /// Returns `None`: other systems have no overlays.
    #[cfg(not(unix))]
    pub fn mounted(_: &Plot) -> Option<Self> {
        None
    }

    /// Creates a copy of the checkout.
    pub fn copied(plot: &Plot) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |path: &Path, error| IsolationError::Copy { path: path.to_owned(), error };
        let scratch = Scratch::new(&plot.temp).map_err(|error| failed(&plot.temp, error))?;
        let to = scratch.path().join("copy");
        let hidden = sensitive_files(plot);
        copy::copy(&plot.root, &to, &|path| hidden.contains(path))
            .map_err(|(path, error)| failed(&path, error))?;
        let git = to.join(".git");
        if git.is_dir() {
            credentials::withhold(&git, &git).map_err(|error| failed(&git, error))?;
        }
        let above = scratch.path().join("git");
        let git_is_hidden = match plot.withhold(&above) {
            Ok(true) => {
                scratch::remove(&git.join("objects"));
                fs::rename(above.join("objects"), git.join("objects")).is_err()
            }
            Ok(false) => false,
            Err(_) => true,
        };
        if above.join("index").exists() {
            fs::rename(above.join("index"), git.join("index")).map_err(|error| failed(&git, error))?;
        }
        if git_is_hidden {
            scratch::remove(&git);
        }
        let disk = DiskWorkspace::open(&to).map_err(|error| failed(&to, error))?;
        Ok(Self {
            scratch,
            disk,
            kind: Kind::Copied,
            root: plot.root.clone(),
            sensitive: Arc::clone(&plot.sensitive),
            hidden,
            git_is_hidden,
            tracked: Arc::clone(&plot.tracked),
            applied: BTreeSet::new(),
            took: started.elapsed(),
        })
    }

    /// Returns the path at which commands see the checkout.
    pub fn path(&self) -> &Path {
        match &self.kind {
            Kind::Mounted(_) => &self.root,
            Kind::Copied => self.disk.path(),
        }
    }

    /// Returns what has to be mounted there for commands.
    pub fn view(&self) -> View<'_> {
        match &self.kind {
            Kind::Mounted(overlay) => View::Overlay(overlay),
            Kind::Copied => View::Plain { writable: true },
        }
    }

    /// Makes it possible to rename folders in one step, as `git mv` does: an overlay refuses that for folders
    /// that are in its lower layer, so they are copied to the upper one.
    pub fn make_movable(&mut self, folders: &[WorkspacePath]) -> io::Result<()> {
        #[cfg(unix)]
        if let Kind::Mounted(overlay) = &self.kind {
            for folder in folders {
                upper::unfold(&overlay.upper, &overlay.lower, folder, &self.hidden)?;
            }
        }
        Ok(())
    }

    /// Returns an overlay for a command that changes nothing while others use the state; `None` for a copy.
    pub fn reader(&self) -> Option<Overlay> {
        match &self.kind {
            Kind::Mounted(overlay) => Some(overlay.clone()),
            Kind::Copied => None,
        }
    }

    /// Returns the size of the state on disk, in bytes.
    pub fn bytes(&self) -> u64 {
        self.scratch.bytes()
    }

    /// Brings the state up to date with what is below.
    pub fn update(&mut self, below: &Below) -> Result<(), IsolationError> {
        match below {
            Below::Planned(planned) => self.update_planned(planned),
            Below::Real(tracked) => self.update_real(tracked),
        }
    }

    /// Writes the planned edits that are missing, and reverts what is not planned.
    fn update_planned(&mut self, planned: &OverlayWorkspace) -> Result<(), IsolationError> {
        let changes = planned.changes()?;
        let wanted: BTreeSet<WorkspacePath> = changes.iter().map(|change| change.path.clone()).collect();
        for path in self.applied.difference(&wanted) {
            let state = planned.state(path)?;
            self.put(path, state.as_ref(), state.as_ref())?;
        }
        // Removed files make room for new ones.
        let (gone, there): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.after.is_none());
        for change in gone.into_iter().chain(there) {
            self.put(&change.path, change.after.as_ref(), change.before.as_ref())?;
        }
        self.applied.extend(wanted);
        Ok(())
    }

    /// Writes what the run has changed since to a copy. An overlay shows the checkout as it is.
    fn update_real(&self, tracked: &TrackedWorkspace) -> Result<(), IsolationError> {
        if matches!(self.kind, Kind::Mounted(_)) {
            return Ok(());
        }
        let (gone, there): (Vec<_>, Vec<_>) = tracked
            .changed()
            .into_iter()
            .filter(|path| !self.hidden.contains(path))
            .map(|path| Ok((path.clone(), tracked.disk().state_of(&path)?)))
            .collect::<Result<Vec<_>, FileError>>()?
            .into_iter()
            .partition(|(_, state)| state.is_none());
        for (path, state) in gone.into_iter().chain(there) {
            self.put(&path, state.as_ref(), None)?;
        }
        Ok(())
    }

    /// Restores one file to `state`; `below` is its state in the checkout.
    fn put(
        &self,
        path: &WorkspacePath,
        state: Option<&FileState>,
        below: Option<&FileState>,
    ) -> Result<(), FileError> {
        match &self.kind {
            Kind::Copied => {
                let path = ResolvedPath(path.clone());
                // A file that is too large to be compared counts as different.
                if self.disk.state(&path).is_ok_and(|now| now.as_ref() == state) {
                    Ok(())
                } else {
                    self.disk.restore(&path, state)
                }
            }
            #[cfg(unix)]
            Kind::Mounted(overlay) => upper::put(&self.disk, &overlay.upper, path, state, below),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }

    /// Records what an unmounted state needs to find the changes of the next command.
    pub fn before(&self) -> Result<Before, FileError> {
        let is_copied = matches!(self.kind, Kind::Copied);
        Ok(Before(is_copied.then(|| watch::stamps(self.disk.path())).transpose()?))
    }

    /// Returns what a command has changed, compared with what is below. Whether a file belongs to the project
    /// is decided by the ignore files from before the command, and by what Git tracks.
    pub fn found(&mut self, before: Before, below: &Below) -> Result<Outcome, FileError> {
        let touched = match &self.kind {
            Kind::Copied => watch::touched(self.disk.path(), &before.0.unwrap_or_default())?,
            #[cfg(unix)]
            Kind::Mounted(overlay) => upper::touched(&overlay.upper, &overlay.lower, below, &self.hidden)?,
            #[cfg(not(unix))]
            Kind::Mounted(_) => Touched::default(),
        };
        let Touched { files, folders, gone_folders, repositories, unnamed } = touched;
        let repositories = repositories.into_iter().collect();
        let mut found = Outcome { repositories, unnamed, folders, gone_folders, ..Outcome::default() };
        let changed = below.changed()?;
        let mut rules: Option<(WorkspacePath, IgnoreRules)> = None;
        for path in files {
            let folder = path.parent().unwrap_or_else(WorkspacePath::root);
            let (_, known) = match &mut rules {
                Some(known) if known.0 == folder => known,
                other => {
                    let collected = IgnoreRules::collect(&folder, |path| below.text(path));
                    other.insert((folder, collected))
                }
            };
            let belongs = || self.tracked.contains(&path) || changed.contains(&path);
            if known.excludes(&path, false) && !belongs() {
                found.outputs.push(path);
                continue;
            }
            if self.is_large(&path) {
                self.applied.insert(path.clone());
                found.large.push(path);
                continue;
            }
            let before = below.state(&path)?;
            let after = self.state(&path)?;
            self.applied.insert(path.clone());
            found.changes.extend(FileChange::new(path, before, after));
        }
        Ok(found)
    }

    /// Returns the state of a file as a command left it.
    fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        // A whiteout, which marks a removed file, is not a regular file, so the result is `None`.
        self.disk.state_of(path)
    }

    fn is_large(&self, path: &WorkspacePath) -> bool {
        let metadata = fs::symlink_metadata(self.disk.path().join(path.as_str()));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > MAX_FILE)
    }

    /// Returns whether a path matches the patterns for sensitive files.
    pub fn is_sensitive(&self, path: &WorkspacePath) -> bool {
        self.sensitive.find(path).is_some()
    }

    /// Returns whether a path names a file that is hidden from commands.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.hidden.contains(path)
    }
}

/// Lists the sensitive files of the checkout, including ignored ones.
fn sensitive_files(plot: &Plot) -> BTreeSet<WorkspacePath> {
    if plot.sensitive.is_empty() {
        return BTreeSet::new();
    }
    let walk = ignore::WalkBuilder::new(&plot.root)
        .standard_filters(false)
        .filter_entry(|entry| entry.depth() != 1 || entry.file_name() != ".git")
        .build();
    let sensitive = |entry: ignore::DirEntry| {
        let relative = entry.path().strip_prefix(&plot.root).ok()?.to_str()?;
        let path = WorkspacePath::parse(relative).ok()?;
        let is_file = entry.depth() > 0 && entry.file_type().is_some_and(|kind| !kind.is_dir());
        (is_file && plot.sensitive.find(&path).is_some()).then_some(path)
    };
    walk.flatten().filter_map(sensitive).collect()
}
