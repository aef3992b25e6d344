//! Joins the reports of shards, and of single runs, into one: as they come, whatever is missing or broken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::read_report::{BATCH, Either, MAX_DEPTH, RUN, find, read};
use crate::event::{Notice, NoticeLevel, Status, Usage};
use crate::report::{BATCH_SCHEMA_VERSION, BatchReport, TaskEnd, TaskReport};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in a link as it is.
const IN_LINK: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-');

/// Why nothing could be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no report.
    #[error("there is no {BATCH} or {RUN} in {0}; download the artifacts of all jobs first")]
    Nothing(String),
    /// None of the reports can be read.
    #[error("{0}")]
    Invalid(String),
    /// Reports of several batches.
    #[error("{one} and {other} belong to different batches; merge the reports of one batch at a time")]
    Different {
        /// A report.
        one: String,
        /// And another.
        other: String,
    },
}

/// What was joined.
#[derive(Debug)]
pub struct Merged {
    /// The report.
    pub report: BatchReport,
    /// How many reports it was made from.
    pub from: usize,
    /// Reports that could not be read.
    pub invalid: Vec<String>,
}

/// Joins all reports below `roots`. With the list of tasks nothing can be missed; without it, lost shards are
/// known, but not their tasks.
pub fn merge(roots: &[PathBuf], manifest: Option<&Manifest>) -> Result<Merged, MergeError> {
    let mut joined = Joined::default();
    for root in roots {
        let mut found = Vec::new();
        if root.is_file() {
            found.push(root.clone());
        } else {
            find(root, MAX_DEPTH, &mut found);
        }
        let base = if root.is_file() { root.parent().unwrap_or(root) } else { root };
        for path in found {
            joined.take(&path, base)?;
        }
    }
    let shown = || roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ");
    if joined.from == 0 && manifest.is_none() {
        if !joined.invalid.is_empty() {
            return Err(MergeError::Invalid(joined.invalid.join("; ")));
        }
        return Err(MergeError::Nothing(shown()));
    }
    if let (Some(manifest), Some((path, head))) = (manifest, &joined.head)
        && manifest.digest() != head.manifest
    {
        return Err(MergeError::Different { one: path.clone(), other: "the manifest".to_owned() });
    }
    let invalid = std::mem::take(&mut joined.invalid);
    Ok(Merged { from: joined.from, invalid, report: joined.report(manifest) })
}

#[derive(Default)]
struct Joined {
    from: usize,
    /// The first report of a batch.
    head: Option<(String, BatchReport)>,
    of: u32,
    shards: BTreeSet<u32>,
    /// By id, with when its report began: of two that ran, the later one counts.
    tasks: BTreeMap<String, (String, TaskReport)>,
    order: Vec<String>,
    duration_ms: u64,
    started_at: Option<String>,
    notices: Vec<Notice>,
    /// Reports that could not be read.
    invalid: Vec<String>,
    run_url: Option<String>,
}

impl Joined {
    fn take(&mut self, path: &Path, base: &Path) -> Result<(), MergeError> {
        let shown = path.strip_prefix(base).unwrap_or(path).display().to_string();
        let either = match read(path) {
            Ok((either, _)) => either,
            Err(problem) => {
                let told = format!("invalid report {shown}: {problem}");
                self.warn(told.clone());
                self.invalid.push(told);
                return Ok(());
            }
        };
        let folder = path.parent().and_then(|folder| folder.strip_prefix(base).ok());
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        match either {
            Either::Run(report) => {
                let id = if folder.is_empty() { report.id.clone() } else { folder.replace('/', "-") };
                let task = TaskReport::of_run(&id, &report, &link(&folder, ""));
                self.time(&report.started_at, report.duration_ms);
                self.run_url = self.run_url.take().or(report.run_url.clone());
                self.put(task, &report.started_at);
            }
            Either::Batch(mut report) => {
                if let Some((one, head)) = &self.head
                    && (head.manifest != report.manifest
                        || head.shard.map(|it| it.of) != report.shard.map(|it| it.of))
                {
                    return Err(MergeError::Different { one: one.clone(), other: shown });
                }
                self.time(&report.started_at, report.duration_ms);
                self.run_url = self.run_url.take().or(report.run_url.clone());
                if let Some(shard) = report.shard {
                    self.of = shard.of;
                    self.shards.insert(shard.index);
                }
                for notice in std::mem::take(&mut report.notices) {
                    if !self.notices.contains(&notice) {
                        self.notices.push(notice);
                    }
                }
                for mut task in std::mem::take(&mut report.tasks) {
                    task.folder =
                        if task.folder.is_empty() { String::new() } else { link(&folder, &task.folder) };
                    self.put(task, &report.started_at);
                }
                self.head.get_or_insert((shown, *report));
            }
        }
        self.from += 1;
        Ok(())
    }

    fn put(&mut self, task: TaskReport, started_at: &str) {
        match self.tasks.get(&task.id) {
            // A job that was run again leaves two artifacts. One that was cut off takes nothing away from what an
            // earlier one did.
            Some((other, known))
                if (known.end != TaskEnd::NotRun, other.as_str())
                    >= (task.end != TaskEnd::NotRun, started_at) => {}
            Some(_) => {
                self.tasks.insert(task.id.clone(), (started_at.to_owned(), task));
            }
            None => {
                self.order.push(task.id.clone());
                self.tasks.insert(task.id.clone(), (started_at.to_owned(), task));
            }
        }
    }

    fn time(&mut self, started_at: &str, duration_ms: u64) {
        self.duration_ms = self.duration_ms.max(duration_ms);
        if self.started_at.as_deref().is_none_or(|earliest| started_at < earliest) {
            self.started_at = Some(started_at.to_owned());
        }
    }

    fn warn(&mut self, message: String) {
        self.notices.push(Notice { level: NoticeLevel::Warning, message });
    }

    fn report(mut self, manifest: Option<&Manifest>) -> BatchReport {
        let lost_shards: Vec<u32> = (1..=self.of).filter(|index| !self.shards.contains(index)).collect();
        let tasks = match manifest {
            Some(manifest) => {
                let why = "the job for this task left no report";
                let missing = |id: &str, title: &str| TaskReport::without_run(id, title, TaskEnd::Lost, why);
                let task = |task: &super::Task| match self.tasks.remove(&task.id) {
                    Some((_, report)) => report,
                    None => missing(&task.id, &task.entry.title()),
                };
                let tasks: Vec<TaskReport> = manifest.tasks.iter().map(task).collect();
                if !self.tasks.is_empty() {
                    let count = self.tasks.len();
                    self.warn(format!(
                        "{count} tasks in the reports do not belong to this batch and were left out"
                    ));
                }
                tasks
            }
            None => self.order.iter().filter_map(|id| Some(self.tasks.remove(id)?.1)).collect(),
        };
        let head = self.head.map(|(_, head)| head);
        let text = |of: fn(&BatchReport) -> &String, or: fn(&Manifest) -> &String, other: &str| {
            head.as_ref().map(of).or(manifest.map(or)).cloned().unwrap_or_else(|| other.to_owned())
        };
        let mut report = BatchReport {
            schema_version: BATCH_SCHEMA_VERSION,
            batch: text(|head| &head.batch, |manifest| &manifest.name, "runs"),
            manifest: match manifest {
                Some(manifest) => manifest.digest(),
                None => head.as_ref().map(|head| head.manifest.clone()).unwrap_or_default(),
            },
            commit: text(|head| &head.commit, |manifest| &manifest.commit, ""),
            status: Status::Success,
            exit_code: 0,
            started_at: self.started_at.unwrap_or_default(),
            duration_ms: self.duration_ms,
            shard: None,
            lost_shards,
            tasks,
            usage: Usage::default(),
            cost_usd: None,
            notices: self.notices,
            run_url: self.run_url,
        };
        report.add_up(None, false);
        report
    }
}

/// Returns the link to a place in a folder, and to nothing outside of it.
pub(super) fn link(folder: &str, rest: &str) -> String {
    let path = if folder.is_empty() || rest.is_empty() {
        format!("{folder}{rest}")
    } else {
        format!("{folder}/{rest}")
    };
    // A report may say anything of where its files lie.
    let inside: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect();
    utf8_percent_encode(&inside.join("/"), &IN_LINK).to_string()
}
