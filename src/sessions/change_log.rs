//! Change log of a run: every write, before it is made, and every action that a dry run plans.
//!
//! It lies in the user's state folder, where no command of an agent can write and from where nothing is uploaded, because it
//! holds files as they are. A run that continues takes its work from here, to the byte; what the log does not know of is other
//! people's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use workspace::{FileState, Mode, StateBefore, WorkspacePath, WriteLog};

use crate::base::fs::{create_folder, lock};
use crate::event::{CallRecord, Event, Line, Observer, PlannedAction};

/// Most bytes of a log; a run that writes more cannot be resumed.
const MAX_LOG: u64 = 500_000_000;

/// How long a log is kept that nobody continues from. A runner that wipes its output folders leaves no other trace of it.
const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// Extension of the file name of a log.
pub(super) const EXTENSION: &str = "changes";

/// A state of a file in the log; without content there is no file.
#[derive(Serialize, Deserialize)]
struct StoredState {
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// A line of the log.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Entry {
    /// A file is about to be written or removed.
    Write {
        path: WorkspacePath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<StoredState>,
        after: StoredState,
    },
    /// The last writes of these files that stand above were not made after all.
    Withdrawn { paths: Vec<WorkspacePath> },
    /// A file was changed that is too large for the log.
    Large { path: WorkspacePath, was_there: bool },
    /// An action was planned.
    Action { action: Box<PlannedAction> },
    /// A call ended; what stands above belongs to it.
    Call { agent: String, step: u32, id: String },
    /// An earlier part of the session ended here; what stands above counts.
    Kept,
}

impl StoredState {
    fn of(state: Option<&FileState>) -> Self {
        Self {
            mode: state.map_or(Mode::Regular, |state| state.mode),
            content: state.map(|state| STANDARD.encode(&state.content)),
        }
    }

    fn state(&self) -> Result<Option<FileState>, base64::DecodeError> {
        let Some(content) = &self.content else { return Ok(None) };
        Ok(Some(FileState { content: STANDARD.decode(content)?.into(), mode: self.mode }))
    }
}

/// An open log.
pub(crate) struct ChangeLog {
    path: PathBuf,
    open: Mutex<Option<OpenLog>>,
}

struct OpenLog {
    file: File,
    written: u64,
}

impl ChangeLog {
    /// Begins a log at `path`, with what an earlier part of the session has done. Without one the run works all the same, but
    /// cannot be resumed.
    pub(crate) fn begin(path: PathBuf, earlier: Option<&LoggedChanges>) -> Option<Self> {
        match Self::open(&path, earlier) {
            Ok(open) => Some(Self { path, open: Mutex::new(Some(open)) }),
            Err(error) => {
                give_up(&path, &error.to_string());
                None
            }
        }
    }

    fn open(path: &Path, earlier: Option<&LoggedChanges>) -> io::Result<OpenLog> {
        let folder = path.parent().unwrap_or(path);
        create_folder(folder)?;
        remove_forgotten(folder);
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        let mut text = Vec::new();
        for entry in earlier.map(LoggedChanges::entries).unwrap_or_default() {
            text.extend(line(&entry));
        }
        fresh.write_all(&text)?;
        let written = text.len() as u64;
        let file = OpenOptions::new().append(true).open(fresh.path())?;
        // Before anybody can find it.
        lock(&file);
        fresh.persist(path).map_err(|error| error.error)?;
        Ok(OpenLog { file, written })
    }

    /// Appends an entry. A log with a gap would be wrong, so there is none any more if that fails.
    fn write(&self, entry: &Entry) {
        self.append(0, || line(entry));
    }

    /// Appends a line of at least so many bytes. It is not made where there is no log any more, or no room for it.
    fn append(&self, least: u64, line: impl FnOnce() -> Vec<u8>) {
        let mut slot = self.open.lock();
        let Some(open) = slot.as_mut() else { return };
        let line = if open.written + least > MAX_LOG { Vec::new() } else { line() };
        open.written += least.max(line.len() as u64);
        let problem = if open.written > MAX_LOG {
            Some(format!("it would be larger than {MAX_LOG} bytes"))
        } else {
            open.file.write_all(&line).err().map(|error| error.to_string())
        };
        if let Some(problem) = problem {
            *slot = None;
            give_up(&self.path, &problem);
        }
    }

    /// Removes the log of a run that has nothing left to do.
    pub(crate) fn remove(&self) {
        *self.open.lock() = None;
        let _ = fs::remove_file(&self.path);
    }

    /// Notes an action of a dry run.
    pub(crate) fn note_action(&self, action: &PlannedAction) {
        self.write(&Entry::Action { action: Box::new(action.clone()) });
    }
}

impl WriteLog for ChangeLog {
    fn writing(&self, path: &WorkspacePath, before: StateBefore<'_>, after: Option<&FileState>) {
        let earlier = match before {
            StateBefore::File(state) => Some(state),
            StateBefore::NotGiven | StateBefore::Absent => None,
        };
        let size = earlier.into_iter().chain(after).map(|state| state.content.len() as u64).sum::<u64>();
        // Base64 takes a third more.
        self.append(size / 3 * 4, || line_of_write(path, before, after));
    }

    fn withdrawn(&self, paths: &[&WorkspacePath]) {
        self.write(&Entry::Withdrawn { paths: paths.iter().copied().cloned().collect() });
    }

    fn large(&self, path: &WorkspacePath, was_there: bool) {
        self.write(&Entry::Large { path: path.clone(), was_there });
    }
}

impl Observer for ChangeLog {
    fn observe(&self, line: &Line) {
        if let Event::Call(call) = &line.event {
            let CallRecord { agent, step, id, .. } = call.as_ref();
            self.write(&Entry::Call { agent: agent.clone(), step: *step, id: id.clone() });
        }
    }
}

/// Removes the logs in `folder` that were last written before [`KEPT_FOR`].
fn remove_forgotten(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let age =
            entry.metadata().and_then(|found| found.modified()).map(|at| at.elapsed().unwrap_or_default());
        if path.extension().is_some_and(|extension| extension == EXTENSION)
            && age.is_ok_and(|age| age > KEPT_FOR)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes a log that is incomplete, or that belongs to an earlier part of the run.
fn give_up(path: &Path, problem: &str) {
    let _ = fs::remove_file(path);
    tracing::warn!("warning: this run cannot be resumed: could not log its changes: {problem}");
}

/// Returns whether a run writes to the log at this path.
pub(super) fn is_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !lock(&file))
}

fn line(entry: &Entry) -> Vec<u8> {
    // The types hold nothing that JSON cannot.
    let mut text = serde_json::to_vec(entry).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Returns the line of an [`Entry::Write`]. What is in base64 needs no escapes, and there may be hundreds of megabytes of it.
fn line_of_write(path: &WorkspacePath, before: StateBefore<'_>, after: Option<&FileState>) -> Vec<u8> {
    let state = |state: Option<&FileState>| {
        let mode = serde_json::json!(state.map_or(Mode::Regular, |state| state.mode));
        let content = state.map(|state| format!(",\"content\":\"{}\"", STANDARD.encode(&state.content)));
        format!("{{\"mode\":{mode}{}}}", content.unwrap_or_default())
    };
    let before = match before {
        StateBefore::NotGiven => String::new(),
        StateBefore::Absent => format!(",\"before\":{}", state(None)),
        StateBefore::File(before) => format!(",\"before\":{}", state(Some(before))),
    };
    let path = serde_json::json!(path);
    format!("{{\"type\":\"write\",\"path\":{path}{before},\"after\":{}}}\n", state(after)).into_bytes()
}

/// Returns the numbers of the lines of writes that were withdrawn.
fn withdrawn(lines: &[&[u8]]) -> serde_json::Result<BTreeSet<usize>> {
    #[derive(Deserialize)]
    struct OfPath {
        path: WorkspacePath,
    }
    const WRITE: &[u8] = br#"{"type":"write","#;
    const WITHDRAWN: &[u8] = br#"{"type":"withdrawn","#;
    let mut withdrawn = BTreeSet::new();
    if !lines.iter().any(|line| line.starts_with(WITHDRAWN)) {
        return Ok(withdrawn);
    }
    let mut last = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with(WRITE) {
            last.insert(serde_json::from_slice::<OfPath>(line)?.path, number);
        } else if line.starts_with(WITHDRAWN)
            && let Entry::Withdrawn { paths } = serde_json::from_slice(line)?
        {
            withdrawn.extend(paths.iter().filter_map(|path| last.remove(path)));
        }
    }
    Ok(withdrawn)
}

/// What the log of an interrupted run says.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedChanges {
    /// Files as they were before the run changed or planned them.
    pub(crate) before: BTreeMap<WorkspacePath, Option<FileState>>,
    /// Files as the calls that ended left them.
    pub(crate) after: BTreeMap<WorkspacePath, Option<FileState>>,
    /// States that the run gave a file at any time, by SHA-256, or was about to.
    states: BTreeMap<WorkspacePath, BTreeSet<Option<String>>>,
    /// Files too large for the log, and whether they were there before.
    pub(crate) large: BTreeMap<WorkspacePath, bool>,
    /// Actions of a dry run, in order.
    pub(crate) actions: Vec<PlannedAction>,
}

impl LoggedChanges {
    /// Reads a log. What was written by a call that `past`, the transcript, does not know to have ended does not count, unless
    /// the run itself came to an end of its own.
    pub(crate) fn read(path: &Path, past: &[Line]) -> io::Result<Self> {
        // An end that cuts calls off leaves no record of them.
        let is_whole = past.iter().any(|line| match &line.event {
            Event::End(end) => !end.stop_reason.may_cut_off(),
            _ => false,
        });
        let ended: BTreeSet<(&str, u32, &str)> = past
            .iter()
            .filter_map(|line| match &line.event {
                Event::Call(call) if !call.cut_off => {
                    Some((call.agent.as_str(), call.step, call.id.as_str()))
                }
                _ => None,
            })
            .collect();
        let mut logged = Self::default();
        let mut pending = Vec::new();
        let text = fs::read(path)?;
        // A last line without an end was cut off, before the write that it announces.
        let lines: Vec<&[u8]> =
            text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).collect();
        let withdrawn = withdrawn(&lines)?;
        for (number, line) in lines.into_iter().enumerate() {
            let entry: Entry = serde_json::from_slice(line)?;
            let counts = match &entry {
                Entry::Call { agent, step, id } => ended.contains(&(agent.as_str(), *step, id.as_str())),
                Entry::Kept => true,
                _ => false,
            };
            logged.note(&entry)?;
            if !withdrawn.contains(&number) {
                pending.push(entry);
            }
            if counts {
                logged.keep(pending.drain(..))?;
            }
        }
        if is_whole {
            logged.keep(pending.drain(..))?;
        }
        Ok(logged)
    }

    /// Notes what counts even of a call that did not end: what was there before it, and what it was about to write.
    fn note(&mut self, entry: &Entry) -> io::Result<()> {
        let Entry::Write { path, before, after } = entry else { return Ok(()) };
        if let Some(before) = before {
            self.before.entry(path.clone()).or_insert(before.state().map_err(io::Error::other)?);
        }
        let state = after.state().map_err(io::Error::other)?;
        self.states.entry(path.clone()).or_default().insert(state.as_ref().map(FileState::sha256));
        Ok(())
    }

    fn keep(&mut self, entries: impl Iterator<Item = Entry>) -> io::Result<()> {
        for entry in entries {
            match entry {
                Entry::Write { path, after, .. } => {
                    self.after.insert(path, after.state().map_err(io::Error::other)?);
                }
                Entry::Large { path, was_there } => {
                    self.large.entry(path).or_insert(was_there);
                }
                Entry::Action { action } => self.actions.push(*action),
                Entry::Call { .. } | Entry::Withdrawn { .. } | Entry::Kept => {}
            }
        }
        Ok(())
    }

    /// Takes everything back.
    pub(super) fn undo(&mut self) {
        self.after.clear();
        self.actions.clear();
    }

    /// Returns what a log begins with that continues from here.
    fn entries(&self) -> Vec<Entry> {
        let write = |path: &WorkspacePath| {
            let before = self.before.get(path);
            let after = self.after.get(path).or(before)?;
            Some(Entry::Write {
                path: path.clone(),
                before: before.map(|state| StoredState::of(state.as_ref())),
                after: StoredState::of(after.as_ref()),
            })
        };
        let paths: BTreeSet<&WorkspacePath> = self.before.keys().chain(self.after.keys()).collect();
        let large = |(path, was_there): (&WorkspacePath, &bool)| Entry::Large {
            path: path.clone(),
            was_there: *was_there,
        };
        let action = |action: &PlannedAction| Entry::Action { action: Box::new(action.clone()) };
        let writes = paths.into_iter().filter_map(write);
        writes
            .chain(self.large.iter().map(large))
            .chain(self.actions.iter().map(action))
            .chain([Entry::Kept])
            .collect()
    }

    /// Returns whether a file is as the run found it, left it, or was about to leave it.
    pub(crate) fn is_own(&self, path: &WorkspacePath, now: Option<&FileState>) -> bool {
        let hash = now.map(FileState::sha256);
        let was = self.before.get(path).map(|state| state.as_ref().map(FileState::sha256));
        was.as_ref() == Some(&hash) || self.states.get(path).is_some_and(|states| states.contains(&hash))
    }
}

#[cfg(test)]
mod tests;
