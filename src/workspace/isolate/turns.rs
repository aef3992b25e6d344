//! Git's own folder, one for the agent and one for those whom its user trusts. The agent's lasts as long as the run, so
//! that `git stash pop` finds what `git stash` left; hooks and gates get one that is as the checkout's each time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::inventory::Inventory;
use super::super::snapshot::Stamp;
use super::masks::{is_plain_way, remove};
use super::{Isolated, Kind};

/// Git's own folder.
const GIT: &str = ".git";

/// Who runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The agent.
    Agent,
    /// The configuration: a hook, or a gate.
    Trusted,
}

/// A copy of Git's own folder for trusted runs, while none goes on.
pub(super) struct Copy {
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Isolated {
    /// Puts the `.git` in its place that is to be seen by the next to run.
    pub fn enter(&mut self, author: Author) -> io::Result<()> {
        let (place, kept) = (self.disk.path().join(GIT), self.kept().join(GIT));
        match (&self.kind, author) {
            (Kind::Mounted(_), Author::Agent) => relocate(&kept, &place),
            // Nothing lies above the checkout's.
            (Kind::Mounted(_), Author::Trusted) | (Kind::Copied, Author::Agent) => Ok(()),
            (Kind::Copied, Author::Trusted) => {
                relocate(&place, &kept)?;
                let own = self.scratch.path().join("trusted");
                if self.trusted.is_none() {
                    remove(&own)?;
                    let failed = |(path, error): (PathBuf, io::Error)| {
                        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                    };
                    self.masks.copy(&self.root, Path::new(GIT), &own).map_err(failed)?;
                    self.trusted = stamps(&own);
                }
                relocate(&own, &place)
            }
        }
    }

    /// Takes it away again: the agent's is kept, and what was written to the other is gone.
    pub fn leave(&mut self, author: Author) -> io::Result<()> {
        let (place, kept) = (self.disk.path().join(GIT), self.kept().join(GIT));
        match (&self.kind, author) {
            (Kind::Mounted(_), Author::Agent) => relocate(&place, &kept),
            (Kind::Mounted(_), Author::Trusted) => remove(&place),
            (Kind::Copied, Author::Agent) => Ok(()),
            (Kind::Copied, Author::Trusted) => {
                self.trusted = self.trusted.take().filter(|trusted| self.mend(trusted, &place));
                // What was touched has another stamp, though its content is the same again.
                self.trusted = self.trusted.take().and_then(|_| stamps(&place));
                match self.trusted {
                    Some(_) => relocate(&place, &self.scratch.path().join("trusted"))?,
                    None => remove(&place)?,
                }
                relocate(&kept, &place)
            }
        }
    }

    /// Where the agent's lies while somebody else runs.
    pub(super) fn kept(&self) -> PathBuf {
        self.scratch.path().join("kept")
    }

    /// Makes the files of a trusted run's folder again what they were; whether that was possible.
    fn mend(&self, trusted: &Copy, place: &Path) -> bool {
        let Some(now) = stamps(place) else { return false };
        let gone = trusted.stamps.keys().filter(|path| !now.stamps.contains_key(*path));
        let other = now.stamps.iter().filter(|(path, stamp)| trusted.stamps.get(*path) != Some(*stamp));
        let mended = gone.chain(other.map(|(path, _)| path)).map(|path| {
            let target = place.join(path);
            if !is_plain_way(place, path) {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            remove(&target)?;
            let Some(source) = self.masks.source(&self.root, &Path::new(GIT).join(path)) else {
                return Ok(());
            };
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            if source.is_symlink() {
                super::link(&fs::read_link(source)?, &target)
            } else {
                fs::copy(source, target).map(drop)
            }
        });
        mended.collect::<io::Result<()>>().is_ok()
    }
}

/// What the folder holds; `None` where there is none, or it cannot be looked at.
fn stamps(folder: &Path) -> Option<Copy> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let inventory = is_folder.then(|| Inventory::take(folder).ok()).flatten();
    inventory
        .filter(|inventory| inventory.closed.is_empty())
        .map(|inventory| Copy { stamps: inventory.files })
}

/// Moves what is there, whatever it is.
fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(from) else { return Ok(()) };
    remove(to)?;
    match fs::rename(from, to) {
        // A folder can only be moved by who may write to it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && metadata.is_dir() => {
            open_up(from)?;
            fs::rename(from, to)
        }
        moved => moved,
    }
}

#[cfg(unix)]
fn open_up(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn open_up(_: &Path) -> io::Result<()> {
    Ok(())
}
