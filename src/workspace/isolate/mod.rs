//! A throw-away state of the checkout for commands and gates of a dry run: the planned edits are in it,
//! what is written to it never reaches the checkout, and all of it goes away.
//!
//! Where the kernel lets us, it is an overlay mounted above the checkout, in its very place, for the eyes of
//! the command alone: made in no time, and every absolute path stays true. Elsewhere it is a copy.

mod copy;
mod scratch;
#[cfg(unix)]
mod upper;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::overlay::OverlayWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::snapshot::Stamp;
use super::{FileError, Workspace, watch};

pub(super) use copy::link;
use scratch::Scratch;
pub use scratch::sweep;

/// An overlay, to be mounted above a folder in that folder's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The folder.
    pub lower: PathBuf,
    /// Takes what is written.
    pub upper: PathBuf,
    /// The kernel's own.
    pub work: PathBuf,
}

/// The throw-away state; dropping it removes it.
pub struct Isolated {
    scratch: Scratch,
    disk: DiskWorkspace,
    kind: Kind,
    /// Paths where it may differ from the checkout.
    applied: BTreeSet<WorkspacePath>,
    /// How long it took to make.
    pub took: Duration,
}

enum Kind {
    /// `disk` is the upper folder.
    Mounted(Mount),
    /// `disk` is the copy.
    Copied,
}

/// What there was before a command, where that has to be known.
pub struct Before(Option<BTreeMap<PathBuf, Stamp>>);

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
    /// The planned edits could not be written to it.
    #[error("the planned edits could not be written for an isolated run: {0}")]
    Update(#[from] FileError),
}

impl Isolated {
    /// Makes the folders for an overlay above `root` below `temp`; mounting is for whoever runs commands.
    /// `None` where paths cannot be told to the kernel.
    #[cfg(unix)]
    pub fn mounted(root: &Path, temp: &Path) -> Option<Self> {
        let started = Instant::now();
        let scratch = Scratch::new(temp).ok()?;
        let mount = Mount {
            lower: root.to_owned(),
            upper: scratch.path().join("upper"),
            work: scratch.path().join("work"),
        };
        let paths = [&mount.lower, &mount.upper, &mount.work];
        if paths.iter().any(|path| path.to_str().is_none_or(|path| path.contains([',', ':', '\\']))) {
            return None;
        }
        std::fs::create_dir(&mount.upper).and_then(|()| std::fs::create_dir(&mount.work)).ok()?;
        let disk = DiskWorkspace::open(&mount.upper).ok()?;
        Some(Self {
            scratch,
            disk,
            kind: Kind::Mounted(mount),
            applied: BTreeSet::new(),
            took: started.elapsed(),
        })
    }

    /// Other systems have no overlays.
    #[cfg(not(unix))]
    pub fn mounted(_: &Path, _: &Path) -> Option<Self> {
        None
    }

    /// Copies all of `root` below `temp`.
    pub fn copied(root: &Path, temp: &Path) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |path: &Path, error| IsolationError::Copy { path: path.to_owned(), error };
        let scratch = Scratch::new(temp).map_err(|error| failed(temp, error))?;
        let to = scratch.path().join("copy");
        copy::copy(root, &to).map_err(|(path, error)| failed(&path, error))?;
        let disk = DiskWorkspace::open(&to).map_err(|error| failed(&to, error))?;
        Ok(Self { scratch, disk, kind: Kind::Copied, applied: BTreeSet::new(), took: started.elapsed() })
    }

    /// Where commands run.
    pub fn path(&self) -> &Path {
        match &self.kind {
            Kind::Mounted(mount) => &mount.lower,
            Kind::Copied => self.disk.path(),
        }
    }

    /// What has to be mounted for a command.
    pub fn mount(&self) -> Option<&Mount> {
        match &self.kind {
            Kind::Mounted(mount) => Some(mount),
            Kind::Copied => None,
        }
    }

    /// Bytes that it takes on disk.
    pub fn bytes(&self) -> u64 {
        self.scratch.bytes()
    }

    /// Writes the planned edits to it, as far as they are not there, and takes back what is not planned.
    pub fn update(&mut self, planned: &OverlayWorkspace) -> Result<(), IsolationError> {
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
                if self.disk.state(&path)?.as_ref() == state {
                    Ok(())
                } else {
                    self.disk.restore(&path, state)
                }
            }
            #[cfg(unix)]
            Kind::Mounted(mount) => upper::put(&self.disk, &mount.upper, path, state, below),
            #[cfg(not(unix))]
            Kind::Mounted(_) => Ok(()),
        }
    }

    /// Looks before a command.
    pub fn before(&self) -> Before {
        Before(matches!(self.kind, Kind::Copied).then(|| watch::stamps(self.disk.path(), &[])))
    }

    /// What a command has changed against the planned state; ignored files are passed over.
    pub fn changes(
        &mut self,
        before: Before,
        planned: &OverlayWorkspace,
    ) -> Result<Vec<FileChange>, FileError> {
        let states: BTreeMap<WorkspacePath, Option<FileState>> = match &self.kind {
            Kind::Copied => {
                let touched = watch::touched(self.disk.path(), &before.0.unwrap_or_default());
                let paths = touched.into_iter().filter_map(|path| WorkspacePath::parse(path.to_str()?).ok());
                paths.map(|path| Ok((path.clone(), self.disk.state(&ResolvedPath(path))?))).collect::<Result<
                    _,
                    FileError,
                >>(
                )?
            }
            #[cfg(unix)]
            Kind::Mounted(mount) => upper::states(&self.disk, &mount.upper, &mount.lower, planned)?,
            #[cfg(not(unix))]
            Kind::Mounted(_) => BTreeMap::new(),
        };
        let mut changes = Vec::new();
        for (path, after) in states {
            let before = planned.state(&path)?;
            self.applied.insert(path.clone());
            changes.extend(FileChange::new(path, before, after));
        }
        Ok(changes)
    }
}
