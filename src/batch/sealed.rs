//! Sealed journal of a batch: what a shard has done, kept as it grows where another machine finds it.
//!
//! Every now and then, what the journal has gained since, with the files of the tasks that ended, becomes a segment: a box sealed with
//! the user's key. Segments lie in the output folder, so that an artifact takes them along, and on a branch of records if the
//! user names one, so that a machine that is lost costs the tasks in hand and not the shard.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use workspace::WorkspacePath;

use super::attempt::{BatchContext, TASKS};
use super::held;
use super::journal::{Journal, clear};
use super::manifest::Manifest;
use super::request::{BatchRequest, Tasks};
use crate::base::env::Variables;
use crate::base::fs::write_atomic;
use crate::base::integrity::digest;
use crate::base::sealed_box::{MAX_BOX, SealError, SealKey, SealedHeader, open, seal};
use crate::github::{Environment, RecordBranch, RecordError};
use crate::request::{InputError, Lookup, ledger_branch, ledger_records};

/// The folder of segments, in the output folder.
const FOLDER: &str = "sealed";

/// The kind of box.
const KIND: &str = "batch";

/// How long tasks that ended wait for each other at most, how long if a segment is a commit, and how many of them.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_OF_COMMITS: Duration = Duration::from_mins(1);
const MAX_WAITING: usize = 20;

/// Most bytes of a file that is taken along.
const MAX_FILE: u64 = 10_000_000;

/// Most segments that are read.
const MAX_SEGMENTS: usize = 10_000;

/// A part of the journal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Segment {
    /// The list of tasks.
    manifest: String,
    /// Lines of the journal.
    journal: String,
    /// Files of tasks that ended, in base64, by their paths below the folder of all tasks.
    files: BTreeMap<String, String>,
}

/// Reasons why a sealed journal cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum SealedJournalError {
    /// The key, or a box.
    #[error("the sealed journal {0}: {1}")]
    Box(String, SealError),
    /// A branch, and nothing to seal with.
    #[error("`journal` keeps what tasks have done on a branch, sealed; set `ARCHITECT_CI_SEAL_KEY`")]
    NoKey,
    /// A branch without a repository on GitHub.
    #[error(
        "`journal` can name a branch only of a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`"
    )]
    NoGitHub,
    /// The disk.
    #[error("could not read or write {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// GitHub.
    #[error(transparent)]
    Records(#[from] RecordError),
}

impl From<SealedJournalError> for InputError {
    fn from(error: SealedJournalError) -> Self {
        Self::Batch(Box::new(error))
    }
}

/// Reads the input that names the branch.
pub(super) fn branch(
    lookup: &Lookup,
    github: Option<&Environment>,
) -> Result<Option<RecordBranch>, InputError> {
    let Some(given) = lookup.text("journal") else { return Ok(None) };
    let name = ledger_branch(Path::new(&given)).ok_or_else(|| InputError::Value {
        name: "journal".to_owned(),
        given,
        expected: "`branch` or `branch:NAME`".to_owned(),
    })?;
    ledger_records(github.ok_or(SealedJournalError::NoGitHub)?, &name).map(Some)
}

/// Where and how the journal of a shard is sealed.
#[derive(Clone, Debug)]
pub(super) struct SealedPlace {
    key: SealKey,
    out: PathBuf,
    branch: Option<RecordBranch>,
    /// What all its boxes have in common.
    header: SealedHeader,
    /// The folder on the branch.
    folder: String,
}

impl SealedPlace {
    /// Returns the place for a batch; `None` without a key.
    pub(super) fn of(request: &BatchRequest) -> Result<Option<Self>, SealedJournalError> {
        let variables = &request.destination.variables;
        let shown = || "of this batch".to_owned();
        let key = SealKey::read(variables).map_err(|error| SealedJournalError::Box(shown(), error))?;
        let Some(key) = key else {
            return if request.journal.is_some() { Err(SealedJournalError::NoKey) } else { Ok(None) };
        };
        let file = match &request.tasks {
            Tasks::File { text, .. } => digest(text.as_bytes()),
            Tasks::Manifest(manifest) => manifest.file_sha256.clone(),
            Tasks::Earlier => String::new(),
        };
        let part =
            request.shard.map_or_else(|| "1-1".to_owned(), |shard| format!("{}-{}", shard.index, shard.of));
        let run = variables.get("GITHUB_RUN_ID").and_then(|run| run.parse().ok()).unwrap_or(0);
        let repository = variables.get("GITHUB_REPOSITORY").map(|name| name.to_ascii_lowercase());
        let header = SealedHeader {
            kind: KIND.to_owned(),
            id: format!("{file} {part}"),
            repository: repository.unwrap_or_default(),
            run,
            number: 0,
        };
        let folder = format!("batches/{run}/{}-{part}", file.get(..16).unwrap_or(&file));
        let out = request.destination.out.clone();
        Ok(Some(Self { key, out, branch: request.journal.clone(), header, folder }))
    }

    /// Takes up what another machine has done, if this one has no journal of its own. Returns whether there was something.
    pub(super) async fn restore(&self, variables: &Variables) -> Result<bool, SealedJournalError> {
        let local = self.local()?;
        let boxes = match (&self.branch, local.is_empty()) {
            (Some(branch), true) => self.on_branch(branch).await?,
            _ => local,
        };
        if boxes.is_empty() {
            return Ok(false);
        }
        self.unpack(&self.open_all(boxes)?, variables)?;
        Ok(true)
    }

    fn local(&self) -> Result<Vec<(String, Vec<u8>)>, SealedJournalError> {
        let folder = self.out.join(FOLDER);
        let failed = |path: &Path, error| SealedJournalError::Io { path: path.to_owned(), error };
        let mut boxes = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten().take(MAX_SEGMENTS) {
            let path = entry.path();
            let is_file =
                entry.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_BOX as u64);
            if is_file && path.extension().is_some_and(|end| end == "sealed") {
                let name = entry.file_name().to_string_lossy().into_owned();
                boxes.push((name, fs::read(&path).map_err(|error| failed(&path, error))?));
            }
        }
        Ok(boxes)
    }

    async fn on_branch(&self, branch: &RecordBranch) -> Result<Vec<(String, Vec<u8>)>, SealedJournalError> {
        let mut boxes = Vec::new();
        for name in branch.list(&self.folder).await?.into_iter().take(MAX_SEGMENTS) {
            let text = branch.read(&format!("{}/{name}", self.folder)).await?.unwrap_or_default();
            // What is no base64 is no box either, which is told below.
            boxes.push((name, STANDARD.decode(text.trim()).unwrap_or_default()));
        }
        Ok(boxes)
    }

    /// Opens boxes, which all have to be of this shard, and sorts them.
    fn open_all(&self, boxes: Vec<(String, Vec<u8>)>) -> Result<Vec<Segment>, SealedJournalError> {
        let mut opened = BTreeMap::new();
        for (name, sealed) in boxes {
            let failed = |error| SealedJournalError::Box(name.clone(), error);
            let (header, content) = open(&self.key, &sealed).map_err(failed)?;
            self.check(&header).map_err(failed)?;
            let segment: Segment = serde_json::from_slice(&content)
                .map_err(|error| failed(std::io::Error::other(error).into()))?;
            opened.insert(header.number, segment);
        }
        let last = opened.keys().next_back().copied().unwrap_or(0);
        if (1..=last).any(|number| !opened.contains_key(&number)) {
            tracing::warn!("warning: parts of the sealed journal are missing; their tasks are done again");
        }
        Ok(opened.into_values().collect())
    }

    fn check(&self, header: &SealedHeader) -> Result<(), SealError> {
        let own = &self.header;
        // A job that is run again is of the same workflow run; whoever goes on by hand has none.
        let parts = [
            ("boxes of the kind", header.kind.clone(), own.kind.clone()),
            ("the batch and shard", header.id.clone(), own.id.clone()),
            ("the repository", header.repository.clone(), own.repository.clone()),
        ];
        let is_known = |expected: &String| !expected.is_empty();
        for (what, found, expected) in parts {
            if found != expected && is_known(&found) && is_known(&expected) {
                return Err(SealError::Elsewhere { what, found, expected });
            }
        }
        if own.run != 0 && self.branch.is_some() && header.run != own.run {
            let (found, expected) = (header.run.to_string(), own.run.to_string());
            return Err(SealError::Elsewhere { what: "the workflow run", found, expected });
        }
        Ok(())
    }

    /// Makes what was sealed the journal of this machine.
    fn unpack(&self, segments: &[Segment], variables: &Variables) -> Result<(), SealedJournalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| SealedJournalError::Io { path, error }
        };
        let tasks = self.out.join(TASKS);
        clear(&tasks).map_err(failed(&tasks))?;
        let mut journal = String::new();
        for segment in segments {
            journal += &segment.journal;
            for (name, text) in &segment.files {
                let path = WorkspacePath::parse(name).map(|name| tasks.join(name.as_str()));
                let path = path.map_err(|error| failed(&tasks)(std::io::Error::other(error)))?;
                let bytes =
                    STANDARD.decode(text).map_err(|error| failed(&path)(std::io::Error::other(error)))?;
                fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed(&path))?;
                fs::write(&path, bytes).map_err(failed(&path))?;
            }
        }
        let Some(manifest) = segments.first().map(|segment| &segment.manifest) else { return Ok(()) };
        Journal::put(&self.out, manifest, &journal, variables).map_err(failed(&self.out))?;
        for report in Journal::ended_in(&journal) {
            held::seal_again(variables, &tasks.join(&report.id), &report).map_err(failed(&tasks))?;
        }
        Ok(())
    }
}

/// Seals the journal of a batch as it grows.
pub(super) struct JournalSealer {
    place: SealedPlace,
    manifest: String,
    state: Mutex<State>,
}

struct State {
    /// How much of the journal is sealed, in bytes.
    sealed: u64,
    /// The number of the next segment.
    next: u64,
    /// Segments that could not be committed yet, by number.
    unsent: BTreeMap<u64, Vec<u8>>,
}

impl JournalSealer {
    /// Begins behind the segments that there are; what they hold is sealed once more only if the journal began anew.
    pub(super) async fn begin(
        place: SealedPlace,
        manifest: &Manifest,
        restored: bool,
    ) -> Result<Self, SealedJournalError> {
        let folder = place.out.join(FOLDER);
        if !restored {
            clear(&folder).map_err(|error| SealedJournalError::Io { path: folder, error })?;
        }
        let number = |name: &String| name.strip_suffix(".sealed").and_then(|number| number.parse().ok());
        let names = match &place.branch {
            Some(branch) => branch.list(&place.folder).await?,
            None => place.local()?.into_iter().map(|(name, _)| name).collect(),
        };
        let last: u64 = names.iter().filter_map(number).max().unwrap_or(0);
        let sealed = if restored { Journal::length(&place.out) } else { 0 };
        let state = State { sealed, next: last + 1, unsent: BTreeMap::new() };
        Ok(Self { place, manifest: manifest.json(), state: Mutex::new(state) })
    }

    /// Seals every now and then, until the future is dropped.
    pub(super) async fn keep_sealing(&self, common: &BatchContext) -> Infallible {
        let longest = if self.place.branch.is_some() { PAUSE_OF_COMMITS } else { PAUSE };
        loop {
            let since = Instant::now();
            while since.elapsed() < longest && self.waiting() < MAX_WAITING {
                tokio::time::sleep(PAUSE).await;
            }
            self.seal(common).await;
        }
    }

    /// Returns how many tasks have ended that no segment holds.
    fn waiting(&self) -> usize {
        let sealed = self.state().sealed;
        Journal::gain(&self.place.out, sealed).map_or(0, |gain| Journal::ended_in(&gain).len())
    }

    /// Seals what the journal has gained. What fails is told, and tried again with the next segment.
    pub(super) async fn seal(&self, common: &BatchContext) {
        if let Err(error) = tokio::task::block_in_place(|| self.seal_gain(common)) {
            tracing::warn!("warning: {error}");
        }
        let Some(branch) = &self.place.branch else { return };
        let unsent: Vec<(u64, Vec<u8>)> =
            self.state().unsent.iter().map(|(number, sealed)| (*number, sealed.clone())).collect();
        for (number, sealed) in unsent {
            let path = format!("{}/{number:05}.sealed", self.place.folder);
            let text = STANDARD.encode(&sealed);
            let change = |_: Option<&str>| Ok::<_, RecordError>(Some(text.clone()));
            match branch.update(&path, "journal of a batch", change).await {
                Ok(()) => drop(self.state().unsent.remove(&number)),
                Err(error) => {
                    tracing::warn!("warning: the journal could not be kept: {error}");
                    return;
                }
            }
        }
    }

    fn seal_gain(&self, common: &BatchContext) -> Result<(), SealedJournalError> {
        let mut state = self.state();
        let out = &self.place.out;
        let failed = |error| SealedJournalError::Io { path: out.clone(), error };
        let gain = {
            // Nobody writes meanwhile, so lines are whole.
            let _journal = common.journal.lock().unwrap_or_else(PoisonError::into_inner);
            Journal::gain(out, state.sealed).map_err(failed)?
        };
        let ended = Journal::ended_in(&gain);
        if ended.is_empty() {
            return Ok(());
        }
        let mut files = BTreeMap::new();
        for report in &ended {
            collect(&out.join(TASKS), &report.id, &mut files).map_err(failed)?;
        }
        let segment = Segment { manifest: self.manifest.clone(), journal: gain.clone(), files };
        let content = serde_json::to_vec(&segment).map_err(|error| failed(error.into()))?;
        let number = state.next;
        let header = SealedHeader { number, ..self.place.header.clone() };
        let name = format!("{number:05}.sealed");
        let sealed = seal(&self.place.key, &header, &content)
            .map_err(|error| SealedJournalError::Box(name.clone(), error))?;
        let folder = out.join(FOLDER);
        fs::create_dir_all(&folder).map_err(failed)?;
        write_atomic(&folder.join(&name), &sealed).map_err(failed)?;
        if self.place.branch.is_some() {
            state.unsent.insert(number, sealed);
        }
        (state.sealed, state.next) = (state.sealed + gain.len() as u64, number + 1);
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Collects the files below a folder, in base64, by their paths below `root`. Links and what is too large are left out.
fn collect(root: &Path, below: &str, files: &mut BTreeMap<String, String>) -> std::io::Result<()> {
    let entries = match fs::read_dir(root.join(below)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(|name| format!("{below}/{name}")) else { continue };
        let found = entry.metadata()?;
        if found.is_dir() {
            collect(root, &name, files)?;
        } else if found.is_file() && found.len() <= MAX_FILE {
            files.insert(name, STANDARD.encode(fs::read(entry.path())?));
        }
    }
    Ok(())
}
