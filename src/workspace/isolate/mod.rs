//! Isolated state: a throw-away state of the checkout on which commands run. It contains planned edits and no
//! sensitive files, and what is written to it reaches the checkout only through an explicit transfer
//! ([`Isolated::carry`]).
//!
//! Where the kernel allows it, the state is an overlay mounted on the checkout's own path, visible to the
//! command alone: it takes no time to create, and every absolute path stays valid. Elsewhere it is a copy at
//! another path.

mod around;
mod carry;
mod copy;
mod credentials;
mod masks;
mod scratch;
mod stores;
mod turns;
#[cfg(unix)]
mod upper;
#[cfg(unix)]
mod upper_changes;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::ignored::{Exclusion, IgnoreRules};
use super::inventory::Inventory;
use super::overlay::OverlayWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::tracked::TrackedWorkspace;
use super::{FileError, MAX_FILE, PathGlobs, Workspace};
use crate::command::sandbox::{Overlay, Reader, View};
use crate::git::Repository;
use masks::Masks;

pub use carry::CarryError;
pub(super) use copy::{copy_all, copy_between, copy_file, link, link_in};
pub use masks::{Secrets, mask_repository};
pub use scratch::{Scratch, sweep};
pub use stores::nested_repositories;
pub use turns::Author;

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
        text(&self.state(path).ok()??)
    }

    /// Returns the text of a file, as it was before the run.
    fn original_text(&self, path: &WorkspacePath) -> Option<String> {
        let state = match self {
            Self::Planned(planned) => planned.original(path),
            Self::Real(tracked) => tracked.original(path),
        };
        text(&state.ok()??)
    }
}

fn text(state: &FileState) -> Option<String> {
    String::from_utf8(state.content.to_vec()).ok()
}

/// A throw-away state of the checkout; dropping it removes it.
pub struct Isolated {
    scratch: Scratch,
    disk: DiskWorkspace,
    kind: Kind,
    root: PathBuf,
    sensitive: Arc<PathGlobs>,
    masks: Masks,
    /// Of a copy, the repository around it.
    around: Option<around::Around>,
    /// Of a copy, Git's own folders for trusted runs: that of the checkout, and that of the repository around it.
    trusted: [Option<turns::Copy>; 2],
    tracked: TrackedFiles,
    /// Paths at which the state may differ from what is below.
    applied: BTreeSet<WorkspacePath>,
    /// Files and folders of the checkout that this user cannot read, and that are missing from a copy.
    pub unreadable: BTreeSet<PathBuf>,
    /// How long it took to make.
    pub took: Duration,
}

enum Kind {
    /// An overlay mount; `disk` is its upper folder.
    Mounted(Overlay),
    /// A copy; `disk` is the copy.
    Copied,
}

/// The metadata of all files before a command; only a copy needs it to find changes.
pub struct Before(Option<Inventory>);

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
    /// Pipes, sockets and devices; each is among the files as well, because it may stand where one was.
    pub(super) special: BTreeSet<WorkspacePath>,
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
    /// Pipes, sockets and devices, which are removed.
    pub special: Vec<WorkspacePath>,
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
    /// Git's own folder could not be put in its place.
    #[error("Git's own folder could not be made ready for an isolated run: {0}")]
    Git(io::Error),
    /// A folder for a command beside others that could not be created.
    #[error("could not make room for a command in the background: {0}")]
    Beside(io::Error),
    /// A machine on which no overlay can be mounted, so that only one command can run at a time.
    #[error(
        "commands cannot run in the background here, because no overlay can be mounted; start the server and its \
         client in one command, as in `server & client; kill %1`"
    )]
    NoOverlay,
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
    /// The root of the repository, if the checkout is a subfolder of it.
    pub around: Option<PathBuf>,
}

/// Files that Git tracks, listed when first asked for: a rule of an ignore file says nothing about them.
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
        let at = |name: &str| scratch.path().join(name);
        let lowers = vec![at("masks"), plot.root.clone()];
        let overlay = Overlay { lowers, upper: at("upper"), work: at("work") };
        let paths = overlay.lowers.iter().chain([&overlay.upper, &overlay.work]);
        if paths.into_iter().any(|path| path.to_str().is_none_or(|path| path.contains([',', ':', '\\']))) {
            return None;
        }
        for folder in [&overlay.upper, &overlay.work, &at("kept")] {
            fs::create_dir(folder).ok()?;
        }
        let disk = DiskWorkspace::open(&overlay.upper).ok()?;
        let masks = Masks::make(plot, at("masks")).ok()?;
        masks.mark().ok()?;
        Some(Self::new(plot, scratch, disk, Kind::Mounted(overlay), masks, started))
    }

    /// Returns `None`: other systems have no overlays.
    #[cfg(not(unix))]
    pub fn mounted(_: &Plot) -> Option<Self> {
        None
    }

    /// Creates a copy of the checkout.
    pub fn copied(plot: &Plot) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |(path, error): (PathBuf, io::Error)| IsolationError::Copy { path, error };
        let scratch = Scratch::new(&plot.temp).map_err(|error| failed((plot.temp.clone(), error)))?;
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("kept")).map_err(|error| failed((at("kept"), error)))?;
        let masks = Masks::make(plot, at("masks")).map_err(|error| failed((at("masks"), error)))?;
        let around = around::Around::copied(plot, &at("copy"), at("masks-around")).map_err(failed)?;
        let to = around.as_ref().map_or_else(|| at("copy"), |around| around.workspace(plot));
        let unreadable =
            copy::copy(&plot.root, &to, &|path| masks.sensitive.contains(path)).map_err(failed)?;
        for entry in masks.entries() {
            masks.lay(entry, &to.join(entry)).map_err(failed)?;
        }
        let disk = DiskWorkspace::open(&to).map_err(|error| failed((to, error)))?;
        Ok(Self { around, unreadable, ..Self::new(plot, scratch, disk, Kind::Copied, masks, started) })
    }

    fn new(
        plot: &Plot,
        scratch: Scratch,
        disk: DiskWorkspace,
        kind: Kind,
        masks: Masks,
        started: Instant,
    ) -> Self {
        Self {
            scratch,
            disk,
            kind,
            root: plot.root.clone(),
            sensitive: Arc::clone(&plot.sensitive),
            masks,
            around: None,
            trusted: [None, None],
            tracked: Arc::clone(&plot.tracked),
            applied: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            took: started.elapsed(),
        }
    }

    /// Repositories of the checkout that commands do not see: their history holds what they must not see, and could not
    /// be had without.
    pub fn unseen_repositories(&self) -> impl Iterator<Item = &PathBuf> {
        let around = self.around.iter().flat_map(|around| &around.masks.unseen);
        self.masks.unseen.iter().chain(around)
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
            Kind::Copied => {
                let around = self.around.as_ref().map_or(self.disk.path(), |around| &around.folder);
                View::Copy { around }
            }
        }
    }

    /// Makes it possible to rename folders in one step, as `git mv` does: an overlay refuses that for folders
    /// that are in its lower layer, so they are copied to the upper one.
    pub fn make_movable(&mut self, folders: &[WorkspacePath]) -> io::Result<()> {
        #[cfg(unix)]
        if matches!(self.kind, Kind::Mounted(_)) {
            for folder in folders {
                upper::unfold(&self.disk, &self.root, folder, &self.masks)?;
            }
        }
        Ok(())
    }

    /// Returns an overlay for a command that changes nothing while others use the state; `None` for a copy.
    #[cfg(unix)]
    pub fn reader(&self, author: Author) -> Option<Reader> {
        let Kind::Mounted(overlay) = &self.kind else { return None };
        let top = match author {
            Author::Agent => self.kept(),
            // What the agent does to Git's own folders meanwhile must not be seen.
            Author::Trusted => self.scratch.path().join("guard"),
        };
        let repositories = match author {
            Author::Agent => Vec::new(),
            Author::Trusted => self.masks.guard(&self.root, &top).ok()?,
        };
        let lowers = std::iter::once(&overlay.upper).chain(&overlay.lowers).cloned().collect();
        let tree = Overlay { upper: top, lowers, work: overlay.work.clone() };
        let repository = |entry: PathBuf| {
            let lowers = vec![self.root.join(&entry)];
            let upper = self.masks.folder().join(&entry);
            (self.root.join(entry), Overlay { upper, lowers, work: overlay.work.clone() })
        };
        Some(Reader { tree, repositories: repositories.into_iter().map(repository).collect() })
    }

    /// Returns an overlay for a command that runs beside others, with what is written to it in the scratch folder
    /// `name`; `None` for a copy, which cannot be had twice.
    #[cfg(unix)]
    pub fn beside(&self, name: &str) -> io::Result<Option<Overlay>> {
        let Kind::Mounted(overlay) = &self.kind else { return Ok(None) };
        let folder = self.scratch.path().join(name);
        let (upper, work) = (folder.join("upper"), folder.join("work"));
        for folder in [&folder, &upper, &work] {
            fs::create_dir(folder)?;
        }
        // In Git's own folders, the agent's commands meet what the agent left there.
        let lowers = [self.kept(), overlay.upper.clone()].into_iter().chain(overlay.lowers.iter().cloned());
        Ok(Some(Overlay { lowers: lowers.collect(), upper, work }))
    }

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn beside(&self, _: &str) -> io::Result<Option<Overlay>> {
        Ok(None)
    }

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn reader(&self, _: Author) -> Option<Reader> {
        None
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
            .filter(|path| !self.masks.sensitive.contains(path))
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
            Kind::Mounted(_) => upper::put(&self.disk, path, state, below),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }

    /// Records what an unmounted state needs to find the changes of the next command.
    pub fn before(&self) -> Result<Before, FileError> {
        let is_copied = matches!(self.kind, Kind::Copied);
        Ok(Before(is_copied.then(|| Inventory::take(self.disk.path())).transpose()?))
    }

    /// Returns what a command has changed, compared with what is below. Whether a file belongs to the project
    /// is decided by the ignore files from before the command, and by what Git tracks.
    pub fn found(&mut self, before: Before, below: &Below) -> Result<Outcome, FileError> {
        let touched = match &self.kind {
            Kind::Copied => before.0.unwrap_or_default().touched(self.disk.path())?,
            #[cfg(unix)]
            Kind::Mounted(_) => upper_changes::touched(&self.disk, &self.root, below, &self.masks.sensitive)?,
            #[cfg(not(unix))]
            Kind::Mounted(_) => Touched::default(),
        };
        touched.files.iter().try_for_each(|path| self.spares_unreadable(path))?;
        let Touched { files, folders, gone_folders, repositories, special, unnamed } = touched;
        let (repositories, special) = (repositories.into_iter().collect(), special.into_iter().collect());
        let mut found =
            Outcome { repositories, special, unnamed, folders, gone_folders, ..Outcome::default() };
        let changed = below.changed()?;
        let mut rules: Option<(WorkspacePath, Exclusion)> = None;
        for path in files {
            let folder = path.parent().unwrap_or_else(WorkspacePath::root);
            let (_, known) = match &mut rules {
                Some(known) if known.0 == folder => known,
                other => {
                    let now = IgnoreRules::collect(&folder, |path| below.text(path));
                    let original = IgnoreRules::collect(&folder, |path| below.original_text(path));
                    other.insert((folder, Exclusion { original, now }))
                }
            };
            let belongs = || self.tracked.contains(&path) || changed.contains(&path);
            if known.is_output(&path) && !belongs() {
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

    /// Returns the state of a file as a command left it.
    fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        // A whiteout, which marks a removed file, is not a regular file, so the result is `None`.
        self.disk.state_of(path)
    }

    fn is_large(&self, path: &WorkspacePath) -> bool {
        let entry = self.disk.entry(path).ok().flatten();
        entry.is_some_and(|entry| entry.metadata.is_file() && entry.metadata.len() > MAX_FILE)
    }

    /// Returns whether a path matches the patterns for sensitive files.
    pub fn is_sensitive(&self, path: &WorkspacePath) -> bool {
        self.sensitive.find(path).is_some()
    }

    /// Returns whether a path names a file that is hidden from commands.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.masks.sensitive.contains(path)
    }
}
