//! Plans and sealed sessions among the artifacts of workflow runs.

use std::io::{Cursor, Read};

use serde::Deserialize;

use super::api::{Api, PAGE, Purpose};
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

/// Maximum number of archives of one run to look into.
const MAX_ARTIFACTS: usize = 20;

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

/// The result of looking for a plan among the artifacts of a run.
#[derive(Debug)]
pub enum ArtifactLookup {
    /// The plan with the requested digest.
    Plan(Box<Plan>),
    /// No plan, but artifacts that GitHub has deleted since and that may have held it.
    Expired,
    /// No plan.
    Nothing,
}

/// Downloads the artifacts of `run`, newest first, until one holds the plan with this digest. The digest is
/// computed anew, so that an artifact cannot pretend to have it.
pub async fn plan_of_run(api: &Api, run: u64, digest: &str) -> Result<ArtifactLookup, ApiError> {
    let list: Artifacts = api.get(&format!("/actions/runs/{run}/artifacts?per_page={PAGE}"), READ).await?;
    let is_named = |artifact: &Artifact| artifact.name.starts_with(ARTIFACT);
    let expired = list.artifacts.iter().any(|artifact| artifact.expired && is_named(artifact));
    let fits = |artifact: &Artifact| {
        !artifact.expired && is_named(artifact) && artifact.size_in_bytes <= MAX_ARCHIVE
    };
    // Newest first, because a job that ran again has left two artifacts of the same name.
    for artifact in list.artifacts.into_iter().rev().filter(fits).take(MAX_ARTIFACTS) {
        let path = format!("/actions/artifacts/{}/zip", artifact.id);
        let archive = api.download(&path, MAX_ARCHIVE, READ).await?;
        let is_it = |plan: &Plan| plan.digest == digest && plan.computed_digest() == digest;
        match plans(archive) {
            Ok(plans) => {
                if let Some(plan) = plans.into_iter().find(is_it) {
                    return Ok(ArtifactLookup::Plan(Box::new(plan)));
                }
            }
            Err(error) => detail!("could not read the artifact {}: {error}", artifact.name),
        }
    }
    Ok(if expired { ArtifactLookup::Expired } else { ArtifactLookup::Nothing })
}

/// Downloads artifacts of a workflow run, or of all runs of the repository, newest first, until one holds a sealed session that
/// `fits`.
pub async fn sealed_session<T>(
    api: &Api,
    run: Option<u64>,
    mut fits: impl FnMut(&[u8]) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let of = run.map_or_else(|| "/actions".to_owned(), |run| format!("/actions/runs/{run}"));
    let list: Artifacts = api.get(&format!("{of}/artifacts?per_page={PAGE}"), READ).await?;
    let is_fit = |artifact: &Artifact| {
        !artifact.expired && artifact.name.starts_with(ARTIFACT) && artifact.size_in_bytes <= MAX_ARCHIVE
    };
    let mut artifacts: Vec<Artifact> = list.artifacts.into_iter().filter(is_fit).collect();
    artifacts.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
    for artifact in artifacts.into_iter().take(MAX_ARTIFACTS) {
        let path = format!("/actions/artifacts/{}/zip", artifact.id);
        let archive = api.download(&path, MAX_ARCHIVE, READ).await?;
        match files_named(archive, SEALED, MAX_BOX as u64) {
            Ok(files) => {
                if let Some(found) = files.iter().find_map(|file| fits(file)) {
                    return Ok(Some(found));
                }
            }
            Err(error) => detail!("could not read the artifact {}: {error}", artifact.name),
        }
    }
    Ok(None)
}

/// Parses every `plan.json` in an archive; files of that name that are not plans are left out.
fn plans(archive: Vec<u8>) -> Result<Vec<Plan>, zip::result::ZipError> {
    let files = files_named(archive, "plan.json", MAX_PLAN)?;
    Ok(files.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect())
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
