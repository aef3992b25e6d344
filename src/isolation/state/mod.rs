//! Isolated state: a throw-away state of the checkout on which commands run. It contains planned edits and no
//! sensitive files, and what is written to it reaches the checkout only through an explicit transfer
//! ([`Isolated::carry`]).
//!
//! Where the kernel allows it, the state is an overlay mounted on the checkout's own path, visible to the
//! command alone: it takes no time to create, and every absolute path stays valid. Elsewhere it is a copy at
//! another path.

mod base_state;
mod carry;
mod credentials;
mod enclosing;
mod found_changes;
mod git_folders;
mod masks;
#[cfg(unix)]
mod renewal;
mod update;
#[cfg(unix)]
mod upper;
#[cfg(unix)]
mod upper_changes;
#[cfg(unix)]
mod whiteout;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use workspace::{DiskWorkspace, FileError, Scratch, SensitiveFiles, TrackedFiles, WorkspacePath};

use crate::command::sandbox::{Overlay, Reader, View};
use crate::git::Repository;
use crate::plan::JournalFolder;
use masks::Masks;

pub use base_state::BaseState;
pub use carry::CarryError;
pub use found_changes::{Before, FoundChanges};
pub use git_folders::Author;
pub use masks::{Secrets, mask_repository};

/// A throw-away state of the checkout; dropping it removes it.
pub struct Isolated {
    scratch: Scratch,
    disk: DiskWorkspace,
    kind: Kind,
    root: PathBuf,
    sensitive: Arc<SensitiveFiles>,
    masks: Masks,
    /// Of a copy, the repository around it.
    around: Option<enclosing::EnclosingCopy>,
    /// Of a copy, Git's own folders for trusted runs: that of the checkout, and that of the repository around it.
    trusted: [Option<git_folders::Copy>; 2],
    tracked: TrackedFiles,
    journal: JournalFolder,
    /// Paths at which the state may differ from what is below.
    applied: BTreeSet<WorkspacePath>,
    /// Number of upper folders that were renewed.
    #[cfg(unix)]
    renewals: u32,
    /// Renewed upper folders that commands may still see.
    #[cfg(unix)]
    retired: Vec<renewal::RetiredUpper>,
    /// Held by whoever runs above the upper folder.
    #[cfg(unix)]
    lease: Arc<()>,
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
    #[error("could not prepare the `.git` folder for an isolated run: {0}")]
    Git(io::Error),
    /// A folder for a command beside others that could not be created.
    #[error("could not prepare a state for a background command: {0}")]
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
pub struct IsolationSource {
    /// The path of the checkout.
    pub root: PathBuf,
    /// The folder for throw-away folders.
    pub temp: PathBuf,
    /// Files that do not exist for commands.
    pub sensitive: Arc<SensitiveFiles>,
    /// The files that Git tracks.
    pub tracked: TrackedFiles,
    /// The repository of the checkout, if there is one.
    pub repository: Option<Repository>,
    /// The root of the repository, if the checkout is a subfolder of it.
    pub around: Option<PathBuf>,
    /// Whether commands see folders of another checkout in it, where an overlay can be mounted.
    pub shares_folders: bool,
    /// Where the journal lies while what a command changed is carried into the checkout.
    pub journal: JournalFolder,
}

impl Isolated {
    /// Creates the folders for an overlay above the checkout; it is mounted by whoever runs a command.
    /// Returns `None` if a folder cannot be created, or if a path cannot be written in the kernel's mount
    /// options.
    #[cfg(unix)]
    pub fn mounted(source: &IsolationSource) -> Option<Self> {
        let started = Instant::now();
        let scratch = Scratch::new(&source.temp).ok()?;
        let at = |name: &str| scratch.path().join(name);
        let lowers = vec![at("masks"), source.root.clone()];
        let overlay = Overlay { lowers, upper: at("upper"), work: at("work") };
        let paths = overlay.lowers.iter().chain([&overlay.upper, &overlay.work]);
        if paths.into_iter().any(|path| path.to_str().is_none_or(|path| path.contains([',', ':', '\\']))) {
            return None;
        }
        for folder in [&overlay.upper, &overlay.work, &at("kept")] {
            fs::create_dir(folder).ok()?;
        }
        let disk = DiskWorkspace::open(&overlay.upper).ok()?;
        let masks = Masks::make(source, at("masks")).ok()?;
        masks.mark().ok()?;
        Some(Self::new(source, scratch, disk, Kind::Mounted(overlay), masks, started))
    }

    /// Returns `None`: other systems have no overlays.
    #[cfg(not(unix))]
    pub fn mounted(_: &IsolationSource) -> Option<Self> {
        None
    }

    /// Creates a copy of the checkout.
    pub fn copied(source: &IsolationSource) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |(path, error): (PathBuf, io::Error)| IsolationError::Copy { path, error };
        let scratch = Scratch::new(&source.temp).map_err(|error| failed((source.temp.clone(), error)))?;
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("kept")).map_err(|error| failed((at("kept"), error)))?;
        let masks = Masks::make(source, at("masks")).map_err(|error| failed((at("masks"), error)))?;
        let around =
            enclosing::EnclosingCopy::copied(source, &at("copy"), at("masks-around")).map_err(failed)?;
        let to = around.as_ref().map_or_else(|| at("copy"), |around| around.workspace(source));
        let unreadable = workspace::copy::copy(&source.root, &to, &|path| masks.sensitive.contains(path))
            .map_err(failed)?;
        for entry in masks.entries() {
            masks.lay(entry, &to.join(entry)).map_err(failed)?;
        }
        let disk = DiskWorkspace::open(&to).map_err(|error| failed((to, error)))?;
        Ok(Self { around, unreadable, ..Self::new(source, scratch, disk, Kind::Copied, masks, started) })
    }

    fn new(
        source: &IsolationSource,
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
            root: source.root.clone(),
            sensitive: Arc::clone(&source.sensitive),
            masks,
            around: None,
            trusted: [None, None],
            tracked: Arc::clone(&source.tracked),
            journal: source.journal.clone(),
            applied: BTreeSet::new(),
            #[cfg(unix)]
            renewals: 0,
            #[cfg(unix)]
            retired: Vec::new(),
            #[cfg(unix)]
            lease: Arc::default(),
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
            Author::Agent | Author::Assistant => self.kept(),
            // What the agent does to Git's own folders meanwhile must not be seen.
            Author::Trusted => self.scratch.path().join("guard"),
        };
        let repositories = match author {
            Author::Agent | Author::Assistant => Vec::new(),
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
    pub fn renew(&mut self, _: &BaseState) -> io::Result<()> {
        Ok(())
    }

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn lease(&self) -> Arc<()> {
        Arc::default()
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

    /// Returns whether a path matches the patterns for sensitive files.
    pub fn is_sensitive(&self, path: &WorkspacePath) -> bool {
        self.sensitive.find(path).is_some()
    }

    /// Returns whether a path names a file that is hidden from commands.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.masks.sensitive.contains(path)
    }
}
