//! Plans and sealed sessions among the artifacts of workflow runs.

use std::io::{Cursor, Read};

use serde::Deserialize;

use super::api::{Api, Purpose};
use super::error::ApiError;
use crate::base::sealed_box::MAX_BOX;
use crate::base::verbose_log::detail;
use crate::plan::Plan;
use crate::sessions::SEALED;

/// The prefix of the names of artifacts that hold plans.
pub const ARTIFACT: &str = "architect-ci";

/// The largest archive to download and the largest plan to unpack from one, in bytes.
const MAX_ARCHIVE: usize = 200_000_000;
const MAX_PLAN: u64 = 100_000_000;

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
/// computed anew, so that an artifact cannot pretend to have it.
pub async fn plan_of_run(api: &Api, run: u64, digest: &str) -> Result<ArtifactLookup<Box<Plan>>, ApiError> {
    let is_it = |plan: &Plan| plan.digest == digest && plan.computed_digest() == digest;
    // Files of that name that are not plans are left out.
    let pick = |text: &[u8]| serde_json::from_slice(text).ok().filter(is_it).map(Box::new);
    look_into(api, Some(run), ("plan.json", MAX_PLAN), pick).await
}

/// Downloads artifacts of a workflow run, or of all runs of the repository, newest first, until one holds a sealed session that
/// `fits`.
pub async fn sealed_session<T>(
    api: &Api,
    run: Option<u64>,
    fits: impl FnMut(&[u8]) -> Option<T>,
) -> Result<ArtifactLookup<T>, ApiError> {
    look_into(api, run, (SEALED, MAX_BOX as u64), fits).await
}

/// Downloads artifacts of ours until one holds a file of this name, and of no more than so many bytes, that is picked.
async fn look_into<T>(
    api: &Api,
    run: Option<u64>,
    (name, most): (&str, u64),
    mut pick: impl FnMut(&[u8]) -> Option<T>,
) -> Result<ArtifactLookup<T>, ApiError> {
    let all = ours(api, run).await?;
    let most_artifacts = if run.is_some() { MAX_ARTIFACTS } else { MAX_ARTIFACTS_OF_ALL };
    let mut has_expired = all.iter().any(|artifact| artifact.expired);
    let is_there = |artifact: &&Artifact| !artifact.expired && artifact.size_in_bytes <= MAX_ARCHIVE;
    for artifact in all.iter().filter(is_there).take(most_artifacts) {
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
        match files_named(archive, name, most) {
            Ok(files) => {
                if let Some(found) = files.iter().find_map(|file| pick(file)) {
                    return Ok(ArtifactLookup::Found(found));
                }
            }
            Err(error) => detail!("could not read the artifact {}: {error}", artifact.name),
        }
    }
    // In all of a repository, some have always expired.
    Ok(if has_expired && run.is_some() { ArtifactLookup::Expired } else { ArtifactLookup::Nothing })
}

/// Lists artifacts of ours, newest first: a job that ran again has left two of the same name.
async fn ours(api: &Api, run: Option<u64>) -> Result<Vec<Artifact>, ApiError> {
    let below = run.map_or_else(String::new, |run| format!("/runs/{run}"));
    let path = format!("/repos/{}/{}/actions{below}/artifacts", api.owner(), api.name());
    let (mut found, mut pages) = (Vec::new(), 0);
    let end = |page: Artifacts| {
        found.extend(page.artifacts.into_iter().filter(|artifact| artifact.name.starts_with(ARTIFACT)));
        pages += 1;
        (pages >= MAX_PAGES || found.len() >= MAX_ARTIFACTS_OF_ALL).then_some(())
    };
    api.pages(&path, READ, end).await?;
    found.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
    Ok(found)
}

/// Unpacks the files of an archive that have a name and no more than so many bytes.
fn files_named(archive: Vec<u8>, name: &str, most: u64) -> Result<Vec<Vec<u8>>, zip::result::ZipError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive))?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        if file.name()?.rsplit('/').next() != Some(name) || file.size() > most {
            continue;
        }
        let mut bytes = Vec::new();
        // An archive may declare a file to be small, and yet unpack to an endless one.
        file.take(most).read_to_end(&mut bytes)?;
        files.push(bytes);
    }
    Ok(files)
}
