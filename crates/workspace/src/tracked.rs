//! Tracked workspace: the checkout with a record of what each file was before its first change.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::changes::{FileChange, FileState, Mode, Operation};
use super::disk::DiskWorkspace;
use super::empty_folders::EmptyFolders;
use super::overlay::OverlayWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::spool::{Spool, Spooled};
use super::touches::Touches;
use super::write_log::{LogSlot, StateBefore, WriteLog};
use super::{FileError, Kind, LastLink, Stat, Walk, Workspace};

/// A workspace for real edits: every write goes to disk, and the first one to a file records what was there.
pub struct TrackedWorkspace {
    disk: Arc<DiskWorkspace>,
    before: Mutex<BTreeMap<ResolvedPath, Option<KeptState>>>,
    spool: Spool,
    /// Changed files that are too large to be held in memory, and whether they existed before.
    large: Mutex<BTreeMap<WorkspacePath, bool>>,
    /// What the run last wrote to each file since that was last taken; `None` if nobody asks for it.
    latest: Mutex<Option<BTreeMap<WorkspacePath, Option<FileState>>>>,
    touches: Touches,
    log: LogSlot,
    folders: EmptyFolders,
}

/// State of a file before its first change.
#[derive(Debug)]
struct KeptState {
    content: Spooled,
    mode: Mode,
}

impl KeptState {
    fn of(FileState { content, mode }: &FileState, spool: &Spool) -> Self {
        Self { content: spool.put(content), mode: *mode }
    }
}

/// Reads a state before the first change.
fn read(path: &WorkspacePath, kept: Option<&KeptState>) -> Result<Option<FileState>, FileError> {
    let state = |kept: &KeptState| Ok(FileState { content: kept.content.get()?, mode: kept.mode });
    kept.map(state).transpose().map_err(|error| FileError::Io { path: path.clone(), error })
}

impl TrackedWorkspace {
    /// Starts tracking changes to `disk`.
    pub fn new(disk: Arc<DiskWorkspace>) -> Self {
        let (before, large, latest) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (spool, touches) = (Spool::default(), Touches::default());
        let folders = EmptyFolders::default();
        Self { disk, before, spool, large, latest, touches, log: LogSlot::default(), folders }
    }

    /// Remembers from now on what the run writes, for [`Self::take_latest`].
    pub fn keep_latest(&self) {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Returns what the run has written since this was last called: each file as it left it. Others may have changed it
    /// since.
    pub fn take_latest(&self) -> BTreeMap<WorkspacePath, Option<FileState>> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note_latest(&self, path: &ResolvedPath, state: Option<&FileState>) {
        if let Some(latest) = self.latest.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            latest.insert(path.0.clone(), state.cloned());
        }
    }

    /// Logs every write from now on, before it is made.
    pub fn set_log(&self, log: Arc<dyn WriteLog>) {
        self.log.set(log);
    }

    /// Takes up what an earlier part of the run has changed: files as they were before it, and those too large for that.
    pub fn take_up(
        &self,
        before: impl IntoIterator<Item = (WorkspacePath, Option<FileState>)>,
        large: impl IntoIterator<Item = (WorkspacePath, bool)>,
    ) {
        let kept = |state: Option<FileState>| state.map(|state| KeptState::of(&state, &self.spool));
        let before = before.into_iter().map(|(path, state)| {
            self.touches.note(&path);
            (ResolvedPath(path), kept(state))
        });
        self.before.lock().unwrap_or_else(PoisonError::into_inner).extend(before);
        self.large.lock().unwrap_or_else(PoisonError::into_inner).extend(large);
    }

    /// Returns the path of the checkout.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Returns the checkout itself. Changes made through it have to be passed to [`Self::absorb`].
    pub fn disk(&self) -> &DiskWorkspace {
        &self.disk
    }

    /// Returns the files that were changed at some time, even if they were changed back.
    pub fn changed(&self) -> Vec<WorkspacePath> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.keys().map(|path| path.0.clone()).collect()
    }

    /// Returns a file as it was before the run changed it.
    pub fn original(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        match before.get(&ResolvedPath(path.clone())) {
            Some(kept) => read(path, kept.as_ref()),
            None => self.disk.state_of(path),
        }
    }

    /// Records a changed file that is too large to be held in memory, and whether it was there before the change.
    pub fn note_large(&self, path: &WorkspacePath, was_there: bool) {
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        if !large.contains_key(path)
            && let Some(log) = self.log.get()
        {
            log.large(path, was_there);
        }
        large.entry(path.clone()).or_insert(was_there);
    }

    /// Returns the changed files that are too large to be shown, and what happened to them.
    pub fn large(&self) -> Vec<(WorkspacePath, Operation)> {
        let large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        let operation = |path: &WorkspacePath, was_there: bool| {
            let is_there = std::fs::symlink_metadata(self.path().join(path.as_str())).is_ok();
            Operation::between(was_there, is_there)
        };
        large.iter().filter_map(|(path, was)| Some((path.clone(), operation(path, *was)?))).collect()
    }

    /// Records changes of others, such as those of a command. Where they are yet to be made, that is their announcement, and
    /// [`Self::made`] follows it.
    pub fn absorb(&self, changes: &[FileChange]) {
        self.absorb_until(changes, &|| false);
    }

    /// Records changes as [`Self::absorb`] does, before they are made, unless `is_over` says meanwhile that the time for it is up.
    /// Returns whether they are recorded.
    pub fn absorb_until(&self, changes: &[FileChange], is_over: &dyn Fn() -> bool) -> bool {
        let known = self.changed();
        for (index, change) in changes.iter().enumerate() {
            if is_over() {
                let announced = &changes[..index];
                self.log.withdraw(&announced.iter().map(|change| &change.path).collect::<Vec<_>>());
                let mut kept = self.before.lock().unwrap_or_else(PoisonError::into_inner);
                for FileChange { path, before, .. } in announced {
                    let path = ResolvedPath(path.clone());
                    if known.binary_search(&path).is_err() {
                        kept.remove(&path);
                    }
                    self.touches.note(&path);
                    self.note_latest(&path, before.as_ref());
                }
                return false;
            }
            let path = ResolvedPath(change.path.clone());
            self.remember(&path, || Ok::<_, Infallible>(change.before.clone()), change.after.as_ref()).ok();
            self.touches.note(&path);
        }
        true
    }

    /// Records that changes which were announced have been made.
    pub fn made(&self, changes: &[FileChange]) {
        for change in changes {
            self.touches.note(&change.path);
        }
    }

    /// Creates a folder, and those above it, which are there without files until [`Self::settle_folders`].
    pub fn make_folder(&self, path: &WorkspacePath) -> io::Result<()> {
        self.folders.made(self.disk.missing_folders(&path.child("file")));
        self.disk.make_folder(path)
    }

    /// Removes those of the folders that are empty, the last one first. `hollow` are those of them that held no files; they are back
    /// after [`Self::settle_folders`].
    pub fn remove_folders(&self, folders: &[WorkspacePath], hollow: Vec<WorkspacePath>) {
        self.disk.remove_empty(folders);
        self.folders.removed(hollow);
    }

    /// Makes folders without files what they were before the run, at its end.
    pub fn settle_folders(&self) {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let was_there = before.iter().filter(|(_, before)| before.is_some()).map(|(path, _)| path);
        let is_file = |stat: Option<Stat>| stat.is_some_and(|stat| stat.kind != Kind::Directory);
        let gone = was_there.filter(|path| !self.disk.stat(path).is_ok_and(is_file));
        self.folders.settle(&self.disk, gone.map(|path| &path.0));
    }

    /// Takes back the announcement of changes that could not be made: what is there now counts.
    pub fn take_back(&self, changes: &[FileChange]) {
        for change in changes {
            self.withdraw(&ResolvedPath(change.path.clone()));
        }
    }

    /// Records what a file was before its first change, and writes what it is about to be to the log.
    fn remember<E>(
        &self,
        path: &ResolvedPath,
        now: impl FnOnce() -> Result<Option<FileState>, E>,
        after: Option<&FileState>,
    ) -> Result<(), E> {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let first = if before.contains_key(path) { None } else { Some(now()?) };
        if let Some(log) = self.log.get() {
            log.writing(
                path,
                first.as_ref().map_or(StateBefore::NotGiven, |state| state.as_ref().into()),
                after,
            );
        }
        if after.is_some() && !matches!(first, Some(Some(_))) {
            self.folders.made(self.disk.missing_folders(path));
        }
        if let Some(first) = first {
            before.insert(path.clone(), first.map(|state| KeptState::of(&state, &self.spool)));
        }
        drop(before);
        self.note_latest(path, after);
        Ok(())
    }

    /// Makes a write, which is logged before. If it fails, the log gets what is there after all.
    fn logged(
        &self,
        path: &ResolvedPath,
        after: Option<&FileState>,
        write: impl FnOnce() -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.remember(path, || self.disk.state(path), after)?;
        let written = write();
        self.touches.note(path);
        written.inspect_err(|_| self.withdraw(path))
    }

    fn withdraw(&self, path: &ResolvedPath) {
        self.touches.note(path);
        // What cannot be read is nothing that could be written again.
        let Ok(now) = self.disk.state(path) else { return };
        if let Some(log) = self.log.get() {
            log.writing(path, StateBefore::NotGiven, now.as_ref());
        }
        self.note_latest(path, now.as_ref());
    }
}

impl Workspace for TrackedWorkspace {
    fn root(&self) -> &Path {
        self.disk.path()
    }

    fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError> {
        self.disk.resolve(path, last)
    }

    fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError> {
        self.disk.stat(path)
    }

    fn open(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError> {
        self.disk.open_file(path)
    }

    fn write(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError> {
        let mode = self.disk.stat(path)?.map_or(Mode::Regular, |stat| stat.mode);
        let after = FileState { content: content.into(), mode };
        self.logged(path, Some(&after), || self.disk.write_file(path, content))
    }

    fn place(&self, path: &ResolvedPath, state: &FileState) -> Result<(), FileError> {
        self.logged(path, Some(state), || self.disk.restore(path, Some(state)))
    }

    fn remove(&self, path: &ResolvedPath) -> Result<(), FileError> {
        self.logged(path, None, || self.disk.remove_file(path))
    }

    fn walk(&self, folder: &ResolvedPath, depth: Option<usize>) -> Result<Walk, FileError> {
        self.disk.walk(folder, depth, true)
    }

    fn visit_changes(
        &self,
        is_wanted: &dyn Fn(&WorkspacePath) -> bool,
        visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, before) in before.iter().filter(|(path, _)| is_wanted(path)) {
            let before = read(path, before.as_ref())?;
            let change = FileChange::new(path.0.clone(), before, self.disk.state(path)?);
            if change.is_some_and(|change| visit(change).is_break()) {
                break;
            }
        }
        Ok(())
    }

    fn touched(&self) -> Result<Vec<(WorkspacePath, Operation)>, FileError> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let touched = before.iter().filter_map(|(path, before)| {
            let is_there = self.disk.stat(path).map(|stat| stat.is_some());
            let operation =
                is_there.map(|is_there| Operation::between(before.is_some(), is_there)).transpose()?;
            Some(operation.map(|operation| (path.0.clone(), operation)))
        });
        touched.collect()
    }

    fn change_of(&self, path: &WorkspacePath) -> Result<Option<FileChange>, FileError> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let path = ResolvedPath(path.clone());
        let Some(kept) = before.get(&path) else { return Ok(None) };
        Ok(FileChange::new(path.0.clone(), read(&path, kept.as_ref())?, self.disk.state(&path)?))
    }

    fn touched_after(&self, count: usize) -> Vec<WorkspacePath> {
        self.touches.after(count)
    }

    fn preview(&self) -> Arc<dyn Workspace> {
        Arc::new(OverlayWorkspace::new(Arc::clone(&self.disk)))
    }

    fn revert(&self, change: &FileChange) -> Result<(), FileError> {
        let path = ResolvedPath(change.path.clone());
        let before = change.before.as_ref();
        self.logged(&path, before, || self.disk.restore(&path, before))
    }
}

#[cfg(test)]
mod tests;
