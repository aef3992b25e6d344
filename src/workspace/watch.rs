//! What a command changes in a checkout: found by looking before and after, because a command does not
//! tell. Ignored files are passed over; they are what builds leave behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::{WalkBuilder, WalkState};

use super::MAX_FILE;
use super::changes::{FileChange, FileState};
use super::disk::DiskWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::snapshot::{Stamp, stamp};
use crate::git::Repository;

/// Bytes of files that are kept because Git does not hold them.
const MAX_KEPT: u64 = 128 * 1024 * 1024;

/// Times of files are coarser than the clock.
const COARSE: Duration = Duration::from_secs(1);

/// Whether a rule is about a file, so that it is watched although it is ignored.
pub type Guarded = Arc<dyn Fn(&WorkspacePath) -> bool + Send + Sync>;

/// Contents that Git does not hold: of files that differ from the index, of untracked ones, and of ignored
/// ones that a rule is about.
#[derive(Debug, Default)]
pub(super) struct Kept {
    states: BTreeMap<PathBuf, FileState>,
    /// Ignored files that are watched all the same.
    ignored: Vec<PathBuf>,
}

impl Kept {
    /// Reads them; what is too much is left out.
    pub(super) fn take(disk: &DiskWorkspace, guarded: Option<&Guarded>) -> Self {
        let walked = stamps(disk.path(), &[]);
        let ignored: Vec<PathBuf> = guarded.map_or_else(Vec::new, |guarded| {
            all(disk.path())
                .filter(|path| !walked.contains_key(path) && named(path).is_some_and(|name| guarded(&name)))
                .collect()
        });
        let mut paths: Vec<PathBuf> = match found(disk).and_then(|repository| repository.not_in_index().ok())
        {
            Some(paths) => paths.into_iter().map(PathBuf::from).collect(),
            // No repository: Git holds nothing.
            None => walked.into_keys().collect(),
        };
        paths.extend(ignored.iter().cloned());
        let mut room = Room::default();
        let take = |path: PathBuf| Some((path.clone(), room.take(disk, &path)??));
        Self { states: paths.into_iter().filter_map(take).collect(), ignored }
    }
}

/// How much is still taken into memory.
struct Room(u64);

impl Default for Room {
    fn default() -> Self {
        Self(MAX_KEPT)
    }
}

impl Room {
    /// A file's state; `None` where it is too large, or too much has been taken already.
    fn take(&mut self, disk: &DiskWorkspace, path: &Path) -> Option<Option<FileState>> {
        let size = fs::symlink_metadata(disk.path().join(path)).map_or(0, |metadata| metadata.len());
        if size > MAX_FILE || size > self.0 {
            return None;
        }
        self.0 -= size;
        Some(state(disk, path))
    }
}

fn found(disk: &DiskWorkspace) -> Option<Repository> {
    Repository::find(disk.path(), None).ok().flatten()
}

fn named(path: &Path) -> Option<WorkspacePath> {
    WorkspacePath::parse(path.to_str()?).ok()
}

/// Every file, ignored ones too.
fn all(root: &Path) -> impl Iterator<Item = PathBuf> {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    walk.flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
        .filter_map(move |entry| entry.path().strip_prefix(root).ok().map(Path::to_owned))
}

/// A checkout before a command.
pub struct Watch {
    disk: Arc<DiskWorkspace>,
    stamps: BTreeMap<PathBuf, Stamp>,
    kept: Arc<Kept>,
    changed: BTreeMap<PathBuf, FileState>,
    started: SystemTime,
}

/// What a command changed.
#[derive(Debug, Default)]
pub struct Observed {
    /// The files, sorted by path.
    pub changes: Vec<FileChange>,
    /// Files that it changed of which nobody knows what they held before, or which are too large to know.
    pub unknown: Vec<WorkspacePath>,
    /// How many files it changed whose names are no text.
    pub unnamed: usize,
}

impl Watch {
    /// Looks at the checkout. `changed` are files that the run has changed so far: what they hold now is
    /// known to nobody else.
    pub(super) fn start(
        disk: Arc<DiskWorkspace>,
        kept: Arc<Kept>,
        changed: impl IntoIterator<Item = WorkspacePath>,
    ) -> Self {
        let changed = changed.into_iter().filter_map(|path| {
            let path = PathBuf::from(path.as_str());
            Some((path.clone(), state(&disk, &path)?))
        });
        let changed = changed.collect();
        let stamps = stamps(disk.path(), &kept.ignored);
        Self { disk, stamps, kept, changed, started: SystemTime::now() }
    }

    /// Looks again.
    pub fn finish(mut self) -> Observed {
        let touched = touched_since(self.disk.path(), &self.stamps, &self.kept.ignored, self.started);
        let lost: Vec<&PathBuf> = touched
            .iter()
            .filter(|path| self.stamps.contains_key(*path))
            .filter(|path| !self.changed.contains_key(*path) && !self.kept.states.contains_key(*path))
            .collect();
        let mut of_git = self.of_git(&lost);
        let (mut observed, mut room) = (Observed::default(), Room::default());
        for path in &touched {
            let Some(name) = named(path) else {
                observed.unnamed += 1;
                continue;
            };
            let known = self.changed.remove(path).or_else(|| self.kept.states.get(path).cloned());
            let before = known.or_else(|| of_git.remove(path));
            let is_lost = before.is_none() && self.stamps.contains_key(path);
            match room.take(&self.disk, path).filter(|_| !is_lost) {
                Some(after) => observed.changes.extend(FileChange::new(name, before, after)),
                None => observed.unknown.push(name),
            }
        }
        observed
    }

    /// What the index holds of files that were as the index holds them.
    fn of_git(&self, paths: &[&PathBuf]) -> BTreeMap<PathBuf, FileState> {
        let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        if names.is_empty() {
            return BTreeMap::new();
        }
        let Some(git) = found(&self.disk) else { return BTreeMap::new() };
        let blobs = git.indexed(&names).unwrap_or_default();
        let fits = |path: &Path, content: &[u8]| {
            self.stamps.get(path).is_some_and(|stamp| stamp.size == content.len() as u64)
        };
        let mut states = BTreeMap::new();
        for (name, mode, content) in blobs {
            let path = PathBuf::from(&name);
            // Where the size differs, a filter (line ends, say) stands between index and checkout; none is run.
            if fits(&path, &content) {
                states.insert(path, FileState { content: content.into(), mode });
            }
        }
        states
    }
}

/// Files that are not as they were; `before` has just been taken.
pub(super) fn touched(root: &Path, before: &BTreeMap<PathBuf, Stamp>) -> BTreeSet<PathBuf> {
    touched_since(root, before, &[], UNIX_EPOCH)
}

fn touched_since(
    root: &Path,
    before: &BTreeMap<PathBuf, Stamp>,
    ignored: &[PathBuf],
    started: SystemTime,
) -> BTreeSet<PathBuf> {
    let now = stamps(root, ignored);
    let mut touched = BTreeSet::new();
    for (path, before) in before {
        // Gone from the walk is not gone: it may be ignored since.
        let after = now
            .get(path)
            .copied()
            .or_else(|| fs::symlink_metadata(root.join(path)).ok().map(|metadata| stamp(&metadata)));
        if after != Some(*before) {
            touched.insert(path.clone());
        }
    }
    let is_new = |(path, stamp): &(&PathBuf, &Stamp)| {
        // What an ignore file no longer hides was there before.
        !before.contains_key(*path) && stamp.changed_at() + COARSE >= started
    };
    touched.extend(now.iter().filter(is_new).map(|(path, _)| path.clone()));
    touched
}

fn state(disk: &DiskWorkspace, path: &Path) -> Option<FileState> {
    let path = ResolvedPath(WorkspacePath::parse(path.to_str()?).ok()?);
    disk.state(&path).ok().flatten()
}

/// Every file that is not ignored, and `ignored` ones.
pub(super) fn stamps(root: &Path, ignored: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let found = Mutex::new(BTreeMap::new());
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .threads(2)
        .filter_entry(|entry| entry.file_name() != ".git");
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let metadata = entry.metadata().ok().filter(|metadata| !metadata.is_dir());
            if let (Some(metadata), Ok(relative)) = (metadata, entry.path().strip_prefix(root)) {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.insert(relative.to_owned(), stamp(&metadata));
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let more = ignored.iter().filter_map(|path| {
        let metadata = fs::symlink_metadata(root.join(path)).ok()?;
        Some((path.clone(), stamp(&metadata)))
    });
    found.extend(more);
    found
}

impl Stamp {
    fn changed_at(&self) -> SystemTime {
        let [_, _, seconds, nanos] = self.times;
        let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
        // Where there is no such time, everything new counts.
        if since.is_zero() { SystemTime::now() } else { UNIX_EPOCH + since }
    }
}
