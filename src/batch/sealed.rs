//! Sealed journal of a batch: what a shard has done, kept as it grows where another machine finds it.
//!
//! Every now and then, what the journal has gained since, with the files of the tasks that ended, becomes a segment: a box sealed with
//! the user's key. The first one of a journal holds the list of tasks alone. Segments lie in the output folder, so that an artifact takes them along, and on a branch of records if the
//! user names one, so that a machine that is lost costs only the tasks under way, not the shard.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::journal::JournalError;
use super::request::{BatchRequest, Tasks};
use super::sealed_error::SealedJournalError;
use crate::base::fs::{open_file, read_at_most, write_durable};
use crate::base::integrity::digest;
use crate::base::sealed_box::{MAX_BOX, SealError, SealKey, SealedHeader, open, seal};
use crate::github::RecordBranch;
use crate::sessions::repository_name;

/// The folder of segments, in the output folder.
pub(super) const FOLDER: &str = "sealed";

/// The kind of box.
const KIND: &str = "batch";

/// A part of a journal.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Segment {
    /// The id of the journal, which all starts share that go on from it.
    pub(super) series: String,
    /// The list of tasks; only the first segment of a journal has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) manifest: Option<String>,
    /// Lines of the journal.
    pub(super) journal: String,
    /// Files of tasks that ended, in base64, by their paths below the folder of all tasks.
    pub(super) files: BTreeMap<String, String>,
}

/// Returns the name of the file that holds the segment of this number.
pub(super) fn name_of(number: u64) -> String {
    format!("{number:05}.sealed")
}

fn number_in(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".sealed")?.parse().ok()?;
    (name_of(number) == name).then_some(number)
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
    /// How many shards keep their journals there.
    pub(super) shards: u32,
}

/// Which batch file and shard a journal is about.
struct ShardId {
    /// The hash of the file.
    file: String,
    /// The shard, as `I-N`.
    part: String,
}

impl ShardId {
    /// Returns that of a start; `None` if it only goes on with what it finds in its output folder.
    fn of(request: &BatchRequest) -> Option<Self> {
        let file = match &request.tasks {
            Tasks::File { text, .. } => digest(text.as_bytes()),
            Tasks::Manifest(manifest) => manifest.file_sha256.clone(),
            Tasks::Earlier => return None,
        };
        let part =
            request.shard.map_or_else(|| "1-1".to_owned(), |shard| format!("{}-{}", shard.index, shard.of));
        Some(Self { file, part })
    }

    fn parse(id: &str) -> Option<Self> {
        let (file, part) = id.split_once(' ')?;
        Some(Self { file: file.to_owned(), part: part.to_owned() })
    }
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
        let repository = repository_name(variables, request.repository.as_ref());
        let mut place = Self {
            key,
            out: request.destination.out.clone(),
            branch: request.journal.clone(),
            header: SealedHeader::of(KIND, String::new(), variables, repository, 0),
            folder: String::new(),
            shards: request.shard.map_or(1, |shard| shard.of),
        };
        let Some(ShardId { file, part }) =
            ShardId::of(request).map_or_else(|| place.found_id(), |id| Ok(Some(id)))?
        else {
            return Ok(None);
        };
        place.header.id = format!("{file} {part}");
        place.folder = format!("batches/{}/{}-{part}", place.header.run, file.get(..16).unwrap_or(&file));
        Ok(Some(place))
    }

    /// Returns what the segments in the output folder are about; `None` if there are none.
    fn found_id(&self) -> Result<Option<ShardId>, SealedJournalError> {
        let Some(number) = self.local()?.pop_last() else { return Ok(None) };
        let failed = |error| SealedJournalError::Box(name_of(number), error);
        let (header, _) = open(&self.key, &self.read_local(number)?).map_err(failed)?;
        self.check(&header, number).map_err(failed)?;
        Ok(ShardId::parse(&header.id))
    }

    /// Returns the numbers of the segments in the output folder, which holds nothing else.
    pub(super) fn local(&self) -> Result<BTreeSet<u64>, SealedJournalError> {
        let folder = self.out.join(FOLDER);
        let failed = |error| SealedJournalError::Io { path: folder.clone(), error };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(failed)?,
        };
        let mut numbers = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            match name.to_str().filter(|_| is_file).and_then(number_in) {
                Some(number) => drop(numbers.insert(number)),
                // One that a killed start did not write to its end.
                None if is_file && name.to_string_lossy().starts_with(".tmp") => {}
                None => return Err(JournalError::Foreign(entry.path()).into()),
            }
        }
        Ok(numbers)
    }

    /// Returns the numbers of the segments on the branch.
    pub(super) async fn on_branch(&self) -> Result<BTreeSet<u64>, SealedJournalError> {
        let Some(branch) = &self.branch else { return Ok(BTreeSet::new()) };
        Ok(branch.list(&self.folder).await?.iter().filter_map(|name| number_in(name)).collect())
    }

    /// Reads a segment that is in the output folder.
    pub(super) fn read_local(&self, number: u64) -> Result<Vec<u8>, SealedJournalError> {
        let path = self.path(number);
        let read = open_file(&path).and_then(|file| read_at_most(file, MAX_BOX as u64));
        read.map_err(|error| SealedJournalError::Io { path, error })
    }

    /// Reads a segment that is on the branch, and puts it into the output folder.
    pub(super) async fn read_from_branch(&self, number: u64) -> Result<Vec<u8>, SealedJournalError> {
        let name = format!("{}/{}", self.folder, name_of(number));
        let text = match &self.branch {
            Some(branch) => branch.read(&name).await?.unwrap_or_default(),
            None => String::new(),
        };
        // What is no base64 is no box either.
        let sealed =
            STANDARD.decode(text.trim()).map_err(|_| SealedJournalError::Box(name, SealError::Foreign))?;
        self.write_local(number, &sealed)?;
        Ok(sealed)
    }

    /// Writes a segment to the output folder.
    pub(super) fn write_local(&self, number: u64, sealed: &[u8]) -> Result<(), SealedJournalError> {
        let path = self.path(number);
        let written = fs::create_dir_all(self.out.join(FOLDER)).and_then(|()| write_durable(&path, sealed));
        written.map_err(|error| SealedJournalError::Io { path, error })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.out.join(FOLDER).join(name_of(number))
    }

    /// Seals a segment.
    pub(super) fn seal(&self, number: u64, segment: &Segment) -> Result<Vec<u8>, SealedJournalError> {
        let failed = |error| SealedJournalError::Box(name_of(number), error);
        let content =
            serde_json::to_vec(segment).map_err(|error| failed(std::io::Error::other(error).into()))?;
        let header = SealedHeader { number, ..self.header.clone() };
        seal(&self.key, &header, &content).map_err(failed)
    }

    /// Opens a segment, which has to be of this shard.
    pub(super) fn open(&self, number: u64, sealed: &[u8]) -> Result<Segment, SealedJournalError> {
        let opened = open(&self.key, sealed).and_then(|(header, content)| {
            self.check(&header, number)?;
            serde_json::from_slice(&content).map_err(|_| SealError::Foreign)
        });
        opened.map_err(|error| SealedJournalError::Box(name_of(number), error))
    }

    fn check(&self, header: &SealedHeader, number: u64) -> Result<(), SealError> {
        let own = &self.header;
        if header.number != number {
            let (found, expected) = (header.number.to_string(), number.to_string());
            return Err(SealError::Elsewhere { what: "the place", found, expected });
        }
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
}
