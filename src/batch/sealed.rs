//! Sealed journal of a batch: what a shard has done, kept as it grows where another machine finds it.
//!
//! Every now and then, what the journal has gained since, with the files of the tasks that ended, becomes a segment: a box sealed with
//! the user's key. Segments lie in the output folder, so that an artifact takes them along, and on a branch of records if the
//! user names one, so that a machine that is lost costs the tasks in hand and not the shard.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use workspace::WorkspacePath;

use super::attempt::TASKS;
use super::held;
use super::journal::{Journal, clear};
use super::request::{BatchRequest, Tasks};
use crate::base::env::Variables;
use crate::base::integrity::digest;
use crate::base::sealed_box::{MAX_BOX, SealError, SealKey, SealedHeader, open};
use crate::github::{Environment, RecordBranch, RecordError};
use crate::request::{InputError, Lookup, ledger_branch, ledger_records};

/// The folder of segments, in the output folder.
pub(super) const FOLDER: &str = "sealed";

/// The kind of box.
const KIND: &str = "batch";

/// Most segments that are read.
const MAX_SEGMENTS: usize = 10_000;

/// A part of the journal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Segment {
    /// The list of tasks.
    pub(super) manifest: String,
    /// Lines of the journal.
    pub(super) journal: String,
    /// Files of tasks that ended, in base64, by their paths below the folder of all tasks.
    pub(super) files: BTreeMap<String, String>,
}

/// Reasons why a sealed journal cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum SealedJournalError {
    /// The key, or a box.
    #[error("the sealed journal {0}: {1}")]
    Box(String, SealError),
    /// A branch, and nothing to seal with.
    #[error("`journal` keeps a sealed record of finished tasks on a branch; set `ARCHITECT_CI_SEAL_KEY`")]
    NoKey,
    /// A branch without a repository on GitHub.
    #[error("`journal` requires a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`")]
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
    pub(super) key: SealKey,
    pub(super) out: PathBuf,
    pub(super) branch: Option<RecordBranch>,
    /// What all its boxes have in common.
    pub(super) header: SealedHeader,
    /// The folder on the branch.
    pub(super) folder: String,
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

    pub(super) fn local(&self) -> Result<Vec<(String, Vec<u8>)>, SealedJournalError> {
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
            tracing::warn!("warning: parts of the sealed journal are missing; their tasks will run again");
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
