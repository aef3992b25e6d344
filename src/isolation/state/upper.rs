//! Upper folder of an overlay, written while nothing is mounted. Plain files stand for themselves, a
//! character device 0/0 (a whiteout) for a file that is gone, and a folder marked as opaque for one whose
//! former content is gone.
//!
//! Commands write to it as well, so a link may stand anywhere: everything is reached through open folders, name by name.

use std::io;
use std::path::Path;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{FileType, Mode, mknodat};
use workspace::entry::Entry;
use workspace::{DiskWorkspace, FileError, FileState, WorkspacePath, confined};

use super::masks::Masks;
use super::whiteout::{is_opaque, is_whiteout, make_opaque};

/// How far the way to a file leads through folders of the upper one.
struct UpperPath {
    /// The folder that the file is in, if all folders are there.
    folder: Option<Dir>,
    /// What stands where a folder is needed: the folder that it is in, and its name.
    obstacle: Option<(Dir, String)>,
    /// Whether the lower folder's content is not visible there.
    is_hidden: bool,
}

impl UpperPath {
    fn to(disk: &DiskWorkspace, path: &WorkspacePath) -> io::Result<Self> {
        let mut folder = disk.dir().try_clone()?;
        let mut is_hidden = false;
        for name in path.parent().unwrap_or_else(WorkspacePath::root).names() {
            match folder.symlink_metadata(name) {
                Ok(metadata) if metadata.is_dir() => folder = folder.open_dir_nofollow(name)?,
                Ok(_) => {
                    let obstacle = Some((folder, name.to_owned()));
                    return Ok(Self { folder: None, obstacle, is_hidden: true });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { folder: None, obstacle: None, is_hidden });
                }
                Err(error) => return Err(error),
            }
            is_hidden |= is_opaque(&folder);
        }
        Ok(Self { folder: Some(folder), obstacle: None, is_hidden })
    }

    fn found(&self, name: &str) -> Option<Metadata> {
        self.folder.as_ref()?.symlink_metadata(name).ok()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.remove_file(name))
    }
}

/// Restores one file to `state`; `below` is its state in the lower folder.
pub(super) fn put(
    disk: &DiskWorkspace,
    path: &WorkspacePath,
    state: Option<&FileState>,
    below: Option<&FileState>,
) -> Result<(), FileError> {
    let io = |error| FileError::Io { path: path.clone(), error };
    let way = UpperPath::to(disk, path).map_err(io)?;
    let name = path.file_name().unwrap_or_default();
    let found = way.found(name);
    if state == below && !way.is_hidden {
        // The lower folder has this state, and it is visible: nothing needs to be here.
        return match found {
            Some(metadata) if !metadata.is_dir() => way.remove(name).map_err(io),
            _ => Ok(()),
        };
    }
    let Some(state) = state else {
        return match found {
            // A folder took its place, or it is marked already.
            Some(metadata) if metadata.is_dir() || is_whiteout(&metadata) => Ok(()),
            found => {
                if found.is_some() {
                    way.remove(name).map_err(io)?;
                }
                // The folder that contained it is gone. In an opaque folder a whiteout would be seen as a file.
                if way.is_hidden { Ok(()) } else { hide(disk, path).map_err(io) }
            }
        };
    };
    if disk.state_of(path)?.as_ref() == Some(state) {
        return Ok(());
    }
    if let Some((folder, obstacle)) = &way.obstacle {
        replace_by_folder(folder, obstacle).map_err(io)?;
    }
    if found.is_some_and(|metadata| is_whiteout(&metadata)) {
        way.remove(name).map_err(io)?;
    }
    disk.put(path, Some(state))
}

/// Hides a folder of the lower one, unless it is hidden already or another stands in its place.
pub(super) fn hide_folder(disk: &DiskWorkspace, path: &WorkspacePath) -> io::Result<()> {
    let way = UpperPath::to(disk, path)?;
    let name = path.file_name().unwrap_or_default();
    let is_replaced = match (&way.folder, way.found(name)) {
        (Some(folder), Some(metadata)) if metadata.is_dir() => is_opaque(&folder.open_dir_nofollow(name)?),
        (_, found) => found.is_some(),
    };
    if way.is_hidden || is_replaced {
        return Ok(());
    }
    disk.remove_all(path)?;
    hide(disk, path)
}

/// Makes a folder that is planned, in place of whatever marks it as gone.
pub(super) fn make_folder(disk: &DiskWorkspace, path: &WorkspacePath) -> io::Result<()> {
    if let Some((above, obstacle)) = UpperPath::to(disk, &path.child("content"))?.obstacle {
        replace_by_folder(&above, &obstacle)?;
    }
    disk.make_folder(path)
}

/// Makes a folder where something marks the lower one as gone, whose content stays gone.
fn replace_by_folder(above: &Dir, name: &str) -> io::Result<()> {
    above.remove_file(name)?;
    above.create_dir(name)?;
    make_opaque(&above.open_dir_nofollow(name)?)
}

/// Marks a file of the lower folder as gone.
fn hide(disk: &DiskWorkspace, path: &WorkspacePath) -> io::Result<()> {
    let folder = confined::create_dir(disk.dir(), &path.parent().unwrap_or_else(WorkspacePath::root))?;
    let name = path.file_name().unwrap_or_default();
    Ok(mknodat(&folder, name, FileType::CharacterDevice, Mode::empty(), 0)?)
}

/// Copies a folder from the lower folder to the upper one and makes it opaque, unless the upper one has it
/// already.
pub(super) fn unfold(
    disk: &DiskWorkspace,
    lower: &Path,
    folder: &WorkspacePath,
    masks: &Masks,
) -> io::Result<()> {
    // What a link leads to is not moved along with it.
    let Ok(from) = confined::open_dir(&Dir::open_ambient_dir(lower, ambient_authority())?, folder) else {
        return Ok(());
    };
    let way = UpperPath::to(disk, folder)?;
    let name = folder.file_name().unwrap_or_default();
    // What is already in the upper folder would have to be merged with the rest.
    if way.obstacle.is_some() || way.found(name).is_some() {
        return Ok(());
    }
    let is_hidden = |path: &WorkspacePath| {
        let full = path.names().fold(folder.clone(), |above, name| above.child(name));
        masks.sensitive.contains(&full) || masks.nested.contains(Path::new(full.as_str()))
    };
    let to = confined::create_dir(disk.dir(), folder)?;
    workspace::copy::copy_between(from, to.try_clone()?, &is_hidden)?;
    for entry in masks.nested.iter().filter(|entry| entry.starts_with(folder.as_str())) {
        // As it is to be seen, and not as the opaque folder would show it.
        masks.copy(lower, entry, &disk.path().join(entry)).map_err(|(_, error)| error)?;
    }
    make_opaque(&to)
}

/// Removes the kernel's attributes from a file that came through an overlay.
pub(super) fn unmark(entry: &Entry) {
    // Nothing else can have any.
    let Ok(file) = entry.open() else { return };
    for mark in ["user.overlay.opaque", "user.overlay.origin", "user.overlay.impure", "user.overlay.uuid"] {
        // Most files have none.
        let _ = rustix::fs::fremovexattr(&file, mark);
    }
}
