//! All files or none, also when the process dies in between.
//!
//! What every file was and will be is written beside the checkout first, then a journal that names them in
//! one step. From then on each file changes by a rename, which needs no space. Whoever finds a journal later
//! puts every file back: there is no moment at which that is impossible, and it can be done again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::workspace::{DiskWorkspace, FileChange, FileError, FileState, Mode, WorkspacePath};

/// The journal's folder, in Git's own (where no commit can put anything), else in the checkout.
const FOLDER: &str = "architect-ci-apply";
const JOURNAL: &str = "journal.json";
const LOCK: &str = "lock";

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The content of the file of this number is written beside the checkout.
    Stage(usize),
    /// The journal comes into being: from here on, an end means going back.
    Commit,
    /// The file of this number changes.
    Change(usize),
    /// The journal goes: from here on, all is done.
    Finish,
    /// The file of this number is put back.
    Restore(usize),
    /// What is left of the journal's folder goes.
    Clean,
}

/// Why the files are as they were.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Somebody else is at it.
    #[error("another apply is running on this checkout; wait until it ends")]
    Busy,
    /// The journal could not be written.
    #[error("nothing was written: {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A file could not be changed.
    #[error("could not write every file, so all files were restored: {0}")]
    PutBack(FileError),
    /// A file could not be changed, and another one not put back.
    #[error(
        "could not write every file ({failed}) or restore every file ({left}); the next run tries again with \
         the journal in {journal}"
    )]
    Stuck {
        /// Why it was not applied.
        failed: Box<FileError>,
        /// Why it was not taken back.
        left: Box<FileError>,
        /// Where the journal lies.
        journal: PathBuf,
    },
    /// What was left of an earlier one could not be put back.
    #[error(
        "an earlier apply was interrupted and could not be rolled back: {error}; its journal is in {journal}"
    )]
    Recover {
        /// Why.
        error: Box<FileError>,
        /// Where the journal lies.
        journal: PathBuf,
    },
}

/// One file, as the journal names it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    path: WorkspacePath,
    /// Mode and hash before; `None` where there was no file.
    before: Option<(Mode, String)>,
    /// Whether there is a file afterwards.
    comes: bool,
    /// Folders that come into being with it, the outermost first.
    folders: Vec<WorkspacePath>,
}

/// A journal that is in force.
pub(super) struct Journal<'a> {
    disk: &'a DiskWorkspace,
    place: Place,
    entries: Vec<Entry>,
}

/// The journal's folder; locked as long as this lives.
struct Place {
    path: PathBuf,
    _lock: File,
}

impl Place {
    fn of(disk: &DiskWorkspace) -> PathBuf {
        let git = disk.path().join(".git");
        if git.is_dir() { git.join(FOLDER) } else { disk.path().join(format!(".{FOLDER}")) }
    }

    fn lock(disk: &DiskWorkspace) -> Result<Self, JournalError> {
        let path = Self::of(disk);
        let failed = |error| JournalError::Write { path: path.clone(), error };
        fs::create_dir_all(&path).map_err(failed)?;
        // In a checkout without Git somebody may have put links here.
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
    /// Writes all that is needed to go on or back.
    pub(super) fn write(
        disk: &'a DiskWorkspace,
        changes: &[FileChange],
        observe: &dyn Fn(Step),
    ) -> Result<Self, JournalError> {
        let place = Place::lock(disk)?;
        let staged = stage(disk, &place, changes, observe);
        match staged {
            Ok(entries) => Ok(Self { disk, place, entries }),
            Err((path, error)) => {
                // Nothing is in force yet, so all of it can go.
                let _ = fs::remove_dir_all(&place.path);
                Err(JournalError::Write { path, error })
            }
        }
    }

    /// Changes the files; puts all of them back when one cannot be changed.
    pub(super) fn perform(self, observe: &dyn Fn(Step)) -> Result<(), JournalError> {
        // What goes makes room for what comes.
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
                        journal: self.place.path.clone(),
                    },
                });
            }
        }
        self.close(observe);
        Ok(())
    }

    fn change(&self, index: usize) -> Result<(), FileError> {
        let entry = &self.entries[index];
        if entry.comes {
            self.disk.move_in(&self.place.file("new", index), &entry.path)
        } else {
            self.disk.put(&entry.path, None)
        }
    }

    /// Makes every file what it was.
    fn put_back(&self, observe: &dyn Fn(Step)) -> Result<(), FileError> {
        // First what came goes: it may stand where a folder has to be.
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.before.is_none()) {
            observe(Step::Restore(index));
            self.disk.put(&entry.path, None)?;
            self.disk.remove_empty(&entry.folders);
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let Some((mode, hash)) = &entry.before else { continue };
            observe(Step::Restore(index));
            let now = self.disk.state_of(&entry.path)?;
            let is_back = now.is_some_and(|now| now.mode == *mode && now.sha256() == *hash);
            if !is_back {
                self.disk.move_in(&self.place.file("old", index), &entry.path)?;
            }
        }
        self.close(observe);
        Ok(())
    }

    /// The journal is no longer in force.
    fn close(&self, observe: &dyn Fn(Step)) {
        observe(Step::Finish);
        // What cannot be removed is removed by the next one.
        let _ = fs::remove_file(self.place.path.join(JOURNAL));
        sync(&self.place.path);
        observe(Step::Clean);
        let _ = fs::remove_dir_all(&self.place.path);
    }
}

fn stage(
    disk: &DiskWorkspace,
    place: &Place,
    changes: &[FileChange],
    observe: &dyn Fn(Step),
) -> Result<Vec<Entry>, (PathBuf, io::Error)> {
    let mut entries = Vec::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        observe(Step::Stage(index));
        for (kind, state) in [("old", &change.before), ("new", &change.after)] {
            let path = place.file(kind, index);
            let Some(state) = state else { continue };
            disk.stage(&path, state, &change.path).map_err(|error| (path, error))?;
        }
        entries.push(Entry {
            path: change.path.clone(),
            before: change.before.as_ref().map(|state: &FileState| (state.mode, state.sha256())),
            comes: change.after.is_some(),
            folders: if change.after.is_some() { disk.missing_folders(&change.path) } else { Vec::new() },
        });
    }
    observe(Step::Commit);
    let journal = place.path.join(JOURNAL);
    let written = serde_json::to_vec(&entries).map_err(io::Error::from).and_then(|text| {
        let mut file = tempfile::NamedTempFile::new_in(&place.path)?;
        io::Write::write_all(&mut file, &text)?;
        file.as_file().sync_all()?;
        file.persist(&journal).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|error| (journal, error))?;
    sync(&place.path);
    Ok(entries)
}

/// Makes all changes to a checkout, or none.
pub fn write_all(disk: &DiskWorkspace, changes: &[FileChange]) -> Result<(), JournalError> {
    if changes.is_empty() { Ok(()) } else { Journal::write(disk, changes, &|_| {})?.perform(&|_| {}) }
}

/// Puts back what an interrupted apply has left; whether there was something to put back. `may_write` keeps
/// a journal that somebody planted from writing where nobody may.
pub fn recover(
    disk: &DiskWorkspace,
    may_write: impl Fn(&WorkspacePath) -> Result<(), String>,
    observe: &dyn Fn(Step),
) -> Result<bool, JournalError> {
    let path = Place::of(disk);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(false);
    }
    let place = Place::lock(disk)?;
    let text = fs::read(place.path.join(JOURNAL)).ok();
    let entries: Option<Vec<Entry>> = text.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(entries) = entries else {
        // It came to an end before it was in force, or after.
        let _ = fs::remove_dir_all(&place.path);
        return Ok(false);
    };
    let refused = entries.iter().find_map(|entry| may_write(&entry.path).err());
    let journal = Journal { disk, place, entries };
    let failed = |error: FileError| JournalError::Recover {
        error: Box::new(error),
        journal: journal.place.path.clone(),
    };
    if let Some(reason) = refused {
        let path = WorkspacePath::root();
        return Err(failed(FileError::Io { path, error: io::Error::other(reason) }));
    }
    journal.put_back(observe).map_err(failed)?;
    Ok(true)
}

/// Makes what happened to the entries of a folder last.
fn sync(folder: &Path) {
    // Some file systems cannot; then it lasts when they say so.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
