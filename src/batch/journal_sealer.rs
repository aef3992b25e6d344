//! Seals the journal of a batch as it grows: what tasks have done becomes segments, in the output folder and on a branch.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::attempt::{BatchContext, TASKS};
use super::journal::{Journal, clear};
use super::manifest::Manifest;
use super::sealed::{FOLDER, SealedJournalError, SealedPlace, Segment};
use crate::base::fs::write_atomic;
use crate::base::sealed_box::{SealedHeader, seal};
use crate::github::RecordError;

/// How long tasks that ended wait for each other at most, how long if a segment is a commit, and how many of them.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_OF_COMMITS: Duration = Duration::from_mins(1);
const MAX_WAITING: usize = 20;

/// Most bytes of a file that is taken along.
const MAX_FILE: u64 = 10_000_000;

/// The sealed journal of a start.
pub(super) struct SealedJournal {
    pub(super) place: SealedPlace,
    /// Whether what is in it was taken up.
    pub(super) restored: bool,
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
        SealedJournal { place, restored }: SealedJournal,
        manifest: &Manifest,
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

    /// Seals what the journal gains during some work, and at its end.
    pub(super) async fn seal_during<T>(&self, work: impl Future<Output = T>, common: &BatchContext) -> T {
        let done = tokio::select! {
            done = work => done,
            never = self.keep_sealing(common) => match never {},
        };
        self.seal(common).await;
        done
    }

    /// Seals every now and then, until the future is dropped.
    async fn keep_sealing(&self, common: &BatchContext) -> Infallible {
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
    async fn seal(&self, common: &BatchContext) {
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
