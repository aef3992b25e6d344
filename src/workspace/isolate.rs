//! A throw-away copy of the checkout with the planned edits in it, for gates to run on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ignore::{WalkBuilder, WalkState};
use tempfile::TempDir;

use super::changes::{ChangeSet, FileState, Mode};

/// The copy; dropping it removes it.
#[derive(Debug)]
pub struct Isolated {
    dir: TempDir,
    /// How long copying took.
    pub took: Duration,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
#[error("the checkout could not be copied for an isolated run: {path}: {error}")]
pub struct IsolationError {
    path: PathBuf,
    error: io::Error,
}

impl Isolated {
    /// Copies all of `root` (ignored build folders and `.git` too, so that gates find what they
    /// need) below `temp` and applies `changes` to the copy.
    pub fn copy(root: &Path, temp: &Path, changes: &ChangeSet) -> Result<Self, IsolationError> {
        let started = Instant::now();
        let failed = |path: &Path, error| IsolationError { path: path.to_owned(), error };
        let dir = tempfile::Builder::new()
            .prefix("architect-ci-isolated-")
            .tempdir_in(temp)
            .map_err(|error| failed(temp, error))?;
        let failure: Mutex<Option<IsolationError>> = Mutex::new(None);
        WalkBuilder::new(root).standard_filters(false).threads(4).build_parallel().run(|| {
            Box::new(|entry| {
                let Ok(entry) = entry else { return WalkState::Continue };
                let Ok(relative) = entry.path().strip_prefix(root) else { return WalkState::Continue };
                match copy_entry(&entry, &dir.path().join(relative)) {
                    Ok(()) => WalkState::Continue,
                    Err(error) => {
                        if let Ok(mut failure) = failure.lock() {
                            failure.get_or_insert(failed(entry.path(), error));
                        }
                        WalkState::Quit
                    }
                }
            })
        });
        if let Ok(Some(error)) = failure.into_inner() {
            return Err(error);
        }
        for change in changes {
            let target = dir.path().join(change.path.as_str());
            apply(&target, change.after.as_ref()).map_err(|error| failed(&target, error))?;
        }
        Ok(Self { dir, took: started.elapsed() })
    }

    /// Where the copy lies.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn copy_entry(entry: &ignore::DirEntry, target: &Path) -> io::Result<()> {
    let Some(kind) = entry.file_type() else { return Ok(()) };
    // The parallel walk may meet a file before another thread has made its folder.
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_dir() {
        fs::create_dir_all(target)
    } else if kind.is_symlink() {
        link(&fs::read_link(entry.path())?, target)
    } else if kind.is_file() {
        // Shares the blocks where the file system can (reflink), else copies.
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

fn apply(target: &Path, after: Option<&FileState>) -> io::Result<()> {
    match fs::remove_file(target) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(error);
        }
        _ => {}
    }
    let Some(after) = after else { return Ok(()) };
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if after.mode == Mode::Link {
        return link(Path::new(&*String::from_utf8_lossy(&after.content)), target);
    }
    fs::write(target, &after.content)?;
    if after.mode == Mode::Executable { make_executable(target) } else { Ok(()) }
}

#[cfg(unix)]
pub(super) fn link(to: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, target)
}

#[cfg(not(unix))]
pub(super) fn link(to: &Path, target: &Path) -> io::Result<()> {
    fs::write(target, to.to_string_lossy().as_bytes())
}

#[cfg(unix)]
fn make_executable(target: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(target, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
