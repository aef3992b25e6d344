//! A throw-away state of the checkout, where commands run: planned edits are in it, sensitive files are not, and what
//! is written to it reaches the checkout only if somebody carries it there.
//!
//! Where the kernel lets us, it is an overlay mounted above the checkout, in its very place, for the eyes of
//! the command alone: made in no time, and every absolute path stays true. Elsewhere it is a copy at another path.

mod carry;
mod copy;
mod credentials;
mod masks;
mod scratch;
mod stores;
mod turns;
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
use crate::command::sandbox::{Overlay, Reader, View};
use crate::git::Repository;
use masks::Masks;

pub use carry::CarryError;
pub(super) use copy::{copy, link};
pub use masks::{Secrets, mask_repository};
pub use scratch::{Scratch, sweep};
pub use turns::Author;

/// What lies below the state: what it is compared with.
#[derive(Clone)]
pub enum Below {
    /// The checkout with what is planned above it.
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

    /// Files that the run has changed, or plans to.
    fn changed(&self) -> Result<BTreeSet<WorkspacePath>, FileError> {
        Ok(match self {
            Self::Planned(planned) => planned.changes()?.iter().map(|change| change.path.clone()).collect(),
            Self::Real(tracked) => tracked.changed().into_iter().collect(),
        })
    }

    /// A small text file, as it was before anything of this ran.
    fn text(&self, path: &WorkspacePath) -> Option<String> {
        let state = self.state(path).ok()??;
        String::from_utf8(state.content.to_vec()).ok()
    }
}

/// The throw-away state; dropping it removes it.
pub struct Isolated {
    scratch: Scratch,
    disk: DiskWorkspace,
    kind: Kind,
    root: PathBuf,
    sensitive: Arc<PathGlobs>,
    masks: Masks,
    /// Of a copy, Git's own folder for trusted runs.
    trusted: Option<turns::Copy>,
    tracked: TrackedFiles,
    /// Paths where it may differ from what is below.
    applied: BTreeSet<WorkspacePath>,
    /// How long it took to make.
    pub took: Duration,
}

enum Kind {
    /// `disk` is the upper folder.
    Mounted(Overlay),
    /// `disk` is the copy.
    Copied,
}

/// What there was before a command, where that has to be known.
pub struct Before(Option<BTreeMap<PathBuf, Stamp>>);

/// What a command touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) files: BTreeSet<WorkspacePath>,
    /// New folders that hold nothing.
    folders: BTreeSet<WorkspacePath>,
    /// Folders that are gone, or were made anew.
    gone_folders: BTreeSet<WorkspacePath>,
    /// Repositories of their own.
    pub(super) repositories: BTreeSet<WorkspacePath>,
    /// How many things whose names are no text.
    pub(super) unnamed: usize,
}

/// What a command changed against what is below.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Files that belong to the project, sorted by path.
    pub changes: Vec<FileChange>,
    /// Such files that are too large to be held in memory.
    pub large: Vec<WorkspacePath>,
    /// Files that ignore files exclude: what builds leave behind.
    pub outputs: Vec<WorkspacePath>,
    /// Repositories that it made, which are not kept.
    pub repositories: Vec<WorkspacePath>,
    /// How many things whose names are no text; they are not kept.
    pub unnamed: usize,
    folders: BTreeSet<WorkspacePath>,
    gone_folders: BTreeSet<WorkspacePath>,
}

impl Outcome {
    /// What a build left behind, and nothing else.
    #[must_use]
    pub fn outputs_alone(&self) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::default() }
    }
}

/// Why there is no throw-away state.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// A file could not be copied.
    #[error("the checkout could not be copied for an isolated run: {path}: {error}")]
    Copy {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Git's own folder could not be put in its place.
    #[error("Git's own folder could not be made ready for an isolated run: {0}")]
    Git(io::Error),
    /// The planned edits could not be written to it.
    #[error("the planned edits could not be written for an isolated run: {0}")]
    Update(#[from] FileError),
}

/// What a state is made of.
#[derive(Clone)]
pub struct Plot {
    /// The checkout.
    pub root: PathBuf,
    /// Where throw-away folders go.
    pub temp: PathBuf,
    /// Files that are not there for commands.
    pub sensitive: Arc<PathGlobs>,
    /// Files that Git tracks.
    pub tracked: TrackedFiles,
    /// The repository.
    pub repository: Option<Repository>,
}

/// Files that Git tracks, listed when first asked for: a rule of an ignore file says nothing about them.
pub type TrackedFiles =
    Arc<LazyLock<BTreeSet<WorkspacePath>, Box<dyn FnOnce() -> BTreeSet<WorkspacePath> + Send>>>;

impl Isolated {
    /// Makes the folders for an overlay above the checkout; mounting is for whoever runs commands.
    /// `None` where paths cannot be told to the kernel.
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

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn mounted(_: &Plot) -> Option<Self> {
        None
    }

    /// Copies the checkout.
    pub fn copied(plot: &Plot) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |(path, error): (PathBuf, io::Error)| IsolationError::Copy { path, error };
        let scratch = Scratch::new(&plot.temp).map_err(|error| failed((plot.temp.clone(), error)))?;
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("kept")).map_err(|error| failed((at("kept"), error)))?;
        let masks = Masks::make(plot, at("masks")).map_err(|error| failed((at("masks"), error)))?;
        let to = at("copy");
        copy::copy(&plot.root, &to, &|path| masks.sensitive.contains(path)).map_err(failed)?;
        for entry in masks.entries() {
            masks.lay(entry, &to.join(entry)).map_err(failed)?;
        }
        let disk = DiskWorkspace::open(&to).map_err(|error| failed((to, error)))?;
        Ok(Self::new(plot, scratch, disk, Kind::Copied, masks, started))
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
            trusted: None,
            tracked: Arc::clone(&plot.tracked),
            applied: BTreeSet::new(),
            took: started.elapsed(),
        }
    }

    /// Repositories of the checkout that commands do not see: their history holds what they must not see, and could not
    /// be had without.
    pub fn unseen_repositories(&self) -> &[PathBuf] {
        &self.masks.unseen
    }

    /// Where commands run.
    pub fn path(&self) -> &Path {
        match &self.kind {
            Kind::Mounted(_) => &self.root,
            Kind::Copied => self.disk.path(),
        }
    }

    /// What commands see there.
    pub fn view(&self) -> View<'_> {
        match &self.kind {
            Kind::Mounted(overlay) => View::Overlay(overlay),
            Kind::Copied => View::Plain { writable: true },
        }
    }

    /// Makes folders ones that can be renamed in one step, as `git mv` does: an overlay refuses that for folders that
    /// lie below.
    pub fn make_movable(&mut self, folders: &[WorkspacePath]) -> io::Result<()> {
        #[cfg(unix)]
        if let Kind::Mounted(overlay) = &self.kind {
            for folder in folders {
                upper::unfold(&overlay.upper, &self.root, folder, &self.masks.sensitive)?;
            }
        }
        Ok(())
    }

    /// What somebody sees who changes nothing, while others may be in the state; `None` where that cannot be.
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

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn reader(&self, _: Author) -> Option<Reader> {
        None
    }

    /// Bytes that it takes on disk.
    pub fn bytes(&self) -> u64 {
        self.scratch.bytes()
    }

    /// Brings it up to date with what is below.
    pub fn update(&mut self, below: &Below) -> Result<(), IsolationError> {
        match below {
            Below::Planned(planned) => self.update_planned(planned),
            Below::Real(tracked) => self.update_real(tracked),
        }
    }

    /// Writes the planned edits to it, as far as they are not there, and takes back what is not planned.
    fn update_planned(&mut self, planned: &OverlayWorkspace) -> Result<(), IsolationError> {
        let changes = planned.changes()?;
        let wanted: BTreeSet<WorkspacePath> = changes.iter().map(|change| change.path.clone()).collect();
        for path in self.applied.difference(&wanted) {
            let state = planned.state(path)?;
            self.put(path, state.as_ref(), state.as_ref())?;
        }
        // What goes makes room for what comes.
        let (gone, there): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.after.is_none());
        for change in gone.into_iter().chain(there) {
            self.put(&change.path, change.after.as_ref(), change.before.as_ref())?;
        }
        self.applied.extend(wanted);
        Ok(())
    }

    /// An overlay shows the checkout as it is; a copy needs what was changed since.
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

    /// Makes one file what it should be; `below` is what the checkout holds.
    fn put(
        &self,
        path: &WorkspacePath,
        state: Option<&FileState>,
        below: Option<&FileState>,
    ) -> Result<(), FileError> {
        match &self.kind {
            Kind::Copied => {
                let path = ResolvedPath(path.clone());
                // What is too large to be compared is another one.
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

    /// Looks before a command.
    pub fn before(&self) -> Result<Before, FileError> {
        let is_copied = matches!(self.kind, Kind::Copied);
        Ok(Before(is_copied.then(|| watch::stamps(self.disk.path())).transpose()?))
    }

    /// What a command has changed against what is below. Which files belong to the project is told by the ignore
    /// files of before, and by what Git tracks.
    pub fn found(&mut self, before: Before, below: &Below) -> Result<Outcome, FileError> {
        let touched = match &self.kind {
            Kind::Copied => watch::touched(self.disk.path(), &before.0.unwrap_or_default())?,
            #[cfg(unix)]
            Kind::Mounted(overlay) => {
                upper::touched(&overlay.upper, &self.root, below, &self.masks.sensitive)?
            }
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

    /// A file as a command has left it.
    fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        // What marks a file as gone is no regular file, so there is none.
        self.disk.state_of(path)
    }

    fn is_large(&self, path: &WorkspacePath) -> bool {
        let metadata = fs::symlink_metadata(self.disk.path().join(path.as_str()));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > MAX_FILE)
    }

    /// Whether a rule keeps commands from a file of this name.
    pub fn is_sensitive(&self, path: &WorkspacePath) -> bool {
        self.sensitive.find(path).is_some()
    }

    /// Whether a path names a file that is hidden from commands.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.masks.sensitive.contains(path)
    }
}
