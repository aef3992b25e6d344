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
use crate::git::Git;

/// Bytes of files that are kept because Git does not hold them.
const MAX_KEPT: u64 = 128 * 1024 * 1024;

/// Times of files are coarser than the clock.
const COARSE: Duration = Duration::from_secs(1);

/// Contents that Git does not hold: of files that differ from the index, and of untracked ones.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<PathBuf, FileState>);

impl Kept {
    /// Reads them; what is too much is left out.
    pub(super) fn take(disk: &DiskWorkspace) -> Self {
        let mut kept = BTreeMap::new();
        let mut bytes = 0;
        let others = Git::new(disk.path()).not_in_index().map(|paths| paths.into_iter().map(PathBuf::from));
        let paths: Vec<PathBuf> = match others {
            Ok(paths) => paths.collect(),
            // No repository: Git holds nothing.
            Err(_) => stamps(disk.path()).into_keys().collect(),
        };
        for path in paths {
            let size = fs::symlink_metadata(disk.path().join(&path)).map_or(0, |metadata| metadata.len());
            if size > MAX_FILE || bytes + size > MAX_KEPT {
                continue;
            }
            if let Some(state) = state(disk, &path) {
                bytes += size;
                kept.insert(path, state);
            }
        }
        Self(kept)
    }
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
    /// Files that it changed of which nobody knows what they held before.
    pub unknown: Vec<WorkspacePath>,
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
        let stamps = stamps(disk.path());
        Self { disk, stamps, kept, changed, started: SystemTime::now() }
    }

    /// Looks again.
    pub fn finish(mut self) -> Observed {
        let touched = touched_since(self.disk.path(), &self.stamps, self.started);
        let lost: Vec<&PathBuf> = touched
            .iter()
            .filter(|path| self.stamps.contains_key(*path))
            .filter(|path| !self.changed.contains_key(*path) && !self.kept.0.contains_key(*path))
            .collect();
        let mut of_git = self.of_git(&lost);
        let mut observed = Observed::default();
        for path in &touched {
            let Some(name) = path.to_str().and_then(|path| WorkspacePath::parse(path).ok()) else { continue };
            let known = self.changed.remove(path).or_else(|| self.kept.0.get(path).cloned());
            let before = known.or_else(|| of_git.remove(path));
            if before.is_none() && self.stamps.contains_key(path) {
                observed.unknown.push(name);
                continue;
            }
            observed.changes.extend(FileChange::new(name, before, state(&self.disk, path)));
        }
        observed
    }

    /// What the index holds of files that were as the index holds them.
    fn of_git(&self, paths: &[&PathBuf]) -> BTreeMap<PathBuf, FileState> {
        let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        if names.is_empty() {
            return BTreeMap::new();
        }
        let git = Git::new(self.disk.path());
        let blobs = git.indexed(&names).unwrap_or_default();
        let fits = |path: &Path, content: &[u8]| {
            self.stamps.get(path).is_some_and(|stamp| stamp.size == content.len() as u64)
        };
        let mut states = BTreeMap::new();
        for (name, mode, content) in blobs {
            let path = PathBuf::from(&name);
            // Where the size differs, a filter (line ends, say) stands between index and checkout.
            let content = if fits(&path, &content) { Some(content) } else { git.checked_out(&name).ok() };
            if let Some(content) = content.filter(|content| fits(&path, content)) {
                states.insert(path, FileState { content: content.into(), mode });
            }
        }
        states
    }
}

/// Files that are not as they were; `before` has just been taken.
pub(super) fn touched(root: &Path, before: &BTreeMap<PathBuf, Stamp>) -> BTreeSet<PathBuf> {
    touched_since(root, before, UNIX_EPOCH)
}

fn touched_since(root: &Path, before: &BTreeMap<PathBuf, Stamp>, started: SystemTime) -> BTreeSet<PathBuf> {
    let now = stamps(root);
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

/// Every file that is not ignored.
pub(super) fn stamps(root: &Path) -> BTreeMap<PathBuf, Stamp> {
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
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Stamp {
    fn changed_at(&self) -> SystemTime {
        let [_, _, seconds, nanos] = self.times;
        let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
        // Where there is no such time, everything new counts.
        if since.is_zero() { SystemTime::now() } else { UNIX_EPOCH + since }
    }
}
