//! Verification of what shards have planned, before a job that can write believes any of it.
//!
//! Every job of a workflow run can write artifacts, whatever their names. The outputs of a job are its own: each shard puts
//! out the digest of its report, the report has the digests of the plans, and these cover what the plans hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::manifest::Manifest;
use super::merge::{Either, InvalidReport, MAX_DEPTH, find, read};
use super::shard::{Shard, shards};
use crate::report::BatchReport;

/// SHA-256 of the report of each shard, by the name of the output, such as `shard-1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportDigests(BTreeMap<String, String>);

/// Error for a text that lists no digests.
#[derive(Debug, thiserror::Error)]
#[error(
    "invalid value for `report-digests`: {0}; use the outputs of the job that has planned as JSON, such as \
     {{\"shard-1\": \"SHA-256\"}}"
)]
pub struct InvalidDigests(serde_json::Error);

impl ReportDigests {
    /// Parses the outputs of a job. Those of shards that put out nothing are empty.
    pub fn parse(text: &str) -> Result<Self, InvalidDigests> {
        serde_json::from_str(text).map(Self).map_err(InvalidDigests)
    }

    fn has(&self, shard: Shard, digest: &str) -> bool {
        self.0.get(&format!("shard-{}", shard.index)).is_some_and(|known| known == digest)
    }
}

/// Reason why nothing that was planned is written.
#[derive(Debug, thiserror::Error)]
pub enum UnverifiedReport {
    /// It cannot be read, and nobody knows what it was.
    #[error("invalid report {path}: {problem}")]
    Invalid {
        /// The report.
        path: String,
        /// Why.
        #[source]
        problem: InvalidReport,
    },
    /// It is of a single run.
    #[error("{0} is not the report of a batch")]
    Run(String),
    /// Several reports of one shard.
    #[error("{one} and {other} are both reports of the shard {shard}")]
    SameShard {
        /// Number of the shard.
        shard: u32,
        /// A report.
        one: String,
        /// Another.
        other: String,
    },
    /// A task that the shard does not have, or has twice.
    #[error("{path} reports the task {task:?}, which the shard {shard} does not have, or has only once")]
    Task {
        /// The report.
        path: String,
        /// Id of the task.
        task: String,
        /// Number of the shard.
        shard: u32,
    },
    /// It is not what the shard's job has put out.
    #[error("{path} is not the report that the job of the shard {shard} has put out (`report-digests`)")]
    Digest {
        /// The report.
        path: String,
        /// Number of the shard.
        shard: u32,
    },
}

/// Checks the reports below a folder: at most one of each shard, of no other tasks than its own, and each as the job of
/// the shard has put it out, where that is known.
pub(super) fn verify(
    folder: &Path,
    manifest: &Manifest,
    digests: Option<&ReportDigests>,
) -> Result<(), UnverifiedReport> {
    let mut found = Vec::new();
    find(folder, MAX_DEPTH, &mut found);
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    for file in found {
        let path = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let (report, digest) = match read(&file) {
            Ok((Either::Batch(report), digest)) => (report, digest),
            Ok((Either::Run(_), _)) => return Err(UnverifiedReport::Run(path)),
            Err(problem) => return Err(UnverifiedReport::Invalid { path, problem }),
        };
        let shard = report.shard.map_or(Shard { index: 1, of: 1 }, |it| Shard { index: it.index, of: it.of });
        if digests.is_some_and(|digests| !digests.has(shard, &digest)) {
            return Err(UnverifiedReport::Digest { path, shard: shard.index });
        }
        verify_tasks(&report, shard, manifest, &path)?;
        if let Some(one) = known.insert(shard.index, path.clone()) {
            return Err(UnverifiedReport::SameShard { shard: shard.index, one, other: path });
        }
    }
    Ok(())
}

fn verify_tasks(
    report: &BatchReport,
    shard: Shard,
    manifest: &Manifest,
    path: &str,
) -> Result<(), UnverifiedReport> {
    let parts = shards(&manifest.tasks, shard.of);
    let own = usize::try_from(shard.index).ok().and_then(|index| parts.get(index.checked_sub(1)?));
    let mut own: BTreeSet<&str> =
        own.into_iter().flatten().map(|index| manifest.tasks[*index].id.as_str()).collect();
    match report.tasks.iter().find(|task| !own.remove(task.id.as_str())) {
        Some(task) => {
            let (path, task, shard) = (path.to_owned(), task.id.clone(), shard.index);
            Err(UnverifiedReport::Task { path, task, shard })
        }
        None => Ok(()),
    }
}
