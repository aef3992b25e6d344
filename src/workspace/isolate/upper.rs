//! Upper folder of an overlay, read and written while nothing is mounted. Plain files stand for themselves, a
//! character device 0/0 (a whiteout) for a file that is gone, and a folder marked as opaque for one whose
//! former content is gone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::super::changes::FileState;
use super::super::disk::DiskWorkspace;
use super::super::path::{ResolvedPath, WorkspacePath};
use super::super::{FileError, Workspace};
use super::{Below, Touched};

/// Maximum depth of folders that are read; nobody works deeper than that.
const MAX_DEPTH: usize = 200;

/// Extended attributes of opaque folders, as set by an overlay without and with privileges.
const OPAQUE: [&str; 2] = ["user.overlay.opaque", "trusted.overlay.opaque"];

/// Restores one file to `state`; `below` is its state in the lower folder.
pub(super) fn put(
    disk: &DiskWorkspace,
    upper: &Path,
    path: &WorkspacePath,
    state: Option<&FileState>,
    below: Option<&FileState>,
) -> Result<(), FileError> {
    let io = |error| FileError::Io { path: path.clone(), error };
    let full = upper.join(path.as_str());
    let resolved = ResolvedPath(path.clone());
    let found = fs::symlink_metadata(&full).ok();
    let folders: Vec<PathBuf> =
        full.ancestors().skip(1).take_while(|above| *above != upper).map(Path::to_owned).collect();
    let is_hidden = folders.iter().any(|folder| is_opaque(folder));
    let obstacle =
        folders.iter().find(|above| fs::symlink_metadata(above).is_ok_and(|metadata| !metadata.is_dir()));
    if state == below && !is_hidden {
        // The lower folder has this state, and it is visible: nothing needs to be here, nor above it what says that it is gone.
        if let Some(obstacle) = obstacle.filter(|_| state.is_some()) {
            return fs::remove_file(obstacle).map_err(io);
        }
        return match found {
            Some(metadata) if !metadata.is_dir() => fs::remove_file(&full).map_err(io),
            _ => Ok(()),
        };
    }
    let Some(state) = state else {
        return match found {
            // The folder that contained it is gone. In an opaque folder a whiteout would be seen as a file.
            None if obstacle.is_some() || is_hidden => Ok(()),
            // A folder took its place, or it is marked already.
            Some(metadata) if metadata.is_dir() || is_whiteout(&metadata) => Ok(()),
            found => {
                if found.is_some() {
                    fs::remove_file(&full).map_err(io)?;
                }
                hide(upper, path).map_err(io)
            }
        };
    };
    if disk.state(&resolved)?.as_ref() == Some(state) {
        return Ok(());
    }
    // Whatever stands where a folder is needed marks something that is gone.
    if let Some(obstacle) = obstacle {
        fs::remove_file(obstacle).map_err(io)?;
    }
    if found.is_some_and(|metadata| is_whiteout(&metadata)) {
        fs::remove_file(&full).map_err(io)?;
    }
    disk.restore(&resolved, Some(state))
}

fn is_whiteout(metadata: &fs::Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// Marks a file of the lower folder as gone.
fn hide(upper: &Path, path: &WorkspacePath) -> io::Result<()> {
    hide_at(upper, Path::new(path.as_str()))
}

/// The same by a path of any name.
pub(super) fn hide_at(upper: &Path, path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let full = upper.join(path);
    if let Some(parent) = full.parent() {
        fs::create_dir_all(parent)?;
    }
    mknodat(CWD, &full, FileType::CharacterDevice, Mode::empty(), 0)?;
    Ok(())
}

/// Makes a folder opaque, which hides what the lower folder has there.
pub(super) fn hide_below(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::lsetxattr(folder, OPAQUE[0], b"y", rustix::fs::XattrFlags::empty())?)
}

/// Copies a folder from the lower folder to the upper one and makes it opaque, unless the upper one has it
/// already.
pub(super) fn unfold(
    upper: &Path,
    lower: &Path,
    folder: &WorkspacePath,
    hidden: &BTreeSet<WorkspacePath>,
) -> io::Result<()> {
    let (from, to) = (lower.join(folder.as_str()), upper.join(folder.as_str()));
    let is_folder = fs::symlink_metadata(&from).is_ok_and(|metadata| metadata.is_dir());
    // What is already in the upper folder would have to be merged with the rest.
    if !is_folder || fs::symlink_metadata(&to).is_ok() {
        return Ok(());
    }
    let is_hidden = |path: &WorkspacePath| {
        let full = path.names().fold(folder.clone(), |above, name| above.child(name));
        hidden.contains(&full)
    };
    super::copy::copy_all(&from, &to, &is_hidden).map_err(|(_, error)| error)?;
    hide_below(&to)
}

/// Returns everything that may differ from what is below.
pub(super) fn touched(
    upper: &Path,
    lower: &Path,
    below: &Below,
    hidden: &BTreeSet<WorkspacePath>,
) -> Result<Touched, FileError> {
    let mut reader = Reader { upper, lower, below, hidden, touched: Touched::default() };
    reader.folder(&WorkspacePath::root(), false)?;
    let Reader { mut touched, .. } = reader;
    // A planned file that no longer exists leaves no trace.
    if let Below::Planned(planned) = below {
        for change in &planned.changes()? {
            let gone = fs::symlink_metadata(upper.join(change.path.as_str())).is_err();
            if change.after.is_some() && gone {
                touched.files.insert(change.path.clone());
            }
        }
    }
    Ok(touched)
}

struct Reader<'a> {
    upper: &'a Path,
    lower: &'a Path,
    below: &'a Below,
    hidden: &'a BTreeSet<WorkspacePath>,
    touched: Touched,
}

impl Reader<'_> {
    /// Reads a folder. `is_new` says that nothing of the lower folder is visible in it.
    fn folder(&mut self, folder: &WorkspacePath, is_new: bool) -> Result<(), FileError> {
        let mut holds_files = false;
        let io = |error| FileError::Io { path: folder.clone(), error };
        if folder.names().count() > MAX_DEPTH {
            return Err(io(io::Error::other(format!("folders are more than {MAX_DEPTH} levels deep"))));
        }
        let entries = match fs::read_dir(self.upper.join(folder.as_str())) {
            // The folder need not exist in the upper layer.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            entries => entries,
        };
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            holds_files = true;
            let Ok(name) = entry.file_name().into_string() else {
                self.touched.unnamed += 1;
                continue;
            };
            let path = folder.child(&name);
            if name.eq_ignore_ascii_case(".git") {
                // The checkout's own Git folder is discarded; those of other repositories are not kept
                // either.
                self.touched.repositories.extend((!folder.is_root()).then(|| path.clone()));
            } else if is_whiteout(&metadata) {
                self.gone(&path);
            } else if metadata.is_dir() {
                let replaces = self.replaces(&path);
                let opaque = is_opaque(&entry.path());
                if opaque || replaces {
                    self.gone(&path);
                }
                self.folder(&path, is_new || opaque || replaces)?;
            } else if metadata.is_file() || metadata.is_symlink() {
                // If the checkout has a folder there, all of its content is gone.
                let lower = fs::symlink_metadata(self.lower.join(path.as_str()));
                if lower.is_ok_and(|metadata| metadata.is_dir()) {
                    self.gone(&path);
                }
                self.touched.files.insert(path);
            }
            // Pipes and sockets end with the processes that use them.
        }
        let is_there = || self.lower.join(folder.as_str()).is_dir();
        if !holds_files && !folder.is_root() && (is_new || !is_there()) {
            self.touched.folders.insert(folder.clone());
        }
        Ok(())
    }

    /// Returns whether a folder stands where the checkout has a file.
    fn replaces(&self, path: &WorkspacePath) -> bool {
        fs::symlink_metadata(self.lower.join(path.as_str())).is_ok_and(|metadata| !metadata.is_dir())
    }

    /// Records that a file is gone, or a folder with all of its content.
    fn gone(&mut self, path: &WorkspacePath) {
        let lower = self.lower.join(path.as_str());
        let is_folder = fs::symlink_metadata(&lower).is_ok_and(|metadata| metadata.is_dir());
        if is_folder {
            let walk = ignore::WalkBuilder::new(&lower).standard_filters(false).build();
            for entry in walk.flatten() {
                let relative = entry.path().strip_prefix(self.lower).ok().and_then(Path::to_str);
                let Some(Ok(found)) = relative.map(WorkspacePath::parse) else {
                    self.touched.unnamed += 1;
                    continue;
                };
                if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    self.touched.gone_folders.insert(found);
                } else {
                    self.file_gone(found);
                }
            }
        } else {
            self.file_gone(path.clone());
        }
        // Files that are only planned are in no lower folder.
        if let Below::Planned(planned) = self.below {
            let changes = planned.changes().unwrap_or_default();
            let within = changes.iter().filter(|change| change.path.is_within(path));
            self.touched.files.extend(within.map(|change| change.path.clone()));
        }
    }

    fn file_gone(&mut self, path: WorkspacePath) {
        if !self.hidden.contains(&path) {
            self.touched.files.insert(path);
        }
    }
}

fn is_opaque(folder: &Path) -> bool {
    OPAQUE.iter().any(|mark| {
        let mut value = [0_u8; 4];
        rustix::fs::lgetxattr(folder, *mark, &mut value).is_ok_and(|length| value[..length] == *b"y")
    })
}

/// Empties the upper folder.
pub(super) fn clear(upper: &Path) -> io::Result<()> {
    for entry in fs::read_dir(upper)? {
        super::masks::remove(&entry?.path())?;
    }
    Ok(())
}

/// Removes the kernel's attributes from a file that came through an overlay.
pub(super) fn unmark(path: &Path) {
    for mark in ["user.overlay.opaque", "user.overlay.origin", "user.overlay.impure", "user.overlay.uuid"] {
        // Most files have none.
        let _ = rustix::fs::lremovexattr(path, mark);
    }
}
