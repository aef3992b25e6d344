//! Apply journal: changes all files or none, even if the process dies in between.
//!
//! First, the old and the new content of every file is written outside of the checkout (see [`JournalFolder`]), then, in
//! one step, a journal that lists them. From then on, each file changes by a rename, which needs no space. If a
//! journal is found later, every file is put back. This is possible at any time, and can be repeated.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use workspace::{
    APPLY_JOURNAL as JOURNAL, DiskWorkspace, FileChange, FileError, FileState, Mode, WorkspacePath,
};

use super::journal_error::JournalError;
use super::journal_folder::JournalFolder;
use crate::base::integrity::digest;

const LOCK: &str = "lock";

/// Step of an apply, announced before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The old and new contents of the file with this index are written outside of the checkout.
    Stage(usize),
    /// The journal is written: from here on, an interruption means that everything is put back.
    Commit,
    /// The file with this index changes.
    Change(usize),
    /// The journal is removed: from here on, the apply is complete.
    Finish,
    /// The file with this index is put back.
    Restore(usize),
    /// The rest of the journal's folder is removed.
    Clean,
}

/// One file in the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    path: WorkspacePath,
    /// Mode and hash before; `None` if there was no file.
    before: Option<(Mode, String)>,
    /// Mode and hash afterwards; `None` if there is no file then.
    #[serde(default)]
    after: Option<(Mode, String)>,
    /// Whether there is a file afterwards.
    comes: bool,
    /// Folders that are created for it, the outermost first.
    folders: Vec<WorkspacePath>,
}

impl Entry {
    /// Returns whether somebody else has put another file in this place: it is neither the one before nor the one
    /// afterwards.
    fn is_foreign(&self, now: Option<&FileState>) -> bool {
        let now = now.map(|now| (now.mode, now.sha256()));
        now.is_some() && now != self.before && self.after.is_some() && now != self.after
    }
}

/// Journal that has been written.
pub struct Journal<'a> {
    disk: &'a DiskWorkspace,
    paths: JournalPaths,
    entries: Vec<Entry>,
}

/// Folder of the journal, locked while this value lives.
struct JournalPaths {
    path: PathBuf,
    _lock: File,
}

impl JournalPaths {
    fn lock(folder: &JournalFolder) -> Result<Self, JournalError> {
        let path = folder.path()?;
        let failed = |error| JournalError::Write { path: path.clone(), error };
        fs::create_dir_all(&path).map_err(failed)?;
        let leads_away = [path.clone(), path.join(LOCK), path.join(JOURNAL)]
            .iter()
            .any(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()));
        if leads_away {
            return Err(failed(io::Error::other("it is a link, or contains one")));
        }
        let lock = File::create(path.join(LOCK)).map_err(failed)?;
        lock.try_lock().map_err(|_| JournalError::Busy)?;
        Ok(Self { path, _lock: lock })
    }

    fn file(&self, kind: &str, index: usize) -> PathBuf {
        self.path.join(format!("{kind}-{index}"))
    }
}

impl<'a> Journal<'a> {
    /// Writes the journal, with all that is needed to finish or to revert, unless `is_over` says meanwhile that the time for it is up.
    pub fn write(
        disk: &'a DiskWorkspace,
        folder: &JournalFolder,
        changes: &[FileChange],
        observe: &dyn Fn(Step),
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, JournalError> {
        let paths = JournalPaths::lock(folder)?;
        match stage(disk, &paths, changes, observe, is_over) {
            Ok(entries) => Ok(Self { disk, paths, entries }),
            Err(error) => {
                // The journal is not in force yet, so all of it can be removed.
                let _ = fs::remove_dir_all(&paths.path);
                Err(error)
            }
        }
    }

    /// Changes the files; puts all of them back if one cannot be changed.
    pub fn perform(self, observe: &dyn Fn(Step)) -> Result<(), JournalError> {
        // Deletions come first: they make room.
        let order = (0..self.entries.len()).filter(|index| !self.entries[*index].comes);
        let order = order.chain((0..self.entries.len()).filter(|index| self.entries[*index].comes));
        for index in order {
            observe(Step::Change(index));
            if let Err(failed) = self.change(index) {
                return Err(match self.put_back(observe) {
                    Ok(()) => JournalError::PutBack(failed),
                    Err(left) => JournalError::Stuck {
                        failed: Box::new(failed),
                        left: Box::new(left),
                        journal: self.paths.path.clone(),
                    },
                });
            }
        }
        self.close(observe);
        Ok(())
    }

    /// Takes back a journal by which nothing was changed.
    pub fn withdraw(self) {
        self.close(&|_| {});
    }

    fn change(&self, index: usize) -> Result<(), FileError> {
        let entry = &self.entries[index];
        // Somebody may have saved the file since the plan was checked.
        let now = self.disk.state_of(&entry.path)?;
        if now.map(|now| (now.mode, now.sha256())) != entry.before {
            let error = io::Error::other("it was changed while the plan was applied");
            return Err(FileError::Io { path: entry.path.clone(), error });
        }
        if entry.comes {
            self.disk.move_in(&self.paths.file("new", index), &entry.path)
        } else {
            self.disk.put(&entry.path, None)
        }
    }

    /// Restores every file to its old state.
    fn put_back(&self, observe: &dyn Fn(Step)) -> Result<(), FileError> {
        // New files are removed first: one may stand where a folder has to be restored.
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.before.is_none()) {
            observe(Step::Restore(index));
            if !entry.is_foreign(self.disk.state_of(&entry.path)?.as_ref()) {
                self.disk.put(&entry.path, None)?;
            }
            self.disk.remove_empty(&entry.folders);
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let Some((mode, hash)) = &entry.before else { continue };
            observe(Step::Restore(index));
            let now = self.disk.state_of(&entry.path)?;
            // What somebody else has saved meanwhile is theirs.
            let is_foreign = entry.is_foreign(now.as_ref());
            let is_back = now.is_some_and(|now| now.mode == *mode && now.sha256() == *hash);
            if !is_back && !is_foreign {
                let old = self.paths.file("old", index);
                if !is_content(&old, hash) {
                    let error = io::Error::other("its saved content was changed or is missing");
                    return Err(FileError::Io { path: entry.path.clone(), error });
                }
                self.disk.move_in(&old, &entry.path)?;
            }
        }
        self.close(observe);
        Ok(())
    }

    /// Removes the journal, after which it is no longer in force.
    fn close(&self, observe: &dyn Fn(Step)) {
        observe(Step::Finish);
        // What cannot be removed now is removed by the next apply.
        let _ = fs::remove_file(self.paths.path.join(JOURNAL));
        sync(&self.paths.path);
        observe(Step::Clean);
        let _ = fs::remove_dir_all(&self.paths.path);
    }
}

/// Writes the contents and the journal.
fn stage(
    disk: &DiskWorkspace,
    paths: &JournalPaths,
    changes: &[FileChange],
    observe: &dyn Fn(Step),
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Entry>, JournalError> {
    let mut entries = Vec::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        if is_over() {
            return Err(JournalError::TimeUp);
        }
        observe(Step::Stage(index));
        for (kind, state) in [("old", &change.before), ("new", &change.after)] {
            let path = paths.file(kind, index);
            let Some(state) = state else { continue };
            disk.stage(&path, state, &change.path).map_err(|error| JournalError::Write { path, error })?;
        }
        entries.push(Entry {
            path: change.path.clone(),
            before: change.before.as_ref().map(|state: &FileState| (state.mode, state.sha256())),
            after: change.after.as_ref().map(|state: &FileState| (state.mode, state.sha256())),
            comes: change.after.is_some(),
            folders: if change.after.is_some() { disk.missing_folders(&change.path) } else { Vec::new() },
        });
    }
    observe(Step::Commit);
    let journal = paths.path.join(JOURNAL);
    let written = serde_json::to_vec(&entries).map_err(io::Error::from).and_then(|text| {
        let mut file = tempfile::NamedTempFile::new_in(&paths.path)?;
        io::Write::write_all(&mut file, &text)?;
        file.as_file().sync_all()?;
        file.persist(&journal).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|error| JournalError::Write { path: journal, error })?;
    sync(&paths.path);
    Ok(entries)
}

/// Whether a file may be written; the error says why not.
pub type MayWrite = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Reverts an interrupted apply. Returns `true` if there was one. Even a planted journal cannot write what `may_write`
/// refuses.
pub fn recover(
    disk: &DiskWorkspace,
    folder: &JournalFolder,
    may_write: impl Fn(&WorkspacePath) -> MayWrite,
    observe: &dyn Fn(Step),
) -> Result<bool, JournalError> {
    if !folder.exists() {
        return Ok(false);
    }
    let paths = JournalPaths::lock(folder)?;
    let text = fs::read(paths.path.join(JOURNAL)).ok();
    let entries: Option<Vec<Entry>> = text.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(entries) = entries else {
        // The journal was not in force yet, or not any more.
        let _ = fs::remove_dir_all(&paths.path);
        return Ok(false);
    };
    let refused = entries.iter().find_map(|entry| may_write(&entry.path).err());
    let journal = Journal { disk, paths, entries };
    let failed = |error: FileError| JournalError::Recover {
        error: Box::new(error),
        journal: journal.paths.path.clone(),
    };
    if let Some(reason) = refused {
        let path = WorkspacePath::root();
        return Err(failed(FileError::Io { path, error: io::Error::other(reason) }));
    }
    journal.put_back(observe).map_err(failed)?;
    Ok(true)
}

/// Returns whether a staged file has the content with this hash.
fn is_content(staged: &Path, hash: &str) -> bool {
    let is_link = fs::symlink_metadata(staged).is_ok_and(|metadata| metadata.is_symlink());
    let content = if is_link {
        fs::read_link(staged).map(|target| target.to_string_lossy().into_owned().into_bytes())
    } else {
        fs::read(staged)
    };
    content.is_ok_and(|content| digest(&content) == hash)
}

/// Flushes a folder's entries to disk.
fn sync(folder: &Path) {
    // Some file systems do not support this, and flush at their own discretion.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
