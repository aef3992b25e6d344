//! The upper folder of an overlay, read and written while nothing is mounted: plain files stand for
//! themselves, a character device 0/0 for a file that is gone, a folder marked opaque for a folder whose
//! former content is gone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::super::changes::FileState;
use super::super::disk::DiskWorkspace;
use super::super::ignored::IgnoreRules;
use super::super::overlay::OverlayWorkspace;
use super::super::path::{ResolvedPath, WorkspacePath};
use super::super::{FileError, LastLink, Workspace};

/// Marks of a folder whose lower content is hidden, as an overlay without and with privileges sets it.
const OPAQUE: [&str; 2] = ["user.overlay.opaque", "trusted.overlay.opaque"];

/// Makes one file what it should be; `below` is what the lower folder holds.
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
    if state == below {
        // As the checkout holds it: nothing has to be here.
        return match found {
            Some(metadata) if !metadata.is_dir() => fs::remove_file(&full).map_err(io),
            _ => Ok(()),
        };
    }
    let folders: Vec<PathBuf> =
        full.ancestors().skip(1).take_while(|above| *above != upper).map(Path::to_owned).collect();
    let obstacle =
        folders.iter().find(|above| fs::symlink_metadata(above).is_ok_and(|metadata| !metadata.is_dir()));
    let Some(state) = state else {
        return match found {
            // The folder that held it is gone. In one that hides what was there a mark would be a file.
            None if obstacle.is_some() || folders.iter().any(|folder| is_opaque(folder)) => Ok(()),
            // A folder took its place.
            Some(metadata) if metadata.is_dir() || is_whiteout(&metadata) => Ok(()),
            found => {
                if found.is_some() {
                    fs::remove_file(&full).map_err(io)?;
                }
                if let Some(parent) = full.parent() {
                    fs::create_dir_all(parent).map_err(io)?;
                }
                whiteout(&full).map_err(io)
            }
        };
    };
    if disk.state(&resolved)?.as_ref() == Some(state) {
        return Ok(());
    }
    // What stands where a folder is needed stands for something that is gone.
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

fn whiteout(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0)?;
    Ok(())
}

/// The files that may differ from the planned state, as they are now.
pub(super) fn states(
    disk: &DiskWorkspace,
    upper: &Path,
    lower: &Path,
    planned: &OverlayWorkspace,
) -> Result<BTreeMap<WorkspacePath, Option<FileState>>, FileError> {
    let mut reader = Reader { disk, upper, lower, planned, states: BTreeMap::new() };
    reader.folder(&WorkspacePath::root())?;
    // A planned file that is not there any more leaves no trace.
    for change in &planned.changes()? {
        let hidden = fs::symlink_metadata(upper.join(change.path.as_str())).is_err();
        if change.after.is_some() && hidden && !reader.states.contains_key(&change.path) {
            reader.states.insert(change.path.clone(), None);
        }
    }
    Ok(reader.states)
}

struct Reader<'a> {
    disk: &'a DiskWorkspace,
    upper: &'a Path,
    lower: &'a Path,
    planned: &'a OverlayWorkspace,
    states: BTreeMap<WorkspacePath, Option<FileState>>,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &WorkspacePath) -> Result<(), FileError> {
        let rules = IgnoreRules::collect(folder, |path| self.text(path));
        for entry in fs::read_dir(self.upper.join(folder.as_str())).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (Ok(metadata), path) = (entry.metadata(), folder.child(&name)) else { continue };
            if name == ".git" || rules.excludes(&path, metadata.is_dir()) {
                continue;
            }
            if is_whiteout(&metadata) {
                self.gone(&path);
            } else if metadata.is_dir() {
                if is_opaque(&entry.path()) || self.replaces(&path) {
                    self.gone(&path);
                }
                self.folder(&path)?;
            } else {
                let state = self.disk.state(&ResolvedPath(path.clone()))?;
                self.states.insert(path, state);
            }
        }
        Ok(())
    }

    /// An ignore file as it is now.
    fn text(&self, path: &WorkspacePath) -> Option<String> {
        let above = fs::symlink_metadata(self.upper.join(path.as_str())).ok();
        match above {
            Some(metadata) if metadata.is_file() => fs::read_to_string(self.upper.join(path.as_str())).ok(),
            Some(_) => None,
            None => fs::read_to_string(self.lower.join(path.as_str())).ok(),
        }
    }

    /// Whether a folder stands where the checkout has a file.
    fn replaces(&self, path: &WorkspacePath) -> bool {
        fs::symlink_metadata(self.lower.join(path.as_str())).is_ok_and(|metadata| !metadata.is_dir())
    }

    /// A file is gone, or a folder with all that was in it.
    fn gone(&mut self, path: &WorkspacePath) {
        let lower = self.lower.join(path.as_str());
        if !lower.is_dir() || lower.is_symlink() {
            self.states.entry(path.clone()).or_insert(None);
            return;
        }
        let walk = self.planned.resolve(path, LastLink::Keep).and_then(|path| self.planned.walk(&path, None));
        for found in walk.map_or_else(|_| Vec::new(), |walk| walk.found) {
            if !found.directory {
                self.states.entry(WorkspacePath::clone(&found.path)).or_insert(None);
            }
        }
    }
}

fn is_opaque(folder: &Path) -> bool {
    OPAQUE.iter().any(|mark| {
        let mut value = [0_u8; 4];
        rustix::fs::lgetxattr(folder, *mark, &mut value).is_ok_and(|length| value[..length] == *b"y")
    })
}
