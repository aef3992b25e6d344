//! Full copy of a checkout, for machines where nothing can be mounted.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use crate::descend::{Visitor, WalkedEntry, descend, descend_in};
use crate::entry::{copy_content, open_file};
use crate::path::WorkspacePath;

/// Copies `from` to `to`, except for hidden files and folders. Ignored build folders and `.git` are included, because
/// commands need them. Returns what this user cannot read, which is left out. The error has the path at which it
/// occurred.
pub fn copy(
    from: &Path,
    to: &Path,
    is_hidden: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> Result<BTreeSet<PathBuf>, (PathBuf, io::Error)> {
    let failed = |error| (to.to_owned(), error);
    std::fs::create_dir_all(to).map_err(failed)?;
    let target = Dir::open_ambient_dir(to, ambient_authority()).map_err(failed)?;
    // The folder for scratch folders may be in the checkout, and no copy contains itself.
    let own = to.parent().and_then(|scratch| scratch.strip_prefix(from).ok()).map(Path::to_owned);
    let copier = Copier { is_hidden, own, unreadable: Mutex::default() };
    descend(from, target, &copier)?;
    Ok(copier.unreadable.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The same where nothing may be left out: what this user cannot read is an error.
pub fn copy_all(
    from: &Path,
    to: &Path,
    is_hidden: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> Result<(), (PathBuf, io::Error)> {
    match copy(from, to, is_hidden)?.pop_first() {
        Some(unreadable) => Err((from.join(unreadable), io::ErrorKind::PermissionDenied.into())),
        None => Ok(()),
    }
}

/// The same between two folders that are open already.
pub fn copy_between(
    from: Dir,
    to: Dir,
    is_hidden: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> io::Result<()> {
    let copier = Copier { is_hidden, own: None, unreadable: Mutex::default() };
    descend_in(from, to, &copier).map_err(|(_, error)| error)?;
    let unreadable = copier.unreadable.into_inner().unwrap_or_else(PoisonError::into_inner);
    if unreadable.is_empty() { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

struct Copier<'a> {
    is_hidden: &'a (dyn Fn(&WorkspacePath) -> bool + Sync),
    own: Option<PathBuf>,
    unreadable: Mutex<BTreeSet<PathBuf>>,
}

impl Copier<'_> {
    fn hides(&self, path: &Path) -> bool {
        let path = path.to_str().and_then(|path| WorkspacePath::parse(path).ok());
        path.is_some_and(|path| (self.is_hidden)(&path))
    }
}

impl Visitor for Copier<'_> {
    type Folder = Dir;

    fn enter(&self, above: &Dir, name: &OsStr, path: &Path, _: &Metadata) -> io::Result<Option<Dir>> {
        if self.own.as_deref() == Some(path) || self.hides(path) {
            return Ok(None);
        }
        match above.create_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        above.open_dir_nofollow(name).map(Some)
    }

    fn meet(&self, to: &Dir, met: &WalkedEntry<'_>) -> io::Result<()> {
        if self.hides(met.path) {
            return Ok(());
        }
        if met.metadata.is_symlink() {
            let target = met.folder.read_link_contents(met.name)?;
            return make_way(to, met.name).and_then(|()| link_in(&target, to, met.name));
        }
        if !met.metadata.is_file() {
            return Ok(());
        }
        match open_file(met.folder, met.name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.closed(met.path);
                Ok(())
            }
            // Removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => copy_file(opened?, to, met.name),
        }
    }

    fn closed(&self, path: &Path) {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }
}

/// Copies an open file to a name in a folder, with its permissions and its time.
pub fn copy_file(mut from: std::fs::File, folder: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    let name = name.as_ref();
    make_way(folder, name)?;
    let write = OpenOptions::new().write(true).create_new(true).to_owned();
    let mut to = folder.open_with(name, &write)?.into_std();
    copy_content(&mut from, &mut to)?;
    let metadata = from.metadata()?;
    to.set_permissions(plain_permissions(&metadata))?;
    // Build tools compare times, so a copy must not look newer than what was built from it.
    to.set_modified(metadata.modified()?)
}

/// Removes a file that is already there.
fn make_way(folder: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    match folder.remove_file(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(unix)]
/// Creates a symbolic link in an open folder. The error is that of the system.
pub fn link_in(to: &Path, folder: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    folder.symlink_contents(to, name)
}

#[cfg(not(unix))]
pub fn link_in(to: &Path, folder: &Dir, name: impl AsRef<Path>) -> io::Result<()> {
    folder.write(name, to.to_string_lossy().as_bytes())
}

#[cfg(unix)]
/// Creates a symbolic link at a path. The error is that of the system.
pub fn link(to: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, target)
}

#[cfg(not(unix))]
pub fn link(to: &Path, target: &Path) -> io::Result<()> {
    std::fs::write(target, to.to_string_lossy().as_bytes())
}

/// Returns the permissions of a file without set-user-ID and its like.
#[cfg(unix)]
pub fn plain_permissions(metadata: &std::fs::Metadata) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(metadata.permissions().mode() & 0o777)
}

/// Returns the permissions of a file.
#[cfg(not(unix))]
pub fn plain_permissions(metadata: &std::fs::Metadata) -> std::fs::Permissions {
    metadata.permissions()
}
