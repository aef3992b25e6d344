//! Reads reports of batches and runs below a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::shard::MAX_SHARDS;
use crate::base::integrity::digest;
use crate::report::{BATCH_SCHEMA_VERSION, BatchReport, RunReport};

/// The report of a batch.
pub(super) const BATCH: &str = "batch.json";

/// The report of a run.
pub(super) const RUN: &str = "report.json";

/// The largest report that is read, in bytes: artifacts may hold anything.
const MAX_SIZE: u64 = 100_000_000;

/// How deep reports may lie below what was given.
pub(super) const MAX_DEPTH: usize = 6;

/// Most reports of single runs.
const MAX_RUNS: usize = 100_000;

/// Reason why a report is left out.
#[derive(Debug, thiserror::Error)]
pub enum InvalidReport {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is larger than any report.
    #[error("it has {0} bytes")]
    TooLarge(u64),
    /// It is not JSON, or of another form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It claims to be a part that cannot be.
    #[error("invalid shard {index} of {of}")]
    Shard {
        /// The part, from 1.
        index: u32,
        /// The number of parts.
        of: u32,
    },
    /// Another version of this program wrote it.
    #[error("unsupported schema_version {0}")]
    Version(u32),
}

/// A report of either kind.
pub(super) enum Either {
    /// Of a batch, or of a shard of it.
    Batch(Box<BatchReport>),
    /// Of one run.
    Run(Box<RunReport>),
}

/// Finds reports below a folder, without those of single tasks beside a batch's.
pub(super) fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    let is_file = |name: &str| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
    if let Some(name) = [BATCH, RUN].into_iter().find(|name| is_file(name)) {
        found.push(folder.join(name));
        return;
    }
    if depth == 0 || found.len() > MAX_RUNS {
        return;
    }
    for entry in entries.into_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        find(&entry.path(), depth - 1, found);
    }
}

/// Reads a report. Returns it with the SHA-256 of the file.
pub(super) fn read(path: &Path) -> Result<(Either, String), InvalidReport> {
    let size = path.metadata()?.len();
    if size > MAX_SIZE {
        return Err(InvalidReport::TooLarge(size));
    }
    let text = fs::read(path)?;
    Ok((parse(path, &text)?, digest(&text)))
}

fn parse(path: &Path, text: &[u8]) -> Result<Either, InvalidReport> {
    if path.file_name().is_some_and(|name| name == RUN) {
        return Ok(serde_json::from_slice(text).map(Either::Run)?);
    }
    match serde_json::from_slice::<BatchReport>(text) {
        Ok(BatchReport { shard: Some(shard), .. })
            if shard.of > MAX_SHARDS || !(1..=shard.of).contains(&shard.index) =>
        {
            Err(InvalidReport::Shard { index: shard.index, of: shard.of })
        }
        Ok(report) if report.schema_version == BATCH_SCHEMA_VERSION => Ok(Either::Batch(Box::new(report))),
        Ok(report) => Err(InvalidReport::Version(report.schema_version)),
        // A report under a name of somebody's own.
        Err(error) => serde_json::from_slice(text).map(Either::Run).map_err(|_| error.into()),
    }
}
