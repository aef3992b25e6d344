//! Takes up a sealed journal where there is no journal yet: from the output folder, an artifact in it, or the branch.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::task::block_in_place;
use workspace::WorkspacePath;

use super::context::TASKS;
use super::held;
use super::journal::{Journal, clear};
use super::sealed::{SealedPlace, Segment};
use super::sealed_error::SealedJournalError;
use crate::base::env::Variables;

/// What the segments of a journal hold together.
struct Contents {
    series: String,
    manifest: String,
    journal: String,
}

impl SealedPlace {
    /// Takes up what another machine has done. Returns the id of its journal, if there is one.
    pub(super) async fn restore(
        &self,
        journal: &mut Journal,
        variables: &Variables,
    ) -> Result<Option<String>, SealedJournalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: io::Error| SealedJournalError::Io { path, error }
        };
        // Nothing of this machine is touched before all of it has opened.
        let folder = tempfile::Builder::new().prefix(".restored-").tempdir_in(&self.out);
        let folder = folder.map_err(failed(&self.out))?;
        // A temporary folder is this user's alone, and what tasks leave is not.
        let fresh = folder.path().join(TASKS);
        fs::create_dir(&fresh).map_err(failed(&fresh))?;
        let Some(found) = self.unpack(&fresh).await? else { return Ok(None) };
        block_in_place(|| {
            let tasks = self.out.join(TASKS);
            journal.check_replaceable(&tasks, &found.journal)?;
            clear(&tasks).map_err(failed(&tasks))?;
            fs::rename(&fresh, &tasks).map_err(failed(&tasks))?;
            journal.put(&found.manifest, &found.journal, variables)?;
            for report in Journal::ended_in(&found.journal) {
                held::seal_again(variables, &tasks.join(&report.id), &report).map_err(failed(&tasks))?;
            }
            Ok(Some(found.series))
        })
    }

    /// Opens the segments of the newest journal, one at a time, and unpacks their files.
    async fn unpack(&self, tasks: &Path) -> Result<Option<Contents>, SealedJournalError> {
        let local = block_in_place(|| self.local())?;
        let numbers: BTreeSet<u64> = local.union(&self.on_branch().await?).copied().collect();
        let (mut series, mut parts) = (None, Vec::new());
        // From the last to the first one, before which there are only older journals.
        for &number in numbers.iter().rev() {
            let sealed = if local.contains(&number) {
                block_in_place(|| self.read_local(number))?
            } else {
                self.read_from_branch(number).await?
            };
            let segment = block_in_place(|| self.open(number, &sealed))?;
            if *series.get_or_insert_with(|| segment.series.clone()) != segment.series {
                continue;
            }
            block_in_place(|| write_files(&segment, tasks))?;
            parts.push(segment.journal);
            if let Some(manifest) = segment.manifest {
                if numbers.range(number..).count() as u64 <= numbers.last().map_or(0, |last| last - number) {
                    tracing::warn!(
                        "warning: parts of the sealed journal are missing; their tasks will run again"
                    );
                }
                parts.reverse();
                return Ok(Some(Contents { series: segment.series, manifest, journal: parts.concat() }));
            }
        }
        if !numbers.is_empty() {
            tracing::warn!(
                "warning: the first part of the sealed journal is missing; all tasks will run again"
            );
        }
        Ok(None)
    }
}

/// Writes the files of a segment, but for those that a later one had.
fn write_files(segment: &Segment, tasks: &Path) -> Result<(), SealedJournalError> {
    let failed = |path: PathBuf, error| SealedJournalError::Io { path, error };
    for (name, text) in &segment.files {
        let path = WorkspacePath::parse(name).map(|name| tasks.join(name.as_str()));
        let path = path.map_err(|error| failed(tasks.to_owned(), io::Error::other(error)))?;
        if path.exists() {
            continue;
        }
        let written = STANDARD.decode(text).map_err(io::Error::other).and_then(|bytes| {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, bytes)
        });
        written.map_err(|error| failed(path, error))?;
    }
    Ok(())
}
