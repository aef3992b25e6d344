//! Full copy of a checkout, for machines where nothing can be mounted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{WalkBuilder, WalkState};

use super::super::path::WorkspacePath;

/// Copies `from` to `to`, except for hidden files. Ignored build folders and `.git` are included, because
/// commands need them. The error has the path at which it occurred.
pub(in crate::workspace) fn copy(
    from: &Path,
    to: &Path,
    is_hidden: &(dyn Fn(&WorkspacePath) -> bool + Sync),
) -> Result<(), (PathBuf, io::Error)> {
    let failure: Mutex<Option<(PathBuf, io::Error)>> = Mutex::new(None);
    WalkBuilder::new(from).standard_filters(false).threads(4).build_parallel().run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let Ok(relative) = entry.path().strip_prefix(from) else { return WalkState::Continue };
            let path = relative.to_str().and_then(|path| WorkspacePath::parse(path).ok());
            if path.is_some_and(|path| is_hidden(&path)) {
                return WalkState::Continue;
            }
            match copy_entry(&entry, &to.join(relative)) {
                Ok(()) => WalkState::Continue,
                Err(error) => {
                    if let Ok(mut failure) = failure.lock() {
                        failure.get_or_insert((entry.path().to_owned(), error));
                    }
                    WalkState::Quit
                }
            }
        })
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

fn copy_entry(entry: &ignore::DirEntry, target: &Path) -> io::Result<()> {
    let Some(kind) = entry.file_type() else { return Ok(()) };
    // The parallel walk may reach a file before another thread has created its folder.
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_dir() {
        fs::create_dir_all(target)
    } else if kind.is_symlink() {
        link(&fs::read_link(entry.path())?, target)
    } else if kind.is_file() {
        // Shares the blocks where the file system can (reflink).
        fs::copy(entry.path(), target)?;
        // Build tools compare times, so a copy must not look newer than what was built from it.
        let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        if let (Some(modified), Ok(file)) = (modified, fs::File::open(target)) {
            let _ = file.set_modified(modified);
        }
        Ok(())
    } else {
        Ok(())
    }
}

#[cfg(unix)]
pub(in crate::workspace) fn link(to: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, target)
}

#[cfg(not(unix))]
pub(in crate::workspace) fn link(to: &Path, target: &Path) -> io::Result<()> {
    fs::write(target, to.to_string_lossy().as_bytes())
}
