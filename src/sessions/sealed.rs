//! Sealed sessions: all that it takes to continue with a run on another machine, in one file that only holders of the
//! user's key can read or make.
//!
//! What comes out of the file is sealed like a session of this machine, and resumed like one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::change_log::is_written;
use super::{SavedSession, SessionError, SessionFile, change_log_path, check_state, pick, transcript_seal};
use crate::base::env::Variables;
use crate::base::fs::{create_folder, write_atomic, write_private};
use crate::base::sealed_box::{MAX_BOX, SealError, SealKey, SealedHeader, header, is_sealed_box, open, seal};
use crate::git::Repository;

/// The file, in the output folder of a run.
pub(crate) const SEALED: &str = "session.sealed";

/// The kind of box.
const KIND: &str = "session";

/// How long a file is left alone at least before it is written again, and how many times as long as writing it took.
const MIN_PAUSE: Duration = Duration::from_millis(200);
const PAUSE_FACTOR: u32 = 20;

/// The content of a sealed session.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// `session.json`.
    session: SessionFile,
    /// The transcript.
    transcript: String,
    /// The log of changes; absent if the run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changes: Option<String>,
}

/// Seals a session as it grows.
#[derive(Debug)]
pub(crate) struct SessionSealer {
    key: SealKey,
    header: SealedHeader,
    /// The output folder.
    out: PathBuf,
    transcript: PathBuf,
    changes: Option<PathBuf>,
    /// Whether the session was sealed for the last time; held while it is sealed, so that no older state comes after that.
    has_ended: Mutex<bool>,
}

/// Where a session lies.
#[derive(Clone, Copy)]
pub(crate) struct SessionPlace<'a> {
    /// The id of the session.
    pub(crate) id: &'a str,
    /// The output folder.
    pub(crate) out: &'a Path,
    /// The transcript.
    pub(crate) transcript: &'a Path,
}

/// Returns the repository of a job, as `owner/name` in lower case; empty if nobody says.
pub(crate) fn repository_name(variables: &Variables, repository: Option<&Repository>) -> String {
    let named = variables.get("GITHUB_REPOSITORY").filter(|name| !name.is_empty()).cloned();
    let of_origin = || {
        let settings = repository?.settings();
        let url = settings.origin()?.trim_end_matches('/').trim_end_matches(".git").to_owned();
        let (rest, name) = url.rsplit_once('/')?;
        let owner = rest.rsplit(['/', ':']).next()?;
        // A path on this machine says nothing to another one.
        (url.contains("://") || url.contains('@')).then(|| format!("{owner}/{name}"))
    };
    named.or_else(of_origin).unwrap_or_default().to_ascii_lowercase()
}

impl SessionSealer {
    /// Returns the sealer of a run; `None` if the user has no key.
    pub(crate) fn new(
        variables: &Variables,
        repository: Option<&Repository>,
        number: Option<u64>,
        session: SessionPlace<'_>,
    ) -> Result<Option<Self>, SealError> {
        let Some(key) = SealKey::read(variables)? else { return Ok(None) };
        let SessionPlace { id, out, transcript } = session;
        let repository = repository_name(variables, repository);
        let header = SealedHeader::of(KIND, id.to_owned(), variables, repository, number.unwrap_or(0));
        let changes = change_log_path(variables, id);
        let (out, transcript) = (out.to_owned(), transcript.to_owned());
        Ok(Some(Self { key, header, out, transcript, changes, has_ended: Mutex::default() }))
    }

    /// Seals the session as it is now, unless it has ended.
    pub(super) fn seal(&self) -> Result<(), SealError> {
        let has_ended = self.has_ended.lock();
        if *has_ended { Ok(()) } else { self.write() }
    }

    /// Seals the session for the last time, or removes what is sealed if there is nothing left to do.
    pub(crate) fn end(&self, is_done: bool) -> Result<(), SealError> {
        let mut has_ended = self.has_ended.lock();
        *has_ended = true;
        if !is_done {
            return self.write();
        }
        match fs::remove_file(self.out.join(SEALED)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Writes the box. A run that has not saved its session yet has nothing to seal.
    fn write(&self) -> Result<(), SealError> {
        let Ok(session) = SessionFile::read(&self.out) else { return Ok(()) };
        // Before the log, which may know more than the transcript but must not know less.
        let transcript = fs::read_to_string(&self.transcript)?;
        let whole = transcript.rfind('\n').map_or("", |end| &transcript[..=end]).to_owned();
        let changes = match self.changes.as_ref().map(fs::read_to_string) {
            Some(Ok(changes)) => Some(changes),
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => None,
        };
        let content = Content { session, transcript: whole, changes };
        let content = serde_json::to_vec(&content).map_err(std::io::Error::other)?;
        Ok(write_atomic(&self.out.join(SEALED), &seal(&self.key, &self.header, &content)?)?)
    }

    /// Seals the session again and again, until the task is aborted.
    pub(crate) async fn keep_sealing(self: std::sync::Arc<Self>) {
        let mut pause = MIN_PAUSE;
        let mut sealed = 0;
        loop {
            tokio::time::sleep(pause).await;
            let length = fs::metadata(&self.transcript).map_or(0, |found| found.len());
            if length == sealed {
                continue;
            }
            let (sealer, started) = (std::sync::Arc::clone(&self), Instant::now());
            // What fails now may succeed later; the end of the run reports it.
            let _ = tokio::task::spawn_blocking(move || sealer.seal()).await;
            (sealed, pause) = (length, MIN_PAUSE.max(started.elapsed() * PAUSE_FACTOR));
        }
    }
}

/// A sealed session that was opened.
pub(crate) struct OpenedSession {
    content: Content,
    /// What the box says of itself.
    header: SealedHeader,
}

/// Returns the sealed session that a path names: the file, whatever its name, or a folder that holds one.
pub(crate) fn sealed_file(path: &Path) -> Option<PathBuf> {
    let below = path.join(SEALED);
    if below.is_file() {
        return Some(below);
    }
    let is_named = path.file_name().is_some_and(|name| name == SEALED);
    (path.is_file() && (is_named || is_sealed_box(path))).then(|| path.to_owned())
}

impl OpenedSession {
    /// Reads and opens a file.
    pub(crate) fn read(path: &Path, variables: &Variables) -> Result<Self, SessionError> {
        let failed = |error| SessionError::Sealed { place: path.display().to_string(), error };
        let mut sealed = Vec::new();
        let file = fs::File::open(path).map_err(|error| failed(error.into()))?;
        file.take(MAX_BOX as u64 + 1).read_to_end(&mut sealed).map_err(|error| failed(error.into()))?;
        Self::open(&sealed, variables, None, None).map_err(failed)
    }

    /// Opens a box. It has to be of this workflow run, and about the issue or pull request of this number, if they are given.
    pub(crate) fn open(
        sealed: &[u8],
        variables: &Variables,
        run: Option<u64>,
        number: Option<u64>,
    ) -> Result<Self, SealError> {
        // What a box says about itself is trusted once it opens; to see that it says something else, no key is needed.
        let shown = header(sealed)?;
        if shown.kind != KIND {
            return Err(elsewhere("boxes of the kind", &shown.kind, KIND));
        }
        for (what, found, expected) in
            [("the workflow run", shown.run, run), ("number", shown.number, number)]
        {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                return Err(elsewhere(what, &found.to_string(), &expected.to_string()));
            }
        }
        let key = SealKey::read(variables)?.ok_or(SealError::NoKey)?;
        let (header, content) = open(&key, sealed)?;
        let content: Content = serde_json::from_slice(&content).map_err(|_| SealError::Foreign)?;
        if content.session.id != header.id {
            return Err(elsewhere("the session", &header.id, &content.session.id));
        }
        Ok(Self { content, header })
    }

    /// Checks that the session belongs to a repository; where either side does not know its own, the commit has to do, which is
    /// the same in no other.
    fn check_repository(&self, name: &str) -> Result<(), SealError> {
        let found = &self.header.repository;
        if !found.is_empty() && !name.is_empty() && found != name {
            return Err(elsewhere("the repository", found, name));
        }
        Ok(())
    }

    /// Returns what the run was asked to do.
    pub(crate) fn file(&self) -> &SessionFile {
        &self.content.session
    }

    /// Makes it a session of this machine: in this checkout, which has to be one of its repository, and this output folder.
    pub(crate) fn settle(
        self,
        workspace: &Path,
        out: &Path,
        variables: &Variables,
    ) -> Result<SavedSession, SessionError> {
        let repository = Repository::find(workspace, None).ok().flatten();
        let name = repository_name(variables, repository.as_ref());
        let place = self.content.session.id.clone();
        self.check_repository(&name).map_err(|error| SessionError::Sealed { place, error })?;
        self.file().check_commit(workspace)?;
        check_state(variables, workspace)?;
        self.unpack(workspace, out, variables)?;
        pick(&out.display().to_string(), &[])
    }

    fn unpack(self, workspace: &Path, out: &Path, variables: &Variables) -> Result<(), SessionError> {
        let Content { session, transcript, changes } = self.content;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| SessionError::Unwritable { path, problem: error.to_string() }
        };
        fs::create_dir_all(out).map_err(failed(out))?;
        let out = &out.canonicalize().map_err(failed(out))?;
        if SessionFile::read(out).is_ok_and(|there| there.id != session.id) {
            return Err(SessionError::Occupied(out.to_owned()));
        }
        let log = change_log_path(variables, &session.id).ok_or(SessionError::NoState)?;
        if is_written(&log) {
            return Err(SessionError::Running(session.id));
        }
        let session = session.moved_to(workspace, out);
        write_private(&session.transcript, transcript.as_bytes()).map_err(failed(&session.transcript))?;
        if let Some(seal) = transcript_seal(variables, &session.id) {
            seal.grow(transcript.as_bytes()).map_err(failed(&session.transcript))?;
        }
        if let Some(changes) = changes {
            create_folder(log.parent().unwrap_or(&log)).map_err(failed(&log))?;
            write_private(&log, changes.as_bytes()).map_err(failed(&log))?;
        }
        // Last: without it there is no session.
        session.write(out, variables).map_err(failed(out))
    }
}

fn elsewhere(what: &'static str, found: &str, expected: &str) -> SealError {
    SealError::Elsewhere { what, found: found.to_owned(), expected: expected.to_owned() }
}

impl SessionFile {
    /// Returns the session as one of another checkout and output folder.
    fn moved_to(self, workspace: &Path, out: &Path) -> Self {
        let old = self.workspace.clone();
        let moved = |path: &Path| match path.strip_prefix(&old) {
            Ok(below) => workspace.join(below),
            // Whatever it was has no counterpart here.
            Err(_) => workspace.to_owned(),
        };
        let started_in = moved(&self.started_in);
        let mut inputs: BTreeMap<String, String> = self.inputs;
        for (name, value) in &mut inputs {
            if name == "workspace" {
                *value = workspace.display().to_string();
            } else if let Ok(below) = Path::new(value.as_str()).strip_prefix(&old) {
                *value = workspace.join(below).display().to_string();
            }
        }
        inputs.remove("out");
        let in_out = |path: &Path| path.file_name().map_or_else(|| out.to_owned(), |name| out.join(name));
        Self {
            workspace: workspace.to_owned(),
            started_in,
            transcript: in_out(&self.transcript),
            report: in_out(&self.report),
            inputs,
            ..self
        }
    }
}
