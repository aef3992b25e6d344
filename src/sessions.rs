//! Runs that have left their files: found again, shown, gone on with, cleared away.
//!
//! A session is the output folder of a run. What it was asked lies in `session.json`, what happened in
//! `transcript.jsonl`, how it ended in `report.json`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::event::{Event, Line, RunMode, Status};
use crate::inputs::Variables;
use crate::seal::Seal;

const SESSION: &str = "session.json";
/// How deep sessions may lie below a folder: a batch's are two levels down.
const MAX_DEPTH: usize = 4;

/// What a run was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// Its id.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// Where it works.
    pub workspace: PathBuf,
    /// The folder in which it was started.
    pub started_in: PathBuf,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The task.
    pub task: String,
    /// The mode.
    pub mode: RunMode,
    /// The inputs that were given, by name.
    pub inputs: BTreeMap<String, String>,
    /// The transcript.
    pub transcript: PathBuf,
    /// The report.
    pub report: PathBuf,
}

/// What of a report tells how its run ended.
#[derive(Deserialize)]
struct Outcome {
    status: Status,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Somebody is at work on it.
    Running,
    /// It was cut off.
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

/// A session that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// What it was asked.
    pub file: SessionFile,
    /// How it stands.
    pub state: State,
}

/// Why there is no such session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nothing of that name.
    #[error("there is no session {0}; use one of `architect-ci sessions list`, or name its folder")]
    Unknown(String),
    /// Several.
    #[error("more than one session begins with {0}; use more of its id, or its folder")]
    Ambiguous(String),
    /// It is being worked on.
    #[error("the session {0} is in use; wait until it ends")]
    Running(String),
    /// It has ended well.
    #[error("the session {0} succeeded, so there is nothing to resume")]
    Over(String),
    /// The checkout is another.
    #[error("the checkout is at {now}, but the session began at {then}; check out that commit to resume")]
    Moved {
        /// The commit now.
        now: String,
        /// The commit then.
        then: String,
    },
    /// Somebody else has written what it was asked.
    #[error(
        "the session {0} was changed after this user's run wrote it (its seal in ~/.local/state/architect-ci \
         does not match or is missing); start the task again"
    )]
    Unsealed(String),
    /// Its files cannot be read.
    #[error("could not read {path}: {problem}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

impl SessionFile {
    /// Writes it beside the other files of its run, and a seal where no command of an agent can write: whoever
    /// changes what was asked must not be obeyed when the session goes on.
    pub fn write(&self, out: &Path, variables: &Variables) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        crate::run::Files::write_private(&out.join(SESSION), &text)?;
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
            fs::read(&self.report).ok().and_then(|text| serde_json::from_slice::<Outcome>(&text).ok());
        report.map_or(State::Unfinished, |report| State::Ended(report.status))
    }

    /// What has happened in it.
    pub fn lines(&self) -> Result<Vec<Line>, SessionError> {
        read_lines(&self.transcript).map_err(|error| SessionError::Unreadable {
            path: self.transcript.clone(),
            problem: error.to_string(),
        })
    }
}

/// The lines of a transcript; one that was cut by its end counts for nothing.
pub(crate) fn read_lines(path: &Path) -> std::io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        lines.extend(serde_json::from_slice(&line?).ok());
    }
    Ok(lines)
}

/// Sessions below these folders, the latest first.
pub fn find(folders: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    for folder in folders {
        look(folder, MAX_DEPTH, &mut found);
    }
    found.sort_by(|one, other| other.file.started_at.cmp(&one.file.started_at));
    found.dedup_by(|one, other| one.folder == other.folder);
    found
}

fn look(folder: &Path, depth: usize, found: &mut Vec<Found>) {
    if let Ok(file) = SessionFile::read(folder) {
        let state = file.state();
        found.push(Found { folder: folder.to_owned(), file, state });
        return;
    }
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Links lead in circles; and what is hidden is not ours.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !entry.file_name().to_string_lossy().starts_with('.') {
            look(&entry.path(), depth - 1, found);
        }
    }
}

/// Where runs leave their files that are not told otherwise.
pub fn usual(runner_temp: Option<&str>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        runner_temp.map(|temp| Path::new(temp).join("architect-ci")).into_iter().collect();
    let temp = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    folders.extend(
        temp.filter(|entry| entry.file_name().to_string_lossy().starts_with("architect-ci-"))
            .map(|entry| entry.path()),
    );
    folders
}

/// The session of an id, of the beginning of one, or in a folder.
pub fn pick(name: &str, folders: &[PathBuf]) -> Result<Found, SessionError> {
    let folder = Path::new(name);
    if folder.join(SESSION).is_file() {
        let file = SessionFile::read(folder)?;
        let state = file.state();
        return Ok(Found { folder: folder.to_owned(), file, state });
    }
    let mut fitting =
        find(folders).into_iter().filter(|found| name.len() >= 4 && found.file.id.starts_with(name));
    let found = fitting.next().ok_or_else(|| SessionError::Unknown(name.to_owned()))?;
    if fitting.next().is_some() { Err(SessionError::Ambiguous(name.to_owned())) } else { Ok(found) }
}

impl Found {
    /// What it takes to go on with it.
    pub fn resume(&self, variables: &Variables) -> Result<Resumed, SessionError> {
        let text = fs::read(self.folder.join(SESSION)).unwrap_or_default();
        // What is compared is what is obeyed.
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
        Ok(Resumed { file: self.file.clone(), lines: self.file.lines()? })
    }

    /// Removes its folder and its seal; gives how many bytes that were.
    pub fn remove(&self, variables: &Variables) -> std::io::Result<u64> {
        if let Some(seal) = seal(variables, &self.file.id) {
            seal.remove();
        }
        let size = size(&self.folder);
        fs::remove_dir_all(&self.folder)?;
        Ok(size)
    }

    /// How long ago anything was written to it.
    pub fn age(&self) -> Duration {
        let touched = [&self.file.transcript, &self.file.report]
            .into_iter()
            .filter_map(|path| path.metadata().ok()?.modified().ok())
            .max();
        touched.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
    }
}

/// The seal of a session; an id that is none could lead anywhere.
fn seal(variables: &Variables, id: &str) -> Option<Seal> {
    let id = uuid::Uuid::parse_str(id).ok()?;
    Some(Seal::new(variables, &format!("sessions/{id}")))
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

/// A session that goes on.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// What it was asked.
    pub file: SessionFile,
    /// What has happened in it, but for its end.
    pub lines: Vec<Line>,
}

impl Resumed {
    /// What belongs to the session's future as well: its end does not.
    pub fn past(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !matches!(line.event, Event::End(_)))
    }

    /// When the last thing happened, in milliseconds since its start.
    pub fn last(&self) -> u64 {
        self.lines.iter().map(|line| line.at_ms).max().unwrap_or(0)
    }
}
