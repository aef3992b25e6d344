//! Mirror: a copy of the checkout, by which the changes of others are found, judged and reverted who work on the checkout
//! itself.
//!
//! The same is promised as for commands: what they change is kept as a whole or not at all, and what nobody may keep
//! (Git's own folders, pipes, names that are not text) is put back in any case. What cannot be read is never kept.

mod modes;
mod repositories;
mod twin;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::changes::FileChange;
use super::disk::DiskWorkspace;
use super::inventory::Inventory;
use super::outputs::{Exclusion, GitIgnoreRules};
use super::path::WorkspacePath;
use super::snapshot::FileStamp;
use super::tracked::TrackedWorkspace;
use super::{FileError, Judge, MAX_FILE, Proposed, may_write};
use crate::Scratch;
use crate::bytecode::is_bytecode;
use crate::copy::copy_all;
use repositories::{outermost_of_repository, repository_above};

pub(super) use twin::find as find_entry;

/// How often the checkout is looked at again after something was removed that kept it from being read. One time is enough
/// for all folders of one level.
const MAX_LOOKS: usize = 256;

/// A checkout with a copy of it, which shows what was changed by tools that do not report their changes.
pub struct Mirror {
    checkout: Arc<TrackedWorkspace>,
    copy: DiskWorkspace,
    /// The metadata of all files at the start.
    start: Inventory,
    /// Folders of the checkout that this program writes to, relative to it.
    own: Vec<PathBuf>,
    /// What could not be restored.
    damage: OnceLock<Damage>,
    _scratch: Scratch,
}

/// The outcome of the changes of a call.
#[derive(Debug, Default)]
pub struct SettledChanges {
    /// The changes that were kept.
    pub changes: Vec<FileChange>,
    /// Files that were kept but are too large to be compared.
    pub large: Vec<WorkspacePath>,
    /// Descriptions of what is never kept, and was put back.
    pub dropped: BTreeSet<String>,
    /// The judge's warnings about what was kept.
    pub warnings: Vec<String>,
    /// The reasons why nothing was kept; empty if it was.
    pub refused: Vec<String>,
}

/// What was found to be changed outside of all calls.
#[derive(Debug, Default)]
pub struct LateChanges {
    /// Files whose changes were kept.
    pub kept: Vec<WorkspacePath>,
    /// Descriptions of what was put back.
    pub restored: BTreeSet<String>,
}

/// Whether the run's checks, such as quality gates, are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// They are yet to come, or there are none.
    Pending,
    /// They have seen the state that is to be delivered.
    Done,
}

/// The changes that were found, but for those that are never kept.
#[derive(Default)]
struct Observed {
    changes: Vec<FileChange>,
    large: Vec<WorkspacePath>,
    /// New folders without files.
    folders: Vec<WorkspacePath>,
    dropped: BTreeSet<String>,
}

/// What others left in the checkout that could not be read, or not be put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; do not use this checkout")]
pub struct Damage(String);

/// An error, and the path at which it occurred.
type Failure = (PathBuf, io::Error);

impl Mirror {
    /// Copies the checkout to a folder in `temp`. The changes of others below `own`, where this program writes itself,
    /// are not looked at.
    pub fn new(checkout: Arc<TrackedWorkspace>, temp: &Path, own: &[PathBuf]) -> io::Result<Self> {
        let scratch = Scratch::new(temp)?;
        let to = scratch.path().join("mirror");
        let root = checkout.path().to_owned();
        copy_all(&root, &to, &|_| false).map_err(|(_, error)| error)?;
        let start = Inventory::take(&root).map_err(io::Error::other)?;
        let below = |folder: &PathBuf| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            folder.strip_prefix(&root).ok().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned)
        };
        let own = own.iter().map(PathBuf::as_path).chain([temp]).filter_map(|path| below(&path.to_owned()));
        let (own, copy) = (own.collect(), DiskWorkspace::open(&to)?);
        checkout.keep_latest();
        Ok(Self { checkout, copy, start, own, damage: OnceLock::new(), _scratch: scratch })
    }

    /// Returns what could not be restored, if there was anything: from then on nobody can be let on the checkout.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.get()
    }

    /// Brings the copy up to date with the run's own changes, and returns the metadata of all files before a
    /// call.
    pub fn before(&self) -> Result<Inventory, FileError> {
        self.follow_run()?;
        Inventory::take(self.checkout.path())
    }

    /// Has the changes of a call judged, and keeps all of them or none.
    pub fn settle(&self, before: &Inventory, judge: &Judge) -> SettledChanges {
        let mut settled = SettledChanges::default();
        let judged = self.observe(before, None).map_err(|error| vec![unreadable(&error)]).and_then(|found| {
            settled.dropped.clone_from(&found.dropped);
            let Observed { changes, large, folders, .. } = &found;
            settled.warnings = judge(Proposed { changes, large, folders, ..Proposed::default() })?;
            let kept = self.keep(&found.changes, &found.large).and_then(|()| self.put_back_modes(before));
            kept.map_err(|error| vec![unreadable(&error)])?;
            Ok((found.changes, found.large))
        });
        match judged {
            Ok((changes, large)) => (settled.changes, settled.large) = (changes, large),
            Err(reasons) => {
                settled.refused = reasons;
                if let Err(damage) = self.revert(before) {
                    settled.refused.push(damage.to_string());
                }
            }
        }
        settled
    }

    /// Has the changes judged that were made outside of all calls, since the start: those that are refused are put back.
    /// Files that ignore files exclude are left out if commands may write them: they are what builds leave behind. Nothing
    /// is kept that checks of the run have not seen. The error says what could not be put back, or read.
    pub fn settle_late(&self, judge: &Judge, checks: Checks) -> Result<LateChanges, Damage> {
        self.follow_run().map_err(|error| self.damaged(error.to_string()))?;
        let Observed { changes, large, folders, dropped } =
            self.observe(&self.start, Some(judge)).map_err(|error| self.damaged(unreadable(&error)))?;
        let mut late = LateChanges { restored: dropped, ..LateChanges::default() };
        let is_refused = |path: &WorkspacePath| checks == Checks::Done || !may_write(judge, path);
        let (mut refused, mut changes): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| is_refused(&change.path));
        let (mut refused_large, mut large): (Vec<_>, Vec<_>) = large.into_iter().partition(is_refused);
        let refused_folders: Vec<_> = folders.into_iter().filter(is_refused).collect();
        self.checkout.disk().remove_empty(&refused_folders);
        late.restored.extend(refused_folders.iter().map(|folder| format!("{folder}/")));
        if let Err(reasons) = judge(Proposed { changes: &changes, large: &large, ..Proposed::default() }) {
            late.restored.extend(reasons);
            refused.append(&mut changes);
            refused_large.append(&mut large);
        }
        let of_the_run: BTreeSet<WorkspacePath> = self.checkout.changed().into_iter().collect();
        for path in refused.iter().map(|change| &change.path).chain(&refused_large) {
            let full = Path::new(path.as_str());
            let put_back = if of_the_run.contains(path) {
                twin::copy(self.copy.dir(), self.checkout.disk().dir(), full)
            } else {
                self.put_back(full, &self.start)
            };
            put_back.map_err(|error| self.damaged(format!("could not restore {path}: {error}")))?;
            late.restored.insert(path.to_string());
        }
        let kept = self.keep(&changes, &large).and_then(|()| self.put_back_modes(&self.start));
        kept.map_err(|error| self.damaged(unreadable(&error)))?;
        late.kept = changes.into_iter().map(|change| change.path).chain(large).collect();
        late.kept.sort();
        Ok(late)
    }

    /// Brings the copy to where the run has left its files: as it wrote them, whatever the checkout holds now.
    fn follow_run(&self) -> Result<(), FileError> {
        for (path, state) in self.checkout.take_latest() {
            self.copy.put(&path, state.as_ref())?;
        }
        for (path, _) in self.checkout.large() {
            self.sync(Path::new(path.as_str())).map_err(|error| FileError::Io { path, error })?;
        }
        Ok(())
    }

    /// Copies a file of the checkout to the mirror, unless it looks the same there.
    fn sync(&self, path: &Path) -> io::Result<()> {
        let (checkout, copy) = (self.checkout.disk().dir(), self.copy.dir());
        let stamp =
            |folder| twin::metadata(folder, path).map(|metadata| super::snapshot::stamp_of(&metadata));
        match (stamp(checkout), stamp(copy)) {
            (Some(one), Some(other)) if is_alike(&one, &other) => Ok(()),
            _ => twin::copy(checkout, copy, path),
        }
    }

    /// Records the changes of others as the run's.
    fn keep(&self, changes: &[FileChange], large: &[WorkspacePath]) -> Result<(), Failure> {
        for path in large {
            let full = PathBuf::from(path.as_str());
            let was_there = twin::metadata(self.copy.dir(), &full).is_some();
            self.sync(&full).map_err(|error| (full, error))?;
            self.checkout.note_large(path, was_there);
        }
        self.checkout.absorb(changes);
        // As it was judged: the checkout may hold something else by now.
        changes.iter().try_for_each(|change| {
            let path = PathBuf::from(change.path.as_str());
            self.copy
                .put(&change.path, change.after.as_ref())
                .map_err(|error| (path, io::Error::other(error)))
        })
    }

    /// Finds what differs from `before`, and puts back what is never kept. `late` is the judge where what builds leave
    /// behind is left out.
    fn observe(&self, before: &Inventory, late: Option<&Judge>) -> Result<Observed, Failure> {
        let mut found = Observed::default();
        let now = self.look(before, &mut found.dropped)?;
        for path in before.differing(&now) {
            if self.is_own(path) || twin::is_same(self.checkout.disk().dir(), self.copy.dir(), path) {
                continue;
            }
            let named = path.to_str().and_then(|path| WorkspacePath::parse(path).ok());
            let dropped = match &named {
                _ if let Some(repository) = repository_above(path) => {
                    Some(format!("{}: a separate repository", repository.display()))
                }
                None => Some(format!("{}: a name that is not UTF-8", path.display())),
                Some(_) if now.files.get(path).is_some_and(FileStamp::is_special) => {
                    Some(format!("{}: a pipe, socket or device", path.display()))
                }
                Some(_) => None,
            };
            let Some(named) = named.filter(|_| dropped.is_none()) else {
                let whole = outermost_of_repository(path, before);
                self.put_back(&whole, before).map_err(|error| (whole, error))?;
                found.dropped.extend(dropped);
                continue;
            };
            // As for commands: no later program may trust it.
            if is_bytecode(&named) && now.files.contains_key(path) && self.is_output(&named) {
                self.put_back(path, before).map_err(|error| (path.to_owned(), error))?;
                continue;
            }
            if late.is_some_and(|judge| self.is_output(&named) && may_write(judge, &named)) {
                continue;
            }
            if self.is_large(path) {
                found.large.push(named);
                continue;
            }
            let states = (self.copy.state_of(&named), self.checkout.disk().state_of(&named));
            if let (Ok(before), Ok(after)) = states {
                found.changes.extend(FileChange::new(named, before, after));
            } else {
                self.put_back(path, before).map_err(|error| (path.to_owned(), error))?;
                found.dropped.insert(format!("{named}: could not be read"));
            }
        }
        found.folders = self.new_folders(before, &now);
        Ok(found)
    }

    /// Takes the inventory. What keeps it from being taken is removed if it is new, and opened if it is not.
    fn look(&self, before: &Inventory, dropped: &mut BTreeSet<String>) -> Result<Inventory, Failure> {
        for _ in 0..MAX_LOOKS {
            match Inventory::take_below(self.checkout.path()) {
                Ok(now) => {
                    let closed: Vec<&PathBuf> = now.closed.difference(&before.closed).collect();
                    if closed.is_empty() {
                        return Ok(now);
                    }
                    for path in closed {
                        self.open_up(path, before)?;
                        dropped.insert(format!("{}: cannot be read", path.display()));
                    }
                }
                Err((path, error)) => {
                    let Some(new) = before.first_new(&path) else { return Err((path, error)) };
                    dropped.insert(format!("{}: {error}", new.display()));
                    self.put_back(&new, before).map_err(|error| (new, error))?;
                }
            }
        }
        let error = io::Error::other("something keeps others from reading it");
        Err((self.checkout.path().to_owned(), error))
    }

    /// Gives back the modes that folders had, up to a path that cannot be read. A new one is removed.
    fn open_up(&self, path: &Path, before: &Inventory) -> Result<(), Failure> {
        if let Some(new) = before.first_new(path) {
            return self.put_back(&new, before).map_err(|error| (new, error));
        }
        let mut folders: Vec<&Path> = path.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
        folders.reverse();
        for folder in folders {
            if let Some(mode) = before.folder_mode(folder) {
                let opened = twin::set_mode(self.checkout.disk().dir(), folder, mode);
                opened.map_err(|error| (folder.to_owned(), error))?;
            }
        }
        Ok(())
    }

    /// Reverts everything that differs from `before`. The error says what could not be restored.
    fn revert(&self, before: &Inventory) -> Result<(), Damage> {
        let mut failed = Vec::new();
        match self.look(before, &mut BTreeSet::new()) {
            Ok(now) => {
                for path in before.differing(&now).into_iter().filter(|path| !self.is_own(path)) {
                    let done = self.put_back(path, before);
                    failed.extend(done.err().map(|error| format!("{}: {error}", path.display())));
                }
            }
            Err((path, error)) => {
                failed.push(format!("{}: {error}", path.display()));
                // At least what was there before is there again.
                for path in before.files.keys().filter(|path| !self.is_own(path)) {
                    let _ = self.put_back(path, before);
                }
            }
        }
        let metadata = before.restore(self.checkout.disk());
        failed.extend(metadata.iter().map(|path| path.display().to_string()));
        if failed.is_empty() {
            return Ok(());
        }
        Err(self.damaged(format!("could not restore {}", failed.join(", "))))
    }

    /// Records what could not be put back, and returns it as an error.
    fn damaged(&self, what: String) -> Damage {
        let damage = Damage(what);
        self.damage.get_or_init(|| damage.clone());
        damage
    }

    /// Makes an entry of the checkout what it was: what the mirror holds, or nothing if nothing was there.
    fn put_back(&self, path: &Path, before: &Inventory) -> io::Result<()> {
        let (checkout, copy) = (self.checkout.disk().dir(), self.copy.dir());
        let Some(stamp) = before.files.get(path) else { return twin::remove(checkout, path) };
        let is_outdated = || {
            let named = path.to_str().and_then(|path| WorkspacePath::parse(path).ok());
            let held = twin::metadata(copy, path).map(|metadata| super::snapshot::stamp_of(&metadata));
            named.is_some_and(|path| self.is_output(&path))
                && !held.is_some_and(|held| is_alike(&held, stamp))
        };
        // What was built since the mirror was made is not in it, and can be built again.
        if is_outdated() { twin::remove(checkout, path) } else { twin::copy(copy, checkout, path) }
    }

    /// Returns whether a path is where this program writes itself.
    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|folder| path.starts_with(folder))
    }

    /// Returns whether ignore files exclude a path, both as they were before the run and as they are.
    fn is_output(&self, path: &WorkspacePath) -> bool {
        let folder = path.parent().unwrap_or_else(WorkspacePath::root);
        let original = GitIgnoreRules::collect(&folder, |path| self.checkout.original(path).ok()?);
        let now = GitIgnoreRules::collect(&folder, |path| self.copy.state_of(path).ok()?);
        Exclusion { original, now }.is_output(path)
    }

    /// Returns whether a file is too large to be compared, in the checkout or in the copy.
    fn is_large(&self, path: &Path) -> bool {
        let is_large = |disk: &DiskWorkspace| {
            twin::metadata(disk.dir(), path)
                .is_some_and(|metadata| metadata.is_file() && metadata.len() > MAX_FILE)
        };
        is_large(&self.copy) || is_large(self.checkout.disk())
    }
}

/// Returns whether two files can be taken for the same by what a copy keeps of them: of a link, no time.
fn is_alike(one: &FileStamp, other: &FileStamp) -> bool {
    (one.size, one.mode) == (other.size, other.mode) && (one.is_link() || one.times[..2] == other.times[..2])
}

fn unreadable((path, error): &Failure) -> String {
    format!("could not read what was changed: {}: {error}", path.display())
}
