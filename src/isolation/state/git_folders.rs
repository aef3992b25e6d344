//! Git's own folder, one for the agent and one for those whom its user trusts. The agent's lasts as long as the run, so
//! that `git stash pop` finds what `git stash` left. Who works for the agent meets it and leaves nothing in it. Hooks and gates
//! get one that is as the checkout's each time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use cap_std::ambient_authority;
#[cfg(unix)]
use cap_std::fs::Dir;
use workspace::removal::remove_tree;
use workspace::{FileStamp, Inventory};

use super::masks::{Masks, is_plain_way};
use super::{Isolated, Kind};

/// Git's own folder.
const GIT: &str = ".git";

/// Who runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The agent.
    Agent,
    /// An agent that works for another one, and changes nothing.
    Assistant,
    /// The configuration: a hook, or a gate.
    Trusted,
}

/// A copy of Git's own folder for trusted runs, while none goes on.
pub(super) struct Copy {
    stamps: BTreeMap<PathBuf, FileStamp>,
}

/// One of Git's own folders in a copy.
struct GitFolderCopy {
    /// Its index in [`Isolated::trusted`].
    index: usize,
    /// Path at which commands see the folder.
    place: PathBuf,
    /// Path of the agent's `.git` while that of another author is in place.
    kept: PathBuf,
    /// Path of the `.git` for trusted runs while none of them is under way.
    own: PathBuf,
}

impl Isolated {
    /// Puts the `.git` in its place that is to be seen by the next to run.
    pub fn enter(&mut self, author: Author) -> io::Result<()> {
        let (place, kept) = (self.disk.path().join(GIT), self.kept().join(GIT));
        match (&self.kind, author) {
            (Kind::Mounted(_), Author::Agent) => relocate(&kept, &place),
            (Kind::Mounted(_), Author::Assistant) => {
                self.copy_kept()?;
                relocate(&self.borrowed().join(GIT), &place)
            }
            (Kind::Copied, Author::Assistant) => {
                let sites = self.sites();
                sites.iter().try_for_each(|site| relocate(&site.place, &site.kept))?;
                self.copy_kept()?;
                sites.iter().try_for_each(|site| relocate(&self.borrowed_from(site), &site.place))
            }
            // Nothing lies above the checkout's.
            (Kind::Mounted(_), Author::Trusted) | (Kind::Copied, Author::Agent) => Ok(()),
            (Kind::Copied, Author::Trusted) => {
                self.sites().iter().try_for_each(|site| self.enter_trusted(site))
            }
        }
    }

    /// Takes it away again: the agent's is kept, and what was written to the other is gone.
    pub fn leave(&mut self, author: Author) -> io::Result<()> {
        let (place, kept) = (self.disk.path().join(GIT), self.kept().join(GIT));
        match (&self.kind, author) {
            (Kind::Mounted(_), Author::Agent) => relocate(&place, &kept),
            (Kind::Mounted(_), Author::Assistant | Author::Trusted) => remove_tree(&place),
            (Kind::Copied, Author::Assistant) => self.sites().iter().try_for_each(|site| {
                remove_tree(&site.place)?;
                relocate(&site.kept, &site.place)
            }),
            (Kind::Copied, Author::Agent) => Ok(()),
            (Kind::Copied, Author::Trusted) => {
                self.sites().iter().try_for_each(|site| self.leave_trusted(site))
            }
        }
    }

    /// Git's own folders in a copy: that of the checkout, and that of the repository around it.
    fn sites(&self) -> Vec<GitFolderCopy> {
        let site = |index, place: &Path| GitFolderCopy {
            index,
            place: place.join(GIT),
            kept: self.kept().join(if index == 0 { GIT } else { "around" }),
            own: self.scratch.path().join(format!("trusted-{index}")),
        };
        let around = self.around.iter().map(|around| site(1, &around.folder));
        std::iter::once(site(0, self.disk.path())).chain(around).collect()
    }

    /// The folder of the machine that a copy was made from, and what is seen in it instead.
    fn origin(&self, site: &GitFolderCopy) -> (&Path, &Masks) {
        match &self.around {
            Some(around) if site.index == 1 => (&around.root, &around.masks),
            _ => (&self.root, &self.masks),
        }
    }

    fn enter_trusted(&mut self, site: &GitFolderCopy) -> io::Result<()> {
        let GitFolderCopy { index, place, kept, own } = site;
        relocate(place, kept)?;
        if self.trusted[*index].is_none() {
            remove_tree(own)?;
            let failed = |(path, error): (PathBuf, io::Error)| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            let (root, masks) = self.origin(site);
            masks.copy(root, Path::new(GIT), own).map_err(failed)?;
            self.trusted[*index] = stamps(own);
        }
        relocate(own, place)
    }

    fn leave_trusted(&mut self, site: &GitFolderCopy) -> io::Result<()> {
        let GitFolderCopy { index, place, kept, own } = site;
        let mended = self.trusted[*index].take().filter(|trusted| self.mend(trusted, site));
        // What was touched has another stamp, though its content is the same again.
        self.trusted[*index] = mended.and_then(|_| stamps(place));
        match self.trusted[*index] {
            Some(_) => relocate(place, own)?,
            None => remove_tree(place)?,
        }
        relocate(kept, place)
    }

    /// Returns where a copy of the agent's lies before it is put in its place.
    fn borrowed(&self) -> PathBuf {
        self.scratch.path().join("borrowed")
    }

    fn borrowed_from(&self, site: &GitFolderCopy) -> PathBuf {
        self.borrowed().join(site.kept.file_name().unwrap_or_default())
    }

    /// Copies the agent's, with what marks it as a part of an overlay.
    fn copy_kept(&self) -> io::Result<()> {
        let borrowed = self.borrowed();
        remove_tree(&borrowed)?;
        fs::create_dir(&borrowed)?;
        copy_folder(&self.kept(), &borrowed)
    }

    /// Where the agent's lies while somebody else runs.
    pub(super) fn kept(&self) -> PathBuf {
        self.scratch.path().join("kept")
    }

    /// Makes the files of a trusted run's folder again what they were; whether that was possible.
    fn mend(&self, trusted: &Copy, site: &GitFolderCopy) -> bool {
        let place = site.place.as_path();
        let (root, masks) = self.origin(site);
        let Some(now) = stamps(place) else { return false };
        let gone = trusted.stamps.keys().filter(|path| !now.stamps.contains_key(*path));
        let other = now.stamps.iter().filter(|(path, stamp)| trusted.stamps.get(*path) != Some(*stamp));
        let mended = gone.chain(other.map(|(path, _)| path)).map(|path| {
            let target = place.join(path);
            if !is_plain_way(place, path) {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            remove_tree(&target)?;
            let Some(source) = masks.source(root, &Path::new(GIT).join(path)) else {
                return Ok(());
            };
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            if source.is_symlink() {
                workspace::copy::link(&fs::read_link(source)?, &target)
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
    inventory.and_then(Inventory::into_stamps).map(|stamps| Copy { stamps })
}

#[cfg(unix)]
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    let open = |path| Dir::open_ambient_dir(path, ambient_authority());
    super::renewal::copy(&open(from)?, &open(to)?)
}

#[cfg(not(unix))]
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    workspace::copy::copy(from, to, &|_| false).map(drop).map_err(|(_, error)| error)
}

/// Moves what is there, whatever it is.
fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(from) else { return Ok(()) };
    remove_tree(to)?;
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
