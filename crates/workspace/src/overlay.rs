//! Overlay workspace: planned edits above the untouched checkout, in memory and, if there are many, in a file without a name.

mod absorbed;
mod planned;

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::changes::{FileChange, FileState, Mode, Operation};
use super::disk::DiskWorkspace;
use super::ignored::{IGNORE_FILES, IgnoreRules};
use super::path::{ResolvedPath, WorkspacePath};
use super::resolve::{Step, resolve};
use super::spool::{Spool, Spooled};
use super::touches::Touches;
use super::write_log::{LogSlot, StateBefore, WriteLog};
use super::{FileError, Kind, LastLink, Stat, Walk, WalkEntry, Workspace};
use planned::{Planned, PlannedEntry};

/// The checkout of a dry run: reads see the planned edits, the disk never does.
pub struct OverlayWorkspace {
    disk: Arc<DiskWorkspace>,
    planned: RwLock<Planned>,
    spool: Spool,
    touches: Touches,
    log: LogSlot,
}

/// State of a file that is planned.
#[derive(Clone)]
struct PlannedState {
    content: Spooled,
    mode: Mode,
}

impl PlannedState {
    fn state(&self) -> io::Result<FileState> {
        Ok(FileState { content: self.content.get()?, mode: self.mode })
    }
}

impl OverlayWorkspace {
    /// Creates an empty overlay above `disk`.
    pub fn new(disk: Arc<DiskWorkspace>) -> Self {
        let (planned, spool, touches) = (RwLock::default(), Spool::default(), Touches::default());
        Self { disk, planned, spool, touches, log: LogSlot::default() }
    }

    /// Logs everything that is planned from now on.
    pub fn set_log(&self, log: Arc<dyn WriteLog>) {
        self.log.set(log);
    }

    fn log_write(&self, path: &WorkspacePath, after: Option<&FileState>) {
        if let Some(log) = self.log.get() {
            let is_first = !self.planned().files.contains_key(path);
            let before = self.original(path).ok().filter(|_| is_first);
            let before = before.as_ref().map_or(StateBefore::NotGiven, |state| state.as_ref().into());
            log.writing(path, before, after);
        }
    }

    fn planned(&self) -> RwLockReadGuard<'_, Planned> {
        self.planned.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the planned content and mode of a file, or `None` if there would be none.
    pub fn state(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        let planned = self.planned();
        match planned.files.get(path) {
            Some(state) => read(path, state.as_ref()),
            None if planned.is_cut_off(path) => Ok(None),
            None => self.disk.state(&ResolvedPath(path.clone())),
        }
    }

    /// Returns the planned size of a file in bytes; 0 if there would be none.
    pub fn size(&self, path: &WorkspacePath) -> u64 {
        self.stat(&ResolvedPath(path.clone())).ok().flatten().map_or(0, |stat| stat.size)
    }

    fn spooled(&self, FileState { content, mode }: &FileState) -> PlannedState {
        PlannedState { content: self.spool.put(content), mode: *mode }
    }

    /// Returns the planned text of an ignore file.
    fn text(&self, path: &WorkspacePath) -> Option<String> {
        let state = self.read(&ResolvedPath(path.clone())).ok()?;
        Some(String::from_utf8_lossy(&state.content).into_owned())
    }

    /// Returns what the walk finds below `folder` on disk, without what has a planned state.
    fn walk_disk(
        &self,
        folder: &ResolvedPath,
        depth: Option<usize>,
        planned: &Planned,
    ) -> Result<Walk, FileError> {
        if !matches!(self.disk.stat(folder)?, Some(Stat { kind: Kind::Directory, .. })) {
            return Ok(Walk::default());
        }
        let rules_change = planned.files.keys().any(|path| path.file_name().is_some_and(is_ignore_file));
        let mut walk = self.disk.walk(folder, depth, !rules_change)?;
        walk.found.retain(|found| !planned.hides(&found.path));
        walk.links.retain(|link| !planned.hides(link));
        if rules_change {
            let mut rules = BTreeMap::new();
            walk.found.retain(|found| !self.excludes(&mut rules, &found.path, found.directory));
            walk.links.retain(|link| !self.excludes(&mut rules, link, false));
        }
        Ok(walk)
    }

    /// Returns a file as it is below all that is planned.
    pub fn original(&self, path: &WorkspacePath) -> Result<Option<FileState>, FileError> {
        self.disk.state_of(path)
    }

    /// Returns whether ignore files, as planned, exclude an entry. `rules` keeps those of each folder.
    fn excludes(
        &self,
        rules: &mut BTreeMap<WorkspacePath, IgnoreRules>,
        path: &WorkspacePath,
        is_directory: bool,
    ) -> bool {
        let Some(parent) = path.parent() else { return false };
        let rules = rules
            .entry(parent.clone())
            .or_insert_with(|| IgnoreRules::collect(&parent, |path| self.text(path)));
        rules.excludes(path, is_directory)
    }
}

fn is_ignore_file(name: &str) -> bool {
    IGNORE_FILES.contains(&name)
}

/// Reads a planned state.
fn read(path: &WorkspacePath, planned: Option<&PlannedState>) -> Result<Option<FileState>, FileError> {
    let state = planned.map(PlannedState::state).transpose();
    state.map_err(|error| FileError::Io { path: path.clone(), error })
}

impl Workspace for OverlayWorkspace {
    fn root(&self) -> &Path {
        self.disk.path()
    }

    fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError> {
        let planned = self.planned();
        if !planned.touches(path) && self.disk.is_plain(path) {
            return Ok(ResolvedPath(path.clone()));
        }
        let mut disk = self.disk.cursor();
        resolve(self.disk.path(), path, last, |path| match planned.entry(path) {
            Some(PlannedEntry::Present(Stat { kind: Kind::Directory, .. })) => Ok(Step::Directory),
            Some(PlannedEntry::Present(Stat { kind: Kind::Link, .. })) => {
                Ok(Step::Link(planned.target(path)))
            }
            Some(_) => Ok(Step::End),
            None if planned.is_cut_off(path) => Ok(Step::End),
            None => disk.step(path),
        })
    }

    fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError> {
        let planned = self.planned();
        match planned.entry(path) {
            Some(PlannedEntry::Present(stat)) => Ok(Some(stat)),
            Some(PlannedEntry::Removed) => Ok(None),
            None if planned.is_cut_off(path) => Ok(None),
            None => self.disk.stat(path),
        }
    }

    fn open(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError> {
        let planned = self.planned();
        match planned.files.get(&path.0) {
            Some(planned) => match read(path, planned.as_ref())? {
                Some(state) => Ok(Box::new(Cursor::new(state.content))),
                None => Err(FileError::Missing(path.0.clone())),
            },
            None if planned.is_cut_off(path) => Err(FileError::Missing(path.0.clone())),
            None => self.disk.open_file(path),
        }
    }

    fn write(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError> {
        let mode = match self.stat(path)? {
            None => Mode::Regular,
            Some(Stat { kind: Kind::File, mode, .. }) => mode,
            Some(Stat { kind: Kind::Directory, .. }) => return Err(FileError::IsDirectory(path.0.clone())),
            Some(_) => return Err(FileError::Special(path.0.clone())),
        };
        let mut missing = Vec::new();
        let mut above = path.parent();
        while let Some(parent) = above.take() {
            match self.stat(&ResolvedPath(parent.clone()))? {
                Some(Stat { kind: Kind::Directory, .. }) => break,
                Some(_) => return Err(FileError::NotDirectory(parent)),
                None => {
                    above = parent.parent();
                    missing.push(parent);
                }
            }
        }
        let state = FileState { content: content.into(), mode };
        self.log_write(path, Some(&state));
        let mut planned = self.planned.write().unwrap_or_else(PoisonError::into_inner);
        self.touches.note(path);
        planned.folders.extend(missing);
        planned.files.insert(path.0.clone(), Some(self.spooled(&state)));
        Ok(())
    }

    fn place(&self, path: &ResolvedPath, state: &FileState) -> Result<(), FileError> {
        self.put(path, Some(state))
    }

    fn remove(&self, path: &ResolvedPath) -> Result<(), FileError> {
        match self.stat(path)?.map(|stat| stat.kind) {
            None => return Err(FileError::Missing(path.0.clone())),
            Some(Kind::Directory) => return Err(FileError::IsDirectory(path.0.clone())),
            Some(Kind::Special) => return Err(FileError::Special(path.0.clone())),
            Some(Kind::File | Kind::Link) => {}
        }
        self.log_write(path, None);
        let mut planned = self.planned.write().unwrap_or_else(PoisonError::into_inner);
        self.touches.note(path);
        planned.files.insert(path.0.clone(), None);
        Ok(())
    }

    fn walk(&self, folder: &ResolvedPath, depth: Option<usize>) -> Result<Walk, FileError> {
        match self.stat(folder)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => {}
            None => return Err(FileError::Missing(folder.0.clone())),
            Some(_) => return Err(FileError::NotDirectory(folder.0.clone())),
        }
        // A clone (of names and shared contents), because reading ignore files takes the lock again.
        let planned = self.planned().clone();
        let mut walk = self.walk_disk(folder, depth, &planned)?;
        let is_below = |path: &WorkspacePath| {
            let levels = path.relative_to(folder).map_or(0, |below| below.split('/').count());
            levels > 0 && depth.is_none_or(|depth| levels <= depth)
        };
        let files = planned.files.iter().filter_map(|(path, state)| Some((path, state.as_ref()?.mode)));
        let folders = planned.folders.iter().map(|path| (path, None));
        let mut rules = BTreeMap::new();
        for (path, mode) in files.map(|(path, mode)| (path, Some(mode))).chain(folders) {
            let directory = mode.is_none();
            if !is_below(path) || self.excludes(&mut rules, path, directory) {
                continue;
            }
            if mode == Some(Mode::Link) {
                walk.links.push(path.clone());
            } else {
                walk.found.push(WalkEntry { path: ResolvedPath(path.clone()), directory });
            }
        }
        walk.found.sort_unstable();
        walk.links.sort_unstable();
        Ok(walk)
    }

    fn visit_changes(
        &self,
        is_wanted: &dyn Fn(&WorkspacePath) -> bool,
        visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        for (path, after) in self.planned().files.iter().filter(|(path, _)| is_wanted(path)) {
            let before = self.disk.state(&ResolvedPath(path.clone()))?;
            let change = FileChange::new(path.clone(), before, read(path, after.as_ref())?);
            if change.is_some_and(|change| visit(change).is_break()) {
                break;
            }
        }
        Ok(())
    }

    fn touched(&self) -> Result<Vec<(WorkspacePath, Operation)>, FileError> {
        let planned = self.planned();
        let touched = planned.files.iter().filter_map(|(path, after)| {
            let was_there = self.disk.stat(&ResolvedPath(path.clone())).map(|stat| stat.is_some());
            let operation = was_there.map(|was| Operation::between(was, after.is_some())).transpose()?;
            Some(operation.map(|operation| (path.clone(), operation)))
        });
        touched.collect()
    }

    fn change_of(&self, path: &WorkspacePath) -> Result<Option<FileChange>, FileError> {
        let planned = self.planned();
        let Some(after) = planned.files.get(path) else { return Ok(None) };
        let before = self.disk.state(&ResolvedPath(path.clone()))?;
        Ok(FileChange::new(path.clone(), before, read(path, after.as_ref())?))
    }

    fn touched_after(&self, count: usize) -> Vec<WorkspacePath> {
        self.touches.after(count)
    }

    fn preview(&self) -> Arc<dyn Workspace> {
        let planned = RwLock::new(self.planned().clone());
        Arc::new(Self { planned, ..Self::new(Arc::clone(&self.disk)) })
    }

    fn revert(&self, change: &FileChange) -> Result<(), FileError> {
        self.put(&change.path, change.before.as_ref())
    }
}

#[cfg(test)]
mod tests;
