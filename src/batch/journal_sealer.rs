//! Seals the journal of a batch as it grows: what tasks have done becomes segments, in the output folder and on a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use tokio::task::block_in_place;

use super::context::{BatchContext, TASKS};
use super::journal::{Journal, clear};
use super::manifest::Manifest;
use super::sealed::{FOLDER, SealedPlace, Segment, name_of};
use super::sealed_error::SealedJournalError;
use crate::github::RecordBranch;

/// How long tasks that ended wait for each other at most, how long if a segment is a commit, and how many of them. All shards
/// together share what GitHub allows, so that each of many commits less often.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_OF_COMMITS: Duration = Duration::from_mins(1);
const MAX_WAITING: usize = 20;

/// How long nothing is tried after something failed: a full disk, or GitHub.
const PAUSE_OF_FAILURE: Duration = Duration::from_secs(30);

/// Most tasks of a segment, and how many bytes make it full, in a folder and in a commit.
const MAX_TASKS: usize = 100;
const FULL: usize = 20_000_000;
const FULL_COMMIT: usize = 2_000_000;

/// Most bytes of a file that is taken along, and of all files of a task.
const MAX_FILE: u64 = 10_000_000;
const MAX_FILES: u64 = 50_000_000;

/// The sealed journal of a start.
pub(super) struct SealedJournal {
    pub(super) place: SealedPlace,
    /// The id of the journal that was taken up, if there was one.
    pub(super) series: Option<String>,
}

/// Seals the journal of a batch as it grows.
pub(super) struct JournalSealer {
    place: SealedPlace,
    series: String,
    state: Mutex<State>,
}

struct State {
    /// How much of the journal is sealed, in bytes.
    sealed: u64,
    /// The number of the next segment.
    next: u64,
    /// Segments that could not be committed yet.
    unsent: BTreeSet<u64>,
}

impl JournalSealer {
    /// Begins behind the segments that there are: goes on with the journal that was taken up, or begins another one.
    pub(super) async fn begin(
        SealedJournal { place, series }: SealedJournal,
        manifest: &Manifest,
    ) -> Result<Self, SealedJournalError> {
        let (local, on_branch) = (place.local()?, place.on_branch().await?);
        let last = local.last().max(on_branch.last()).copied().unwrap_or(0);
        let mut state = State { sealed: 0, next: last + 1, unsent: BTreeSet::new() };
        let is_new = series.is_none();
        let series = series.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        if is_new {
            let folder = place.out.join(FOLDER);
            clear(&folder).map_err(|error| SealedJournalError::Io { path: folder, error })?;
        } else {
            state.sealed = Journal::length(&place.out);
            if place.branch.is_some() {
                state.unsent = local.difference(&on_branch).copied().collect();
            }
        }
        let sealer = Self { place, series, state: Mutex::new(state) };
        if is_new {
            // At once: a start that goes on from here must not take up an older journal.
            let text = manifest
                .json()
                .map_err(|error| SealedJournalError::Io { path: sealer.place.out.clone(), error })?;
            let begun = Segment { manifest: Some(text), ..Segment::default() };
            sealer.write(&mut sealer.state(), begun)?;
        }
        Ok(sealer)
    }

    /// Seals what the journal gains during some work, and at its end.
    pub(super) async fn seal_during<T>(&self, work: impl Future<Output = T>, common: &BatchContext) -> T {
        let done = tokio::select! {
            done = work => done,
            never = self.keep_sealing(common) => match never {},
        };
        // What is kept now tells of the end.
        self.seal(common, self.place.branch.as_ref().map(RecordBranch::for_results).as_ref()).await;
        done
    }

    /// Seals every now and then, until the future is dropped.
    async fn keep_sealing(&self, common: &BatchContext) -> Infallible {
        let longest = if self.place.branch.is_some() { PAUSE_OF_COMMITS * self.place.shards } else { PAUSE };
        let most = MAX_WAITING * self.place.shards as usize;
        loop {
            let pause =
                if self.seal(common, self.place.branch.as_ref()).await { PAUSE } else { PAUSE_OF_FAILURE };
            let since = Instant::now();
            // At least once: the work goes on only while this waits.
            tokio::time::sleep(pause).await;
            while since.elapsed() < longest && self.waiting() < most {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Returns how many tasks have ended that no segment holds.
    fn waiting(&self) -> usize {
        let sealed = self.state().sealed;
        Journal::gain(&self.place.out, sealed).map_or(0, |gain| Journal::ended_in(&gain).len())
    }

    /// Seals what the journal has gained, and commits what is not committed. What fails is reported, and tried again with the next
    /// segment. Returns whether nothing failed.
    async fn seal(&self, common: &BatchContext, branch: Option<&RecordBranch>) -> bool {
        let sealed = block_in_place(|| self.seal_gain(common));
        let is_sealed = sealed.is_ok();
        for error in [sealed.err(), self.send(branch).await.err()].into_iter().flatten() {
            tracing::warn!("warning: the journal could not be kept: {error}");
            if !matches!(error, SealedJournalError::Taken(_)) {
                return false;
            }
        }
        is_sealed
    }

    /// Commits the segments that are not on the branch yet.
    async fn send(&self, branch: Option<&RecordBranch>) -> Result<(), SealedJournalError> {
        let Some(branch) = branch else { return Ok(()) };
        let unsent = self.state().unsent.clone();
        let mut taken = None;
        for number in unsent {
            let text = STANDARD.encode(block_in_place(|| self.place.read_local(number))?);
            let path = format!("{}/{}", self.place.folder, name_of(number));
            let change = |old: Option<&str>| match old {
                Some(old) if old.trim() != text => Err(SealedJournalError::Taken(path.clone())),
                _ => Ok(Some(text.clone())),
            };
            match branch.update(&path, "journal of a batch", change).await {
                Ok(()) => {}
                // It would never be sent, and must not keep others from it.
                Err(error @ SealedJournalError::Taken(_)) => taken = Some(error),
                Err(error) => return Err(error),
            }
            self.state().unsent.remove(&number);
        }
        taken.map_or(Ok(()), Err)
    }

    /// Seals what the journal has gained, in as many segments as it takes.
    fn seal_gain(&self, common: &BatchContext) -> Result<(), SealedJournalError> {
        let mut state = self.state();
        let out = &self.place.out;
        let gain = {
            // Nobody writes meanwhile, so lines are whole.
            let _journal = common.journal.lock();
            let gain = Journal::gain(out, state.sealed);
            gain.map_err(|error| SealedJournalError::Io { path: out.clone(), error })?
        };
        let full = if self.place.branch.is_some() { FULL_COMMIT } else { FULL };
        for segment in segments(&gain, &out.join(TASKS), full) {
            self.write(&mut state, segment)?;
        }
        Ok(())
    }

    /// Writes the next segment.
    fn write(&self, state: &mut State, segment: Segment) -> Result<(), SealedJournalError> {
        let segment = Segment { series: self.series.clone(), ..segment };
        self.place.write_local(state.next, &self.place.seal(state.next, &segment)?)?;
        if self.place.branch.is_some() {
            state.unsent.insert(state.next);
        }
        state.sealed += segment.journal.len() as u64;
        state.next += 1;
        Ok(())
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Cuts what a journal has gained into segments, each made when it is asked for. What stands behind the last task that ended is
/// left for later, unless there is room.
fn segments(gain: &str, tasks: &Path, full: usize) -> impl Iterator<Item = Segment> {
    let mut lines = gain.split_inclusive('\n');
    std::iter::from_fn(move || {
        let (mut segment, mut ended, mut bytes) = (Segment::default(), 0, 0);
        while ended == 0 || (ended < MAX_TASKS && bytes < full) {
            let Some(line) = lines.next() else { break };
            segment.journal += line;
            bytes += line.len();
            for report in Journal::ended_in(line) {
                ended += 1;
                let mut task = TaskFiles { root: tasks, files: BTreeMap::new(), left: MAX_FILES };
                task.collect(&report.id);
                bytes += task.files.values().map(String::len).sum::<usize>();
                segment.files.append(&mut task.files);
            }
        }
        (ended > 0).then_some(segment)
    })
}

/// The files of a task, in base64, by their paths below `root`.
struct TaskFiles<'a> {
    root: &'a Path,
    files: BTreeMap<String, String>,
    /// How many bytes there is room for.
    left: u64,
}

impl TaskFiles<'_> {
    /// Collects what is at a path. Links and what is too large are left out; what cannot be read is reported, because it would keep
    /// everything else from being sealed for ever.
    fn collect(&mut self, below: &str) {
        match self.try_collect(below) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let path = self.root.join(below);
                tracing::warn!("warning: the sealed journal lacks {}: {error}", path.display());
            }
            _ => {}
        }
    }

    fn try_collect(&mut self, below: &str) -> io::Result<()> {
        let path = self.root.join(below);
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() {
            for entry in fs::read_dir(&path)? {
                if let Some(name) = entry?.file_name().to_str() {
                    self.collect(&format!("{below}/{name}"));
                }
            }
        } else if found.is_file() && found.len() <= MAX_FILE.min(self.left) {
            let content = fs::read(&path)?;
            self.left = self.left.saturating_sub(content.len() as u64);
            self.files.insert(below.to_owned(), STANDARD.encode(content));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{TaskEnd, TaskReport};

    fn line(id: &str) -> String {
        let report = TaskReport::without_run(id, id, TaskEnd::Success, "");
        let report = serde_json::to_string(&report).unwrap();
        format!(
            "\n{{\"type\":\"begun\",\"id\":\"{id}\",\"attempt\":1}}\n{{\"type\":\"ended\",\"report\":{report}}}"
        )
    }

    #[test]
    fn gain_of_any_size_becomes_segments_that_hold_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = folder.path();
        let ids: Vec<String> = (0..250).map(|number| format!("t{number}")).collect();
        for id in &ids {
            fs::create_dir(tasks.join(id)).unwrap();
            fs::write(tasks.join(id).join("report.json"), id.repeat(100)).unwrap();
        }
        let gain: String = ids.iter().map(|id| line(id)).collect();
        let cut: Vec<Segment> = segments(&gain, tasks, FULL).collect();
        assert_eq!(cut.len(), 3, "at most {MAX_TASKS} tasks each");
        let small: Vec<Segment> = segments(&gain, tasks, 1_000).collect();
        assert!(small.len() > 50, "{}", small.len());
        for cut in [cut, small] {
            assert_eq!(cut.iter().map(|segment| segment.journal.as_str()).collect::<String>(), gain);
            let files: Vec<&String> = cut.iter().flat_map(|segment| segment.files.keys()).collect();
            assert_eq!(files.len(), ids.len());
        }
        // Nothing that ended, nothing to seal.
        assert_eq!(segments("\n{\"type\":\"begun\",\"id\":\"x\",\"attempt\":1}", tasks, FULL).count(), 0);
    }

    #[test]
    fn files_that_cannot_be_taken_along_do_not_keep_others_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let task = folder.path().join("a");
        fs::create_dir_all(&task).unwrap();
        for (name, bytes) in [("small", 10), ("huge", MAX_FILE + 1)] {
            fs::File::create(task.join(name)).unwrap().set_len(bytes).unwrap();
        }
        for number in 0..7 {
            fs::File::create(task.join(format!("large{number}"))).unwrap().set_len(MAX_FILE - 1).unwrap();
        }
        let segment = segments(&line("a"), folder.path(), FULL).next().expect("a segment");
        assert!(!segment.files.contains_key("a/huge"));
        assert!(segment.files.len() <= 6, "{:?}", segment.files.keys());
        assert!(
            segment.files.values().map(String::len).sum::<usize>() < 2 * usize::try_from(MAX_FILES).unwrap()
        );
    }
}
