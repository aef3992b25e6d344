//! Changes in the upper folder of an overlay: everything that may differ from what is below.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};
use parking_lot::Mutex;
use workspace::descend::{Visitor, WalkedEntry, descend_in};
use workspace::{DiskWorkspace, FileError, Operation, Touched, Workspace, WorkspacePath};

use super::BaseState;
use super::whiteout::{is_opaque, is_whiteout};

/// Maximum depth of folders that are read; nobody works deeper than that.
const MAX_DEPTH: usize = 200;

/// Returns everything that may differ from what is below. Nothing is mounted, and no link is followed.
pub(super) fn touched(
    upper: &DiskWorkspace,
    lower: &Path,
    below: &BaseState,
    hidden: &BTreeSet<WorkspacePath>,
) -> Result<Touched, FileError> {
    let path = WorkspacePath::root();
    let failed = |error| FileError::Io { path: path.clone(), error };
    let start = Folder {
        path: path.clone(),
        upper: upper.dir().try_clone().map_err(failed)?,
        lower: Some(Dir::open_ambient_dir(lower, ambient_authority()).map_err(failed)?),
        depth: 0,
    };
    let mut reader = Reader { below, hidden, touched: Touched::default() };
    let mut waiting = vec![start];
    while let Some(folder) = waiting.pop() {
        waiting.extend(reader.read(&folder)?);
    }
    let Reader { mut touched, .. } = reader;
    // A planned file or folder that no longer exists leaves no trace.
    if let BaseState::Planned(planned) = below {
        for (path, operation) in planned.touched()? {
            let is_gone = upper.entry(&path).is_ok_and(|entry| entry.is_none());
            if operation != Operation::Delete && is_gone {
                touched.files.insert(path);
            }
        }
        let (made, _) = planned.planned_folders();
        touched.gone_folders.extend(made.into_iter().filter(|path| !upper.has_folder(path)));
    }
    Ok(touched)
}

/// A folder that is in the upper folder.
struct Folder {
    path: WorkspacePath,
    upper: Dir,
    /// What the lower folder has there, as far as it is visible.
    lower: Option<Dir>,
    depth: usize,
}

struct Reader<'a> {
    below: &'a BaseState,
    hidden: &'a BTreeSet<WorkspacePath>,
    touched: Touched,
}

impl Reader<'_> {
    /// Reads a folder, and returns those in it.
    fn read(&mut self, folder: &Folder) -> Result<Vec<Folder>, FileError> {
        let io = |error| FileError::Io { path: folder.path.clone(), error };
        if folder.depth > MAX_DEPTH {
            return Err(io(io::Error::other(format!("folders are more than {MAX_DEPTH} levels deep"))));
        }
        let mut folders = Vec::new();
        let mut holds_files = false;
        for entry in folder.upper.entries().map_err(io)? {
            let entry = entry.map_err(io)?;
            let metadata = entry.metadata().map_err(io)?;
            holds_files = true;
            let Ok(name) = entry.file_name().into_string() else {
                self.touched.unnamed += 1;
                continue;
            };
            let path = folder.path.child(&name);
            if name.eq_ignore_ascii_case(".git") {
                // The checkout's own Git folder is discarded; those of other repositories are not kept
                // either.
                self.touched.repositories.extend((!folder.path.is_root()).then_some(path));
            } else if is_whiteout(&metadata) {
                self.gone(&path, folder.lower.as_ref())?;
            } else if metadata.is_dir() {
                let failed = |error| FileError::Io { path: path.clone(), error };
                let upper = folder.upper.open_dir_nofollow(&name).map_err(failed)?;
                let is_replaced =
                    is_opaque(&upper) || found(folder, &name).is_some_and(|lower| !lower.is_dir());
                if is_replaced {
                    self.gone(&path, folder.lower.as_ref())?;
                }
                let lower = folder.lower.as_ref().filter(|_| !is_replaced);
                let lower = lower.and_then(|lower| lower.open_dir_nofollow(&name).ok());
                folders.push(Folder { path, upper, lower, depth: folder.depth + 1 });
            } else {
                // If the checkout has a folder there, all of its content is gone.
                if found(folder, &name).is_some_and(|lower| lower.is_dir()) {
                    self.gone(&path, folder.lower.as_ref())?;
                }
                if !metadata.is_file() && !metadata.is_symlink() {
                    self.touched.special.insert(path.clone());
                }
                self.touched.files.insert(path);
            }
        }
        if !holds_files && !folder.path.is_root() && folder.lower.is_none() {
            self.touched.folders.insert(folder.path.clone());
        }
        Ok(folders)
    }

    /// Records that a file is gone, or a folder with all of its content. `lower` is the lower folder that it was in.
    fn gone(&mut self, path: &WorkspacePath, lower: Option<&Dir>) -> Result<(), FileError> {
        let name = path.file_name().unwrap_or_default();
        match lower.and_then(|lower| lower.open_dir_nofollow(name).ok()) {
            Some(folder) => self.folder_gone(path, folder)?,
            None => self.file_gone(path.clone()),
        }
        // Files that are only planned are in no lower folder.
        if let BaseState::Planned(planned) = self.below {
            let planned = planned.touched()?.into_iter().map(|(path, _)| path);
            self.touched.files.extend(planned.filter(|planned| planned.is_within(path)));
        }
        Ok(())
    }

    fn folder_gone(&mut self, path: &WorkspacePath, folder: Dir) -> Result<(), FileError> {
        let content = Content(Mutex::default());
        descend_in(folder, (), &content).map_err(|(_, error)| FileError::Io { path: path.clone(), error })?;
        self.touched.gone_folders.insert(path.clone());
        for (below, is_folder) in content.0.into_inner() {
            let names = below.to_str().and_then(|below| WorkspacePath::parse(below).ok());
            let Some(names) = names else {
                self.touched.unnamed += 1;
                continue;
            };
            let full = names.names().fold(path.clone(), |above, name| above.child(name));
            if is_folder {
                self.touched.gone_folders.insert(full);
            } else {
                self.file_gone(full);
            }
        }
        Ok(())
    }

    fn file_gone(&mut self, path: WorkspacePath) {
        if !self.hidden.contains(&path) {
            self.touched.files.insert(path);
        }
    }
}

/// Returns what the lower folder has under a name, if that is visible.
fn found(folder: &Folder, name: &str) -> Option<Metadata> {
    folder.lower.as_ref()?.symlink_metadata(name).ok()
}

/// What a folder contains: paths below it, and whether each is a folder.
struct Content(Mutex<Vec<(std::path::PathBuf, bool)>>);

impl Content {
    fn add(&self, path: &Path, is_folder: bool) {
        self.0.lock().push((path.to_owned(), is_folder));
    }
}

impl Visitor for Content {
    type Folder = ();

    fn enter(&self, (): &(), _: &OsStr, path: &Path, _: &Metadata) -> io::Result<Option<()>> {
        self.add(path, true);
        Ok(Some(()))
    }

    fn meet(&self, (): &(), met: &WalkedEntry<'_>) -> io::Result<()> {
        self.add(met.path, false);
        Ok(())
    }

    /// What nobody can list cannot be removed by its names either; whoever removes the folder finds that out.
    fn closed(&self, _: &Path) {}
}
