//! Verification of what shards have planned, before a job that can write trusts any of it.
//!
//! Every job of a workflow run can write artifacts, whatever their names. The outputs of a job are its own: each shard puts
//! out the digest of its report, the report has the digests of the plans, and these cover what the plans hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sanitize::untrusted::visible;

use super::manifest::Manifest;
use super::merge::MergeError;
use super::read_report::{Either, InvalidReport, MAX_DEPTH, find, read};
use super::shard::{Shard, shards};
use crate::report::BatchReport;

/// SHA-256 of the report of each shard, by the name of the output, such as `shard-1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportDigests(BTreeMap<String, String>);

/// Error for a text that lists no digests.
#[derive(Debug, thiserror::Error)]
#[error(
    "invalid value for `report-digests`: {0}; use the outputs of the planning jobs as JSON, such as {{\"shard-1\": \"SHA-256\"}}"
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

    /// Returns the outputs of jobs that have put out a report other than these.
    fn others<'a>(&'a self, known: &'a BTreeMap<u32, VerifiedReport>) -> impl Iterator<Item = &'a str> {
        let is_known = |name: &str| {
            let index = name.strip_prefix("shard-").and_then(|index| index.parse().ok());
            index.is_some_and(|index: u32| known.contains_key(&index))
        };
        let put_out = self.0.iter().filter(|(_, digest)| !digest.is_empty());
        put_out.map(|(name, _)| name.as_str()).filter(move |name| !is_known(name))
    }
}

/// Report that a shard's job has put out.
#[derive(Debug)]
pub(super) struct VerifiedReport {
    pub(super) report: BatchReport,
    digest: String,
    /// The folders that hold it: an artifact may be there twice, and anybody can put a copy beside it.
    pub(super) folders: Vec<PathBuf>,
}

/// Trusted reports of a batch, and messages about the others.
#[derive(Debug)]
pub(super) struct VerifiedReports {
    pub(super) reports: Vec<VerifiedReport>,
    pub(super) messages: Vec<String>,
}

/// Reason why nothing that was planned is written.
#[derive(Debug, thiserror::Error)]
pub enum UnverifiedReport {
    /// Jobs of one workflow run do not agree on the batch.
    #[error(transparent)]
    Different(#[from] MergeError),
    /// Several reports of one shard, none of which is known to be the right one.
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
}

/// Reason why a report is left out.
#[derive(Debug, thiserror::Error)]
enum RefusedReport {
    #[error("it cannot be read: {0}")]
    Invalid(#[from] InvalidReport),
    #[error("it is not the report of a batch")]
    Run,
    #[error("it is not the report that the job of the shard {0} produced (`report-digests`)")]
    Digest(u32),
}

/// Reads the reports below a folder that the jobs of the batch's shards have put out, as far as their digests are known.
/// Every other is left out and named: any job of the workflow run can add some, and must not keep the batch from being
/// written.
pub(super) fn verify(
    folder: &Path,
    manifest: &Manifest,
    digests: Option<&ReportDigests>,
) -> Result<VerifiedReports, UnverifiedReport> {
    let mut found = Vec::new();
    find(folder, MAX_DEPTH, &mut found);
    let mut known: BTreeMap<u32, VerifiedReport> = BTreeMap::new();
    let mut messages = Vec::new();
    let mut first: Option<(String, u32)> = None;
    for file in found {
        let path = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let (report, digest, shard) = match put_out(&file, digests) {
            Ok(found) => found,
            Err(reason) => {
                messages.push(visible(&format!("the report {path} is left out: {reason}")));
                continue;
            }
        };
        if report.manifest != manifest.digest() {
            return Err(MergeError::Different { one: path, other: "the manifest".to_owned() }.into());
        }
        let (one, of) = first.get_or_insert_with(|| (path.clone(), shard.of));
        if *of != shard.of {
            return Err(MergeError::Different { one: one.clone(), other: path }.into());
        }
        verify_tasks(&report, shard, manifest, &path)?;
        let new = || VerifiedReport { report, digest: digest.clone(), folders: Vec::new() };
        let same = known.entry(shard.index).or_insert_with(new);
        if same.digest != digest {
            let one = same.folders.first().map(|folder| folder.display().to_string()).unwrap_or_default();
            return Err(UnverifiedReport::SameShard { shard: shard.index, one, other: path });
        }
        same.folders.push(file.parent().unwrap_or(folder).to_owned());
    }
    let missing = digests.into_iter().flat_map(|digests| digests.others(&known));
    messages.extend(missing.map(|name| {
        visible(&format!(
            "no artifact of this workflow run contains the report whose digest is the output {name}"
        ))
    }));
    Ok(VerifiedReports { reports: known.into_values().collect(), messages })
}

/// Returns a report, its digest and its shard, if the job of that shard has put it out.
fn put_out(
    file: &Path,
    digests: Option<&ReportDigests>,
) -> Result<(BatchReport, String, Shard), RefusedReport> {
    let (report, digest) = match read(file)? {
        (Either::Batch(report), digest) => (*report, digest),
        (Either::Run(_), _) => return Err(RefusedReport::Run),
    };
    let shard = report.shard.map_or(Shard { index: 1, of: 1 }, |it| Shard { index: it.index, of: it.of });
    if digests.is_none_or(|digests| digests.has(shard, &digest)) {
        Ok((report, digest, shard))
    } else {
        Err(RefusedReport::Digest(shard.index))
    }
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
