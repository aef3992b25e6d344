//! Journal of a batch, on disk: a list of tasks, then a line for each that was begun or ended. Only one process works on it at
//! a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use crate::base::env::Variables;
use crate::base::fs::{lock, write_durable};
use crate::base::integrity::{Seal, digest};
use crate::report::{ShardReport, TaskReport};
use crate::request::InputError;

/// The list of tasks.
pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const JOURNAL: &str = "journal.jsonl";

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// What this is about.
    Batch { manifest: String, shard: Option<ShardReport>, started_at: String },
    /// A task was begun.
    Begun { id: String, attempt: u32 },
    /// An attempt ended that is not the last one.
    Tried { report: Box<TaskReport> },
    /// A task ended.
    Ended { report: Box<TaskReport> },
}

/// Why there is nothing to write to.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Somebody else is at work.
    #[error("another batch is using {0}; wait until it ends, or set a different `out`")]
    Busy(PathBuf),
    /// It is about other tasks.
    #[error(
        "{0} belongs to a different batch (another batch file, commit or shard); start without `resume`, or \
         set a different `out`"
    )]
    Other(PathBuf),
    /// Somebody else has written the list of tasks.
    #[error(
        "{0} was changed after this user's batch wrote it (its seal in ~/.local/state/architect-ci does not \
         match or is missing); start without `resume`"
    )]
    Unsealed(PathBuf),
    /// The folder holds something else.
    #[error(
        "{0} does not belong to a batch in this output folder, which would remove it; set `out` to an empty folder"
    )]
    Foreign(PathBuf),
    /// The disk.
    #[error("could not read or write {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl From<JournalError> for InputError {
    fn from(error: JournalError) -> Self {
        Self::Batch(Box::new(error))
    }
}

/// What an earlier start has left.
#[derive(Default)]
pub(super) struct EarlierStart {
    /// When it began.
    pub(super) started_at: Option<String>,
    /// Tasks that ended.
    pub(super) ended: BTreeMap<String, TaskReport>,
    /// Attempts of tasks that did not.
    pub(super) tried: BTreeMap<String, TaskReport>,
    /// Which attempt of a task was begun last.
    begun: BTreeMap<String, u32>,
}

impl EarlierStart {
    /// Tasks of which an attempt was cut off, whatever it had done.
    pub(super) fn cut_off(&self) -> impl Iterator<Item = &str> {
        self.begun.iter().filter_map(|(id, attempt)| {
            let known = self.tried.get(id).map_or(0, |report| report.attempts);
            (!self.ended.contains_key(id) && *attempt > known).then_some(id.as_str())
        })
    }
}

/// An open journal.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal in `out`, for nobody else; what is in it is of an earlier start.
    pub(super) fn open(out: &Path) -> Result<Self, JournalError> {
        let path = out.join(JOURNAL);
        let failed = |error| JournalError::Io { path: path.clone(), error };
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(JournalError::Foreign(path));
        }
        let file = OpenOptions::new().create(true).read(true).append(true).open(&path).map_err(failed)?;
        if lock(&file) { Ok(Self { path, file }) } else { Err(JournalError::Busy(path)) }
    }

    /// Returns the list of tasks that it is about, if there is one. One that somebody else has written is not used.
    pub(super) fn manifest(&self, variables: &Variables) -> Result<Option<Manifest>, JournalError> {
        let path = self.path.with_file_name(MANIFEST);
        let begun = self.file.metadata().is_ok_and(|journal| journal.len() > 0);
        let Some(manifest) = Manifest::read(&path).ok().filter(|_| begun) else { return Ok(None) };
        if self.seal(variables).holds(manifest.digest().as_bytes()) {
            Ok(Some(manifest))
        } else {
            Err(JournalError::Unsealed(path))
        }
    }

    /// Returns the integrity seal of the list of tasks in this folder.
    fn seal(&self, variables: &Variables) -> Seal {
        seal_of(self.path.parent().unwrap_or(&self.path), variables)
    }

    /// Returns whether a folder holds a list of tasks that this user's batch on this machine has written.
    pub(super) fn is_own(out: &Path, variables: &Variables) -> bool {
        let manifest = Manifest::read(&out.join(MANIFEST));
        manifest.is_ok_and(|manifest| seal_of(out, variables).holds(manifest.digest().as_bytes()))
    }

    /// Replaces the list of tasks and what was done of it, as if that had been done here. Tasks that were begun here stay begun,
    /// because what they have left is here.
    pub(super) fn put(
        &mut self,
        manifest: &str,
        journal: &str,
        variables: &Variables,
    ) -> Result<(), JournalError> {
        let path = self.path.with_file_name(MANIFEST);
        let failed = |path: &Path, error| JournalError::Io { path: path.to_owned(), error };
        let own = File::open(&self.path).and_then(|own| begun_in(BufReader::new(own)));
        let (mut own, known) = (own.map_err(|error| self.failed(error))?, begun_in(journal.as_bytes()));
        let known = known.map_err(|error| self.failed(error))?;
        own.retain(|id| !known.contains(id));
        // The seal last: what is not whole is not of this machine.
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(journal.as_bytes()));
        written.map_err(|error| failed(&self.path, error))?;
        own.iter().try_for_each(|id| self.begun(id, 1))?;
        self.file.sync_all().map_err(|error| failed(&self.path, error))?;
        write_durable(&path, manifest.as_bytes()).map_err(|error| failed(&path, error))?;
        let manifest = Manifest::read(&path).map_err(|error| failed(&path, std::io::Error::other(error)))?;
        let seal = self.seal(variables);
        let sealed = seal.put(manifest.digest().as_bytes());
        sealed.map_err(|error| failed(seal.path().unwrap_or(&path), error))
    }

    /// Checks that nothing is lost if `folder` and the list of tasks are replaced by those of a journal.
    pub(super) fn check_replaceable(&self, folder: &Path, journal: &str) -> Result<(), JournalError> {
        let manifest = self.path.with_file_name(MANIFEST);
        if manifest.exists() && Manifest::read(&manifest).is_err() {
            return Err(JournalError::Foreign(manifest));
        }
        self.check(folder, begun_in(journal.as_bytes()).map_err(|error| self.failed(error))?)
    }

    /// Returns the length of the journal in a folder, in bytes.
    pub(super) fn length(out: &Path) -> u64 {
        fs::metadata(out.join(JOURNAL)).map_or(0, |found| found.len())
    }

    /// Returns what the journal in a folder has gained since it had this length.
    pub(super) fn gain(out: &Path, length: u64) -> std::io::Result<String> {
        let mut file = File::open(out.join(JOURNAL))?;
        file.seek(SeekFrom::Start(length))?;
        let mut gain = String::new();
        file.read_to_string(&mut gain)?;
        Ok(gain)
    }

    /// Returns the reports of tasks that ended, in a part of a journal.
    pub(super) fn ended_in(part: &str) -> Vec<TaskReport> {
        let report = |line: &str| match serde_json::from_str(line) {
            Ok(Line::Ended { report }) => Some(*report),
            _ => None,
        };
        part.lines().filter_map(report).collect()
    }

    /// Checks that `folder`, below the output folder, holds nothing but folders of tasks that were begun here: whatever is
    /// in it will be removed.
    pub(super) fn check_own(&self, folder: &Path) -> Result<(), JournalError> {
        self.check(folder, BTreeSet::new())
    }

    /// Checks the same where other tasks, too, may have left folders.
    fn check(&self, folder: &Path, mut begun: BTreeSet<String>) -> Result<(), JournalError> {
        let failed = |error| JournalError::Io { path: folder.to_owned(), error };
        match fs::symlink_metadata(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
            Ok(found) if !found.is_dir() => return Err(JournalError::Foreign(folder.to_owned())),
            Ok(_) => {}
        }
        let journal = File::open(&self.path).map_err(|error| self.failed(error))?;
        begun.extend(begun_in(BufReader::new(journal)).map_err(|error| self.failed(error))?);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_task = entry.file_name().to_str().is_some_and(|name| begun.contains(name));
            if !is_folder || !is_task {
                return Err(JournalError::Foreign(entry.path()));
            }
        }
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), error }
    }

    /// Reads what an earlier start has done; a line that was cut by its end counts for nothing.
    pub(super) fn earlier(
        &self,
        manifest: &str,
        shard: Option<ShardReport>,
    ) -> Result<EarlierStart, JournalError> {
        let failed = |error| JournalError::Io { path: self.path.clone(), error };
        let mut earlier = EarlierStart::default();
        for line in BufReader::new(File::open(&self.path).map_err(failed)?).split(b'\n') {
            match serde_json::from_slice(&line.map_err(failed)?) {
                Ok(Line::Batch { manifest: other, shard: part, started_at }) => {
                    if other != manifest || part != shard {
                        return Err(JournalError::Other(self.path.clone()));
                    }
                    earlier.started_at.get_or_insert(started_at);
                }
                Ok(Line::Ended { report }) => {
                    earlier.tried.remove(&report.id);
                    earlier.ended.insert(report.id.clone(), *report);
                }
                Ok(Line::Tried { report }) => {
                    earlier.tried.insert(report.id.clone(), *report);
                }
                Ok(Line::Begun { id, attempt }) => {
                    earlier.begun.insert(id, attempt);
                }
                Err(_) => {}
            }
        }
        // Without the line that says what it is about, it says nothing.
        Ok(if earlier.started_at.is_some() { earlier } else { EarlierStart::default() })
    }

    /// Begins: empty, or behind what there is.
    pub(super) fn begin(
        &mut self,
        manifest: &Manifest,
        shard: Option<ShardReport>,
        started_at: &str,
        anew: Option<&Variables>,
    ) -> Result<(), JournalError> {
        let failed = |path: &Path, error| JournalError::Io { path: path.to_owned(), error };
        if let Some(variables) = anew {
            self.file.set_len(0).map_err(|error| failed(&self.path, error))?;
            let path = self.path.with_file_name(MANIFEST);
            let text = manifest.json().map_err(|error| failed(&path, error))?;
            write_durable(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
            // What is done is worth as much without it.
            let seal = self.seal(variables);
            if let Err(error) = seal.put(manifest.digest().as_bytes()) {
                let place = seal.path().unwrap_or(&path).display();
                tracing::warn!(
                    "warning: could not write {place}: {error}; `--resume` will refuse this batch; \
                     set `XDG_STATE_HOME` to a folder that can be written to"
                );
            }
        }
        self.write(&Line::Batch { manifest: manifest.digest(), shard, started_at: started_at.to_owned() })
    }

    /// Notes that a task has begun.
    pub(super) fn begun(&mut self, id: &str, attempt: u32) -> Result<(), JournalError> {
        self.write(&Line::Begun { id: id.to_owned(), attempt })
    }

    /// Notes that an attempt has ended, and that there will be another.
    pub(super) fn tried(&mut self, report: &TaskReport) -> Result<(), JournalError> {
        self.write(&Line::Tried { report: Box::new(report.clone()) })
    }

    /// Notes that a task has ended.
    pub(super) fn ended(&mut self, report: &TaskReport) -> Result<(), JournalError> {
        self.write(&Line::Ended { report: Box::new(report.clone()) })
    }

    /// Writes a line. Behind one that was cut, a new one begins first.
    fn write(&mut self, line: &Line) -> Result<(), JournalError> {
        let failed = |error| JournalError::Io { path: self.path.clone(), error };
        let text = serde_json::to_string(line).unwrap_or_default();
        self.file.write_all(format!("\n{text}").as_bytes()).map_err(failed)?;
        self.file.sync_data().map_err(failed)
    }
}

/// Returns the ids of all tasks that were ever begun, by a journal.
fn begun_in(journal: impl BufRead) -> std::io::Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for line in journal.split(b'\n') {
        if let Ok(Line::Begun { id, .. }) = serde_json::from_slice(&line?) {
            ids.insert(id);
        }
    }
    Ok(ids)
}

/// Returns the integrity seal of the list of tasks in a folder.
fn seal_of(out: &Path, variables: &Variables) -> Seal {
    Seal::new(variables, &format!("batches/{}", digest(out.to_string_lossy().as_bytes())))
}

/// Removes what tasks of an earlier start have left.
pub(super) fn clear(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
