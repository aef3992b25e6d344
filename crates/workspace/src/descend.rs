//! Walk below a folder by descriptors, name by name: it is not limited by the length of paths, and follows no link
//! that takes a folder's place meanwhile.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

/// The number of threads that walk at once.
const THREADS: usize = 4;

/// Maximum depth of folders. No path that a program can use at once has as many names, and the paths of all folders in a
/// deeper tree would need more memory than there is.
const MAX_DEPTH: usize = 2_500;

/// An entry that is not a folder.
pub struct WalkedEntry<'a> {
    /// The folder that it is in.
    pub folder: &'a Dir,
    /// Its name there.
    pub name: &'a OsStr,
    /// Its path below the start.
    pub path: &'a Path,
    /// Its metadata.
    pub metadata: &'a Metadata,
}

/// What is done with each entry.
pub trait Visitor: Sync {
    /// What the visitor keeps for a folder while its entries are visited.
    type Folder: Send + Sync;

    /// Visits a folder before its entries; `above` belongs to its parent. Returns `None` to skip its entries.
    fn enter(
        &self,
        above: &Self::Folder,
        name: &OsStr,
        path: &Path,
        metadata: &Metadata,
    ) -> io::Result<Option<Self::Folder>>;

    /// Visits an entry that is not a folder.
    fn meet(&self, folder: &Self::Folder, met: &WalkedEntry<'_>) -> io::Result<()>;

    /// Visits a folder that this user cannot list or search, or an entry of such a folder.
    fn closed(&self, path: &Path);

    /// Visits a folder that is too deep to be entered; the error ends the walk.
    fn too_deep(&self, _: &Path) -> io::Result<()> {
        Err(io::Error::other(format!("folders are more than {MAX_DEPTH} levels deep")))
    }
}

/// Visits everything below `root`, several folders at once; `first` belongs to `root` itself. Returns the first error,
/// which ends the walk, with the path at which it occurred.
pub fn descend<V: Visitor>(root: &Path, first: V::Folder, visitor: &V) -> Result<(), (PathBuf, io::Error)> {
    let open = Dir::open_ambient_dir(root, ambient_authority());
    let open = open.map_err(|error| (root.to_owned(), error))?;
    descend_in(open, first, visitor).map_err(|(path, error)| (root.join(path), error))
}

/// The same below a folder that is open already. The path of an error is relative to it.
pub fn descend_in<V: Visitor>(root: Dir, first: V::Folder, visitor: &V) -> Result<(), (PathBuf, io::Error)> {
    let above = Arc::new(OpenFolder { dir: root, own: first });
    let start = Step { above, name: None, path: PathBuf::new(), depth: 0 };
    let walk = Walk {
        state: Mutex::new(State { steps: [start].into(), busy: 0, failure: None }),
        more: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let start =
            |_: &usize| std::thread::Builder::new().spawn_scoped(scope, || walk.work(visitor)).is_ok();
        if (0..THREADS).filter(start).count() == 0 {
            walk.work(visitor);
        }
    });
    let state = walk.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failure.map_or(Ok(()), Err)
}

/// A folder that stays open as long as a folder in it is still to be visited.
struct OpenFolder<F> {
    dir: Dir,
    own: F,
}

/// A folder to visit; without a name, `above` itself.
struct Step<F> {
    above: Arc<OpenFolder<F>>,
    name: Option<std::ffi::OsString>,
    path: PathBuf,
    depth: usize,
}

struct State<F> {
    /// Taken from the end, so that few folders are open at once.
    steps: VecDeque<Step<F>>,
    busy: usize,
    failure: Option<(PathBuf, io::Error)>,
}

struct Walk<F> {
    state: Mutex<State<F>>,
    more: Condvar,
}

impl<F: Send + Sync> Walk<F> {
    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, visitor: &impl Visitor<Folder = F>) {
        while let Some(step) = self.next() {
            let path = step.path.clone();
            let done = visit(step, visitor);
            let mut state = self.lock();
            state.busy -= 1;
            match done {
                Ok(steps) if state.failure.is_none() => state.steps.extend(steps),
                Ok(_) => {}
                Err((below, error)) => {
                    state.steps.clear();
                    state.failure.get_or_insert((below.unwrap_or(path), error));
                }
            }
            self.more.notify_all();
        }
    }

    /// Returns the next folder to visit. Waits while other threads may still find some.
    fn next(&self) -> Option<Step<F>> {
        let mut state = self.lock();
        loop {
            if let Some(step) = state.steps.pop_back() {
                state.busy += 1;
                return Some(step);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An error, and the path that it is about if that is not the folder itself.
type Failure = (Option<PathBuf>, io::Error);

/// Visits one folder, and returns the folders in it.
fn visit<V: Visitor>(step: Step<V::Folder>, visitor: &V) -> Result<Vec<Step<V::Folder>>, Failure> {
    let Step { above, name, path, depth } = step;
    let failed = |error| (None, error);
    if depth > MAX_DEPTH {
        return visitor.too_deep(&path).map(|()| Vec::new()).map_err(failed);
    }
    let folder = match name {
        None => above,
        Some(name) => {
            let dir = match above.dir.open_dir_nofollow(&name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    visitor.closed(&path);
                    return Ok(Vec::new());
                }
                // Removed or replaced since it was listed.
                Err(error) if is_gone(&error) => return Ok(Vec::new()),
                opened => opened.map_err(failed)?,
            };
            let metadata = dir.dir_metadata().map_err(failed)?;
            let Some(own) = visitor.enter(&above.own, &name, &path, &metadata).map_err(failed)? else {
                return Ok(Vec::new());
            };
            Arc::new(OpenFolder { dir, own })
        }
    };
    let mut steps = Vec::new();
    let entries = match folder.dir.entries() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !path.as_os_str().is_empty() => {
            visitor.closed(&path);
            return Ok(steps);
        }
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let path = path.join(&name);
        let metadata = match folder.dir.symlink_metadata(&name) {
            Err(error) if is_gone(&error) => continue,
            // A folder that can be listed but not searched.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                visitor.closed(&path);
                continue;
            }
            found => found.map_err(|error| (Some(path.clone()), error))?,
        };
        if metadata.is_dir() {
            steps.push(Step { above: Arc::clone(&folder), name: Some(name), path, depth: depth + 1 });
        } else {
            let met = WalkedEntry { folder: &folder.dir, name: &name, path: &path, metadata: &metadata };
            visitor.meet(&folder.own, &met).map_err(|error| (Some(path.clone()), error))?;
        }
    }
    Ok(steps)
}

/// Returns whether an error says that an entry does not exist, or is no folder. Opening a link fails so, too.
fn is_gone(error: &io::Error) -> bool {
    #[cfg(unix)]
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP) {
        return true;
    }
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
