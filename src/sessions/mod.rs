//! Saved runs: finds, resumes and removes them.
//!
//! A session is the output folder of a run: `session.json` says what was requested, `transcript.jsonl` what
//! happened, and `report.json` how it ended. The changes that it made are logged elsewhere ([`ChangeLog`]); a sealed session
//! (`session.sealed`) holds all of it, for another machine.

mod change_log;
mod error;
mod sealed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::base::env::{Variables, real, state_folder};
use crate::base::integrity::{Seal, trusted_folder};
use crate::event::{Event, Line, RunMode, Status};
use crate::git::Repository;

pub(crate) use change_log::{ChangeLog, LoggedChanges};
pub(crate) use error::SessionError;
pub(crate) use sealed::{OpenedSession, SEALED, SessionPlace, SessionSealer, repository_name, sealed_file};

const SESSION: &str = "session.json";
/// Maximum depth of sessions below a folder: those of a batch are two levels down.
const MAX_DEPTH: usize = 4;

/// What a run was asked to do: the content of `session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The id of the run.
    pub id: String,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// The folder that the run works on.
    pub workspace: PathBuf,
    /// The folder in which the run was started.
    pub started_in: PathBuf,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The task as the agent was given it.
    pub task: String,
    /// The mode, which says how writes are treated.
    pub mode: RunMode,
    /// The inputs that were given, by name.
    pub inputs: BTreeMap<String, String>,
    /// The path of the transcript.
    pub transcript: PathBuf,
    /// The path of the report.
    pub report: PathBuf,
}

/// The part of a report that says how its run ended.
#[derive(Deserialize)]
struct ReportStatus {
    status: Status,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Another process is running it.
    Running,
    /// It was interrupted before it could write its report.
    Unfinished,
    /// It has ended.
    Ended(Status),
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Running => f.write_str("running"),
            Self::Unfinished => f.write_str("unfinished"),
            Self::Ended(status) => status.fmt(f),
        }
    }
}

/// A session in its folder.
#[derive(Clone, Debug)]
pub(crate) struct SavedSession {
    /// The folder of the session.
    pub folder: PathBuf,
    /// What the run was asked to do.
    pub file: SessionFile,
    /// The state of the session when it was found.
    pub state: State,
}

impl SessionFile {
    /// Writes the session file next to the other files of its run, and a seal where no command of an agent
    /// can write: a changed request must not take effect when the session is resumed.
    pub fn write(&self, out: &Path, variables: &Variables) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        crate::base::fs::write_private(&out.join(SESSION), &text)?;
        seal(variables, &self.id).map_or(Ok(()), |seal| seal.put(&text))
    }

    fn read(folder: &Path) -> Result<Self, SessionError> {
        let path = folder.join(SESSION);
        let unreadable = |problem: String| SessionError::Unreadable { path: path.clone(), problem };
        let text = fs::read(&path).map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))
    }

    fn state(&self) -> State {
        if File::open(&self.transcript)
            .is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
        {
            return State::Running;
        }
        let report =
            fs::read(&self.report).ok().and_then(|text| serde_json::from_slice::<ReportStatus>(&text).ok());
        report.map_or(State::Unfinished, |report| State::Ended(report.status))
    }

    /// Checks that the commit is checked out that the session began with.
    pub(crate) fn check_commit(&self, workspace: &Path) -> Result<(), SessionError> {
        let repository = Repository::find(workspace, None).ok().flatten();
        let now = repository.and_then(|repository| repository.head());
        if now == self.commit {
            return Ok(());
        }
        let shown = |commit: Option<String>| commit.unwrap_or_else(|| "no commit".to_owned());
        Err(SessionError::Moved { now: shown(now), then: shown(self.commit.clone()) })
    }

    /// Returns the events of the session's transcript.
    pub fn lines(&self) -> Result<Vec<Line>, SessionError> {
        read_lines(&self.transcript).map_err(|error| SessionError::Unreadable {
            path: self.transcript.clone(),
            problem: error.to_string(),
        })
    }
}

/// Reads the lines of a transcript. Lines that cannot be parsed are left out, such as a last one that was
/// cut short.
pub(crate) fn read_lines(path: &Path) -> std::io::Result<Vec<Line>> {
    Ok(parse_lines(&fs::read(path)?))
}

fn parse_lines(text: &[u8]) -> Vec<Line> {
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Finds the sessions in and below these folders, the latest first.
pub(crate) fn find(folders: &[PathBuf]) -> Vec<SavedSession> {
    let mut found = Vec::new();
    for folder in folders {
        look(folder, MAX_DEPTH, &mut found);
    }
    found.sort_by(|one, other| other.file.started_at.cmp(&one.file.started_at));
    found.dedup_by(|one, other| one.folder == other.folder);
    found
}

fn look(folder: &Path, depth: usize, found: &mut Vec<SavedSession>) {
    if let Ok(file) = SessionFile::read(folder) {
        let state = file.state();
        found.push(SavedSession { folder: folder.to_owned(), file, state });
        return;
    }
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links may lead in circles, and hidden folders are not ours.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !entry.file_name().to_string_lossy().starts_with('.') {
            look(&entry.path(), depth - 1, found);
        }
    }
}

/// Returns the folders in which runs leave their files by default.
pub(crate) fn usual(runner_temp: Option<&str>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        runner_temp.map(|temp| Path::new(temp).join("architect-ci")).into_iter().collect();
    let temp = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    folders.extend(
        temp.filter(|entry| entry.file_name().to_string_lossy().starts_with("architect-ci-"))
            .map(|entry| entry.path()),
    );
    folders
}

/// Finds a session by its folder, its id, or the beginning of its id (at least four characters).
pub(crate) fn pick(name: &str, folders: &[PathBuf]) -> Result<SavedSession, SessionError> {
    let folder = Path::new(name);
    if folder.join(SESSION).is_file() {
        let file = SessionFile::read(folder)?;
        let state = file.state();
        return Ok(SavedSession { folder: folder.to_owned(), file, state });
    }
    let mut fitting =
        find(folders).into_iter().filter(|found| name.len() >= 4 && found.file.id.starts_with(name));
    let found = fitting.next().ok_or_else(|| match Path::new(name) {
        file if file.is_file() => SessionError::NotSealed(file.to_owned()),
        _ => SessionError::Unknown(name.to_owned()),
    })?;
    if fitting.next().is_some() { Err(SessionError::Ambiguous(name.to_owned())) } else { Ok(found) }
}

impl SavedSession {
    /// Checks that the session can be resumed and its integrity seal is intact, and returns what is needed
    /// to resume it.
    pub(crate) fn resume(&self, variables: &Variables) -> Result<Resumed, SessionError> {
        check_state(variables, &self.file.workspace)?;
        let text = fs::read(self.folder.join(SESSION)).unwrap_or_default();
        // The text that the seal covers has to be the one that is used.
        let file: Option<SessionFile> = serde_json::from_slice(&text).ok();
        let sealed = seal(variables, &self.file.id).is_some_and(|seal| seal.holds(&text));
        if !sealed || file.as_ref() != Some(&self.file) {
            return Err(SessionError::Unsealed(self.file.id.clone()));
        }
        match self.state {
            State::Running => return Err(SessionError::Running(self.file.id.clone())),
            State::Ended(Status::Success) => return Err(SessionError::Over(self.file.id.clone())),
            State::Unfinished | State::Ended(_) => {}
        }
        // The conversation, what was spent and what was done are trusted because this user's run wrote them.
        let text = fs::read(&self.file.transcript).map_err(|error| SessionError::Unreadable {
            path: self.file.transcript.clone(),
            problem: error.to_string(),
        })?;
        let sealed = transcript_seal(variables, &self.file.id);
        let sealed = sealed.as_ref().and_then(|seal| seal.sealed_part(&text));
        let text = sealed.ok_or_else(|| SessionError::Unsealed(self.file.id.clone()))?;
        let lines = parse_lines(text);
        let unknown = || SessionError::NoChanges(self.file.id.clone());
        let log = change_log_path(variables, &self.file.id).ok_or_else(unknown)?;
        let changes = LoggedChanges::read(&log, &lines).map_err(|_| unknown())?;
        Ok(Resumed { file: self.file.clone(), lines, changes })
    }

    /// Returns whether this user's run on this machine has written the session.
    pub(crate) fn is_of_this_machine(&self, variables: &Variables) -> bool {
        let text = fs::read(self.folder.join(SESSION)).unwrap_or_default();
        seal(variables, &self.file.id).is_some_and(|seal| seal.holds(&text))
    }

    /// Removes the folder of the session and its seal. Returns the number of bytes freed.
    pub(crate) fn remove(&self, variables: &Variables) -> std::io::Result<u64> {
        let seals = [seal(variables, &self.file.id), transcript_seal(variables, &self.file.id)];
        seals.into_iter().flatten().for_each(|seal| seal.remove());
        if let Some(log) = change_log_path(variables, &self.file.id) {
            let _ = fs::remove_file(log);
        }
        let size = size(&self.folder);
        fs::remove_dir_all(&self.folder)?;
        Ok(size)
    }

    /// Returns the time since the transcript or the report was last written.
    pub(crate) fn age(&self) -> Duration {
        let touched = [&self.file.transcript, &self.file.report]
            .into_iter()
            .filter_map(|path| path.metadata().ok()?.modified().ok())
            .max();
        touched.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
    }
}

/// Checks that there is a folder for seals and logs where no command of a run on this workspace can write.
pub(crate) fn check_state(variables: &Variables, workspace: &Path) -> Result<(), SessionError> {
    let Some(folder) = state_folder(variables) else { return Err(SessionError::NoState) };
    let trusted = trusted_folder(variables).filter(|folder| !folder.starts_with(real(workspace)));
    trusted.map(drop).ok_or(SessionError::StateInCheckout(folder))
}

/// Returns the seal of a session, or `None` if `id` is not a UUID: another text could lead to any path.
fn seal(variables: &Variables, id: &str) -> Option<Seal> {
    let id = uuid::Uuid::parse_str(id).ok()?;
    Some(Seal::new(variables, &format!("sessions/{id}")))
}

/// Returns the seal of a session's transcript, like [`seal`].
pub(crate) fn transcript_seal(variables: &Variables, id: &str) -> Option<Seal> {
    let id = uuid::Uuid::parse_str(id).ok()?;
    Some(Seal::new(variables, &format!("sessions/{id}.transcript")))
}

/// Returns the path of a session's change log, in the user's state folder.
pub(crate) fn change_log_path(variables: &Variables, id: &str) -> Option<PathBuf> {
    let id = uuid::Uuid::parse_str(id).ok()?;
    Some(trusted_folder(variables)?.join(format!("sessions/{id}.{}", change_log::EXTENSION)))
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

/// A session to be resumed.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// What the run was asked to do.
    pub file: SessionFile,
    /// All events of its transcript.
    pub lines: Vec<Line>,
    /// What it had changed or planned.
    pub(crate) changes: LoggedChanges,
}

impl Resumed {
    /// Returns the events that the resumed run keeps: all but its end, and what that cut off.
    pub fn past(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| match &line.event {
            Event::End(_) => false,
            Event::Call(call) => !call.cut_off,
            _ => true,
        })
    }

    /// Returns whether the run was interrupted before it could come to an end of its own.
    pub fn was_cut_off(&self) -> bool {
        !self.lines.iter().any(|line| match &line.event {
            Event::End(end) => !end.stop_reason.may_cut_off(),
            _ => false,
        })
    }

    /// Begins again, with the checkout as the run found it: a recipe does the same once more, and costs nothing.
    pub(crate) fn begin_again(&mut self) {
        self.lines.retain(|line| matches!(line.event, Event::Session(_)));
        self.changes.undo();
    }

    /// Returns the time of the last event, in milliseconds since the start of the run.
    pub fn last(&self) -> u64 {
        self.lines.iter().map(|line| line.at_ms).max().unwrap_or(0)
    }
}
