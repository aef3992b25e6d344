//! Renewal of an overlay's upper folder: everything in it is copied to new files, which nobody has open.
//!
//! While a command runs beside another, it can be handed open files of the other one, by a socket in a folder that they
//! share. It could then change what has already been judged, or what a gate is looking at.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt, Permissions, PermissionsExt};
use parking_lot::Mutex;
use rustix::fs::{FileType, Mode, mknodat};
use workspace::copy::{copy_file, link_in};
use workspace::descend::{Visitor, WalkedEntry, descend_in};
use workspace::entry::open_file;
use workspace::{DiskWorkspace, removal};

use super::whiteout::{is_opaque, make_opaque};
use super::{BaseState, Isolated, Kind};

/// An upper folder that was renewed, and may still be seen by whoever holds its lease.
pub(super) struct RetiredUpper {
    folder: PathBuf,
    lease: Arc<()>,
}

impl Isolated {
    /// Copies what commands have left to new files. Does nothing to a copy, beside which no command runs.
    pub fn renew(&mut self, below: &BaseState) -> io::Result<()> {
        let Kind::Mounted(overlay) = &mut self.kind else { return Ok(()) };
        self.renewals += 1;
        let at = |name: &str| self.scratch.path().join(format!("{name}-{}", self.renewals));
        // A mount of the command that has ended may live on with a folder that it left open, and it uses both folders.
        let (upper, work) = (at("upper"), at("work"));
        for folder in [&upper, &work] {
            fs::create_dir(folder)?;
        }
        let disk = DiskWorkspace::open(&upper)?;
        copy(self.disk.dir(), disk.dir())?;
        let retired = std::mem::replace(&mut self.disk, disk);
        let folder = std::mem::replace(&mut overlay.upper, upper);
        overlay.work = work;
        match below {
            // The checkout has what is kept of it. Whatever cannot be removed now is removed with the state.
            BaseState::Real(_) => drop(removal::empty(retired.dir())),
            BaseState::Planned(_) => {
                let lease = std::mem::take(&mut self.lease);
                self.retired.push(RetiredUpper { folder, lease });
                self.retired.retain(|retired| {
                    let is_seen = Arc::strong_count(&retired.lease) > 1;
                    is_seen || removal::remove_tree(&retired.folder).is_err()
                });
            }
        }
        Ok(())
    }

    /// Returns a lease of the upper folder: it is not removed before the lease is dropped.
    pub fn lease(&self) -> Arc<()> {
        Arc::clone(&self.lease)
    }
}

/// Copies an upper folder, with its marks.
pub(super) fn copy(from: &Dir, to: &Dir) -> io::Result<()> {
    let start = CopiedFolder { from: from.try_clone()?, to: to.try_clone()? };
    let copier = Copier { closed: Mutex::default() };
    descend_in(from.try_clone()?, start, &copier)
        .map_err(|(path, error)| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    match copier.closed.into_inner() {
        Some(path) => {
            let message = format!("{} cannot be read", path.display());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
        }
        None => Ok(()),
    }
}

struct Copier {
    /// A folder that cannot be listed or searched.
    closed: Mutex<Option<PathBuf>>,
}

struct CopiedFolder {
    from: Dir,
    to: Dir,
}

impl Visitor for Copier {
    type Folder = CopiedFolder;

    fn enter(
        &self,
        above: &CopiedFolder,
        name: &OsStr,
        _: &Path,
        metadata: &Metadata,
    ) -> io::Result<Option<CopiedFolder>> {
        let from = above.from.open_dir_nofollow(name)?;
        above.to.create_dir(name)?;
        let to = above.to.open_dir_nofollow(name)?;
        // Its content is still to be written, so its owner keeps all rights to it.
        let mode = metadata.permissions().mode() & 0o777 | 0o700;
        above.to.set_permissions(name, Permissions::from_mode(mode))?;
        if is_opaque(&from) {
            make_opaque(&to)?;
        }
        Ok(Some(CopiedFolder { from, to }))
    }

    fn meet(&self, folder: &CopiedFolder, met: &WalkedEntry<'_>) -> io::Result<()> {
        let (to, name) = (&folder.to, met.name);
        if met.metadata.is_file() {
            return copy_file(open_file(met.folder, name)?, to, name);
        }
        if met.metadata.is_symlink() {
            return link_in(&met.folder.read_link_contents(name)?, to, name);
        }
        // A whiteout, or a pipe or socket, which is reported and removed.
        let kind = FileType::from_raw_mode(met.metadata.mode());
        Ok(mknodat(to, name, kind, Mode::empty(), met.metadata.rdev())?)
    }

    fn closed(&self, path: &Path) {
        self.closed.lock().get_or_insert_with(|| path.to_owned());
    }
}
