//! Plans and sealed sessions among the artifacts of workflow runs.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use serde::Deserialize;

use super::api::Api;
use super::error::ApiError;
use super::operation::Purpose;
use crate::base::sealed_box::MAX_BOX;
use crate::base::verbose_log::detail;
use crate::plan::{MAX_PLAN, Plan};
use crate::sessions::SEALED;

/// The prefix of the names of artifacts that hold plans.
pub const ARTIFACT: &str = "architect-ci";

/// The largest archive to download, in bytes.
const MAX_ARCHIVE: usize = 200_000_000;

/// Most bytes to unpack from one archive, all files together.
const MAX_UNPACKED: u64 = 1_000_000_000;

/// Maximum number of archives to look into, of one workflow run and of all runs of the repository.
const MAX_ARTIFACTS: usize = 20;
const MAX_ARTIFACTS_OF_ALL: usize = 100;

/// Maximum number of pages of the list of artifacts; each has a hundred of them, the newest first.
const MAX_PAGES: usize = 20;

const READ: Purpose = Purpose { doing: "read the run's artifacts", permission: "actions: read" };

#[derive(Deserialize)]
struct Artifacts {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
struct Artifact {
    id: u64,
    name: String,
    #[serde(default)]
    size_in_bytes: usize,
    #[serde(default)]
    expired: bool,
    workflow_run: Option<WorkflowRun>,
}

/// The workflow run that has uploaded an artifact.
#[derive(Deserialize)]
struct WorkflowRun {
    id: u64,
    repository_id: Option<u64>,
    head_repository_id: Option<u64>,
}

impl Artifact {
    fn run(&self) -> Option<u64> {
        self.workflow_run.as_ref().map(|run| run.id)
    }

    /// Returns whether the workflow run worked on a commit of a fork.
    fn is_of_fork(&self) -> bool {
        self.workflow_run.as_ref().is_none_or(|run| run.repository_id != run.head_repository_id)
    }
}

/// The result of looking for a file among artifacts.
#[derive(Debug)]
pub enum ArtifactLookup<T> {
    /// What was looked for.
    Found(T),
    /// Nothing, but artifacts that GitHub has deleted since and that may have held it.
    Expired,
    /// Nothing.
    Nothing,
}

/// Downloads the artifacts of `run`, newest first, until one holds the plan with this digest. The digest is
/// computed again, so that an artifact cannot pretend to have it.
pub async fn plan_of_run(api: &Api, run: u64, digest: &str) -> Result<ArtifactLookup<Box<Plan>>, ApiError> {
    let is_it = |plan: &Plan| plan.digest == digest && plan.computed_digest() == digest;
    // Files of that name that are not plans are left out.
    let pick = |_, text: &[u8]| serde_json::from_slice(text).ok().filter(is_it).map(Box::new);
    look_into(api, Some(run), ("plan.json", MAX_PLAN), pick).await
}

/// Downloads artifacts of a workflow run, or of all runs of the repository, newest first, until one holds a sealed session that
/// `fits`, which receives the workflow run that has uploaded the artifact.
pub async fn sealed_session<T>(
    api: &Api,
    run: Option<u64>,
    fits: impl FnMut(u64, &[u8]) -> Option<T>,
) -> Result<ArtifactLookup<T>, ApiError> {
    look_into(api, run, (SEALED, MAX_BOX as u64), fits).await
}

/// Downloads artifacts of ours until one holds a file of this name, and of no more than so many bytes, that is picked.
async fn look_into<T>(
    api: &Api,
    run: Option<u64>,
    (name, most): (&str, u64),
    mut pick: impl FnMut(u64, &[u8]) -> Option<T>,
) -> Result<ArtifactLookup<T>, ApiError> {
    let all = ours(api, run).await?;
    let most_artifacts = if run.is_some() { MAX_ARTIFACTS } else { MAX_ARTIFACTS_OF_ALL };
    let mut has_expired = all.iter().any(|artifact| artifact.expired);
    let is_there = |artifact: &&Artifact| !artifact.expired && artifact.size_in_bytes <= MAX_ARCHIVE;
    // One run with many cannot hide those of others.
    let mut of_run: BTreeMap<Option<u64>, usize> = BTreeMap::new();
    let mut is_looked_into = |artifact: &&Artifact| {
        let count = of_run.entry(artifact.run()).or_default();
        *count += 1;
        *count <= MAX_ARTIFACTS
    };
    let some = all.iter().filter(is_there).filter(|artifact| is_looked_into(artifact));
    for artifact in some.take(most_artifacts) {
        let Some(of) = run.or_else(|| artifact.run()) else { continue };
        let path = format!("/actions/artifacts/{}/zip", artifact.id);
        let archive = match api.download(&path, MAX_ARCHIVE, READ).await {
            Ok(archive) => archive,
            // It was there when the list was made.
            Err(error) if error.is_missing() => {
                has_expired = true;
                continue;
            }
            Err(error) => return Err(error),
        };
        match find_in(archive, (name, most), MAX_UNPACKED, |file| pick(of, file)) {
            Ok(Some(found)) => return Ok(ArtifactLookup::Found(found)),
            Ok(None) => {}
            Err(error) => detail!("could not read the artifact {}: {error}", artifact.name),
        }
    }
    // In all of a repository, some have always expired.
    Ok(if has_expired && run.is_some() { ArtifactLookup::Expired } else { ArtifactLookup::Nothing })
}

/// Lists artifacts of ours, newest first: a job that ran again has left two of the same name. Those of forks come last and do
/// not count, because anybody can upload them.
async fn ours(api: &Api, run: Option<u64>) -> Result<Vec<Artifact>, ApiError> {
    let below = run.map_or_else(String::new, |run| format!("/runs/{run}"));
    let path = format!("/repos/{}/{}/actions{below}/artifacts", api.owner(), api.name());
    let (mut found, mut pages) = (Vec::new(), 0);
    let end = |page: Artifacts| {
        found.extend(page.artifacts.into_iter().filter(|artifact| artifact.name.starts_with(ARTIFACT)));
        pages += 1;
        let own = found.iter().filter(|artifact: &&Artifact| !artifact.is_of_fork()).count();
        (pages >= MAX_PAGES || own >= MAX_ARTIFACTS_OF_ALL).then_some(())
    };
    api.pages(&path, READ, end).await?;
    found.sort_unstable_by_key(|artifact| (artifact.is_of_fork(), std::cmp::Reverse(artifact.id)));
    Ok(found)
}

/// Returns what `pick` makes of the first file of an archive that it takes, among those that have a name and no more than so many
/// bytes, and that many in all. One is held at a time, because a small archive can unpack to many large ones.
fn find_in<T>(
    archive: Vec<u8>,
    (name, most): (&str, u64),
    mut left: u64,
    mut pick: impl FnMut(&[u8]) -> Option<T>,
) -> Result<Option<T>, zip::result::ZipError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive))?;
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        if file.name()?.rsplit('/').next() != Some(name) || file.size() > most {
            continue;
        }
        let mut bytes = Vec::new();
        // An archive may declare a file to be small, and yet unpack to an endless one.
        file.take(most.min(left)).read_to_end(&mut bytes)?;
        if let Some(found) = pick(&bytes) {
            return Ok(Some(found));
        }
        left -= bytes.len() as u64;
        if left == 0 {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn archive_is_unpacked_one_file_at_a_time_and_not_without_end() {
        let zeros = vec![0; 100_000];
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for number in 0..12 {
            archive.start_file(format!("{number}/plan.json"), SimpleFileOptions::default()).unwrap();
            archive.write_all(&zeros).unwrap();
        }
        let small = archive.finish().unwrap().into_inner();
        let mut seen = 0;
        let found = find_in(small, ("plan.json", 150_000), 1_000_000, |file| {
            seen += file.len() as u64;
            None::<()>
        });
        assert_eq!((found.unwrap(), seen), (None, 1_000_000));
    }
}
